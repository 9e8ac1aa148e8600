//! Recordings and single values against the schemas.
//!
//! [`run`] goes through everything it is given, writes findings as they come, and says how it went.

mod inputs;
mod print;
mod schemas;
mod steady;
mod verdicts;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use msp_judge::report::visible;
use msp_judge::transcript::{Damage, FRAME_LIMIT, Line, LineReader, Lines, Recogniser, What};
use msp_judge::{Bench, Counts, Finding, Judge, Rule, Surface, Target};

pub use inputs::Input;
pub use print::Format;
use print::Printer;
use schemas::Schemas;
pub use schemas::SchemasError;
use steady::Steady;
use verdicts::Together;
pub use verdicts::Verdicts;

/// What to validate, and by what.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Files, folders, and `-` for standard input; the kit's own recordings where there is none.
    pub paths: Vec<PathBuf>,
    /// What each file is, where it is a single value and no transcript.
    pub target: Option<Target>,
    /// A bundle of one's own, or a folder of session functions.
    pub schema: Option<PathBuf>,
    /// Surface of the published bundles.
    pub surface: Surface,
    /// Revision to judge by; what the host reports where it is left out.
    pub revision: Option<String>,
    /// Revisions or bundles that everything has to fit besides.
    pub also: Vec<String>,
    /// How to write.
    pub format: Format,
    /// Whether warnings count.
    pub strict: bool,
    /// Whether to use colour.
    pub colour: bool,
    /// The most bytes of a frame.
    pub frame_limit: usize,
    /// Which verdicts to tell.
    pub verdicts: Verdicts,
    /// Whether to judge by the rules of the protocol too, not by shape alone.
    pub rules: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            target: None,
            schema: None,
            surface: Surface::Experimental,
            revision: None,
            also: Vec::new(),
            format: Format::Text,
            strict: false,
            colour: false,
            frame_limit: FRAME_LIMIT,
            verdicts: Verdicts::None,
            rules: true,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was found that counts.
    Good,
    /// Something was.
    Findings,
    /// There was nothing to judge.
    Nothing,
    /// Some input could not be read, or is of no known form.
    CouldNotTell,
}

impl Outcome {
    /// The exit code of the command.
    pub const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Findings => 1,
            Self::Nothing => 2,
            Self::CouldNotTell => 3,
        }
    }
}

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// No schema to judge by.
    #[error(transparent)]
    Schemas(#[from] SchemasError),
    /// Everything was judged, but the results could not be written, or not all of them.
    #[error("the results cannot be written: {source}")]
    Output {
        /// How the run ended all the same.
        outcome: Outcome,
        /// Why they could not be written.
        #[source]
        source: io::Error,
    },
    /// The target of single values is not in the schema.
    #[error(transparent)]
    Target(#[from] msp_judge::SchemaError),
}

impl ValidateError {
    /// Whether what was asked for is not there, so that asking otherwise would help: the exit code is 2 then, not 3.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Target(msp_judge::SchemaError::Unknown { .. }) | Self::Schemas(SchemasError::NoRevision { .. })
        )
    }
}

/// Validates everything, writing results to `out` and what could not be judged to `trouble`.
///
/// # Errors
/// When there is no schema to judge by, or it does not have the target: nothing was judged then, and with
/// [`Format::Json`] `out` gets `{"error":"…"}`. When the results cannot be written: everything was judged all the same,
/// and the error has the outcome. Whether `trouble` can be written is of no account.
pub fn run(options: &Options, out: &mut dyn Write, trouble: &mut dyn Write) -> Result<Outcome, ValidateError> {
    let (mut out, mut trouble) = (Steady::new(out), Steady::new(trouble));
    let written = match prepare(options) {
        Ok(schemas) => judge_all(options, &schemas, &mut out, &mut trouble),
        Err(error) => {
            if options.format == Format::Json {
                // The error itself is what the caller gets, whether this can be written or not.
                let _ = writeln!(out, "{}", serde_json::json!({ "error": error.to_string() }));
                let _ = out.flush();
            }
            return Err(error);
        }
    };
    match (written, out.fault) {
        (Ok(outcome), None) => Ok(outcome),
        (Ok(outcome), Some(source)) => Err(ValidateError::Output { outcome, source }),
        (Err(source), _) => Err(ValidateError::Output { outcome: Outcome::CouldNotTell, source }),
    }
}

