//! The command line of `msp-codegen`: arguments, exit code, printing.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use msp_codegen::cli::{self, Cli, Exit, Streams};
use msp_codegen::diagnostic::Colour;

fn main() -> ExitCode {
    // Prints help, version and usage errors itself, and leaves with 0 or 2.
    let arguments = Cli::parse();
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let out_colour = colour(stdout.is_terminal());
    let err_colour = colour(stderr.is_terminal());
    let mut out = io::BufWriter::new(stdout.lock());
    let mut err = stderr.lock();
    let mut streams = Streams { out: &mut out, out_colour, err: &mut err, err_colour };
    let end = cli::run(arguments, &mut streams);
    let flushed = out.flush();
    match end.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => ExitCode::from(exit.code()),
        // Whoever reads us has seen enough; `msp-codegen list … | head` is no fault.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(Exit::Good.code()),
        Err(_) => ExitCode::from(Exit::CouldNotTell.code()),
    }
}

/// Colours where people look, unless they asked for none (<https://no-color.org>).
fn colour(is_terminal: bool) -> Colour {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_terminal && !refused { Colour::Always } else { Colour::Never }
}
