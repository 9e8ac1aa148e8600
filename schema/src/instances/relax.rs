//! The schema that valid values are judged by.

use serde_json::{Map, Value};

/// Keywords whose value is one schema, a list of schemas, or a map of schemas.
const ONE: [&str; 11] = [
    "items",
    "additionalProperties",
    "additionalItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];
const LIST: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
const MAP: [&str; 5] = ["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"];

/// A copy of `document` in which open enums (`x-msp-openness: open`) are plain strings.
///
/// A value that carries a word from a newer peer is valid under this copy and not under the original.
///
/// ```
/// let open = serde_json::json!({ "type": "string", "enum": ["a"], "x-msp-openness": "open" });
/// assert_eq!(msp_schema::instances::relax(&open), serde_json::json!({ "type": "string", "x-msp-openness": "open" }));
/// ```
#[must_use]
pub fn relax(document: &Value) -> Value {
    let mut copy = document.clone();
    relax_schema(&mut copy);
    copy
}

fn relax_schema(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if keywords.get("x-msp-openness").is_some_and(|openness| openness == "open") && keywords.remove("enum").is_some() {
        keywords.entry("type").or_insert_with(|| "string".into());
    }
    for (key, value) in keywords {
        let key = key.as_str();
        if ONE.contains(&key) && value.is_object() {
            relax_schema(value);
        } else if LIST.contains(&key) {
            value.as_array_mut().into_iter().flatten().for_each(relax_schema);
        } else if MAP.contains(&key) {
            value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(relax_schema);
        }
    }
}
