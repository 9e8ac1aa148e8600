//! Unions: objects told apart by a constant member, and alternatives told apart by JSON type or tried in order.

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::ir::{Arm, Expr, Gate, JsonType, Shape};
use crate::passes::enums::constant;
use crate::passes::read::{Owner, Part, Reader};
use crate::passes::view::{Place, View, list};

/// What a branch says about a member that might be the tag.
#[derive(Debug, PartialEq)]
enum Tag<'a> {
    /// Always this text.
    Text(&'a str),
    /// Any text: the branch takes the tags that no other has.
    Free,
}

/// The shape of `anyOf` or `oneOf` without its `null` branches, or that of the only branch that is left.
pub(crate) fn shape<'a>(reader: &mut Reader<'a>, branches: &[Place<'a>], owner: &Owner) -> Option<UnionShape> {
    if let Some(merged) = super::enums::merged(reader, branches, owner.gate) {
        return Some(UnionShape { shape: merged, null: false });
    }
    match tag(reader, branches) {
        Some(tag) => tagged(reader, branches, owner, &tag),
        None => either(reader, branches, owner),
    }
}

/// A union and whether one of its branches also takes `null`.
pub(crate) struct UnionShape {
    pub(crate) shape: Shape,
    pub(crate) null: bool,
}

/// The member that tells the branches apart: required everywhere, a text of its own in each, or free in at most one.
fn tag(reader: &Reader<'_>, branches: &[Place<'_>]) -> Option<String> {
    let first = reader.follow(branches.first()?)?;
    let names = first.node.get("properties").map(Node::members)?;
    names.iter().map(|(name, _)| name.as_str()).find(|name| tells_apart(reader, branches, name)).map(str::to_owned)
}

fn tells_apart(reader: &Reader<'_>, branches: &[Place<'_>], name: &str) -> bool {
    let mut texts = Vec::new();
    let mut free = 0;
    for branch in branches {
        let Some(place) = reader.follow(branch) else { return false };
        match tag_of(place.node, name) {
            Some(Tag::Text(text)) if !texts.contains(&text.to_owned()) => texts.push(text.to_owned()),
            Some(Tag::Free) => free += 1,
            _ => return false,
        }
    }
    !texts.is_empty() && free <= 1 && branches.len() > 1
}

fn tag_of<'a>(node: &'a Node, name: &str) -> Option<Tag<'a>> {
    let required = node.get("required").and_then(list)?;
    let schema = node.get("properties")?.get(name)?;
    if !required.iter().any(|one| one.as_str() == Some(name)) {
        return None;
    }
    if let Some(text) = constant(schema) {
        return Some(Tag::Text(text));
    }
    let plain = schema.get("type").and_then(Node::as_str) == Some("string") && schema.get("enum").is_none();
    plain.then_some(Tag::Free)
}

fn tagged<'a>(reader: &mut Reader<'a>, branches: &[Place<'a>], owner: &Owner, tag: &str) -> Option<UnionShape> {
    let mut arms = Vec::new();
    let mut other = None;
    let mut null = false;
    for branch in branches {
        let followed = reader.follow(branch);
        let text = followed.as_ref().and_then(|place| match tag_of(place.node, tag) {
            Some(Tag::Text(text)) => Some(text.to_owned()),
            _ => None,
        });
        // A referred alternative that may be `null` makes the union so.
        null |= followed.is_some_and(|place| View::of(&place).is_ok_and(|view| view.null));
        let hint = text.clone().unwrap_or_else(|| "unlisted".to_owned());
        let part = reader.part(branch, &owner.child(&hint, Gate::Open))?;
        let arm = Arm { tag: text.clone().unwrap_or_default(), ..arm(part, branch, JsonType::Object) };
        match text {
            Some(_) => arms.push(arm),
            None => other = Some(arm),
        }
    }
    Some(UnionShape { shape: Shape::Tagged { tag: tag.to_owned(), arms, other }, null })
}

fn either<'a>(reader: &mut Reader<'a>, branches: &[Place<'a>], owner: &Owner) -> Option<UnionShape> {
    let mut arms = Vec::new();
    let mut null = false;
    for (index, branch) in branches.iter().enumerate() {
        let Some(part) = reader.bounded(branch, &owner.child(&branch_hint(branch, index), Gate::Open)) else {
            continue;
        };
        null |= part.null;
        arms.push(arm(part, branch, JsonType::Object));
    }
    if arms.len() < branches.len() || arms.is_empty() {
        return None;
    }
    Some(UnionShape { shape: Shape::Either { arms }, null })
}

