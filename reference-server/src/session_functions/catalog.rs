//! What is told of the functions: their texts and schemas, and the flags of their registration (SF-WIRE-11, SF-MENT-11).

use iii_wire::endpoint::FunctionInfo;
use msp_schema::session::{SessionSchemas, published};
use serde_json::{Map, Value, json};

use super::functions::{FUNCTIONS, Function};

/// Function that carries the descriptor of the mention source.
const MENTION_GET: &str = "session::mention::get";
/// How a schema names a shared definition in its file, and how it does so alone.
const SHARED: &str = "\"../defs.json#/definitions/";
const OWN: &str = "\"#/definitions/";

/// Every function that is served.
pub(crate) fn functions() -> Vec<FunctionInfo> {
    let schemas = published();
    let info = |function: &Function| {
        let known = schemas.find_function(function.id);
        FunctionInfo {
            id: function.id.to_owned(),
            description: known.map(|known| known.summary.clone()),
            request: known.map(|known| alone(schemas, &known.request)),
            response: known.map(|known| alone(schemas, &known.response)),
            metadata: Some(metadata(function)),
        }
    };
    FUNCTIONS.iter().map(info).collect()
}

/// Every trigger type, with what it tells.
pub(crate) fn triggers() -> Vec<(String, String)> {
    published().triggers.iter().map(|trigger| (trigger.id.clone(), trigger.summary.clone())).collect()
}

fn metadata(function: &Function) -> Value {
    let mut flags = json!({ "trace_hidden": true });
    if !function.reads || function.is_store() || function.id.starts_with("session::mention::") {
        flags["internal"] = true.into();
    }
    if function.id == MENTION_GET {
        flags["mention"] = json!({
            "v": 1,
            "name": "session",
            "label": "Sessions",
            "description": "Another session of this workspace.",
            "icon": "session",
            "color": "neutral",
            "search": "session::mention::search",
            "details": { "function_id": "session::get", "id_field": "session_id" },
        });
    }
    flags
}

/// A schema with the definitions that it needs inside it.
fn alone(schemas: &SessionSchemas, schema: &Value) -> Value {
    let text = schema.to_string().replace(SHARED, OWN);
    let mut needed = Map::new();
    let mut open = names(&text);
    while let Some(name) = open.pop() {
        if let (false, Some(definition)) = (needed.contains_key(&name), schemas.definitions.get(&name)) {
            open.extend(names(&definition.to_string()));
            needed.insert(name, definition.clone());
        }
    }
    let mut alone: Value = serde_json::from_str(&text).unwrap_or_default();
    if let (Some(members), false) = (alone.as_object_mut(), needed.is_empty()) {
        members.insert("definitions".to_owned(), needed.into());
    }
    alone
}

/// Names of the definitions that a schema refers to.
fn names(text: &str) -> Vec<String> {
    text.split(OWN).skip(1).filter_map(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_stand_alone() {
        let functions = functions();
        assert_eq!(functions.len(), 43);
        for function in functions {
            for schema in [function.request.unwrap(), function.response.unwrap()] {
                let text = schema.to_string();
                assert!(!text.contains("defs.json"), "{}", function.id);
                for name in names(&text) {
                    assert!(schema["definitions"].get(&name).is_some(), "{}: {name}", function.id);
                }
            }
            let internal = function.metadata.unwrap()["internal"] == true;
            let open = [
                "get",
                "list",
                "messages",
                "get-message",
                "messages-tail",
                "messages-range",
                "get-attachment",
                "list-attachments",
                "config-status",
            ];
            assert_eq!(internal, !open.iter().any(|name| function.id == format!("session::{name}")), "{}", function.id);
        }
    }
}
