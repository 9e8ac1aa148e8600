//! What needs something from outside: files beside the repository in `../shared`, or a package with the official test
//! suite of JSON Schema. What is absent shows as ignored, and with `REQUIRE_PEERS=1` it fails (or is fetched).
//!
//! - `schemas`: reading and linting of every published bundle, of the session schemas, and of faults that others met.
//! - `bundles`: output of every published bundle, compiled.
//! - `cases`: values through the types of the repository's own cases; needs only cargo.
//! - `faults`: values through the types of the faults.
//! - `suite`: the test suite of JSON Schema through the generator and its types.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at what it did not expect")]
#![allow(clippy::print_stdout, reason = "the counts are what people read here")]

mod bundles;
mod cases;
mod faults;
mod schemas;
mod scratch;
mod suite;
mod values;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// A test over a folder from outside.
type Check = fn(&Path) -> Result<(), Failed>;

const CHECKS: [(&str, Check); 6] = [
    ("published_bundles_lint_without_errors", schemas::published_bundles),
    ("marks_and_surfaces_agree", schemas::marks_and_surfaces_agree),
    ("session_schemas_are_clean", schemas::session),
    ("faults_are_read_and_named", schemas::faults),
    ("published_bundles_compile", bundles::compile),
    ("faults_come_back_equal", faults::run),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let required = env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
    let shared = shared();
    let mut trials: Vec<Trial> =
        CHECKS.into_iter().map(|(name, check)| trial(name, shared.clone(), required, check)).collect();
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/generate");
    trials.push(trial("cases_come_back_equal", Ok(cases), required, cases::run));
    // Listing the tests fetches nothing.
    let suite = suite::folder(required && !arguments.list);
    trials.push(trial("json_schema_test_suite", suite, required, suite::run));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test of something that may be absent, for the reason given.
fn trial(name: &str, folder: Result<PathBuf, String>, required: bool, check: Check) -> Trial {
    match folder {
        Ok(folder) => Trial::test(name, move || check(&folder)),
        Err(reason) if required => Trial::test(name, move || Err(reason.into())),
        Err(reason) => Trial::test(name, || Ok(())).with_kind(reason).with_ignored_flag(true),
    }
}

fn shared() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    if folder.join("msp/structure").is_dir() { Ok(folder) } else { Err("no ../shared".to_owned()) }
}

/// Fails with both sides unless they are equal.
fn equal<T: PartialEq + std::fmt::Debug>(actual: &T, expected: &T, what: &str) -> Result<(), Failed> {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{what}\n  found:    {actual:?}\n  expected: {expected:?}").into())
    }
}
