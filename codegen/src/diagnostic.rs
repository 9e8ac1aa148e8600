//! What is wrong with an input, in a form that people and programs can read.

mod excerpt;
mod json;
mod text;

use std::fmt;

use crate::document::{Document, Location};

pub use excerpt::Excerpt;
pub use json::to_json;
pub use text::{Colour, to_text};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is taken, but something is lost or is not checked.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word that people see: `error`, `warning` or `note`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One finding. Its [`Display`](fmt::Display) is one line; [`to_text`] adds the excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, `codegen/` and a slug; never renumbered, never reused.
    pub code: &'static str,
    /// Weight.
    pub severity: Severity,
    /// What is wrong: lower case, no final stop, the user's own words in backticks.
    pub message: String,
    /// Where.
    pub at: Location,
    /// What stands under the caret of the excerpt.
    pub label: Option<String>,
    /// One line of advice.
    pub help: Option<String>,
    /// The line of the file that [`Diagnostic::at`] names; [`attach_excerpts`] fills it.
    pub excerpt: Option<Excerpt>,
}

impl Diagnostic {
    /// A finding of the given weight without label and advice.
    pub fn new(severity: Severity, code: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self { code, severity, message: message.into(), at, label: None, help: None, excerpt: None }
    }

    /// A finding that refuses the input.
    pub fn error(code: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, at, message)
    }

    /// A finding that does not stop the work.
    pub fn warning(code: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, at, message)
    }

    /// A finding that is only worth knowing.
    pub fn note(code: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, at, message)
    }

    /// With the text under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// With one line of advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With the line it is about, for findings in a text that has no tree.
    #[must_use]
    pub fn excerpt(mut self, excerpt: Option<Excerpt>) -> Self {
        self.excerpt = excerpt;
        self
    }

    /// Whether the input could not be judged at all, rather than being judged bad: the file cannot be opened, or is not JSON,
    /// or is nothing that this program reads. Command lines exit with 3 instead of 1 then.
    pub fn is_unreadable(&self) -> bool {
        const CODES: [&str; 5] =
            ["codegen/unreadable", "codegen/unwritable", "codegen/not-utf8", "codegen/syntax", "codegen/not-a-bundle"];
        CODES.contains(&self.code)
    }

    /// The place as people see it; what is wrong with a whole file is no matter of a pointer in it.
    pub(crate) fn place(&self) -> String {
        const WHOLE_FILES: [&str; 3] = ["codegen/config", "codegen/foreign-file", "codegen/output-conflict"];
        let whole = self.is_unreadable() || WHOLE_FILES.contains(&self.code);
        one_line(&if whole && self.at.pointer.is_empty() { self.at.file.to_string() } else { self.at.to_string() })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, at) = (one_line(&self.message), self.place());
        write!(f, "{}[{}]: {message} ({at})", self.severity.word(), self.code)
    }
}

/// Names come from the input and may hold anything; a line feed or an escape of a terminal must not leave its line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Puts findings into the order in which they are shown: by file, then by place in the file (line and column where an excerpt
/// is attached, else pointer), then by weight and code.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        let place = |d: &Diagnostic| d.excerpt.as_ref().map(|e| (e.line, e.column));
        (&a.at.file, place(a), &a.at.pointer, a.severity, a.code, &a.message).cmp(&(
            &b.at.file,
            place(b),
            &b.at.pointer,
            b.severity,
            b.code,
            &b.message,
        ))
    });
}

/// Gives every finding the line that it is about, out of the document that it names. Where the pointer leads nowhere (an overlay
/// key, a member that is missing) the nearest ancestor that exists is shown.
pub fn attach_excerpts(diagnostics: &mut [Diagnostic], documents: &[Document]) {
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.excerpt.is_none()) {
        if let Some(document) = documents.iter().find(|document| document.file == diagnostic.at.file) {
            diagnostic.excerpt = Excerpt::of(document, &diagnostic.at.pointer);
        }
    }
}
