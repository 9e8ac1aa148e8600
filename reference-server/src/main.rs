//! The command line: arguments, exit codes of a host (EXIT-1), and nothing else.

mod arguments;
mod session_command;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;
use clap::error::ErrorKind;
use msp_reference_server::{Host, serve};

/// What a host exits with (EXIT-1).
const UNHANDLED: u8 = 1;
const USAGE: u8 = 2;
const NO_CONFIGURATION: u8 = 3;

#[expect(clippy::print_stderr, reason = "the place for it")]
fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print(); // a closed stderr changes nothing
            let told = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if told { ExitCode::SUCCESS } else { ExitCode::from(USAGE) };
        }
    };
    let arguments = match arguments.command {
        Command::Serve(arguments) => arguments,
        Command::Session(session) => return session.run(),
    };
    let config = match arguments.config() {
        Ok(config) => config,
        Err(message) => {
            eprintln!("msp-reference-server: {message}");
            return ExitCode::from(NO_CONFIGURATION);
        }
    };
    #[cfg(unix)]
    allow_many_files();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("msp-reference-server: {error}");
            return ExitCode::from(UNHANDLED);
        }
    };
    let served = runtime.block_on(async {
        let host = Host::new(config);
        serve(&host, tokio::io::stdin(), tokio::io::stdout()).await
    });
    runtime.shutdown_background(); // a read of stdin may still be pending
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("msp-reference-server: {error}");
            ExitCode::from(UNHANDLED)
        }
    }
}

/// Every loaded session keeps two files open, and where a shell allows 1,024 a system often allows many more.
#[cfg(unix)]
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where that is refused, the host serves as many sessions as it may.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
