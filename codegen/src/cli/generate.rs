//! `generate`: read, lint, generate, and write or compare; nothing is written unless all of it can be.

use std::io;
use std::path::PathBuf;

use serde_json::{Map, json};

use super::arguments::{Format, Generate};
use super::report::Report;
use super::{Exit, Streams};
use crate::config;
use crate::diagnostic::{Diagnostic, Severity};
use crate::output::{self, Files, Written};
use crate::{generate, input, lint};

pub(super) fn run(arguments: &Generate, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let outputs = match outputs(arguments) {
        Ok(outputs) => outputs,
        Err(diagnostic) => {
            let unreadable = diagnostic.is_unreadable();
            finish(arguments.format, &Report::new(vec![*diagnostic]), &Done::default(), streams)?;
            return Ok(if unreadable { Exit::CouldNotTell } else { Exit::Usage });
        }
    };
    let mut diagnostics = Vec::new();
    let mut made = Vec::new();
    for output in &outputs {
        let (files, mut found) = make(output);
        made.push((output.out.clone(), files));
        diagnostics.append(&mut found);
    }
    let mut done = Done::default();
    if diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error) {
        let result = if arguments.check {
            output::check(&made).map(|changes| done.changes = changes)
        } else {
            output::write(&made).map(|written| done.written = written)
        };
        diagnostics.extend(result.err().map(|diagnostic| *diagnostic));
    }
    let report = Report::new(diagnostics);
    finish(arguments.format, &report, &done, streams)?;
    Ok(if report.exit() == Exit::Good && !done.changes.is_empty() { Exit::Findings } else { report.exit() })
}

fn outputs(arguments: &Generate) -> Result<Vec<config::Output>, Box<Diagnostic>> {
    match (&arguments.config, &arguments.out) {
        (Some(config), _) => config::read(config),
        (None, Some(out)) => Ok(vec![config::Output {
            schema: arguments.schema.clone(),
            out: out.clone(),
            options: arguments.options(),
        }]),
        // The argument parser asks for one of the two.
        (None, None) => Ok(Vec::new()),
    }
}

/// The files of one output, and what was found on the way. Notes are for `lint` alone.
fn make(output: &config::Output) -> (Files, Vec<Diagnostic>) {
    let schemas = match input::read(&output.schema, &output.options) {
        Ok(schemas) => schemas,
        Err(diagnostics) => return (Files::new(), diagnostics),
    };
    let mut diagnostics = lint::lint(&schemas);
    diagnostics.retain(|diagnostic| diagnostic.severity != Severity::Note);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return (Files::new(), diagnostics);
    }
    let (files, mut found) = generate::generate(&schemas, &output.options);
    crate::diagnostic::attach_excerpts(&mut found, &schemas.documents);
    diagnostics.append(&mut found);
    (files, diagnostics)
}

/// What became of the files.
#[derive(Default)]
struct Done {
    written: Written,
    /// Unified diff of `--check`.
    changes: String,
}

fn finish(format: Format, report: &Report, done: &Done, streams: &mut Streams<'_>) -> io::Result<()> {
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
    match format {
        Format::Text => {
            write!(streams.out, "{}", done.changes)?;
            report.write_text(streams.err, streams.err_colour)?;
            let Written { written, removed, unchanged } = &done.written;
            let (written, removed) = (written.len(), removed.len());
            if written + removed + unchanged > 0 {
                writeln!(streams.err, "{written} written, {removed} removed, {unchanged} unchanged")?;
            }
            Ok(())
        }
        Format::Json => {
            let mut rest = Map::new();
            rest.insert("written".to_owned(), json!(shown(&done.written.written)));
            rest.insert("removed".to_owned(), json!(shown(&done.written.removed)));
            rest.insert("unchanged".to_owned(), json!(done.written.unchanged));
            rest.insert("changes".to_owned(), json!(done.changes));
            report.write_json(streams.out, rest)
        }
    }
}
