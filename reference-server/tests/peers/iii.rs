//! The published Python iii SDK as it is, against the session functions on a listener of their own. The checks are in
//! `python/iii_client.py`, a process each.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::{target, trial};

/// What is installed.
const PACKAGE: &str = "iii-sdk==0.25.0";

/// Functions of the script.
const CHECKS: [&str; 4] = ["every_function", "error_codes", "every_event", "function_of_another_client"];

/// The checks. Where peers are required, the SDK is installed first.
pub(crate) fn trials(required: bool) -> Vec<Trial> {
    let absent = match (has_sdk(), required) {
        (true, _) => None,
        (false, true) => install().err(),
        (false, false) => Some("no virtual environment with the iii SDK".to_owned()),
    };
    let name = |check: &str| format!("python_iii_sdk::{check}");
    CHECKS.into_iter().map(|check| trial(name(check), absent.as_deref(), required, move || run(check))).collect()
}

fn environment() -> PathBuf {
    target().join("peers-venv-iii")
}

fn interpreter() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

fn has_sdk() -> bool {
    Command::new(interpreter()).args(["-c", "import iii"]).output().is_ok_and(|output| output.status.success())
}

/// Makes the environment; what stands in the way as a text.
fn install() -> Result<(), String> {
    done(Command::new("python3").args(["-m", "venv"]).arg(environment()))?;
    done(Command::new(interpreter()).args(["-m", "pip", "install", "--quiet", PACKAGE]))
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// The server, ended with the check.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Starts the server; where it listens.
fn server() -> Result<(Server, String), Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
        .args(["session", "--listen", "127.0.0.1:0", "--memory"])
        .stderr(Stdio::piped())
        .spawn()?;
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let server = Server(child);
    for line in BufReader::new(stderr).lines() {
        if let Some(address) = line?.strip_prefix("listening on ") {
            return Ok((server, address.to_owned()));
        }
    }
    Err("the server told no address".into())
}

fn run(check: &str) -> Result<(), Failed> {
    let (_server, address) = server()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/python/iii_client.py");
    done(Command::new(interpreter()).args(["-W", "ignore", "-B"]).arg(script).args([&address, check]))
        .map_err(Failed::from)
}
