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

/// The shape of an object with members.
pub(crate) fn shape<'a>(reader: &mut Reader<'a>, view: &View<'a>, owner: &Owner) -> Shape {
    let node = view.place.node;
    let required: Vec<&str> =
        node.get("required").map(Node::items).unwrap_or_default().iter().filter_map(Node::as_str).collect();
    let properties = node.get("properties").map(Node::members).unwrap_or_default();
    let mut members = Vec::new();
    for (wire, schema) in properties {
        members.extend(member(reader, view, owner, wire, schema, required.contains(&wire.as_str())));
    }
    for wire in required.iter().filter(|wire| !properties.iter().any(|(name, _)| name == *wire)) {
        if !members.iter().any(|member: &Member| member.wire == **wire) {
            members.push(bare(wire));
        }
    }
    Shape::Struct { members, rest: rest(reader, view, owner) }
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
