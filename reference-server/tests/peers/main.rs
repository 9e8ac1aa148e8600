//! What needs others: a published SDK, recorded conversations, git. Where they are absent the tests show as ignored; with `REQUIRE_PEERS=1`
//! the SDK is installed, and what is absent then fails.
//!
//! - `iii`: the published Python iii SDK calls the session functions.
//! - `sdk`: the published Python SDK drives the server, in a virtual environment that is made only under `REQUIRE_PEERS=1`.
//! - `git`: the program `git`, which makes worktrees.
//! - `recorded`: recorded conversations of other hosts, said again.
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod git;
mod iii;
mod recorded;
mod sdk;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let required = env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
    let mut trials = sdk::trials(required && !arguments.list);
    trials.extend(recorded::trials(required));
    trials.extend(git::trials(required));
    trials.extend(iii::trials(required && !arguments.list));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A folder of this workspace's build.
fn target() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    path.pop();
    path
}

/// A test whose peer may be absent: then it is ignored for that reason, or fails for it where peers are required.
fn trial(
    name: String,
    absent: Option<&str>,
    required: bool,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    match (absent, required) {
        (None, _) => Trial::test(name, run),
        (Some(reason), true) => {
            let message = format!("{reason}, and REQUIRE_PEERS=1");
            Trial::test(name, move || Err(message.into()))
        }
        (Some(reason), false) => Trial::test(name, || Ok(())).with_kind(reason).with_ignored_flag(true),
    }
}
