//! From definitions to types: every schema is read once; inline schemas that need a type of their own get one.

use crate::diagnostic::Diagnostic;
use crate::document::{Location, Node};
use crate::ir::{Bound, Expr, Gate, Ir, JsonType, Limit, Shape, Type, TypeId};
use crate::passes::layers::{self, Layers};
use crate::passes::limits::{limits, not_negative};
use crate::passes::view::{Place, View, list};
use crate::passes::{enums, objects, unions};
use crate::schemas::{DefinitionId, Schemas};

/// Reads every definition.
pub(crate) fn run(schemas: &Schemas) -> (Ir, Vec<Diagnostic>) {
    let mut reader = Reader { schemas, types: Vec::new(), diagnostics: Vec::new() };
    for definition in &schemas.definitions {
        reader.types.push(blank(&definition.at, &definition.name));
    }
    for index in 0..schemas.definitions.len() {
        reader.definition(DefinitionId(index));
    }
    let ir = Ir {
        kind: schemas.kind,
        types: reader.types,
        fingerprints: schemas.fingerprints.clone(),
        sources: schemas.documents.iter().map(|document| document.file.to_string()).collect(),
        digest: schemas.digest.clone(),
        ..Ir::default()
    };
    (ir, reader.diagnostics)
}

/// The state of reading.
pub(crate) struct Reader<'a> {
    schemas: &'a Schemas,
    types: Vec<Type>,
    diagnostics: Vec<Diagnostic>,
}

/// What an inline schema belongs to, if it needs a type of its own.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    parent: TypeId,
    /// Words that the name is made from, behind the parent's name.
    hint: String,
    pub(crate) gate: Gate,
}

impl Owner {
    /// A part of this, on the narrower of the two surfaces.
    pub(crate) fn child(&self, hint: &str, own: Gate) -> Self {
        let gate = if own == Gate::Open { self.gate } else { own };
        let hint = if self.hint.is_empty() { hint.to_owned() } else { format!("{} {hint}", self.hint) };
        Self { parent: self.parent, hint, gate }
    }
}

/// A schema where it is used: its type, whether `null` may stand in its place, and what bounds it.
pub(crate) struct Part {
    pub(crate) expr: Expr,
    pub(crate) null: bool,
    pub(crate) limits: Vec<Limit>,
}

/// What a schema says beside its shape.
pub(crate) struct Said {
    pub(crate) null: bool,
    pub(crate) limits: Vec<Limit>,
}

/// What a schema turned out to be.
pub(crate) enum Found {
    /// Says it without a type of its own.
    Plain(Expr),
    /// Needs a type.
    Own(Shape),
}

impl<'a> Reader<'a> {
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The surface of a place.
    pub(crate) fn gate(&self, place: &Place<'_>) -> Gate {
        gate(self.schemas.is_gated(place.document, &place.at.pointer))
    }

    /// The surface of one value of the enum at a place.
    pub(crate) fn value_gate(&self, place: &Place<'_>, value: &str) -> Gate {
        gate(self.schemas.is_value_gated(place.document, &place.at.pointer, value))
    }

    /// The text that stands beside the schemas for one value of the enum at a place.
    pub(crate) fn value_text(&self, place: &Place<'_>, value: &str) -> Option<String> {
        self.schemas.value_text(place.document, &place.at.pointer, value).map(str::to_owned)
    }

    /// The schema itself, or what its `$ref`s lead to; `None` where they lead nowhere or in a circle.
    pub(crate) fn follow(&self, place: &Place<'a>) -> Option<Place<'a>> {
        let mut place = place.clone();
        for _ in 0..self.schemas.definitions.len().saturating_add(1) {
            let next = match (place.node.get("$ref").and_then(Node::as_str), place.node.get("allOf").and_then(list)) {
                (Some(reference), _) => self.place(self.schemas.resolve(place.document, reference).ok()?),
                (None, Some([only])) if place.node.get("properties").is_none() => place.below(only, &["allOf", "0"]),
                _ => return Some(place),
            };
            place = next;
        }
        None
    }

    fn place(&self, id: DefinitionId) -> Place<'a> {
        let definition = &self.schemas.definitions[id.0];
        Place { node: self.schemas.node(id), document: definition.document, at: definition.at.clone() }
    }

    fn definition(&mut self, id: DefinitionId) {
        let place = self.place(id);
        let gate = self.gate(&place);
        let own = TypeId(id.0);
        let owner = Owner { parent: own, hint: String::new(), gate };
        let Some((found, null, limits)) = self.find(&place, &owner, Use::Definition) else { return };
        let docs = place.node.get("description").and_then(Node::as_str).map(str::to_owned);
        let (shape, limits) = self.settle(found, null, limits, &place, &owner);
        let target = &mut self.types[own.0];
        target.shape = shape;
        target.limits = limits;
        target.docs = docs;
        target.gate = gate;
    }

