//! A `$schema` that names another dialect than drafts 7 and 2020-12.

use super::Context;
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{Document, Node};
use crate::keywords;

pub(super) const CODE: &str = "codegen/dialect";

/// A draft that is near enough: a note. One that is not known: a warning. Keywords that mean something else there: an error each.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for document in &context.schemas.documents {
        let Some(dialect) = document.root.get("$schema").and_then(Node::as_str) else { continue };
        let dialect_name = dialect.trim_end_matches('#');
        let changed: &[(&str, Means)] = match draft(dialect_name) {
            Some(Draft::Read) => continue,
            Some(Draft::Near(changed)) => changed,
            None => &[],
        };
        let different = differences(document, changed);
        let severity = match draft(dialect_name) {
            Some(_) if different.is_empty() => Severity::Note,
            _ => Severity::Warning,
        };
        let message = format!("`{dialect}` is not among the dialects that are read");
        let diagnostic = Diagnostic::new(severity, CODE, document.at("/$schema"), message).label("read as 2020-12");
        out.push(diagnostic.help("drafts 7 and 2020-12 are read in full"));
        out.extend(different);
    }
}

enum Draft {
    /// Read in full.
    Read,
    /// Read, but for these keywords.
    Near(&'static [(&'static str, Means)]),
}

/// When a keyword means something else than in the drafts that are read.
enum Means {
    /// Always.
    Always,
    /// Where its value is a boolean.
    Flag,
}

fn draft(uri: &str) -> Option<Draft> {
    const DRAFT_3: [(&str, Means); 5] = [
        ("required", Means::Flag),
        ("extends", Means::Always),
        ("disallow", Means::Always),
        ("divisibleBy", Means::Always),
        ("exclusiveMinimum", Means::Flag),
    ];
    const DRAFT_4: [(&str, Means); 2] = [("exclusiveMinimum", Means::Flag), ("exclusiveMaximum", Means::Flag)];
    const DRAFT_2019: [(&str, Means); 2] = [("$recursiveRef", Means::Always), ("$recursiveAnchor", Means::Always)];
    let (_, name) = uri.split_once("json-schema.org/")?;
    match name.trim_end_matches("/schema") {
        "draft-07" | "draft/2020-12" => Some(Draft::Read),
        "draft-06" => Some(Draft::Near(&[])),
        "draft-03" => Some(Draft::Near(&DRAFT_3)),
        "draft-04" => Some(Draft::Near(&DRAFT_4)),
        "draft/2019-09" => Some(Draft::Near(&DRAFT_2019)),
        _ => None,
    }
}

fn differences(document: &Document, changed: &[(&str, Means)]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    keywords::walk(&document.root, "", &mut |schema, at| {
        for (keyword, means) in changed {
            let differs = match (means, schema.get(keyword)) {
                (_, None) | (Means::Flag, Some(Node::Object(_) | Node::Array(_) | Node::Number(_))) => false,
                (Means::Always, Some(_)) => true,
                (Means::Flag, Some(value)) => value.as_bool().is_some(),
            };
            if differs {
                let message = format!("`{keyword}` means something else in the dialect of this file");
                let diagnostic = Diagnostic::error(CODE, document.at(at).join(keyword), message);
                found.push(diagnostic.label("would be misread").help("bring the schema to draft 7 or 2020-12"));
            }
        }
    });
    found
}
