//! An enum without values: nothing fits.

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::document::Node;

pub(super) const CODE: &str = "codegen/empty-enum";

/// Bundles and session schemas: an error. Elsewhere: a warning, since JSON Schema allows it.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for schema in &context.all {
        if matches!(schema.node.get("enum"), Some(Node::Array(values)) if values.is_empty()) {
            let at = schema.at.join("enum");
            out.push(
                Diagnostic::new(context.severity_of_form(), CODE, at, "the enum has no values")
                    .label("no value fits")
                    .help("list the values, or write `false` where nothing may stand"),
            );
        }
    }
}