    /// A type of its own can carry limits if it is an object or a wrapper, and cannot be `null` itself.
    fn settle(
        &mut self,
        found: Found,
        null: bool,
        limits: Vec<Limit>,
        place: &Place<'a>,
        owner: &Owner,
    ) -> (Shape, Vec<Limit>) {
        match found {
            Found::Plain(expr @ (Expr::Any | Expr::Nullable(_))) => (Shape::Newtype(expr), limits),
            Found::Plain(expr) if null => (Shape::Newtype(Expr::Nullable(Box::new(expr))), limits),
            Found::Plain(expr) => (Shape::Newtype(expr), limits),
            Found::Own(shape) if !null && (limits.is_empty() || matches!(shape, Shape::Struct { .. })) => {
                (shape, limits)
            }
            Found::Own(shape) => {
                let body = self.add(shape, Vec::new(), place, &owner.child("body", Gate::Open));
                let expr = Expr::Ref(body);
                (Shape::Newtype(if null { Expr::Nullable(Box::new(expr)) } else { expr }), limits)
            }
        }
    }

    fn add(&mut self, shape: Shape, limits: Vec<Limit>, place: &Place<'a>, owner: &Owner) -> TypeId {
        let id = TypeId(self.types.len());
        self.types.push(Type {
            name: owner.hint.clone(),
            definition: None,
            parent: Some(owner.parent),
            docs: place.node.get("description").and_then(Node::as_str).map(str::to_owned),
            gate: owner.gate,
            shape,
            limits,
            ..blank(&place.at, "")
        });
        id
    }

    /// A schema where it is used. `None` where a diagnostic was reported.
    pub(crate) fn part(&mut self, place: &Place<'a>, owner: &Owner) -> Option<Part> {
        // An inline schema that a reference names is that definition, here too.
        if let Some(id) = self.schemas.by_location.get(&(place.document, place.at.pointer.clone())) {
            return Some(Part { expr: Expr::Ref(TypeId(id.0)), null: false, limits: Vec::new() });
        }
        let (found, null, limits) = self.find(place, owner, Use::Inline)?;
        let (expr, limits) = match found {
            Found::Plain(expr) => (expr, limits),
            Found::Own(shape @ Shape::Struct { .. }) => (Expr::Ref(self.add(shape, limits, place, owner)), Vec::new()),
            Found::Own(shape) => (Expr::Ref(self.add(shape, Vec::new(), place, owner)), limits),
        };
        Some(Part { expr, null, limits })
    }

    /// As [`Reader::part`], for places that cannot carry limits: they move into a type of their own.
    pub(crate) fn bounded(&mut self, place: &Place<'a>, owner: &Owner) -> Option<Part> {
        let part = self.part(place, owner)?;
        if part.limits.is_empty() {
            return Some(part);
        }
        let id = self.add(Shape::Newtype(part.expr), part.limits, place, owner);
        Some(Part { expr: Expr::Ref(id), null: part.null, limits: Vec::new() })
    }

    /// As [`Reader::bounded`], for places that cannot say `null` beside the type.
    pub(crate) fn whole(&mut self, place: &Place<'a>, owner: &Owner) -> Option<Expr> {
        let part = self.bounded(place, owner)?;
        Some(match part.expr {
            expr @ (Expr::Any | Expr::Nullable(_)) => expr,
            expr if part.null => Expr::Nullable(Box::new(expr)),
            expr => expr,
        })
    }

    fn find(&mut self, place: &Place<'a>, owner: &Owner, usage: Use) -> Option<(Found, bool, Vec<Limit>)> {
        match place.node {
            Node::Bool(true) => return Some((Found::Plain(Expr::Any), false, Vec::new())),
            // In draft 7 nothing beside `$ref` counts.
            Node::Object(_) if self.is_draft7(place) && place.node.get("$ref").is_some() => {
                let reference = place.node.get("$ref").and_then(Node::as_str).unwrap_or_default();
                return Some((Found::Plain(self.reference(place, reference)?), false, Vec::new()));
            }
            Node::Object(_) => {}
            _ => {
                let message = "this schema accepts nothing, or is no schema".to_owned();
                let help = "a schema is an object, or `true`";
                self.report(Diagnostic::error("codegen/no-values", place.at.clone(), message).help(help));
                return None;
            }
        }
        let view = match View::of(place) {
            Ok(view) => view,
            Err(diagnostics) => {
                self.diagnostics.extend(diagnostics);
                return None;
            }
        };
        let mut said = Said { null: view.null, limits: limits(place) };
        self.diagnostics.extend(said.limits.iter().filter_map(|limit| unchecked(place, limit)));
        let found = self.shape(&view, owner, usage, &mut said)?;
        if matches!(found, Found::Plain(Expr::Unsigned)) {
            said.limits.retain(|limit| *limit != Limit::Integer(Bound::Minimum, 0));
        }
        Some((found, said.null, said.limits))
    }

