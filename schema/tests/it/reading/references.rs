//! Following `$ref`.

use msp_schema::bundle::Bundle;

fn bundle() -> Bundle {
    let text = r##"{"$defs": {"A b/c": {"type": "string"}, "Loop": {"$ref": "#/$defs/Loop"}}, "methods": {}}"##;
    Bundle::parse(text).unwrap()
}

#[track_caller]
fn check(reference: &str, expected: &str) {
    let bundle = bundle();
    let actual = match bundle.resolve(reference) {
        Ok(value) => value.to_string(),
        Err(error) => format!("{} {error}", error.code()),
    };
    assert_eq!(actual, expected);
}

#[test]
fn escapes_of_pointers_and_of_addresses_are_read() {
    check("#/$defs/A b~1c", r#"{"type":"string"}"#);
    check("#/$defs/A%20b~1c", r#"{"type":"string"}"#);
    check("#/%24defs/A%20b~1c/type", r#""string""#);
    check("#/$defs/Loop", r##"{"$ref":"#/$defs/Loop"}"##);
}

#[test]
fn the_first_missing_part_is_named() {
    let expected = "schema/unresolved-ref `$ref` names `#/$defs/Gone/type`, and `#/$defs/Gone` does not exist";
    check("#/$defs/Gone/type", expected);
    check(
        "#/$defs/Loop/x/1",
        "schema/unresolved-ref `$ref` names `#/$defs/Loop/x/1`, and `#/$defs/Loop/x` does not exist",
    );
}

#[test]
fn other_documents_are_not_followed() {
    for reference in ["other.json#/$defs/A", "#anchor", "http://example.invalid/x", "", "#/%f", "#/%ff", "#/%+1"] {
        check(reference, &format!("schema/foreign-ref `$ref` names `{reference}`, which is outside of this document"));
    }
}
