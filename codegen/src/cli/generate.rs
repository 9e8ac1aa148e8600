//! `generate`: read, lint, generate, and write or compare; nothing is written unless all of it can be.

use std::io;
use std::path::PathBuf;

use serde_json::{Map, json};

use super::arguments::{Format, Generate};
use super::report::Report;
use super::{Exit, Streams};
use crate::diagnostic::Diagnostic;
use crate::output::{self, Written};
use crate::{config, make};

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
        let mut one = make::make(&output.schema, &output.options);
        made.push((output.out.clone(), one.files));
        diagnostics.append(&mut one.diagnostics);
    }
    let mut done = Done::default();
    if make::is_clean(&diagnostics) {
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
