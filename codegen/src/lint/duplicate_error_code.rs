//! An error table in which one code has two rows.

use std::collections::BTreeMap;

use super::Context;
use crate::diagnostic::Diagnostic;

pub(super) const CODE: &str = "codegen/duplicate-error-code";

/// Always an error: nobody could tell the two apart on the wire.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    for error in &context.schemas.errors {
        // The codes of session functions are words.
        let (code, member) = error.code.map_or((error.kind.clone(), "code"), |code| (code.to_string(), "code"));
        match first.get(&code) {
            Some(earlier) => {
                let message = format!("the error code {code} has two rows, `{earlier}` and `{}`", error.kind);
                let diagnostic = Diagnostic::error(CODE, error.at.join(member), message).label("taken before");
                out.push(
                    diagnostic.help("list the second kind in `overrideKinds` of the first, or give it another code"),
                );
            }
            None => {
                first.insert(code, &error.kind);
            }
        }
    }
}
