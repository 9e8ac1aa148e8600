//! What needs files from beside the repository, in `../shared`. Where they are absent the tests show as ignored, and with
//! `REQUIRE_PEERS=1` they fail.
//!
//! - `schemas`: reading and linting of every published bundle, of the session schemas, and of faults that others met.
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod schemas;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// A test over the shared folder.
type Check = fn(&Path) -> Result<(), Failed>;

const CHECKS: [(&str, Check); 4] = [
    ("published_bundles_lint_without_errors", schemas::published_bundles),
    ("marks_and_surfaces_agree", schemas::marks_and_surfaces_agree),
    ("session_schemas_are_clean", schemas::session),
    ("faults_are_read_and_named", schemas::faults),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let there = shared.join("msp/structure").is_dir();
    let required = env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
    let trials = CHECKS.map(|(name, check)| {
        let shared = shared.clone();
        match (there, required) {
            (true, _) => Trial::test(name, move || check(&shared)),
            (false, true) => Trial::test(name, || Err("../shared is absent, and REQUIRE_PEERS=1".into())),
            (false, false) => Trial::test(name, || Ok(())).with_kind("no ../shared").with_ignored_flag(true),
        }
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Fails with both sides unless they are equal.
fn equal<T: PartialEq + std::fmt::Debug>(actual: &T, expected: &T, what: &str) -> Result<(), Failed> {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{what}\n  found:    {actual:?}\n  expected: {expected:?}").into())
    }
}
