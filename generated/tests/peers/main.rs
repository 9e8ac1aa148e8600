//! What takes minutes, and so runs with `FULL=1` only; otherwise it shows as ignored.
//!
//! - `edits`: that the comparison of `tests/it` finds what is changed in the generated Rust.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at what it did not expect")]
#![allow(clippy::print_stdout, reason = "the counts are what people read here")]

mod blocks;
mod edits;
#[path = "../it/normal.rs"]
mod normal;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let full = std::env::var_os("FULL").is_some_and(|value| value == "1");
    let mut trial = Trial::test("each_edit_of_the_rust_is_found", edits::run);
    if !full {
        trial = trial.with_kind("slow, FULL=1 runs it").with_ignored_flag(true);
    }
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}
