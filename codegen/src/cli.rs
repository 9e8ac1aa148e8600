//! The command line: arguments to work, results to one stream, everything else to another, an exit code at the end.

mod arguments;
mod generate;
mod report;

use std::io::{self, Write};

use crate::diagnostic::{Colour, Diagnostic, Severity};
use crate::options::Options;
use crate::{diagnostic, input, lint, list};

pub use arguments::Cli;
use arguments::{Command, Format, Lint, List};
use report::Report;

/// Where a run writes, and whether each place takes colours.
pub struct Streams<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Colours on `out`.
    pub out_colour: Colour,
    /// Everything else.
    pub err: &'a mut dyn Write,
    /// Colours on `err`.
    pub err_colour: Colour,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well; warnings and notes are not against it.
    Good,
    /// Findings, a refused schema, or drift.
    Findings,
    /// The command line or the configuration file cannot be followed.
    Usage,
    /// Nothing could be said: a file cannot be opened, or is nothing that this program reads.
    CouldNotTell,
}

impl Exit {
    /// The code that the process gives to its caller.
    pub fn code(self) -> u8 {
        match self {
            Exit::Good => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::CouldNotTell => 3,
        }
    }
}

/// Does what the command line says.
///
/// # Errors
/// Only those of the two streams; a reader that went away is among them, and no fault.
pub fn run(cli: Cli, streams: &mut Streams<'_>) -> io::Result<Exit> {
    match cli.command {
        Command::Generate(arguments) => generate::run(&arguments, streams),
        Command::Lint(arguments) => run_lint(&arguments, streams),
        Command::List(arguments) => run_list(&arguments, streams),
    }
}

fn run_lint(arguments: &Lint, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let options = arguments.reading.options();
    let (schemas, mut diagnostics) = input::read_all(&arguments.path, &options);
    diagnostics.extend(lint::lint(&schemas));
    if !diagnostics.iter().any(Diagnostic::is_unreadable) {
        // A schema may be good and yet nothing that types can be made from: not an error of the schema.
        let refusals = lint::refusals(&schemas, &diagnostics, &options).into_iter().map(|mut one| {
            if one.severity == Severity::Error {
                one.severity = Severity::Warning;
                one.message.push_str("; `generate` refuses this");
            }
            one
        });
        diagnostics.extend(refusals);
    }
    let report = Report::new(diagnostics);
    match arguments.format {
        Format::Text => {
            report.write_text(streams.out, streams.out_colour)?;
            writeln!(streams.err, "{}", report.summary())?;
        }
        Format::Json => report.write_json(streams.out, serde_json::Map::new())?,
    }
    let warned = arguments.strict && report.has(Severity::Warning);
    Ok(if warned && report.exit() == Exit::Good { Exit::Findings } else { report.exit() })
}

fn run_list(arguments: &List, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let options: Options = arguments.reading.options();
    let (schemas, diagnostics) = input::read_all(&arguments.path, &options);
    let mut report = Report::new(diagnostics);
    let mut tables = Vec::new();
    if report.exit() == Exit::Good && arguments.rust_names {
        let (names, mut found) = list::rust_names(&schemas, &options);
        diagnostic::attach_excerpts(&mut found, &schemas.documents);
        report = Report::new(found);
        tables.push(names);
    } else if report.exit() == Exit::Good {
        tables = list::all(&schemas);
        // Who asks for a table is told that it is empty.
        tables.retain(|table| match arguments.what.as_slice() {
            [] => !table.rows.is_empty(),
            what => what.iter().any(|what| what.title() == table.title),
        });
    }
    report.write_text(streams.err, streams.err_colour)?;
    if report.exit() != Exit::Good {
        return Ok(report.exit());
    }
    match arguments.format {
        Format::Text => {
            let texts: Vec<String> = tables.iter().map(list::Table::to_text).collect();
            write!(streams.out, "{}", texts.join("\n"))?;
        }
        Format::Json => writeln!(streams.out, "{:#}", list::to_json(&tables))?,
    }
    Ok(Exit::Good)
}