/// Alternatives of one schema whose `type` is a list.
pub(crate) fn by_type<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    types: &[JsonType],
    owner: &Owner,
) -> Option<Shape> {
    let mut arms = Vec::new();
    for json_type in types {
        let expr = reader.typed(view, *json_type, &owner.child(json_type.name(), Gate::Open))?;
        let part = Part { expr, null: false, limits: Vec::new() };
        arms.push(Arm { docs: None, ..arm(part, &view.place, *json_type) });
    }
    Some(Shape::Either { arms })
}

/// What an inline branch is called where its type has no name.
fn branch_hint(branch: &Place<'_>, index: usize) -> String {
    let title = branch.node.get("title").and_then(Node::as_str).map(str::to_owned);
    let first = || branch.node.get("required").and_then(list)?.first()?.as_str().map(str::to_owned);
    let only = || Some(branch.node.get("properties").map(Node::members)?.first()?.0.clone());
    let json_type = || branch.node.get("type").and_then(Node::as_str).map(str::to_owned);
    title.or_else(first).or_else(only).or_else(json_type).unwrap_or_else(|| format!("alternative {}", index + 1))
}

fn arm(part: Part, branch: &Place<'_>, json_type: JsonType) -> Arm {
    Arm {
        variant: String::new(),
        tag: String::new(),
        expr: part.expr,
        kinds: vec![json_type],
        needs: Vec::new(),
        docs: branch.node.get("description").and_then(Node::as_str).map(str::to_owned),
        gate: Gate::Open,
    }
}

/// A union beside members, or beside another structure, says two things at once.
pub(crate) fn beside(view: &View<'_>) -> Option<Diagnostic> {
    let structure = view.object || view.array || view.reference.is_some() || view.values.is_some();
    (view.union.is_some() && structure).then(|| {
        let message = "a union stands beside `properties`, `required`, `items`, `enum` or `$ref`".to_owned();
        Diagnostic::error("codegen/union-beside-members", view.place.at.clone(), message)
            .help("move the members into each alternative, or the union into a member")
    })
}

/// A `type` beside alternatives that rules out some of what these accept.
pub(crate) fn narrowed<'a>(reader: &Reader<'a>, view: &View<'a>) -> Option<Diagnostic> {
    let (types, branches) = (view.types.as_ref()?, view.union.as_ref()?);
    let allowed = |name: &str| match JsonType::from_name(name) {
        Some(JsonType::Integer) if types.contains(&JsonType::Number) => true,
        Some(one) => one == JsonType::Null || types.contains(&one),
        None => false,
    };
    let within = |branch: &Place<'a>| {
        let Some(place) = reader.follow(branch) else { return true };
        let has = |key: &str| place.node.get(key).is_some();
        match place.node.get("type") {
            Some(Node::Array(names)) => names.iter().filter_map(Node::as_str).all(allowed),
            Some(name) => name.as_str().is_some_and(allowed),
            None if has("enum") || has("const") => allowed("string"),
            None => (has("properties") || has("required")) && allowed("object"),
        }
    };
    (!branches.iter().all(within)).then(|| {
        let message = "`type` rules out some of what the alternatives beside it accept".to_owned();
        Diagnostic::error("codegen/union-beside-members", view.place.at.clone(), message)
            .help("say the type in each alternative")
    })
}

/// Whether an expression is the plain form of a JSON type; used to name the alternatives of a union.
pub(crate) fn plain_type(expr: &Expr) -> Option<JsonType> {
    Some(match expr {
        Expr::Null => JsonType::Null,
        Expr::Bool => JsonType::Boolean,
        Expr::Signed | Expr::Unsigned => JsonType::Integer,
        Expr::Number => JsonType::Number,
        Expr::String => JsonType::String,
        Expr::Array(_) => JsonType::Array,
        Expr::Map(_) => JsonType::Object,
        Expr::Nullable(inner) => return plain_type(inner),
        Expr::Any | Expr::Ref(_) => return None,
    })
}
