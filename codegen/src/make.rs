//! From paths to the files of one output, with everything that is against it: what the command line and the build helper share.

use std::path::PathBuf;

use crate::diagnostic::{self, Diagnostic, Severity};
use crate::options::Options;
use crate::output::Files;
use crate::schemas::Schemas;
use crate::{generate, input, lint};

/// What came of one output.
pub(crate) struct Made {
    pub(crate) schemas: Schemas,
    /// Empty where something is an error.
    pub(crate) files: Files,
    /// Errors and warnings; notes are for `lint` alone.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads, lints and generates. An error in one step does not keep those of the next from being said.
pub(crate) fn make(paths: &[PathBuf], options: &Options) -> Made {
    let (schemas, mut diagnostics) = input::read_all(paths, options);
    if diagnostics.iter().any(Diagnostic::is_unreadable) {
        return Made { schemas, files: Files::new(), diagnostics };
    }
    let read = is_clean(&diagnostics);
    let mut found = lint::lint(&schemas);
    // With a reference that leads nowhere, warnings such as "nothing refers to this" are but its echo.
    found.retain(|one| one.severity == Severity::Error || (read && one.severity == Severity::Warning));
    diagnostics.append(&mut found);
    let mut files = Files::new();
    if read {
        (files, found) = generate::generate(&schemas, options);
        diagnostic::attach_excerpts(&mut found, &schemas.documents);
    } else {
        found = lint::refusals(&schemas, &diagnostics, options);
        found.retain(|one| one.severity == Severity::Error);
    }
    diagnostics.append(&mut found);
    if !is_clean(&diagnostics) {
        files.clear();
    }
    diagnostic::sort(&mut diagnostics);
    Made { schemas, files, diagnostics }
}

/// Whether nothing is an error.
pub(crate) fn is_clean(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
}