    fn shape(&mut self, view: &View<'a>, owner: &Owner, usage: Use, said: &mut Said) -> Option<Found> {
        if let Some(diagnostic) = unions::beside(view).or_else(|| unions::narrowed(self, view)) {
            self.report(diagnostic);
            return None;
        }
        if !view.all_of.is_empty() || (view.reference.is_some() && view.has_structure()) {
            return match layers::read(self, view, owner, said)? {
                Layers::One(place) => self.through(&place, owner, usage, said),
                Layers::Found(found) => Some(found),
            };
        }
        if let Some(reference) = view.reference {
            return self.reference(&view.place, reference).map(Found::Plain);
        }
        if let Some(values) = &view.values {
            if values.is_empty() {
                return Some(Found::Plain(Expr::Null))
                    .filter(|_| std::mem::take(&mut said.null))
                    .or_else(|| self.nothing(view));
            }
            return Some(Found::Own(enums::shape(self, view, values, owner.gate)));
        }
        if let Some(branches) = &view.union {
            return match branches.as_slice() {
                [] => Some(Found::Plain(Expr::Null))
                    .filter(|_| std::mem::take(&mut said.null))
                    .or_else(|| self.nothing(view)),
                [only] => self.through(only, owner, usage, said),
                _ => {
                    let union = unions::shape(self, branches, owner)?;
                    said.null |= union.null && view.types.is_none();
                    Some(Found::Own(union.shape))
                }
            };
        }
        self.by_types(view, owner, usage, said)
    }

    /// What a schema is that only bounds values, beside layers that do the same.
    pub(crate) fn own_structure(&mut self, view: &View<'a>, owner: &Owner, said: &mut Said) -> Option<Found> {
        self.by_types(view, owner, Use::Inline, said)
    }

    fn by_types(&mut self, view: &View<'a>, owner: &Owner, usage: Use, said: &mut Said) -> Option<Found> {
        match view.types.as_deref() {
            None => self.untyped(view, owner, usage),
            Some([]) => Some(Found::Plain(Expr::Null)).filter(|_| std::mem::take(&mut said.null)),
            Some([only]) => self.of_type(view, *only, &said.limits, owner, usage),
            Some(types) => unions::by_type(self, view, types, owner).map(Found::Own),
        }
    }

    pub(crate) fn is_draft7(&self, place: &Place<'_>) -> bool {
        let root = &self.schemas.document(place.document).root;
        root.get("$schema").and_then(Node::as_str).is_some_and(|dialect| dialect.contains("draft-07"))
    }

