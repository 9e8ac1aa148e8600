//! Everything has a description: in the bundle where it has room, in the overlay otherwise.

use msp_schema::annotations::Annotations;
use msp_schema::{Surface, published};
use serde_json::Value;

/// What a text must be, to be one.
fn assert_text(text: Option<&str>, at: &str) {
    let text = text.unwrap_or_else(|| panic!("{at} has no description"));
    assert!(text.len() >= 10, "{at}: `{text}` says nothing");
    assert_eq!(text, text.trim(), "{at}");
    assert!(text.ends_with(['.', '`', ')']) && !text.contains("  "), "{at}: `{text}`");
    for word in ["TODO", "UNKNOWN", "INFERRED"] {
        assert!(!text.contains(word), "{at}: `{text}`");
    }
}

fn assert_described(schema: &Value, at: &str) {
    assert_text(schema["description"].as_str(), at);
}

#[test]
fn definitions_and_members_have_descriptions() {
    for surface in Surface::ALL {
        for (name, definition) in published::bundle(surface).definitions() {
            let at = format!("{surface}/$defs/{name}");
            assert_described(definition, &at);
            super::each_schema(definition, &at, &mut |at, schema| {
                for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
                    assert_described(schema, &format!("{at}/properties/{member}"));
                }
            });
        }
    }
}

#[test]
fn rows_have_descriptions() {
    for surface in Surface::ALL {
        let bundle = published::bundle(surface);
        assert_described(bundle.value(), surface.name());
        for row in bundle.methods().iter().chain(bundle.notifications()).chain(bundle.requests()) {
            assert_text(row.description.as_deref(), &row.name);
        }
        for reserved in bundle.reserved().iter().chain(&bundle.capabilities().reserved) {
            assert_text(Some(&reserved.reference), &reserved.identifier);
        }
    }
}

#[test]
fn enum_values_errors_and_capabilities_have_descriptions() {
    let overlay = Annotations::published();
    let bundle = published::bundle(Surface::Experimental);
    for (name, definition) in bundle.definitions() {
        for value in definition["enum"].as_array().into_iter().flatten() {
            let value = value.as_str().unwrap();
            let entry = overlay.enum_value(name, value);
            assert_text(entry.and_then(|entry| entry.description.as_deref()), &format!("{name}={value}"));
        }
    }
    for row in bundle.errors() {
        let entry = overlay.error(row.code).unwrap();
        assert_eq!(entry.error_kind.as_deref(), Some(row.kind.as_str()));
        assert_text(entry.description.as_deref(), &row.kind);
        assert_eq!(entry.override_kinds.len(), row.override_kinds.len(), "{}", row.code);
        for kind in &row.override_kinds {
            assert_text(Some(&entry.override_kinds[kind].description), kind);
        }
    }
    for capability in &bundle.capabilities().grantable {
        let entry = overlay.capability(capability).unwrap();
        assert_text(entry.description.as_deref(), capability);
    }
}