/// What to judge by; a target that it does not have is found here, before anything is written.
fn prepare(options: &Options) -> Result<Schemas, ValidateError> {
    let schemas = Schemas::load(options)?;
    if let Some(target) = &options.target {
        schemas.bench().check(target)?;
    }
    Ok(schemas)
}

fn judge_all(
    options: &Options,
    schemas: &Schemas,
    out: &mut dyn Write,
    trouble: &mut dyn Write,
) -> io::Result<Outcome> {
    let mut run = Run {
        options,
        schemas,
        printer: Printer::new(options, out),
        trouble,
        total: Counts::default(),
        values: 0,
        files: 0,
        untold: 0,
        revisions: BTreeSet::new(),
        verdicts: Together::default(),
    };
    run.printer.start()?;
    for input in inputs::collect(&options.paths) {
        match input {
            Ok(input) => run.input(&input)?,
            Err((path, message)) => run.untold(&path, &message)?,
        }
    }
    let outcome = run.outcome();
    let Run { printer, trouble, total, files, untold, revisions, verdicts, .. } = &mut run;
    let (files, untold) = (*files, *untold);
    printer.end(&print::End { total, files, untold, revisions, verdicts, outcome })?;
    if outcome == Outcome::Nothing {
        writeln!(trouble, "nothing was judged: no frames in what was given")?;
    }
    Ok(outcome)
}

struct Run<'r> {
    options: &'r Options,
    schemas: &'r Schemas,
    printer: Printer<'r>,
    trouble: &'r mut dyn Write,
    total: Counts,
    values: u64,
    files: u64,
    untold: u64,
    /// The bundles that something was judged by.
    revisions: BTreeSet<String>,
    verdicts: Together,
}

