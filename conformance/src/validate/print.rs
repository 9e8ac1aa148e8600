//! Findings as text or as JSON, written as they come.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use msp_judge::report::visible;
use msp_judge::{Counts, Finding, Severity};
use serde::Serialize;

use super::verdicts::{self, Together, Verdicts};
use super::{Options, Outcome};

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One line a finding, its details below.
    Text,
    /// One JSON object, written as the run goes:
    /// `{"findings":[{"file",…}],"files":[{"file","counts"}],"untold":[{"file","message"}],"counts":{…},"revisions":["1.4.13"],"verdicts":[{"rule","verdict","exercised","broken"}],"outcome":"good"}`.
    /// A finding has the members of [`Finding`](msp_judge::Finding). A run that could not start gives `{"error":"…"}`;
    /// arguments that the command line refuses give nothing.
    Json,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own about how to write")]
pub(super) struct Printer<'w> {
    out: &'w mut dyn Write,
    format: Format,
    colour: bool,
    /// Whether findings name the bundle that they were judged by.
    several: bool,
    verdicts: Verdicts,
    first: bool,
    files: Vec<serde_json::Value>,
    untold: Vec<serde_json::Value>,
    /// Whether the inputs are single values, of which there are no frames and bytes to count.
    values: bool,
    /// Findings of the file that differ in place and value only: how many, by what they have in common.
    alike: BTreeMap<String, u64>,
}

/// Findings of one kind that a file shows as text; further ones are counted.
const MOST_ALIKE: u64 = 20;
/// Kinds of findings that are told apart in one file; those of further kinds are all shown.
const MOST_KINDS: usize = 4096;

#[derive(Serialize)]
struct InFile<'f> {
    file: &'f str,
    #[serde(flatten)]
    finding: &'f Finding,
}

impl<'w> Printer<'w> {
    pub(super) fn new(options: &Options, out: &'w mut dyn Write) -> Self {
        Self {
            out,
            format: options.format,
            colour: options.colour,
            several: !options.also.is_empty(),
            verdicts: options.verdicts,
            first: true,
            files: Vec::new(),
            untold: Vec::new(),
            values: options.target.is_some(),
            alike: BTreeMap::new(),
        }
    }

    pub(super) fn start(&mut self) -> io::Result<()> {
        match self.format {
            Format::Text => Ok(()),
            Format::Json => self.out.write_all(b"{\"findings\":["),
        }
    }

    pub(super) fn finding(&mut self, file: &str, finding: &Finding) -> io::Result<()> {
        if self.format == Format::Json {
            let comma = if std::mem::take(&mut self.first) { "\n" } else { ",\n" };
            self.out.write_all(comma.as_bytes())?;
            return serde_json::to_writer(&mut self.out, &InFile { file, finding }).map_err(io::Error::from);
        }
        let key = kind_of(finding);
        if self.alike.len() < MOST_KINDS || self.alike.contains_key(&key) {
            let count = self.alike.entry(key).or_default();
            *count += 1;
            if *count > MOST_ALIKE {
                return Ok(());
            }
        }
        let file = visible(file);
        let place = if finding.line == 0 { file.into_owned() } else { format!("{file}:{}", finding.line) };
        let mut line = finding.line();
        if self.several {
            line.push_str("; judged by ");
            line.push_str(&visible(&finding.revision));
        }
        if self.colour {
            let (word, rest) = line.split_at(finding.severity.word().len());
            line = format!("\u{1b}[{}m{word}\u{1b}[0m{rest}", paint(finding.severity));
        }
        writeln!(self.out, "{place}: {line}")?;
        for detail in finding.details() {
            writeln!(self.out, "    {detail}")?;
        }
        Ok(())
    }

    pub(super) fn file(&mut self, file: &str, counts: &Counts) -> io::Result<()> {
        for (kind, count) in std::mem::take(&mut self.alike) {
            if count > MOST_ALIKE {
                writeln!(self.out, "{}: and {} more like it: {}", visible(file), count - MOST_ALIKE, visible(&kind))?;
            }
        }
        if self.format == Format::Json {
            self.files.push(serde_json::json!({ "file": file, "counts": self.counts(counts) }));
        }
        Ok(())
    }

    pub(super) fn untold(&mut self, file: &str, message: &str) {
        if self.format == Format::Json {
            self.untold.push(serde_json::json!({ "file": file, "message": message }));
        }
    }

    fn counts(&self, counts: &Counts) -> serde_json::Value {
        let Counts { errors, warnings, notes, .. } = counts;
        if self.values {
            return serde_json::json!({ "errors": errors, "warnings": warnings, "notes": notes });
        }
        serde_json::json!(counts)
    }

    pub(super) fn end(&mut self, end: &End<'_>) -> io::Result<()> {
        let End { total, files, untold, revisions, verdicts, outcome } = *end;
        if self.format == Format::Json {
            let mut rest = serde_json::json!({ "files": self.files, "untold": self.untold, "counts": self.counts(total), "revisions": revisions, "outcome": word(outcome) });
            if self.verdicts != Verdicts::None && !self.values {
                rest["verdicts"] = serde_json::json!(verdicts.iter().collect::<Vec<_>>());
            }
            let rest = rest.to_string();
            writeln!(self.out, "\n],{}", rest.strip_prefix('{').unwrap_or(&rest))?;
            return self.out.flush();
        }
        if self.verdicts == Verdicts::All {
            for verdict in verdicts.iter() {
                writeln!(self.out, "{}", visible(&verdicts::line(verdict)))?;
            }
        }
        if self.verdicts != Verdicts::None && verdicts.iter().next().is_some() {
            writeln!(self.out, "{}", verdicts.summary())?;
        }
        let Counts { frames, errors, warnings, notes, .. } = total;
        if self.values {
            write!(self.out, "{}", plural(files, "value"))?;
        } else {
            write!(self.out, "{}, {}", plural(files, "file"), plural(*frames, "frame"))?;
        }
        if !revisions.is_empty() {
            let names: Vec<&str> = revisions.iter().map(String::as_str).collect();
            write!(self.out, ", judged by {}", visible(&names.join(", ")))?;
        }
        write!(self.out, ": ")?;
        write!(self.out, "{}, {}, {}", plural(*errors, "error"), plural(*warnings, "warning"), plural(*notes, "note"))?;
        if untold > 0 {
            write!(self.out, "; {} could not be judged", plural(untold, "input"))?;
        }
        writeln!(self.out)?;
        self.out.flush()
    }
}

/// How a run ended.
#[derive(Clone, Copy)]
pub(super) struct End<'e> {
    pub(super) total: &'e Counts,
    pub(super) files: u64,
    pub(super) untold: u64,
    pub(super) revisions: &'e BTreeSet<String>,
    pub(super) verdicts: &'e Together,
    pub(super) outcome: Outcome,
}

/// What findings that are alike have in common.
fn kind_of(finding: &Finding) -> String {
    let Finding { severity, rule, expected, revision, .. } = finding;
    let parts = [finding.method.as_deref(), finding.definition.as_deref(), finding.keyword.as_deref()];
    let place: Vec<&str> = parts.into_iter().flatten().collect();
    format!("{}[{}]: {}: expected {expected}; judged by {revision}", severity.word(), rule.id(), place.join(" "))
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Good => "good",
        Outcome::Findings => "findings",
        Outcome::Nothing => "nothing",
        Outcome::CouldNotTell => "couldNotTell",
    }
}

fn paint(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 31,
        Severity::Warning => 33,
        Severity::Note => 36,
    }
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
