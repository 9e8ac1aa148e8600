//! The round trips of `generated/tests/it`, without a validator in the tree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at what it did not expect")]

#[path = "../../tests/it/dispatch.rs"]
mod dispatch;
#[path = "../../tests/it/exercise.rs"]
mod exercise;
#[path = "../../tests/it/types.rs"]
mod types;
#[path = "../../tests/it/values.rs"]
mod values;

use std::process::Command;

use exercise::{Amount, Report};

#[test]
fn valid_values_come_back_equal_and_broken_ones_are_refused() {
    let mut all = Report::default();
    for family in exercise::families() {
        all.merge(exercise::run(&family, Amount::from_environment(), None));
    }
    println!("{} definitions, {} valid values, {} broken ones", all.definitions, all.valid, all.broken);
    let shown: Vec<_> = all.wrong.iter().take(40).collect();
    assert!(all.wrong.is_empty(), "{} differences, the first of them:\n{shown:#?}", all.wrong.len());
}

/// What msp-types has to bring along by itself, and what must not be there for this test to mean anything.
#[test]
fn the_tree_has_no_validator_and_no_feature_of_one() {
    let tree = |arguments: &[&str]| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output =
            Command::new(cargo).arg("tree").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let all = tree(&["--edges", "all", "--prefix", "none"]);
    assert!(!all.contains("jsonschema"), "{all}");
    let features = tree(&["--edges", "all,features", "--invert", "serde_json"]);
    for feature in ["arbitrary_precision", "preserve_order"] {
        assert!(!features.contains(feature), "{features}");
    }
}