impl Run<'_> {
    fn outcome(&self) -> Outcome {
        if self.untold > 0 {
            Outcome::CouldNotTell
        } else if self.total.errors > 0 || self.options.strict && self.total.warnings > 0 {
            Outcome::Findings
        } else if self.total.frames == 0 && self.values == 0 {
            Outcome::Nothing
        } else {
            Outcome::Good
        }
    }

    /// An input that nobody can say anything about.
    fn untold(&mut self, name: &str, message: &str) -> io::Result<()> {
        self.untold += 1;
        self.printer.untold(name, message);
        writeln!(self.trouble, "{}: {}", visible(name), visible(message))
    }

    fn input(&mut self, input: &Input) -> io::Result<()> {
        let name = input.name();
        let mut reader = match input.open() {
            Ok(reader) => reader,
            Err(error) => return self.untold(&name, &format!("cannot be opened: {error}")),
        };
        match &self.options.target {
            Some(target) => self.value(&name, target, &mut reader),
            None => self.transcript(&name, reader),
        }
    }

    fn value(&mut self, name: &str, target: &Target, reader: &mut dyn Read) -> io::Result<()> {
        let mut text = Vec::new();
        if let Err(error) = reader.read_to_end(&mut text) {
            return self.untold(name, &format!("cannot be read: {error}"));
        }
        let mut found = match self.schemas.bench().judge(target, &text) {
            Ok(found) => found,
            Err(error) => return self.untold(name, &error.to_string()),
        };
        for schema in &self.schemas.also {
            let bench = Bench { schema, library: None, session: None };
            for finding in bench.judge(target, &text).unwrap_or_default() {
                if !found.iter().any(|earlier| is_same(earlier, &finding)) {
                    found.push(finding);
                }
            }
        }
        let mut counts = Counts::default();
        for finding in &found {
            counts.note(finding.severity);
            self.printer.finding(name, finding)?;
        }
        self.values += 1;
        let is_session = matches!(target, Target::Function(..) | Target::Trigger(..));
        let by = if is_session { self.schemas.session.schema() } else { &*self.schemas.first };
        let also = self.schemas.also.iter().filter(|_| !is_session).map(|schema| schema.label().to_owned());
        self.revisions.extend(std::iter::once(by.label().to_owned()).chain(also));
        self.done(name, &counts)
    }

    fn done(&mut self, name: &str, counts: &Counts) -> io::Result<()> {
        self.files += 1;
        self.total.add(counts);
        self.printer.file(name, counts)
    }

    fn transcript(&mut self, name: &str, reader: Box<dyn Read>) -> io::Result<()> {
        let mut judges = self.judges();
        let mut lines = LineReader::with_limit(reader, self.options.frame_limit);
        let mut recogniser = Recogniser::with_limit(self.options.frame_limit);
        let mut known = false;
        let mut fault = None;
        let mut more = Counts::default();
        loop {
            let (number, line) = match lines.next_line() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(error) => {
                    fault = Some(format!("cannot be read: {error}"));
                    break;
                }
            };
            if !known {
                fault = is_a_value(number, &line);
                if fault.is_some() {
                    break;
                }
            }
            let Some(entry) = recogniser.recognise(number, line) else { continue };
            match entry.what {
                What::Damaged { damage: Damage::UnknownForm, .. } if !known => {
                    fault = Some(format!("line {number} is of no form that a transcript has"));
                    break;
                }
                What::Damaged { .. } => {}
                _ => known = true,
            }
            for judge in &mut judges {
                judge.observe(&entry);
            }
            self.print_new(name, &mut judges, &mut more)?;
        }
        let mut counts = Counts::default();
        for (index, judge) in judges.into_iter().enumerate() {
            let report = judge.finish();
            for finding in report.findings.iter().filter(|finding| index == 0 || is_of_bundle(finding)) {
                self.printer.finding(name, finding)?;
                if index > 0 {
                    more.note(finding.severity);
                }
            }
            self.revisions.extend(report.revisions);
            if index == 0 {
                counts = report.counts;
                self.verdicts.add(report.verdicts);
            }
        }
        counts.add(&more);
        self.done(name, &counts)?;
        match fault {
            Some(message) => self.untold(name, &message),
            None => Ok(()),
        }
    }

    fn judges(&self) -> Vec<Judge> {
        let first = Judge::new(Arc::clone(&self.schemas.first), self.schemas.profile(self.options));
        // What the rules say of an order does not hang on the bundle: the first judge says it once.
        let mut shapes = msp_judge::Profile::default();
        shapes.rules = false;
        let also = self.schemas.also.iter().map(|schema| Judge::new(Arc::clone(schema), shapes.clone()));
        std::iter::once(first).chain(also).collect()
    }

    fn print_new(&mut self, name: &str, judges: &mut [Judge], more: &mut Counts) -> io::Result<()> {
        let mut shown: Vec<Finding> = Vec::new();
        for (index, judge) in judges.iter_mut().enumerate() {
            for finding in judge.take_findings().filter(|finding| index == 0 || is_of_bundle(finding)) {
                if index > 0 {
                    // What an earlier bundle found as well was told.
                    if shown.iter().any(|earlier| is_same(earlier, &finding)) {
                        continue;
                    }
                    more.note(finding.severity);
                }
                self.printer.finding(name, &finding)?;
                shown.push(finding);
            }
        }
        Ok(())
    }
}

/// What to say where a first line starts, or is, a JSON value of its own: such a file was meant for a target.
fn is_a_value(number: u64, line: &Line<'_>) -> Option<String> {
    let (Line::Whole(bytes) | Line::Unfinished(bytes)) = *line else { return None };
    let text = bytes.trim_ascii();
    let is_value = matches!(text, b"{" | b"[") || serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
    let entry = Recogniser::new().recognise(number, Line::Whole(bytes)).map(|entry| match entry.what {
        What::Damaged { damage, .. } => Some(damage),
        _ => None,
    });
    (is_value && entry == Some(Some(Damage::UnknownForm))).then(|| {
        format!(
            "line {number} is of no form that a transcript has; a single value needs to be told what it is, \
             with `--definition NAME` or `--method METHOD --part params` or another target"
        )
    })
}

/// Whether two bundles found the same.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let key = |it: &Finding| (it.rule, it.line, it.from);
    let words = |it: &Finding| [it.pointer.clone(), it.expected.clone(), it.actual.clone()];
    key(one) == key(other) && one.keyword == other.keyword && words(one) == words(other)
}

/// Whether a finding depends on the bundle; the others are the same under each and are shown once.
fn is_of_bundle(finding: &Finding) -> bool {
    // A fault of shape names its definition, whichever rule claims it.
    let of_shape = finding.definition.is_some();
    of_shape
        || matches!(
            finding.rule,
            Rule::SCHEMA | Rule::UNLISTED_REQUEST | Rule::UNLISTED_NOTIFICATION | Rule::DIRECTION | Rule::CARRIER
        )
}
