//! How much there is of everything.

use msp_schema::annotations::Annotations;
use msp_schema::{Surface, published, revisions, session};

fn counts(surface: Surface) -> [usize; 5] {
    let bundle = published::bundle(surface);
    let definitions = bundle.definitions().count();
    [definitions, bundle.methods().len(), bundle.notifications().len(), bundle.requests().len(), bundle.errors().len()]
}

#[test]
fn both_surfaces_are_whole() {
    assert_eq!(counts(Surface::Experimental), [498, 102, 55, 3, 50]);
    assert_eq!(counts(Surface::Stable), [380, 70, 45, 2, 37]);
}

#[test]
fn there_are_43_functions_and_7_triggers() {
    let schemas = session::published();
    assert_eq!((schemas.functions.len(), schemas.triggers.len(), schemas.errors.len()), (43, 7, 11));
    assert_eq!(schemas.functions.iter().filter(|function| function.internal).count(), 19);
    let bundle = schemas.definition_bundle().unwrap();
    let definitions = bundle["$defs"].as_object().unwrap();
    assert_eq!(definitions.len(), schemas.definitions.len() + 43 * 2 + 7 * 2);
}

#[test]
fn there_are_eleven_revisions() {
    assert_eq!(revisions::index().len(), 11);
    assert_eq!(revisions::index().last().unwrap().version, published::HOST_VERSION);
}

#[test]
fn the_overlay_names_every_member_of_an_item() {
    let item = published::bundle(Surface::Experimental).definition("Item").unwrap();
    let members = item["properties"].as_object().unwrap();
    assert_eq!(members.len(), 104);
    for member in members.keys() {
        let entry = Annotations::published().member("Item", member).unwrap();
        assert!(!entry.item_kinds.is_empty(), "{member}");
    }
}
