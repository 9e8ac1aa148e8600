//! A `format`, which says something to people that neither the types nor their checks hold values to.

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::schemas::Kind;

pub(super) const CODE: &str = "codegen/format-unchecked";

/// Plain schemas: a note. Bundles and session schemas say in their documents what formats are to them.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    if context.kind != Kind::Plain {
        return;
    }
    for schema in &context.all {
        if let Some(format) = schema.node.get("format").and_then(Node::as_str) {
            let message = format!("the format `{format}` is not checked: to JSON Schema it is an annotation");
            out.push(
                Diagnostic::note(CODE, schema.at.join("format"), message)
                    .label("not checked")
                    .help("say it with `pattern`, `minimum`, … where it matters"),
            );
        }
    }
}
