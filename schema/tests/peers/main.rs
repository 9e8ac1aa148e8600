//! Compares the committed data with the sources it was made from. They lie beside the repository, in `../shared`; where
//! they are absent the tests show as ignored, and with `REQUIRE_PEERS=1` they fail.

#![expect(clippy::panic, reason = "a source of another form than expected stops its test")]

mod msp;
mod session;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

type Check = fn(&Sources) -> Result<(), Failed>;

const CHECKS: [(&str, Check); 9] = [
    ("bundles_have_the_facts_of_the_structure_files", msp::facts),
    ("revisions_have_the_facts_of_the_structure_files", msp::revisions),
    ("keywords_are_the_closed_list", msp::keywords),
    ("every_description_was_taken_over", msp::descriptions),
    ("items_carry_what_the_table_says", msp::items),
    ("marks_are_those_of_the_surfaces", msp::marks),
    ("error_data_is_what_the_table_says", msp::error_data),
    ("deliveries_and_gates_are_what_the_tables_say", msp::deliveries),
    ("session_files_are_the_same", session::files),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = Sources::find();
    let required = env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
    let trials = CHECKS.map(|(name, check)| match sources.clone() {
        Some(sources) => Trial::test(name, move || check(&sources)),
        None if required => Trial::test(name, || Err("../shared is absent, and REQUIRE_PEERS=1".into())),
        None => Trial::test(name, || Ok(())).with_kind("no ../shared").with_ignored_flag(true),
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// The folder of the sources.
#[derive(Clone)]
struct Sources(PathBuf);

impl Sources {
    fn find() -> Option<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
        folder.join("msp/marks.json").is_file().then_some(Self(folder))
    }

    fn json(&self, path: &str) -> Result<Value, Failed> {
        let path = self.0.join(path);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// Fails with both sides unless they are equal.
fn equal<T: PartialEq + std::fmt::Debug>(actual: &T, expected: &T, at: &str) -> Result<(), Failed> {
    if actual == expected { Ok(()) } else { Err(format!("{at}\n  ours:  {actual:?}\n  other: {expected:?}").into()) }
}
