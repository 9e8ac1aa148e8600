//! Objects: members with their presence, and what happens to the others.

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::ir::{Expr, Gate, Member, Presence, Rest, Shape};
use crate::passes::enums::constant;
use crate::passes::read::{Owner, Reader, child_gate};
use crate::passes::view::View;

/// An object with members of its own, as against one that is used as a map.
pub(crate) fn has_members(view: &View<'_>) -> bool {
    let node = view.place.node;
    let some = |key: &str| node.get(key).map(Node::members).is_some_and(|list| !list.is_empty());
    some("properties")
        || node.get("required").is_some_and(|names| !names.items().is_empty())
        || node.get("additionalProperties") == Some(&Node::Bool(false))
}

/// The shape of an object with members, which may be described in several layers: every layer has to hold, so what one requires is
/// required. `None` where a diagnostic was reported.
pub(crate) fn shape<'a>(reader: &mut Reader<'a>, layers: &[&View<'a>], owner: &Owner) -> Option<Shape> {
    let names = |view: &&View<'a>| view.place.node.get("required").map(Node::items).unwrap_or_default();
    let required: Vec<&str> = layers.iter().flat_map(names).filter_map(Node::as_str).collect();
    let mut members: Vec<Member> = Vec::new();
    for view in layers {
        for (wire, schema) in view.place.node.get("properties").map(Node::members).unwrap_or_default() {
            let found = member(reader, view, owner, wire, schema, required.contains(&wire.as_str()));
            match (found, members.iter().position(|one| one.wire == *wire)) {
                (Some(found), Some(at)) => members[at] = narrower(reader, members[at].clone(), found, view)?,
                (Some(found), None) => members.push(found),
                (None, _) => {}
            }
        }
    }
    for wire in required {
        if !members.iter().any(|member| member.wire == wire) {
            members.push(bare(wire));
        }
    }
    let rest = match layers {
        [only] => rest(reader, only, owner),
        _ => layers.iter().find_map(|view| closed_layer(reader, view)).unwrap_or(Some(Rest::Any))?,
    };
    Some(Shape::Struct { members, rest })
}

/// One member in two layers: the same twice, or a text that one of them fixes.
fn narrower(reader: &mut Reader<'_>, one: Member, other: Member, view: &View<'_>) -> Option<Member> {
    let same = one.presence == other.presence && one.expr == other.expr && one.limits == other.limits;
    let fixed = |member: &Member| matches!(member.presence, Presence::Constant(_));
    let text = |member: &Member| member.presence == Presence::Required && member.expr == Expr::String;
    if same || (fixed(&one) && text(&other)) {
        return Some(one);
    }
    if text(&one) && fixed(&other) {
        return Some(Member { docs: other.docs.or(one.docs), ..other });
    }
    let message = format!("member `{}` is described in two layers of one schema, and differently", one.wire);
    let at = view.place.at.join("properties").join(&one.wire);
    reader.report(Diagnostic::error("codegen/layers-conflict", at, message).help("describe it once"));
    None
}

/// A layer that forbids or types the members that it does not name speaks of its own members only, which one type cannot say.
#[expect(clippy::option_option, reason = "the outer tells whether there is such a layer")]
fn closed_layer(reader: &mut Reader<'_>, view: &View<'_>) -> Option<Option<Rest>> {
    let additional = view.place.node.get("additionalProperties")?;
    if *additional == Node::Bool(true) {
        return None;
    }
    let message = "`additionalProperties` in one of several layers".to_owned();
    let at = view.place.at.join("additionalProperties");
    let help = "it would forbid the members of the other layers; merge them into one schema";
    reader.report(Diagnostic::error("codegen/layers-conflict", at, message).help(help));
    Some(None)
}

fn member<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    owner: &Owner,
    wire: &str,
    schema: &'a Node,
    required: bool,
) -> Option<Member> {
    let place = view.place.below(schema, &["properties", wire]);
    let own = reader.gate(&place);
    let gate = child_gate(owner.gate, own);
    let docs = member_text(view, wire, schema);
    let blank = Member {
        wire: wire.to_owned(),
        field: String::new(),
        presence: Presence::Required,
        expr: Expr::String,
        docs,
        gate,
        limits: Vec::new(),
    };
    if let Some(text) = constant(schema).filter(|_| required && !says_more(schema)) {
        return Some(Member { presence: Presence::Constant(text.to_owned()), ..blank });
    }
    if schema == &Node::Bool(false) {
        let message = format!("member `{wire}` has the schema `false`: it is never allowed");
        reader.report(Diagnostic::error("codegen/unsupported-keyword", place.at, message).help("leave the member out"));
        return None;
    }
    let part = reader.part(&place, &owner.child(wire, own))?;
    let presence = match (required, part.null) {
        (true, false) => Presence::Required,
        (true, true) => Presence::Nullable,
        (false, false) => Presence::Optional,
        (false, true) => Presence::OptionalNullable,
    };
    Some(Member { presence, expr: part.expr, limits: part.limits, ..blank })
}

/// A member that `required` names and `properties` does not describe: any value.
fn bare(wire: &str) -> Member {
    Member {
        wire: wire.to_owned(),
        field: String::new(),
        presence: Presence::Required,
        expr: Expr::Any,
        docs: Some("Required, and not described further by the schema.".to_owned()),
        gate: Gate::Open,
        limits: Vec::new(),
    }
}

fn rest<'a>(reader: &mut Reader<'a>, view: &View<'a>, owner: &Owner) -> Rest {
    match view.place.node.get("additionalProperties") {
        None | Some(Node::Bool(true)) => Rest::Any,
        Some(Node::Bool(false)) => Rest::Closed,
        Some(schema) => {
            let place = view.place.below(schema, &["additionalProperties"]);
            match reader.whole(&place, &owner.child("value", Gate::Open)) {
                Some(Expr::Any) | None => Rest::Any,
                Some(expr) => Rest::Typed(expr),
            }
        }
    }
}

/// Whether a schema with one allowed string also bounds it or refers to something.
fn says_more(schema: &Node) -> bool {
    schema.members().iter().any(|(key, _)| {
        !matches!(
            key.as_str(),
            "const" | "enum" | "type" | "description" | "title" | "default" | "examples" | "$comment"
        ) && !key.starts_with("x-")
    })
}

/// The text of a member: its own, the one that the object keeps for it, and its default.
fn member_text(view: &View<'_>, wire: &str, schema: &Node) -> Option<String> {
    let own = schema.get("description").and_then(Node::as_str);
    let kept = || view.place.node.get("x-memberDescriptions").and_then(|texts| texts.get(wire)).and_then(Node::as_str);
    let text = own.or_else(kept).map(str::to_owned);
    match schema.get("default") {
        Some(default) => {
            let said = format!("Default: `{}`; an absent member stays absent.", default.to_value());
            Some(text.map_or_else(|| said.clone(), |text| format!("{text}\n\n{said}")))
        }
        None => text,
    }
}
