//! Every definition, through its type and back: nothing is lost, nothing broken is taken.

use std::collections::{BTreeMap, BTreeSet};

use msp_schema::instances::relax;
use serde_json::Value;

use crate::exercise::{self, Amount, Report};

#[test]
fn valid_values_come_back_equal_and_broken_ones_are_refused() {
    let mut all = Report::default();
    for family in exercise::families() {
        let relaxed = relax(&family.document);
        let validators = jsonschema::options().should_validate_formats(false).build_map(&relaxed).unwrap();
        let judge = |at: &str, value: &Value| {
            let validator = validators.get(&format!("#{at}"));
            validator.unwrap_or_else(|| panic!("no validator for `{at}`")).is_valid(value)
        };
        let report = exercise::run(&family, Amount::from_environment(), Some(&judge));
        let Report { definitions, valid, broken, .. } = report;
        println!("{}: {definitions} definitions, {valid} valid values, {broken} broken ones", family.name);
        println!("{}", report.coverage);
        all.merge(report);
    }
    let Report { valid, broken, disagreements, .. } = &all;
    println!("{valid} valid values, {broken} broken ones, types stricter than the schema: {disagreements:?}");
    let shown: Vec<_> = all.wrong.iter().take(40).collect();
    assert!(all.wrong.is_empty(), "{} differences, the first of them:\n{shown:#?}", all.wrong.len());
    assert_eq!(listed(), all.disagreements.keys().map(|reason| (*reason).to_owned()).collect::<BTreeSet<_>>());
}

/// The reasons of the committed list; each says why.
fn listed() -> BTreeSet<String> {
    let rows: Vec<BTreeMap<String, String>> = serde_json::from_str(include_str!("disagreements.json")).unwrap();
    assert!(rows.iter().all(|row| row["why"].len() > 40));
    rows.into_iter().map(|row| row["reason"].clone()).collect()
}
