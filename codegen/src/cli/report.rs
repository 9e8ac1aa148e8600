//! Findings of a run, and what they mean for its end.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::Exit;
use crate::diagnostic::{self, Colour, Diagnostic, Severity};

/// Findings, sorted.
pub(super) struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub(super) fn new(mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostic::sort(&mut diagnostics);
        diagnostics.dedup();
        Self { diagnostics }
    }

    pub(super) fn has(&self, severity: Severity) -> bool {
        self.count(severity) > 0
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// What the findings alone make of the run.
    pub(super) fn exit(&self) -> Exit {
        let mut errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).peekable();
        if errors.peek().is_none() {
            Exit::Good
        } else if errors.any(Diagnostic::is_unreadable) {
            Exit::CouldNotTell
        } else {
            Exit::Findings
        }
    }

    /// All findings for people, a blank line after each.
    pub(super) fn write_text(&self, stream: &mut dyn Write, colour: Colour) -> io::Result<()> {
        for diagnostic in &self.diagnostics {
            writeln!(stream, "{}", diagnostic::to_text(diagnostic, colour))?;
        }
        Ok(())
    }

    /// One JSON object with the findings and what else the run has to say.
    pub(super) fn write_json(&self, stream: &mut dyn Write, mut rest: Map<String, Value>) -> io::Result<()> {
        rest.insert("diagnostics".to_owned(), diagnostic::to_json(&self.diagnostics));
        writeln!(stream, "{:#}", Value::Object(rest))
    }

    /// `2 errors, 1 warning, 0 notes`.
    pub(super) fn summary(&self) -> String {
        let of = |severity: Severity| {
            let count = self.count(severity);
            format!("{count} {}{}", severity.word(), if count == 1 { "" } else { "s" })
        };
        format!("{}, {}, {}", of(Severity::Error), of(Severity::Warning), of(Severity::Note))
    }
}
