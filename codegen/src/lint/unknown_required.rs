//! `required` and `dependentRequired` that name a member which the schema does not describe.

use super::{Context, Visited};
use crate::diagnostic::Diagnostic;
use crate::document::{Location, Node};
use crate::schemas::Kind;
use crate::suggest;

pub(super) const CODE: &str = "codegen/unknown-required";

/// Keywords that may describe members in another place.
const ELSEWHERE: [&str; 8] =
    ["allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "patternProperties", "dependentSchemas"];

/// Bundles and session schemas: an error. Elsewhere: a warning, and only where the members are surely all in one place.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for schema in &context.all {
        let node = schema.node;
        let alone = node.get("properties").is_some() && !ELSEWHERE.iter().any(|keyword| node.get(keyword).is_some());
        if context.kind == Kind::Plain && !alone {
            continue;
        }
        for (at, name) in named(schema) {
            report(context, node, at, name, out);
        }
    }
}

/// The member names that the two keywords, and `dependencies` of draft 7, have, with their places.
fn named<'a>(schema: &Visited<'a>) -> Vec<(Location, &'a str)> {
    let list = |at: Location, list: &'a Node| {
        let name = move |(index, name): (usize, &'a Node)| Some((at.join(&index.to_string()), name.as_str()?));
        list.items().iter().enumerate().filter_map(name)
    };
    let mut found = Vec::new();
    if let Some(required) = schema.node.get("required") {
        found.extend(list(schema.at.join("required"), required));
    }
    for keyword in ["dependentRequired", "dependencies"] {
        for (name, names) in schema.node.get(keyword).map(Node::members).unwrap_or_default() {
            let at = schema.at.join(keyword).join(name);
            found.push((at.clone(), name));
            found.extend(list(at, names));
        }
    }
    found
}

fn report(context: &Context<'_>, node: &Node, at: Location, name: &str, out: &mut Vec<Diagnostic>) {
    let members = node.get("properties").map(Node::members).unwrap_or_default();
    if members.iter().any(|(known, _)| known == name) {
        return;
    }
    let message = format!("`{name}` is required, but is no member of `properties`");
    let mut diagnostic = Diagnostic::new(context.severity_of_form(), CODE, at, message).label("not described");
    let near = suggest::nearest(name, members.iter().map(|(name, _)| name.as_str()));
    diagnostic.help = near.map(|near| format!("did you mean `{near}`?"));
    out.push(diagnostic);
}
