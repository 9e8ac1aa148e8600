//! What `serde_json` and `jsonschema` say about a frame, worked out without any code of the judge.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jsonschema::Validator;
use msp_judge::transcript::Side;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

/// Reads bundles with the same two additions as the overlay: what the raw log carries, and the known stream kinds.
pub(crate) struct Reference {
    definitions: Map<String, Value>,
    tables: BTreeMap<&'static str, Map<String, Value>>,
    closed: HashMap<String, Validator>,
    relaxed: HashMap<String, Validator>,
}

impl Reference {
    pub(crate) fn new(bundle: &Value) -> Self {
        let mut bundle = bundle.clone();
        let mut set = |pointer: &str, value: Value| {
            if let Some(place) = bundle.pointer_mut(pointer) {
                *place = value;
            }
        };
        let record = json!({ "anyOf": [
            { "$ref": "#/$defs/RawLogRecordEnvelope" },
            { "type": "object", "required": ["omitted_live_only"] },
            { "type": "object", "not": { "additionalProperties": { "not": { "const": "omitted_live_only" } } } },
        ] });
        set("/$defs/LogRecordParams/properties/record", record.clone());
        set("/$defs/LogPageResult/properties/records/items", record);
        let kinds = json!(["session", "run", "task", "approval.review"]);
        set("/$defs/StreamRef/properties/kind", json!({ "type": "string", "enum": kinds, "x-msp-openness": "open" }));
        let table = |name: &str| bundle[name].as_object().cloned().unwrap_or_default();
        let tables = ["methods", "requests", "notifications"].map(|name| (name, table(name))).into();
        let definitions = bundle["$defs"].as_object().cloned().unwrap_or_default();
        Self { definitions, tables, closed: HashMap::new(), relaxed: HashMap::new() }
    }

    pub(crate) fn rows(&self, table: &str) -> &Map<String, Value> {
        &self.tables[table]
    }

    pub(crate) fn definitions(&self) -> &Map<String, Value> {
        &self.definitions
    }

    fn fits(&mut self, schema: &Value, value: &Value) -> bool {
        let key = schema.to_string();
        if !self.closed.contains_key(&key) {
            let mut needed: BTreeSet<String> = BTreeSet::new();
            let mut open = vec![schema.clone()];
            while let Some(next) = open.pop() {
                let text = next.to_string();
                for name in text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
                    if needed.insert(name.to_owned()) {
                        open.push(self.definitions[name].clone());
                    }
                }
            }
            let chosen: Map<String, Value> =
                needed.into_iter().map(|name| (name.clone(), self.definitions[&name].clone())).collect();
            let document = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema], "$defs": chosen });
            self.closed.insert(key.clone(), jsonschema::validator_for(&document).unwrap());
            self.relaxed.insert(key.clone(), jsonschema::validator_for(&relaxed(&document)).unwrap());
        }
        // Bad for the relaxed schema, or new for the closed one: neither may be accepted without a word.
        self.relaxed[&key].is_valid(value) && self.closed[&key].is_valid(value)
    }

    /// Whether a frame is good and nothing in it is new. `answers` is the method of the request with id 1 of the
    /// other side, which is open.
    pub(crate) fn accepts(&mut self, side: Side, answers: Option<&str>, bytes: &[u8]) -> bool {
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return false };
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        if NoDuplicates.deserialize(&mut reader).is_err() {
            return false;
        }
        let Some(frame) = value.as_object() else { return false };
        if frame.get("jsonrpc") != Some(&json!("2.0")) {
            return false;
        }
        let id_fits = |id: &Value| id.is_string() || id.as_f64().is_some_and(|number| number.fract() == 0.0);
        let has = |name: &str| frame.contains_key(name);
        match (frame.get("method"), has("result"), has("error")) {
            (Some(Value::String(method)), false, false) => {
                frame.get("id").is_none_or(id_fits) && self.call(side, method, has("id"), frame)
            }
            (None, true, false) => frame.get("id").is_some_and(id_fits) && self.result(frame, answers),
            (None, false, true) => {
                frame.get("id").is_some_and(|id| id_fits(id) || id.is_null())
                    && self.fits(&json!({ "$ref": "#/$defs/ErrorObject" }), &frame["error"])
            }
            _ => false,
        }
    }

    fn call(&mut self, side: Side, method: &str, has_id: bool, frame: &Map<String, Value>) -> bool {
        let from_client = ["initialized", "userInput/engaged"].contains(&method);
        let table = match (side, has_id) {
            (Side::Client, true) => "methods",
            (Side::Server, true) => "requests",
            (side, false) if (side == Side::Client) == from_client => "notifications",
            _ => return false,
        };
        let Some(row) = self.tables[table].get(method).cloned() else { return false };
        let empty = json!({});
        let params = frame.get("params").unwrap_or(&empty);
        let frame_definition = if has_id { "Request" } else { "Notification" };
        params.is_object()
            && row.get("params").is_none_or(|schema| self.fits(schema, params))
            && (!self.definitions.contains_key(frame_definition)
                || self.fits(&json!({ "$ref": format!("#/$defs/{frame_definition}") }), &Value::Object(frame.clone())))
    }

    fn result(&mut self, frame: &Map<String, Value>, answers: Option<&str>) -> bool {
        let result = &frame["result"];
        // Other ids pair with nothing: of those only the envelope is judged.
        let method = answers.filter(|_| frame["id"] == json!(1));
        let row = method.and_then(|method| {
            self.tables["methods"].get(method).or_else(|| self.tables["requests"].get(method)).cloned()
        });
        result.is_object()
            && row.is_none_or(|row| row.get("result").is_none_or(|schema| self.fits(schema, result)))
            && (method != Some("view/page") || self.events(result))
    }

    /// Stored events fit the notification that they name.
    fn events(&mut self, page: &Value) -> bool {
        page["events"].as_array().is_none_or(|events| {
            events.iter().all(|event| {
                let row = event["method"].as_str().and_then(|method| self.tables["notifications"].get(method)).cloned();
                row.is_some_and(|row| row.get("params").is_none_or(|schema| self.fits(schema, &event["params"])))
            })
        })
    }
}

fn relaxed(schema: &Value) -> Value {
    match schema {
        Value::Object(members) if members.get("x-msp-openness") == Some(&json!("open")) => json!({ "type": "string" }),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), relaxed(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(relaxed).collect(),
        other => other.clone(),
    }
}

/// Refuses an object that has a name twice.
struct NoDuplicates;

impl<'de> DeserializeSeed<'de> for NoDuplicates {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! anything {
    ($($name:ident($ty:ty)),*) => { $(fn $name<E>(self, _: $ty) -> Result<(), E> { Ok(()) })* };
}

impl<'de> Visitor<'de> for NoDuplicates {
    type Value = ();

    fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("JSON")
    }

    anything!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(NoDuplicates)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            members.next_value_seed(NoDuplicates)?;
            if !seen.insert(name) {
                return Err(A::Error::custom("a name comes twice"));
            }
        }
        Ok(())
    }
}
