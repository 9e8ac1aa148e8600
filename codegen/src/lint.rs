//! Faults that a schema may have although it can be read, each in a file of its own.
//!
//! What weighs how much depends on the kind of input: a bundle promises more than JSON Schema asks of a plain file.
//! References that lead nowhere, or round in a circle, are found on reading and are part of what `lint` shows.
//!
//! | code | bundle | session functions | plain schema |
//! |---|---|---|---|
//! | `codegen/unresolved-ref`, `codegen/remote-ref`, `codegen/ambiguous-ref`, `codegen/ref-cycle` | error | error | error |
//! | `codegen/duplicate-member`, `codegen/bad-row` | error | error | error |
//! | `codegen/dialect`: a near draft, an unknown one, a keyword that means something else there | note, warning, error | same | same |
//! | `codegen/enum-without-openness` | error | note, where others have it | note, where others have it |
//! | `codegen/openness-without-enum`, `codegen/unknown-openness`, `codegen/empty-enum` | error | error | warning |
//! | `codegen/unknown-required` | error | error | warning, where all members are in one place |
//! | `codegen/unknown-keyword`, `codegen/bad-keyword`, `codegen/no-keyword` | warning | warning | warning |
//! | `codegen/format-unchecked` | – | – | note |
//! | `codegen/bad-default`; a date-time that is none is always a warning | error | error | warning |
//! | `codegen/colliding-members` | warning | warning | warning |
//! | `codegen/unreached-definition` | warning with an overlay, else note | warning | note, where the root is a schema |
//! | `codegen/duplicate-error-code` | error | error | – |
//! | `codegen/overlay-without-target`, `codegen/missing-overlay-entry` | error with an overlay; one note for older published ones | – | – |

mod bad_default;
mod colliding_members;
mod dialect;
mod duplicate_error_code;
mod empty_enum;
mod enum_without_openness;
mod missing_overlay_entry;
mod openness_without_enum;
mod overlay_without_target;
mod refusals;
mod unchecked_format;
mod unknown_keyword;
mod unknown_required;
mod unreached_definition;

use std::collections::BTreeSet;

use crate::diagnostic::{self, Diagnostic, Severity};
use crate::document::{Location, Node};
use crate::keywords;
use crate::schemas::{DocumentId, Kind, Schemas};

pub use refusals::refusals;

/// One lint: looks at the schemas and adds what it finds.
type Lint = fn(&Context<'_>, &mut Vec<Diagnostic>);

/// All lints, with their codes, in the order of the table above.
const LINTS: [(&str, Lint); 15] = [
    (dialect::CODE, dialect::check),
    (enum_without_openness::CODE, enum_without_openness::check),
    (openness_without_enum::CODE, openness_without_enum::check),
    (empty_enum::CODE, empty_enum::check),
    (unknown_required::CODE, unknown_required::check),
    (unknown_keyword::CODE, unknown_keyword::check),
    (unknown_keyword::CODE_OF_VALUE, unknown_keyword::check_values),
    (unknown_keyword::CODE_OF_FILE, unknown_keyword::check_files),
    (unchecked_format::CODE, unchecked_format::check),
    (bad_default::CODE, bad_default::check),
    (colliding_members::CODE, colliding_members::check),
    (unreached_definition::CODE, unreached_definition::check),
    (duplicate_error_code::CODE, duplicate_error_code::check),
    (overlay_without_target::CODE, overlay_without_target::check),
    (missing_overlay_entry::CODE, missing_overlay_entry::check),
];

/// The codes of all lints.
pub fn codes() -> impl Iterator<Item = &'static str> {
    LINTS.iter().map(|(code, _)| *code)
}

/// Everything that the lints find, sorted and with excerpts.
pub fn lint(schemas: &Schemas) -> Vec<Diagnostic> {
    let context = Context::new(schemas);
    let mut diagnostics = Vec::new();
    for (_, check) in LINTS {
        check(&context, &mut diagnostics);
    }
    diagnostic::attach_excerpts(&mut diagnostics, &schemas.documents);
    diagnostic::sort(&mut diagnostics);
    diagnostics
}

/// What lints look at.
struct Context<'a> {
    schemas: &'a Schemas,
    kind: Kind,
    /// Every schema once, subschemas included.
    all: Vec<Visited<'a>>,
}

/// A schema and its place.
struct Visited<'a> {
    document: DocumentId,
    at: Location,
    node: &'a Node,
}

impl<'a> Context<'a> {
    fn new(schemas: &'a Schemas) -> Self {
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for (id, definition) in schemas.iter() {
            let document = definition.document;
            keywords::walk(schemas.node(id), &definition.at.pointer, &mut |node, pointer| {
                if seen.insert((document, pointer.to_owned())) {
                    all.push(Visited { document, at: schemas.document(document).at(pointer), node });
                }
            });
        }
        Self { schemas, kind: schemas.kind.unwrap_or(Kind::Plain), all }
    }

    /// The weight of a fault that is against the form of bundles and session schemas, and only odd elsewhere.
    fn severity_of_form(&self) -> Severity {
        match self.kind {
            Kind::Bundle | Kind::Session => Severity::Error,
            Kind::Plain => Severity::Warning,
        }
    }
}

/// A name or value in a message: as JSON, cut where it is long.
fn shown(node: &Node) -> String {
    const LONGEST: usize = 40; // Characters of a value in a message; the excerpt has the rest.
    let text = node.to_value().to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
