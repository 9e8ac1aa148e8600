//! `msp-reference-server session`: its arguments, and the server that they make.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use msp_reference_server::session_functions::{Adapter, Server, Settings, Start, stdio};
use serde_json::{Value, json};

/// What the server exits with: it failed while it ran; it could not start.
const UNHANDLED: u8 = 1;
const NOT_STARTED: u8 = 3;

/// Settings of the session functions.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("transport").required(true)), group(ArgGroup::new("place").required(true)))]
pub(crate) struct Session {
    /// Serve newline-delimited JSON-RPC on stdin and stdout until stdin ends.
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Keep nothing: sessions live in memory until the configuration names another place.
    #[arg(long, group = "place")]
    memory: bool,
    /// Start with the configuration value in this JSON file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Session {
    /// Serves until the transport ends.
    #[expect(clippy::print_stderr, reason = "the place for it")]
    pub(crate) fn run(self) -> ExitCode {
        let failed = |code: u8, message: &str| {
            eprintln!("msp-reference-server: {message}");
            ExitCode::from(code)
        };
        let server = match Server::new(self.start()) {
            Ok(server) => server,
            Err(message) => return failed(NOT_STARTED, &message),
        };
        match stdio::serve(&server, std::io::stdin().lock(), std::io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(UNHANDLED, &error.to_string()),
        }
    }

    fn start(&self) -> Start {
        Start::embedded(Adapter::Memory, self.seed())
    }

    /// The seed value: what is in the file, as far as it can be read (SF-CFG-3).
    #[expect(clippy::print_stderr, reason = "a seed that is passed over is told")]
    fn seed(&self) -> Value {
        let Some(path) = &self.config else { return json!({}) };
        let read = || -> Result<Value, String> {
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
            let value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            Settings::read(&value).map(|_| value)
        };
        read().unwrap_or_else(|error| {
            eprintln!("msp-reference-server: seed `{}` is passed over: {error}", path.display());
            json!({})
        })
    }
}