    /// What a `$ref` leads to.
    pub(crate) fn target(&mut self, place: &Place<'a>, reference: &str) -> Option<Place<'a>> {
        match self.reference(place, reference)? {
            Expr::Ref(TypeId(index)) => Some(self.place(DefinitionId(index))),
            _ => None,
        }
    }

    fn reference(&mut self, place: &Place<'a>, reference: &str) -> Option<Expr> {
        match self.schemas.resolve(place.document, reference) {
            Ok(id) => Some(Expr::Ref(TypeId(id.0))),
            Err(diagnostic) => {
                self.report(Diagnostic { at: place.at.clone(), ..*diagnostic });
                None
            }
        }
    }

    /// A wrapper around one schema: what is inside counts, and its limits join those of the wrapper.
    fn through(&mut self, inner: &Place<'a>, owner: &Owner, usage: Use, said: &mut Said) -> Option<Found> {
        let (found, null, limits) = self.find(inner, owner, usage)?;
        said.null |= null;
        said.limits.extend(limits);
        Some(found)
    }

    fn nothing(&mut self, view: &View<'a>) -> Option<Found> {
        let message = "no value fits this schema".to_owned();
        self.report(Diagnostic::error("codegen/no-values", view.place.at.clone(), message));
        None
    }

    /// Without `type`, `properties` means an object and `items` an array, as people mean it; JSON Schema would let every other type
    /// pass, so a warning says what was assumed.
    fn untyped(&mut self, view: &View<'a>, owner: &Owner, usage: Use) -> Option<Found> {
        let assumed = match (view.object, view.array) {
            (false, false) => return Some(Found::Plain(Expr::Any)),
            (true, false) => JsonType::Object,
            (false, true) => JsonType::Array,
            (true, true) => {
                let message = "keywords for objects and for arrays without a `type`".to_owned();
                self.report(
                    Diagnostic::error("codegen/type-missing", view.place.at.clone(), message).help("add `type`"),
                );
                return None;
            }
        };
        let message = format!("no `type`; read as `{}`", assumed.name());
        let help = format!("add `\"type\": \"{}\"`: without it every other JSON type passes as well", assumed.name());
        self.report(Diagnostic::warning("codegen/type-assumed", view.place.at.clone(), message).help(help));
        self.of_type(view, assumed, &[], owner, usage)
    }

    fn of_type(
        &mut self,
        view: &View<'a>,
        json_type: JsonType,
        limits: &[Limit],
        owner: &Owner,
        usage: Use,
    ) -> Option<Found> {
        let plain = |expr| Some(Found::Plain(expr));
        match json_type {
            JsonType::Object if objects::has_members(view) || (usage == Use::Definition && !is_map(view)) => {
                objects::shape(self, &[view], owner).map(Found::Own)
            }
            JsonType::Integer if not_negative(limits) => plain(Expr::Unsigned),
            _ => self.typed(view, json_type, owner).map(Found::Plain),
        }
    }

    /// The expression for one JSON type of a schema.
    pub(crate) fn typed(&mut self, view: &View<'a>, json_type: JsonType, owner: &Owner) -> Option<Expr> {
        Some(match json_type {
            JsonType::Null => Expr::Null,
            JsonType::Boolean => Expr::Bool,
            JsonType::Integer if not_negative(&limits(&view.place)) => Expr::Unsigned,
            JsonType::Integer => Expr::Signed,
            JsonType::Number => Expr::Number,
            JsonType::String => Expr::String,
            JsonType::Array => Expr::Array(Box::new(self.below(view, "items", "item", owner)?)),
            JsonType::Object if objects::has_members(view) => {
                let shape = objects::shape(self, &[view], owner)?;
                Expr::Ref(self.add(shape, Vec::new(), &view.place, owner))
            }
            JsonType::Object => Expr::Map(Box::new(self.below(view, "additionalProperties", "value", owner)?)),
        })
    }

    /// What the elements of an array or the values of a map are.
    fn below(&mut self, view: &View<'a>, key: &str, hint: &str, owner: &Owner) -> Option<Expr> {
        match view.place.node.get(key) {
            None => Some(Expr::Any),
            Some(schema) => self.whole(&view.place.below(schema, &[key]), &owner.child(hint, Gate::Open)),
        }
    }
}

/// A pattern that the types cannot check: they read it with regex-lite, which knows less than JSON Schema asks for.
fn unchecked(place: &Place<'_>, limit: &Limit) -> Option<Diagnostic> {
    let Limit::Pattern(pattern) = limit else { return None };
    let error = regex_lite::Regex::new(pattern).err()?;
    let message = format!("the pattern `{pattern}` is not checked: {error}");
    let help = "spell it without `\\p`, `\\c`, look-around and back references, or leave it to a validator";
    Some(Diagnostic::warning("codegen/pattern-unchecked", place.at.join("pattern"), message).help(help))
}

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Under a name of its own.
    Definition,
    /// Inside another.
    Inline,
}

/// An object whose only structure is the type of its values.
fn is_map(view: &View<'_>) -> bool {
    matches!(view.place.node.get("additionalProperties"), Some(Node::Object(_) | Node::Bool(true)))
}

/// The surface of a part: never wider than that of the whole.
pub(crate) fn child_gate(parent: Gate, own: Gate) -> Gate {
    match (parent, own) {
        (Gate::Open, Gate::Experimental) => Gate::Experimental,
        // Inside a gated type nothing needs a gate of its own.
        (Gate::Experimental, _) | (Gate::Open, Gate::Open) => Gate::Open,
    }
}

fn gate(gated: bool) -> Gate {
    if gated { Gate::Experimental } else { Gate::Open }
}

fn blank(at: &Location, definition: &str) -> Type {
    Type {
        name: String::new(),
        definition: Some(definition.to_owned()),
        parent: None,
        at: at.clone(),
        docs: None,
        gate: Gate::Open,
        family: 0,
        shape: Shape::Newtype(Expr::Any),
        limits: Vec::new(),
        strict: false,
    }
}
