//! One normal form for the schema of a definition and for the schema that its type tells of itself.
//!
//! Both sides go through the same steps; what a step levels out is not compared. Each is named here:
//!
//! - **texts**: `title`, `description`, `default`, `examples`, `format`, `$comment` and all `x-` keywords but openness go.
//! - **openness**: an enum of strings without `x-msp-openness` is closed, and closed is not written.
//! - **constants**: `const` is an enum of one; beside an enum, `type` says nothing new and goes.
//! - **anything**: an empty schema is `true`; `additionalProperties: true` and empty `properties`, `required` go.
//! - **required**: is a set.
//! - **one**: an `allOf` of one schema with nothing beside it is that schema.
//! - **alternatives**: `oneOf` is compared as `anyOf`; a list of types becomes one alternative a type, each with the keywords
//!   that speak of that type; keywords beside `anyOf` move into the alternatives that they speak of; alternatives of an
//!   alternative stand beside it; the same alternative counts once; their order does not count.
//! - **words**: alternatives that are closed enums of strings are one enum.
//! - **numbers**: `1.0` in a keyword is `1`.

use serde_json::{Map, Value, json};

/// Keywords by the type that they speak of.
const OF: [(&str, &[&str]); 4] = [
    (
        "object",
        &["properties", "required", "additionalProperties", "dependentRequired", "minProperties", "maxProperties"],
    ),
    ("array", &["items", "minItems", "maxItems", "uniqueItems"]),
    ("string", &["minLength", "maxLength", "pattern"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
];

const TEXTS: [&str; 8] = ["title", "description", "default", "examples", "format", "$comment", "$schema", "$defs"];

/// The normal form of a schema.
pub(crate) fn normal(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in schema {
        if TEXTS.contains(&key.as_str()) || (key.starts_with("x-") && key != "x-msp-openness") {
            continue;
        }
        let value = match key.as_str() {
            "properties" => {
                value.as_object().unwrap().iter().map(|(name, member)| (name.clone(), normal(member))).collect()
            }
            "items" | "additionalProperties" => normal(value),
            "anyOf" | "oneOf" | "allOf" => value.as_array().unwrap().iter().map(normal).collect(),
            "required" => sorted(value.as_array().unwrap().clone()),
            _ => whole(value),
        };
        out.insert(if key == "oneOf" { "anyOf".to_owned() } else { key.clone() }, value);
    }
    level_enum(&mut out);
    level_empty(&mut out);
    if let Some(Value::Array(parts)) = out.get("allOf") {
        if let (1, [only]) = (out.len(), parts.as_slice()) {
            return only.clone();
        }
    }
    level_alternatives(out)
}

fn level_enum(out: &mut Map<String, Value>) {
    if let Some(one) = out.remove("const") {
        out.insert("enum".to_owned(), json!([one]));
    }
    if out.get("x-msp-openness").is_some_and(|openness| openness == "closed") {
        out.remove("x-msp-openness");
    }
    if out.contains_key("enum") {
        out.remove("type");
    }
}

fn level_empty(out: &mut Map<String, Value>) {
    for key in ["properties", "required", "additionalProperties", "dependentRequired"] {
        let empty = match out.get(key) {
            Some(Value::Object(object)) => object.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Bool(truth)) => *truth,
            _ => false,
        };
        if empty {
            out.remove(key);
        }
    }
    if out.get("items") == Some(&json!(true)) {
        out.remove("items");
    }
}

fn level_alternatives(mut out: Map<String, Value>) -> Value {
    if let Some(Value::Array(types)) = out.get("type").cloned() {
        out.remove("type");
        let of_type = |name: &Value| {
            let mut one = speaking_of(&out, name.as_str().unwrap());
            one.insert("type".to_owned(), name.clone());
            Value::Object(one)
        };
        return alternatives(types.iter().map(of_type).collect());
    }
    if let Some(Value::Array(parts)) = out.remove("anyOf") {
        let with_beside = |part: &Value| {
            let mut part = part.clone();
            if let Some(object) = part.as_object_mut() {
                let name = object.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                object.extend(speaking_of(&out, &name));
            }
            part
        };
        return alternatives(parts.iter().map(with_beside).collect());
    }
    if out.is_empty() { Value::Bool(true) } else { Value::Object(out) }
}

/// The keywords that say something about values of a type.
fn speaking_of(keywords: &Map<String, Value>, name: &str) -> Map<String, Value> {
    let name = if name == "integer" { "number" } else { name };
    let of = OF.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, keys)| keys);
    keywords
        .iter()
        .filter(|(key, _)| of.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn alternatives(parts: Vec<Value>) -> Value {
    let mut flat = Vec::new();
    let mut words = Vec::new();
    for part in parts {
        let inner = match part.get("anyOf").and_then(Value::as_array) {
            Some(inner) if part.as_object().is_some_and(|part| part.len() == 1) => inner.clone(),
            _ => vec![part],
        };
        for part in inner {
            match closed_words(&part) {
                Some(more) => words.extend(more),
                None => flat.push(part),
            }
        }
    }
    if !words.is_empty() {
        flat.push(json!({ "enum": words }));
    }
    let mut flat = match sorted(flat) {
        Value::Array(flat) => flat,
        _ => Vec::new(),
    };
    flat.dedup();
    if flat.len() == 1 { flat.remove(0) } else { json!({ "anyOf": flat }) }
}

fn closed_words(part: &Value) -> Option<Vec<Value>> {
    let part = part.as_object().filter(|part| part.len() == 1)?;
    let values = part.get("enum")?.as_array()?;
    values.iter().all(Value::is_string).then(|| values.clone())
}

fn sorted(mut values: Vec<Value>) -> Value {
    values.sort_by_key(Value::to_string);
    Value::Array(values)
}

/// Numbers without a fraction as integers, inside keywords.
fn whole(value: &Value) -> Value {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => json!(float as i64),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}
