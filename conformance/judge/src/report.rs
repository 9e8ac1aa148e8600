//! Findings, and the report that they make.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use crate::rules::tally::RuleVerdict;
use crate::rules::{Rule, Severity};
use crate::transcript::Side;

/// One thing that the judge found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// Rule that it is about.
    pub rule: Rule,
    /// How much it weighs.
    pub severity: Severity,
    /// Line of the transcript, from 1; 0 for a single value or a transcript as a whole, and then not in JSON.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u64,
    /// Connection, where the transcript names one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conn: String,
    /// Who sent the frame, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Side>,
    /// Method of the frame, or of the request that it answers; the function or trigger of a session line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Definition that the value does not fit, or that lists the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// JSON Pointer into the frame (for a single value, into the value).
    pub pointer: String,
    /// Keyword of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword: Option<String>,
    /// JSON Pointer of the keyword in the bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub actual: String,
    /// Earlier lines that it contradicts, as few as show it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<u64>,
    /// The bundle that it was judged by.
    pub revision: String,
    /// Other known revisions under which the same frame has no fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fits: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Finding {
    pub(crate) fn new(rule: Rule, line: u64, expected: &str, actual: String, revision: &str) -> Self {
        Self {
            rule,
            severity: rule.severity(),
            line,
            conn: String::new(),
            from: None,
            method: None,
            definition: None,
            pointer: String::new(),
            keyword: None,
            schema: None,
            expected: expected.to_owned(),
            actual,
            contradicts: Vec::new(),
            revision: revision.to_owned(),
            fits: Vec::new(),
        }
    }

    /// The finding in one line, without the file: rule, method, place, and what was wrong there. What the peer sent
    /// is in it as [`visible`] shows it.
    pub fn line(&self) -> String {
        let parts = [self.method.as_deref(), Some(self.pointer.as_str()), self.keyword.as_deref()];
        let place: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let colon = if place.is_empty() { "" } else { ": " };
        let (severity, rule, place) = (self.severity.word(), self.rule.id(), place.join(" "));
        let mut line = format!("{severity}[{rule}]: {place}{colon}expected {}, found {}", self.expected, self.actual);
        if !self.fits.is_empty() {
            line.push_str("; fits ");
            line.push_str(&self.fits.join(", "));
        }
        visible(&line).into_owned()
    }

    /// What else is known about the finding, one thing a line.
    pub fn details(&self) -> Vec<String> {
        let mut details = Vec::new();
        if !self.conn.is_empty() {
            details.push(format!("connection {}", self.conn));
        }
        if let Some(side) = self.from {
            details.push(format!("sent by the {}", side.word()));
        }
        if !self.contradicts.is_empty() {
            let lines: Vec<String> = self.contradicts.iter().map(u64::to_string).collect();
            details.push(format!("contradicts line {}", lines.join(", ")));
        }
        if let Some(definition) = &self.definition {
            let place = self.schema.as_deref().map_or_else(String::new, |schema| format!(", `{schema}`"));
            details.push(format!("definition `{definition}` of {}{place}", self.revision));
        }
        details.iter().map(|detail| visible(detail).into_owned()).collect()
    }
}

/// A text that somebody else chose, fit for a line on a terminal: characters that end the line, move the cursor, give
/// commands or turn the direction of writing are shown as escapes.
///
/// ```
/// use msp_judge::report::visible;
///
/// assert_eq!(visible("two\nlines \u{1b}[2J \u{202e}"), r"two\nlines \u001b[2J \u202e");
/// assert_eq!(visible("Brötchen"), "Brötchen");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ if is_command(character) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{:04x}", u32::from(character));
            }
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Controls of both sets, separators of lines and paragraphs, and what turns the direction of writing.
fn is_command(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How much was judged, and how many findings there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Counts {
    /// Entries of any kind.
    pub entries: u64,
    /// Frames, and lines about session functions.
    pub frames: u64,
    /// Bytes of those frames.
    pub bytes: u64,
    /// Frames that went through the slow lane.
    pub asked: u64,
    /// Responses that pair with no request of the transcript.
    pub unpaired: u64,
    /// Findings that count.
    pub errors: u64,
    /// Findings that count only under `--strict`.
    pub warnings: u64,
    /// Findings that never count.
    pub notes: u64,
}

impl Counts {
    /// Adds the counts of another transcript.
    pub fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.asked += other.asked;
        self.unpaired += other.unpaired;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notes += other.notes;
    }

    /// Counts one more finding.
    pub fn note(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
    }
}

/// What a transcript came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The findings that nobody has taken before the end, in the order of their lines.
    pub findings: Vec<Finding>,
    /// Findings that were not kept, because [`Profile::keep`](crate::Profile::keep) was reached.
    pub dropped: u64,
    /// The bundles by which the connections were judged, sorted; for each the last, where a host reported another.
    pub revisions: Vec<String>,
    /// What came of each rule that has a judge, in the order of the protocol's text.
    pub verdicts: Vec<RuleVerdict>,
    /// How much was judged; these counts include findings that were taken or dropped.
    pub counts: Counts,
}

impl Report {
    /// Whether nothing was found that counts.
    pub fn is_good(&self) -> bool {
        self.counts.errors == 0
    }
}
