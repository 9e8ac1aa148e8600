//! Several schemas that hold at once, as one schema.

use serde_json::{Map, Value, json};

use super::compile::{constrains, find_pointer};

/// Nested references and `allOf`s beyond this depth go in a circle.
const DEEPEST: usize = 32;

/// `schema` without `$ref` and `allOf`.
///
/// # Errors
/// Says which keyword stands in the way.
pub(super) fn merge(document: &Value, siblings: bool, schema: &Map<String, Value>) -> Result<Value, String> {
    let mut parts = Vec::new();
    let whole = Value::Object(schema.clone());
    if !flatten(document, siblings, &whole, &mut parts, 0)? {
        return Ok(Value::Bool(false));
    }
    let limited =
        parts.iter().filter(|part| part.get("additionalProperties").is_some_and(|rest| *rest != true)).count();
    let naming = parts.iter().filter(|part| part.contains_key("properties")).count();
    if limited > 1 || limited == 1 && naming > 1 {
        return Err("`additionalProperties` beside other schemas".into());
    }
    let mut merged = Map::new();
    for part in parts {
        for (key, value) in part {
            let joined = match merged.remove(&key) {
                Some(before) if before != value => match join(&key, before, value)? {
                    Some(joined) => joined,
                    None => return Ok(Value::Bool(false)),
                },
                _ => value,
            };
            merged.insert(key, joined);
        }
    }
    Ok(Value::Object(merged))
}

/// Collects the parts; false where one of them accepts nothing.
fn flatten(
    document: &Value,
    siblings: bool,
    schema: &Value,
    parts: &mut Vec<Map<String, Value>>,
    depth: usize,
) -> Result<bool, String> {
    if depth > DEEPEST {
        return Err("references in a circle".into());
    }
    let keywords = match schema {
        Value::Bool(truth) => return Ok(*truth),
        Value::Object(keywords) => keywords,
        _ => return Err("a schema is an object or a boolean".into()),
    };
    let mut possible = true;
    if let Some(reference) = keywords.get("$ref") {
        let text = reference.as_str().unwrap_or_default();
        let target = find_pointer(text).and_then(|pointer| document.pointer(&pointer));
        let target = target.ok_or_else(|| format!("`$ref` to `{text}`"))?;
        possible &= flatten(document, siblings, target, parts, depth + 1)?;
        if !siblings {
            return Ok(possible);
        }
    }
    for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        possible &= flatten(document, siblings, part, parts, depth + 1)?;
    }
    let kept = |key: &str| !matches!(key, "$ref" | "allOf") && (constrains(key) || key == "x-msp-openness");
    parts.push(keywords.iter().filter(|(key, _)| kept(key)).map(|(key, value)| (key.clone(), value.clone())).collect());
    Ok(possible)
}

/// One keyword that two schemas give differently; none where no value passes both.
fn join(key: &str, one: Value, two: Value) -> Result<Option<Value>, String> {
    Ok(Some(match (key, one, two) {
        ("properties", Value::Object(mut one), Value::Object(two)) => {
            for (name, schema) in two {
                let both = match one.remove(&name) {
                    Some(before) if before != schema => json!({ "allOf": [before, schema] }),
                    _ => schema,
                };
                one.insert(name, both);
            }
            Value::Object(one)
        }
        ("required", Value::Array(mut one), Value::Array(two)) => {
            one.extend(two);
            Value::Array(one)
        }
        ("dependentRequired", Value::Object(mut one), Value::Object(two))
            if two.keys().all(|name| !one.contains_key(name)) =>
        {
            one.extend(two);
            Value::Object(one)
        }
        ("enum", Value::Array(one), Value::Array(two)) => {
            Value::Array(one.into_iter().filter(|value| two.contains(value)).collect())
        }
        ("const", ..) => return Ok(None),
        ("type", one, two) => return Ok(types(&one, &two)),
        ("items", one, two) => json!({ "allOf": [one, two] }),
        ("uniqueItems", one, two) => Value::Bool(one == true || two == true),
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", one, two) => {
            if one.as_f64() >= two.as_f64() { one } else { two }
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", one, two) => {
            if one.as_f64() <= two.as_f64() { one } else { two }
        }
        _ => return Err(format!("keyword `{key}` of two schemas that hold at once")),
    }))
}

fn types(one: &Value, two: &Value) -> Option<Value> {
    let list = |types: &Value| match types {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    let (one, two) = (list(one), list(two));
    let allowed = |name: &Value, by: &[Value]| by.contains(name) || name == "integer" && by.contains(&json!("number"));
    let mut both: Vec<Value> = one.iter().filter(|name| allowed(name, &two)).cloned().collect();
    both.extend(two.iter().filter(|name| allowed(name, &one) && !one.contains(name)).cloned());
    match both.len() {
        0 => None,
        1 => both.pop(),
        _ => Some(Value::Array(both)),
    }
}
