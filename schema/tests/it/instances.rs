//! Values made from definitions, judged by a validator that knows nothing of the maker.
//!
//! A case is a folder: `schema.json`, what it shows, and what the maker must say of it (`expected.txt`, rewritten when the
//! test runs with `UPDATE_EXPECTED=1`).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use jsonschema::ValidatorMap;
use msp_schema::instances::{Coverage, Maker, relax};
use msp_schema::{Surface, pointer, published, session};
use serde_json::Value;

const SEED: u64 = 3;

#[test]
fn every_case_makes_what_it_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/instances");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let document: Value = serde_json::from_str(&fs::read_to_string(case.join("schema.json")).unwrap()).unwrap();
        let actual = judge(&name, &document, 60);
        let expected = case.join("expected.txt");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &actual).unwrap();
        }
        assert_eq!(actual, fs::read_to_string(&expected).unwrap_or_default(), "case `{name}`");
    }
}

#[test]
fn every_published_definition_is_covered() {
    for surface in [Surface::Stable, Surface::Experimental] {
        let said = judge("bundle", published::bundle(surface).value(), 10);
        assert!(!said.contains("not made"), "{said}");
        println!("{said}");
    }
    let said = judge("session", &session::published().definition_bundle().unwrap(), 10);
    assert!(!said.contains("not made"), "{said}");
    println!("{said}");
}

#[test]
fn the_same_seed_makes_the_same_values() {
    let document = published::bundle(Surface::Stable).value();
    let make = |seed| Maker::new(document).valid("/$defs/Item", 20, seed).unwrap().values;
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
}

#[test]
fn a_pointer_without_a_definition_is_an_error() {
    let error = Maker::new(&Value::Bool(true)).valid("/$defs/Nobody", 1, 1).unwrap_err();
    assert_eq!(error.to_string(), "no definition stands at `/$defs/Nobody`");
}

/// Makes and judges all values of a document, and says what came of it.
fn judge(name: &str, document: &Value, limit: usize) -> String {
    let maker = Maker::new(document);
    let validators = jsonschema::options().should_validate_formats(false).build_map(&relax(document)).unwrap();
    let place = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
    let (mut said, mut kinds, mut total) = (String::new(), BTreeSet::new(), Coverage::default());
    for definition in document[place].as_object().unwrap().keys() {
        let at = pointer::of(&[place, definition]);
        let made = maker.valid(&at, limit, SEED).unwrap();
        for gap in &made.gaps {
            writeln!(said, "{definition}: not made: {} at {}", gap.why, gap.at).unwrap();
        }
        let broken = maker.broken(&at, 50, SEED).unwrap();
        if validators.get(&format!("#{at}")).is_none() {
            writeln!(said, "{definition}: {} valid, {} broken, not judged", made.values.len(), broken.mutants.len())
                .unwrap();
            continue;
        }
        let accepts = |at: &str, value: &Value| accepts(&validators, at, value);
        let mut coverage = Coverage::count(document, &at);
        for value in &made.values {
            assert!(accepts(&at, value), "{name}: {definition} refuses {value}");
            coverage.mark(document, &at, value, &accepts);
        }
        for mutant in &broken.mutants {
            assert_eq!(accepts(&at, &mutant.value), mutant.schema_accepts, "{name}: {definition} and {mutant:?}");
            kinds.insert((mutant.kind, mutant.schema_accepts));
        }
        for fact in coverage.missing().filter(|_| made.gaps.is_empty()) {
            writeln!(said, "{definition}: not made: {fact:?}").unwrap();
        }
        if place == "definitions" || document[place].as_object().unwrap().len() < 20 {
            writeln!(said, "{definition}: {} valid, {} broken", made.values.len(), broken.mutants.len()).unwrap();
        }
        total.merge(coverage);
    }
    write!(said, "{total}").unwrap();
    for (kind, accepted) in kinds {
        writeln!(said, "broken: {kind:?}{}", if accepted { ", which JSON Schema accepts" } else { "" }).unwrap();
    }
    said
}

fn accepts(validators: &ValidatorMap, at: &str, value: &Value) -> bool {
    let validator = validators.get(&format!("#{at}"));
    validator.unwrap_or_else(|| panic!("no validator at `{at}`")).is_valid(value)
}
