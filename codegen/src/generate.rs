//! The whole way from schemas to files.

use crate::diagnostic::{Diagnostic, Severity};
use crate::emit::{self, Files};
use crate::options::Options;
use crate::schemas::Schemas;
use crate::{choices, passes, shapes};

/// Makes the files of one output. With an error among the diagnostics there are no files.
pub fn generate(schemas: &Schemas, options: &Options) -> (Files, Vec<Diagnostic>) {
    let (ir, mut diagnostics) = passes::run(schemas, options);
    diagnostics.extend(choices::definitions(schemas, options));
    diagnostics.extend(choices::members(&ir, options));
    if diagnostics.iter().any(|one| one.severity == Severity::Error) {
        return (Files::new(), diagnostics);
    }
    match shapes::run(&ir) {
        Ok(texts) => (emit::files(&ir, &texts, options), diagnostics),
        Err(more) => {
            diagnostics.extend(more);
            (Files::new(), diagnostics)
        }
    }
}
