//! Puts all session schemas into one document with names of our own: the titles of the files repeat.

use serde_json::{Map, Value, json};

use super::SessionSchemas;
use crate::{SchemaError, pointer};

const SHARED: &str = "../defs.json#/definitions/";

/// The name of a part: id without its leading `session::`, each word capitalised, then the part.
///
/// ```
/// use msp_schema::session::part_name;
///
/// assert_eq!(part_name("session::store::put-meta", "Request"), "StorePutMetaRequest");
/// assert_eq!(part_name("session::created", "Payload"), "CreatedPayload");
/// ```
pub fn part_name(id: &str, part: &str) -> String {
    let id = id.strip_prefix("session::").unwrap_or(id);
    let words = id.split(|letter: char| !letter.is_alphanumeric());
    let capitalised = words.flat_map(|word| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters)
    });
    capitalised.chain(part.chars()).collect()
}

pub(super) fn definition_bundle(schemas: &SessionSchemas) -> Result<Value, SchemaError> {
    let mut definitions = Map::new();
    let mut insert = |name: String, schema: Value| match definitions.insert(name.clone(), schema) {
        None => Ok(()),
        Some(_) => Err(SchemaError::NameTwice { place: schemas.place.clone(), name }),
    };
    for (name, schema) in &schemas.definitions {
        insert(name.clone(), rewritten(schema, name, true)?)?;
    }
    for function in &schemas.functions {
        for (part, schema) in [("Request", &function.request), ("Response", &function.response)] {
            let name = part_name(&function.id, part);
            insert(name.clone(), rewritten(schema, &name, false)?)?;
        }
    }
    for trigger in &schemas.triggers {
        for (part, schema) in [("Config", &trigger.config), ("Payload", &trigger.payload)] {
            let name = part_name(&trigger.id, part);
            insert(name.clone(), rewritten(schema, &name, false)?)?;
        }
    }
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "Shared definitions of the session functions, and what each function and trigger takes and gives.",
        "$defs": definitions,
    }))
}

/// A schema without its own `$schema`, its references turned to the new document.
fn rewritten(schema: &Value, name: &str, shared: bool) -> Result<Value, SchemaError> {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
    }
    rewrite(&mut schema, name, shared)?;
    Ok(schema)
}

fn rewrite(value: &mut Value, name: &str, shared: bool) -> Result<(), SchemaError> {
    match value {
        Value::Object(members) => {
            describe_references(members);
            for (key, member) in members {
                match member {
                    Value::String(reference) if key == "$ref" => *reference = target(reference, name, shared)?,
                    other => rewrite(other, name, shared)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| rewrite(item, name, shared)),
        _ => Ok(()),
    }
}

/// In draft 7 a `$ref` hides what stands beside it, so the files keep the texts of such members in a keyword of their
/// own. The new document is of a later draft, where they can go where they belong.
fn describe_references(schema: &mut Map<String, Value>) {
    if !schema.contains_key("properties") {
        return;
    }
    let Some(Value::Object(texts)) = schema.remove("x-memberDescriptions") else { return };
    for (member, text) in texts {
        match schema.get_mut("properties").and_then(|all| all.get_mut(&member)) {
            Some(Value::Object(member)) => {
                member.entry("description").or_insert(text);
            }
            Some(anything) if *anything == true => *anything = json!({"description": text}),
            _ => {}
        }
    }
}

/// Where a reference leads in the new document. In `defs.json` the shared definitions are its own.
fn target(reference: &str, name: &str, shared: bool) -> Result<String, SchemaError> {
    let own = if shared { reference.strip_prefix("#/definitions/") } else { None };
    if let Some(definition) = reference.strip_prefix(SHARED).or(own) {
        return Ok(format!("#/$defs/{definition}"));
    }
    match reference.strip_prefix('#') {
        Some(inside) if !shared => Ok(format!("#/$defs/{}{inside}", pointer::escape(name))),
        _ => Err(SchemaError::ForeignRef { reference: reference.to_owned() }),
    }
}
