//! Members of one object whose names come to the same Rust field.

use std::collections::BTreeMap;

use heck::ToSnakeCase;

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::document::Node;

pub(super) const CODE: &str = "codegen/colliding-members";

/// Always a warning: the generator finds another name, which people may not expect.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for schema in &context.all {
        let mut first: BTreeMap<String, &str> = BTreeMap::new();
        for (name, _) in schema.node.get("properties").map(Node::members).unwrap_or_default() {
            let field = name.to_snake_case();
            match first.get(&field) {
                Some(earlier) => {
                    let at = schema.at.join("properties").join(name);
                    let message = format!("the members `{earlier}` and `{name}` would both be the field `{field}`");
                    out.push(Diagnostic::warning(CODE, at, message).label("gets another name"));
                }
                None => {
                    first.insert(field, name);
                }
            }
        }
    }
}
