//! Lists of values: strings become an enum, anything else a closed list.

use crate::document::Node;
use crate::ir::{Gate, Named, Openness, Shape};
use crate::passes::limits::limits;
use crate::passes::read::{Reader, child_gate};
use crate::passes::view::{Place, View, list};

/// The shape of `enum` and `const`.
pub(crate) fn shape(reader: &Reader<'_>, view: &View<'_>, values: &[&Node], gate: Gate) -> Shape {
    let allowed: Vec<&Node> = values.iter().copied().filter(|value| fits_types(view, value)).collect();
    let texts: Option<Vec<&str>> = allowed.iter().map(|value| value.as_str()).collect();
    let Some(texts) = texts.filter(|texts| !texts.is_empty()) else {
        return Shape::Values(allowed.iter().map(|value| value.to_value().to_string()).collect());
    };
    let descriptions = view.place.node.get("x-enumDescriptions");
    let mut named: Vec<Named> = Vec::new();
    for text in texts {
        if named.iter().any(|value| value.wire == text) {
            continue;
        }
        let own = descriptions.and_then(|texts| texts.get(text)).and_then(Node::as_str).map(str::to_owned);
        named.push(Named {
            wire: text.to_owned(),
            rust: String::new(),
            docs: own.or_else(|| reader.value_text(&view.place, text)),
            gate: child_gate(gate, reader.value_gate(&view.place, text)),
        });
    }
    Shape::Enum { values: named, openness: openness(&view.place) }
}

/// A union of closed string enums is one enum; a branch's text is that of its values.
pub(crate) fn merged(reader: &Reader<'_>, branches: &[Place<'_>], gate: Gate) -> Option<Shape> {
    let mut all = Vec::new();
    for branch in branches {
        let view = View::of(branch).ok()?;
        let values = view.values.clone()?;
        let Shape::Enum { mut values, openness: Openness::Closed } = shape(reader, &view, &values, gate) else {
            return None;
        };
        // What is bounded or may be `null` keeps an alternative of its own.
        if view.null || !limits(branch).is_empty() {
            return None;
        }
        let description = branch.node.get("description").and_then(Node::as_str);
        for value in &mut values {
            value.docs = description.map(str::to_owned).or(value.docs.take());
        }
        values.retain(|value| all.iter().all(|known: &Named| known.wire != value.wire));
        all.append(&mut values);
    }
    Some(Shape::Enum { values: all, openness: Openness::Closed })
}

/// The text of a schema that allows exactly one string.
pub(crate) fn constant(node: &Node) -> Option<&str> {
    match (node.get("const"), node.get("enum").and_then(list)) {
        (Some(value), _) => value.as_str(),
        (None, Some([only])) if node.get("x-msp-openness").and_then(Node::as_str) != Some("open") => only.as_str(),
        _ => None,
    }
}

/// Open where the schema says so, closed otherwise: that is what `enum` means without the keyword.
pub(crate) fn openness(place: &Place<'_>) -> Openness {
    match place.node.get("x-msp-openness").and_then(Node::as_str) {
        Some("open") => Openness::Open,
        _ => Openness::Closed,
    }
}

fn fits_types(view: &View<'_>, value: &Node) -> bool {
    use crate::ir::JsonType as T;
    let Some(types) = &view.types else { return true };
    types.iter().any(|json_type| match (json_type, value) {
        (T::Null, Node::Null)
        | (T::Boolean, Node::Bool(_))
        | (T::Number, Node::Number(_))
        | (T::String, Node::String(_))
        | (T::Array, Node::Array(_))
        | (T::Object, Node::Object(_)) => true,
        (T::Integer, Node::Number(number)) => number.as_f64().is_some_and(|real| real.fract() == 0.0),
        _ => false,
    })
}
