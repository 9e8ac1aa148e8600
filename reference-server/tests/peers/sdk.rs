//! The published Python SDK as it is, against the server as it is built. The checks are in `python/real_client.py`, a process each.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::{target, trial};

/// What is installed; the SDK refuses a host of another schema, so both are pinned to the one that the server reports.
const PACKAGES: [&str; 2] = ["muse-code-sdk==1.4.13", "muse-code-msp==1.4.13"];

/// Functions of the script.
const CHECKS: [&str; 13] = [
    "handshake",
    "streamed_turn",
    "queue_and_unqueue",
    "steer",
    "cancel",
    "killed_and_resumed",
    "paging",
    "approval_allowed",
    "approval_denied",
    "approval_staged",
    "user_input_answered",
    "user_input_cancelled",
    "gap_filled",
];

/// The checks. Where peers are required, the SDK is installed first.
pub(crate) fn trials(required: bool) -> Vec<Trial> {
    let python = interpreter();
    let absent = match (has_sdk(&python), required) {
        (true, _) => None,
        (false, true) => install().err(),
        (false, false) => Some("no virtual environment with the SDK".to_owned()),
    };
    CHECKS
        .into_iter()
        .map(|check| {
            let python = python.clone();
            trial(format!("python_sdk::{check}"), absent.as_deref(), required, move || run(&python, check))
        })
        .collect()
}

fn environment() -> PathBuf {
    target().join("peers-venv")
}

fn interpreter() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

fn has_sdk(python: &Path) -> bool {
    Command::new(python).args(["-c", "import muse_code"]).output().is_ok_and(|output| output.status.success())
}

/// Makes the environment; what stands in the way as a text.
fn install() -> Result<(), String> {
    done(Command::new("python3").args(["-m", "venv"]).arg(environment()))?;
    done(Command::new(interpreter()).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn run(python: &Path, check: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/python/real_client.py");
    let server = env!("CARGO_BIN_EXE_msp-reference-server");
    done(Command::new(python).arg("-B").arg(script).arg(server).arg(folder.path()).arg(check)).map_err(Failed::from)
}
