//! Good frames to start from: those of the recordings, and some made from the schema.

use std::path::Path;

use msp_judge::transcript::Side;
use serde_json::{Map, Value, json};

use crate::mutate::Dice;
use crate::reference::Reference;

/// A frame, who sends it, and for a response the method that it answers.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) side: Side,
    pub(crate) answers: Option<String>,
    pub(crate) frame: Value,
}

/// The frames of all recordings below a folder; responses get the id 1.
pub(crate) fn recorded(folder: &Path) -> Vec<Sample> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> =
        entries.map(|entry| entry.unwrap().path().join("transcript.ndjson")).filter(|path| path.is_file()).collect();
    paths.sort();
    let mut samples = Vec::new();
    for path in paths {
        let mut open: Vec<(Side, Value, String)> = Vec::new();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let Some(raw) = record["raw"].as_str() else { continue };
            let side = if record["dir"] == "client" { Side::Client } else { Side::Server };
            let mut frame: Value = serde_json::from_str(raw.trim()).unwrap();
            let mut answers = None;
            if let (Some(method), Some(id)) = (frame["method"].as_str(), frame.get("id")) {
                open.push((side, id.clone(), method.to_owned()));
            } else if frame.get("method").is_none() {
                let asked = open.iter().rev().find(|(asker, id, _)| *asker != side && *id == frame["id"]);
                answers = asked.map(|(_, _, method)| method.clone());
                if answers.is_some() {
                    frame["id"] = json!(1);
                }
            }
            samples.push(Sample { side, answers, frame });
        }
    }
    samples
}

/// So many frames for each method and each of its parts, made from the schema.
pub(crate) fn made(reference: &Reference, each: usize, dice: &mut Dice) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (table, asker) in [("methods", Side::Client), ("requests", Side::Server), ("notifications", Side::Server)] {
        for (method, row) in reference.rows(table) {
            let side =
                if ["initialized", "userInput/engaged"].contains(&method.as_str()) { Side::Client } else { asker };
            for _ in 0..each {
                let mut call = json!({ "jsonrpc": "2.0", "method": method });
                if table == "notifications" {
                    call["emittedAtMs"] = json!(1);
                } else {
                    call["id"] = json!(7);
                }
                if let Some(params) = row.get("params") {
                    call["params"] = value(reference, params, dice, 0);
                }
                samples.push(Sample { side, answers: None, frame: call });
                if let Some(result) = row.get("result") {
                    let mut result = value(reference, result, dice, 0);
                    if method == "view/page" {
                        result["events"] = (0..3).map(|_| event(reference, dice)).collect();
                    }
                    let frame = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
                    samples.push(Sample { side: asker.other(), answers: Some(method.clone()), frame });
                }
            }
        }
    }
    samples
}

fn event(reference: &Reference, dice: &mut Dice) -> Value {
    let rows: Vec<(&String, &Value)> =
        reference.rows("notifications").iter().filter(|(_, row)| row.get("params").is_some()).collect();
    let (method, row) = rows[dice.below(rows.len())];
    let mut params = value(reference, &row["params"], dice, 0);
    let base = value(reference, &json!({ "$ref": "#/$defs/UnframedViewNotificationParams" }), dice, 0);
    for (name, member) in base.as_object().unwrap() {
        params[name] = member.clone();
    }
    json!({ "method": method, "params": params })
}

fn value(reference: &Reference, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()) {
        return value(reference, &reference.definitions()[name], dice, depth + 1);
    }
    if let Some(word) = schema.get("const") {
        return word.clone();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[dice.below(words.len())].clone();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = schema[keyword].as_array() {
            let branch = if depth > 8 { branches.len() - 1 } else { dice.below(branches.len()) };
            return value(reference, &branches[branch], dice, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[dice.below(kinds.len())].as_str().unwrap(),
        kind => kind.as_str().unwrap_or("string"),
    };
    match kind {
        "null" => Value::Null,
        "boolean" => json!(dice.below(2) == 0),
        "integer" => json!(schema["minimum"].as_i64().unwrap_or(0) + i64::try_from(dice.below(100)).unwrap()),
        "number" => json!(0.5),
        "string" => match schema["pattern"].as_str() {
            Some("^sha256:[0-9a-f]{64}$") => json!(format!("sha256:{}", "0a".repeat(32))),
            Some(_) => json!("probe_1"),
            None => json!(["", "x", "caf\u{e9}", "a \"quoted\" line\nand another", "\u{1f35e}"][dice.below(5)]),
        },
        "array" => (0..if depth > 6 { 0 } else { dice.below(3) })
            .map(|_| value(reference, &schema["items"], dice, depth + 1))
            .collect(),
        _ => object(reference, schema, dice, depth),
    }
}

fn object(reference: &Reference, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name));
    let mut members = Map::new();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if required(name) || depth < 6 && dice.below(4) == 0 {
            members.insert(name.clone(), value(reference, member, dice, depth + 1));
        }
    }
    for (name, needs) in schema["dependentRequired"].as_object().into_iter().flatten() {
        if members.contains_key(name) {
            for need in needs.as_array().unwrap() {
                members.entry(need.as_str().unwrap()).or_insert(json!(3));
            }
        }
    }
    if let Some(rest) = schema.get("additionalProperties").filter(|rest| rest.is_object()) {
        members.insert("more".into(), value(reference, rest, dice, depth + 1));
    }
    members.into()
}
