//! An enum of strings in a bundle has to say whether values may be added.

use super::{Context, Visited};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::Node;
use crate::schemas::Kind;

pub(super) const CODE: &str = "codegen/enum-without-openness";

/// Bundles: an error. Other schemas have no such keyword; only where one of its enums carries it, a note on those that do not.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    let severity = match context.kind {
        Kind::Bundle => Severity::Error,
        Kind::Session | Kind::Plain => Severity::Note,
    };
    let speaks = |schema: &Visited<'_>| schema.node.get("x-msp-openness").is_some();
    if context.kind != Kind::Bundle && !context.all.iter().any(speaks) {
        return;
    }
    for schema in context.all.iter().filter(|schema| !speaks(schema)) {
        let values = schema.node.get("enum").map(Node::items).unwrap_or_default();
        if values.iter().any(|value| value.as_str().is_some()) {
            out.push(
                Diagnostic::new(severity, CODE, schema.at.join("enum"), "the enum does not say whether it is open")
                    .label("taken as closed")
                    .help("add `\"x-msp-openness\": \"open\"` or `\"closed\"` beside `enum`"),
            );
        }
    }
}
