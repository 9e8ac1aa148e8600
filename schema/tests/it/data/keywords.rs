//! The table of added keywords holds in every revision that has the place.

use msp_schema::{keywords, revisions};

use super::{each_schema, read_json};
use msp_schema::{Surface, published};

/// What names and types need, and descriptions. Any other keyword in a bundle came through the table.
const PLAIN: [&str; 11] = [
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
    "x-msp-openness",
];

fn bundles() -> impl Iterator<Item = (String, serde_json::Value)> {
    revisions::index().iter().flat_map(|revision| {
        Surface::ALL.map(|surface| {
            let name = format!("{} {surface}", revision.version);
            let folder = if revision.version == published::HOST_VERSION {
                format!("msp/{surface}")
            } else {
                format!("msp/revisions/{}/{surface}", revision.version)
            };
            (name, read_json(format!("{folder}/msp.schema.json")))
        })
    })
}

#[test]
fn each_revision_has_each_keyword_whose_place_it_has() {
    let table = keywords::published().unwrap();
    assert_eq!(table.len(), 9);
    let mut places = vec![0; table.len()];
    for (name, bundle) in bundles() {
        for (row, places) in table.iter().zip(&mut places) {
            if let Some(holds) = row.holds_in(&bundle) {
                assert!(holds, "{name}: {} {}", row.at, row.keyword);
                *places += 1;
            }
        }
    }
    // Seven places are in all 22 bundles, `PhysicalCursor` in the experimental ones that know it.
    assert_eq!(places.iter().filter(|&&count| count == 22).count(), 8, "{places:?}");
    assert!(places.iter().all(|&count| count > 0), "{places:?}");
}

#[test]
fn no_revision_has_a_keyword_beyond_the_table() {
    let table = keywords::published().unwrap();
    for (name, bundle) in bundles() {
        for (definition, schema) in bundle["$defs"].as_object().unwrap() {
            each_schema(schema, &format!("/$defs/{definition}"), &mut |at, schema| {
                let keywords = schema.as_object().unwrap().keys();
                for keyword in keywords.filter(|keyword| !PLAIN.contains(&keyword.as_str())) {
                    let known = table.iter().any(|row| row.at == at && row.keyword == *keyword);
                    assert!(known, "{name}{at}/{keyword} is not in the table");
                }
            });
        }
        let silent = bundle["errors"].as_array().unwrap().iter().filter(|row| row.get("retryable").is_none()).count();
        assert_eq!(silent, 2, "{name}");
    }
}
