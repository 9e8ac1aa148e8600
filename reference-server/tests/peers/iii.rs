//! The published iii SDKs as they are, against the session functions on a listener of their own. The checks are in
//! `python/iii_client.py`, `node/iii_client.mjs` and the crate `iii-rust`, a process each.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::{target, trial};

/// What is installed for Python, and for Node.
const PYTHON: &str = "iii-sdk==0.25.0";
const NODE: &str = "iii-sdk@0.22.1";

/// Generations of the SDK in the crate `iii-rust`.
const RUST_SDKS: [&str; 2] = ["0.25", "0.26"];

/// Functions of the scripts.
const PYTHON_CHECKS: [&str; 4] = ["every_function", "error_codes", "every_event", "function_of_another_client"];
const NODE_CHECKS: [&str; 3] = ["every_function", "error_codes", "every_event"];

/// The checks. Where peers are required, the SDKs are installed first.
pub(crate) fn trials(required: bool) -> Vec<Trial> {
    let python = present("the iii SDK for Python", has_python_sdk(), required, install_python);
    let node =
        present("the iii SDK for Node", node_folder().join("node_modules/iii-sdk").is_dir(), required, install_node);
    let in_python = PYTHON_CHECKS.into_iter().map(|check| {
        trial(format!("python_iii_sdk::{check}"), python.as_deref(), required, move || run(&mut in_python(), check))
    });
    let in_node = NODE_CHECKS.into_iter().map(|check| {
        trial(format!("node_iii_sdk::{check}"), node.as_deref(), required, move || run(&mut in_node(), check))
    });
    let rust = present("the caller with the Rust iii SDKs", rust_program().is_file(), required, build_rust);
    let in_rust = RUST_SDKS.into_iter().map(|sdk| {
        trial(format!("rust_iii_sdk::{sdk}"), rust.as_deref(), required, move || {
            let (_server, address) = server()?;
            done(Command::new(rust_program()).env("OTEL_ENABLED", "false").args([sdk, &address])).map_err(Failed::from)
        })
    });
    in_python.chain(in_node).chain(in_rust).collect()
}

/// Where the crate with the Rust SDKs is built: their dependencies are not those of the workspace.
fn outside() -> PathBuf {
    target().join("outside")
}

fn rust_program() -> PathBuf {
    outside().join(format!("debug/iii-rust{}", std::env::consts::EXE_SUFFIX))
}

fn build_rust() -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--locked", "--ignore-rust-version", "--manifest-path"]);
    done(build.arg(script("iii-rust/Cargo.toml")).env("CARGO_TARGET_DIR", outside()))
}

/// Why a peer is absent, if it is.
fn present(name: &str, there: bool, required: bool, install: fn() -> Result<(), String>) -> Option<String> {
    match (there, required) {
        (true, _) => None,
        (false, true) => install().err(),
        (false, false) => Some(format!("{name} is not installed")),
    }
}

fn environment() -> PathBuf {
    target().join("peers-venv-iii")
}

fn interpreter() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

fn has_python_sdk() -> bool {
    Command::new(interpreter()).args(["-c", "import iii"]).output().is_ok_and(|output| output.status.success())
}

/// What stands in the way as a text.
fn install_python() -> Result<(), String> {
    done(Command::new("python3").args(["-m", "venv"]).arg(environment()))?;
    done(Command::new(interpreter()).args(["-m", "pip", "install", "--quiet", PYTHON]))
}

fn node_folder() -> PathBuf {
    target().join("peers-node-iii")
}

fn install_node() -> Result<(), String> {
    done(
        Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(node_folder())
            .arg(NODE),
    )
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

fn in_python() -> Command {
    let mut command = Command::new(interpreter());
    command.args(["-W", "ignore", "-B"]).arg(script("python/iii_client.py"));
    command
}

fn in_node() -> Command {
    let mut command = Command::new("node");
    command.arg(script("node/iii_client.mjs")).arg(node_folder());
    command
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

fn run(command: &mut Command, check: &str) -> Result<(), Failed> {
    let (_server, address) = server()?;
    done(command.args([&address, check])).map_err(Failed::from)
}
