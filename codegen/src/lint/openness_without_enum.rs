//! `x-msp-openness` says something about an enum, and has two words.

use super::{Context, shown};
use crate::diagnostic::Diagnostic;
use crate::document::Node;

pub(super) const CODE: &str = "codegen/openness-without-enum";
const UNKNOWN: &str = "codegen/unknown-openness";

/// Bundles and session schemas: errors. Elsewhere: warnings.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    let severity = context.severity_of_form();
    for schema in &context.all {
        let Some(openness) = schema.node.get("x-msp-openness") else { continue };
        let at = schema.at.join("x-msp-openness");
        if !matches!(openness.as_str(), Some("open" | "closed")) {
            let message = format!("`x-msp-openness` is {}", shown(openness));
            out.push(Diagnostic::new(severity, UNKNOWN, at.clone(), message).help("it is `\"open\"` or `\"closed\"`"));
        }
        if !matches!(schema.node.get("enum"), Some(Node::Array(_))) {
            let message = "`x-msp-openness` stands on a schema that is no enum";
            out.push(Diagnostic::new(severity, CODE, at, message).label("has no `enum` beside it"));
        }
    }
}
