//! Recordings and single values against the schemas.
//!
//! [`run`] goes through everything it is given, writes findings as they come, and says how it went.

mod inputs;
mod print;
mod schemas;

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use msp_judge::transcript::{Damage, FRAME_LIMIT, LineReader, Lines, Recogniser, What};
use msp_judge::{Bench, Counts, Finding, Judge, Rule, Surface, Target};

pub use inputs::Input;
pub use print::Format;
use print::Printer;
use schemas::Schemas;
pub use schemas::SchemasError;

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
    /// The results could not be written.
    #[error("the results cannot be written")]
    Output(#[source] io::Error),
    /// The target of single values is not in the schema.
    #[error(transparent)]
    Target(#[from] msp_judge::SchemaError),
}

/// Validates everything, writing results to `out` and what could not be judged to `trouble`.
///
/// # Errors
/// When there is no schema to judge by, or the results cannot be written.
pub fn run(options: &Options, out: &mut dyn Write, trouble: &mut dyn Write) -> Result<Outcome, ValidateError> {
    let schemas = Schemas::load(options)?;
    let mut run = Run {
        options,
        schemas: &schemas,
        printer: Printer::new(options, out),
        trouble,
        total: Counts::default(),
        values: 0,
        files: 0,
        untold: 0,
    };
    run.printer.start().map_err(ValidateError::Output)?;
    let inputs = inputs::collect(&options.paths);
    for input in inputs {
        match input {
            Ok(input) => run.input(&input)?,
            Err((path, message)) => run.untold(&path, &message)?,
        }
    }
    let outcome = run.outcome();
    run.printer.end(&run.total, run.files, run.untold, outcome).map_err(ValidateError::Output)?;
    if outcome == Outcome::Nothing {
        writeln!(run.trouble, "nothing was judged: no frames in what was given").map_err(ValidateError::Output)?;
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
    fn untold(&mut self, name: &str, message: &str) -> Result<(), ValidateError> {
        self.untold += 1;
        self.printer.untold(name, message);
        writeln!(self.trouble, "{name}: {message}").map_err(ValidateError::Output)
    }

    fn input(&mut self, input: &Input) -> Result<(), ValidateError> {
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

    fn value(&mut self, name: &str, target: &Target, reader: &mut dyn Read) -> Result<(), ValidateError> {
        let mut text = Vec::new();
        if let Err(error) = reader.read_to_end(&mut text) {
            return self.untold(name, &format!("cannot be read: {error}"));
        }
        let bench = Bench {
            schema: &self.schemas.first,
            library: Some(&self.schemas.library),
            session: Some(&self.schemas.session),
        };
        let mut found = match bench.judge(target, &text) {
            Ok(found) => found,
            Err(msp_judge::ValueError::Schema(error)) => return Err(error.into()),
            Err(error) => return self.untold(name, &error.to_string()),
        };
        for schema in &self.schemas.also {
            let bench = Bench { schema, library: None, session: None };
            if let Ok(more) = bench.judge(target, &text) {
                found.extend(more);
            }
        }
        let mut counts = Counts::default();
        for finding in &found {
            counts.note(finding.severity);
            self.printer.finding(name, finding).map_err(ValidateError::Output)?;
        }
        self.values += 1;
        self.done(name, &counts);
        Ok(())
    }

    fn done(&mut self, name: &str, counts: &Counts) {
        self.files += 1;
        self.total.add(counts);
        self.printer.file(name, counts);
    }

    fn transcript(&mut self, name: &str, reader: Box<dyn Read>) -> Result<(), ValidateError> {
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
            let Some(entry) = recogniser.recognise(number, line) else { continue };
            match entry.what {
                What::Damaged(Damage::UnknownForm) if !known => {
                    fault = Some(format!("line {number} is of no form that a transcript has"));
                    break;
                }
                What::Damaged(_) => {}
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
                self.printer.finding(name, finding).map_err(ValidateError::Output)?;
                if index > 0 {
                    more.note(finding.severity);
                }
            }
            if index == 0 {
                counts = report.counts;
            }
        }
        counts.add(&more);
        self.done(name, &counts);
        match fault {
            Some(message) => self.untold(name, &message),
            None => Ok(()),
        }
    }

    fn judges(&self) -> Vec<Judge> {
        let first = Judge::new(Arc::clone(&self.schemas.first), self.schemas.profile(self.options));
        let also = self.schemas.also.iter().map(|schema| Judge::new(Arc::clone(schema), msp_judge::Profile::default()));
        std::iter::once(first).chain(also).collect()
    }

    fn print_new(&mut self, name: &str, judges: &mut [Judge], more: &mut Counts) -> Result<(), ValidateError> {
        for (index, judge) in judges.iter_mut().enumerate() {
            for finding in judge.take_findings().filter(|finding| index == 0 || is_of_bundle(finding)) {
                self.printer.finding(name, &finding).map_err(ValidateError::Output)?;
                if index > 0 {
                    more.note(finding.severity);
                }
            }
        }
        Ok(())
    }
}

/// Whether a finding depends on the bundle; the others are the same under each and are shown once.
fn is_of_bundle(finding: &Finding) -> bool {
    matches!(
        finding.rule,
        Rule::Schema
            | Rule::NewWord
            | Rule::StreamKind
            | Rule::UnlistedRequest
            | Rule::UnlistedNotification
            | Rule::Direction
            | Rule::Carrier
    )
}
