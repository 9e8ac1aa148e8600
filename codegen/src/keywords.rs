//! Where JSON Schema has subschemas: the keywords of drafts 7 and 2020-12 that hold them.

use crate::document::Node;
use crate::pointer;

/// Keywords whose value is an object of schemas, by names that are the user's.
pub(crate) const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is an array of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is one schema.
const SINGLES: [&str; 12] = [
    "additionalProperties",
    "additionalItems",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "items",
];

/// The schemas directly inside `schema`, which stands at `at`, in file order, with their pointers.
pub(crate) fn subschemas<'a>(schema: &'a Node, at: &str) -> Vec<(String, &'a Node)> {
    let mut found = Vec::new();
    for (keyword, value) in schema.members() {
        let below = || pointer::join(at, keyword);
        match (keyword.as_str(), value) {
            (name, Node::Object(members)) if MAPS.contains(&name) => {
                found.extend(members.iter().map(|(name, value)| (pointer::join(&below(), name), value)));
            }
            // Draft 7: names to a schema or to a list of names.
            ("dependencies", Node::Object(members)) => {
                let schemas = members.iter().filter(|(_, value)| value.is_schema());
                found.extend(schemas.map(|(name, value)| (pointer::join(&below(), name), value)));
            }
            // `items` is a list in draft 7 where a tuple is meant.
            (name, Node::Array(items)) if LISTS.contains(&name) || name == "items" => {
                found.extend(items.iter().enumerate().map(|(index, value)| (format!("{}/{index}", below()), value)));
            }
            (name, Node::Object(_) | Node::Bool(_)) if SINGLES.contains(&name) => found.push((below(), value)),
            _ => {}
        }
    }
    found
}

/// Calls `visit` with `schema` and with every schema inside it, outermost first.
pub(crate) fn walk<'a>(schema: &'a Node, at: &str, visit: &mut dyn FnMut(&'a Node, &str)) {
    visit(schema, at);
    for (pointer, subschema) in subschemas(schema, at) {
        walk(subschema, &pointer, visit);
    }
}
