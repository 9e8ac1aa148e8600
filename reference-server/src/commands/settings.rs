//! Settings of the host: `settings/read`, `readSchema`, `writeValue`, `writeMany` (experimental).
//!
//! Simulated: three keys of our own, kept for the life of the host and not in a file. Each has a fallback; one is managed: it shows
//! how the host was started.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use msp_types::NoParams;
use msp_types::msp::methods::{SettingsRead, SettingsReadSchema, SettingsWriteMany, SettingsWriteValue};
use msp_types::msp::{
    SettingsReadResult, SettingsReadSchemaResult, SettingsWriteManyParams, SettingsWriteManyResult,
    SettingsWriteValueParams, SettingsWriteValueResult,
};
use serde_json::{Map, Value, json};

use super::{HostCall, HostMethod, Method, Reply, bare, from_value, method, to_value};
use crate::host::Host;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[
    bare::<SettingsRead>(),
    bare::<SettingsReadSchema>(),
    method::<SettingsWriteValue>(),
    method::<SettingsWriteMany>(),
];

/// Version of the keys below.
const SCHEMA_VERSION: i64 = 1;

/// A setting.
struct Key {
    path: &'static str,
    shape: &'static str,
    managed: bool,
    fallback: fn(&Host) -> Value,
}

const KEYS: &[Key] = &[
    Key { path: "recap.onReturn", shape: "boolean", managed: false, fallback: |_| true.into() },
    Key { path: "shell.enabled", shape: "boolean", managed: true, fallback: |host| host.config.shell.into() },
    Key { path: "ui.language", shape: "string", managed: false, fallback: |_| Value::Null },
];

impl HostMethod for SettingsRead {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<SettingsReadResult>, Refusal> {
        let held = held(call.host);
        let values: Map<_, _> = KEYS
            .iter()
            .map(|key| (key.path.to_owned(), effective(call.host, key, &held)))
            .filter(|(_, value)| !value.is_null())
            .collect();
        Ok(Reply::Result(from_value(json!({ "schemaVersion": SCHEMA_VERSION, "values": values }))?))
    }
}

impl HostMethod for SettingsReadSchema {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<SettingsReadSchemaResult>, Refusal> {
        let described = |key: &Key| {
            let mut entry = json!({ "type": key.shape });
            if key.managed {
                entry["constraint"] = json!({ "value": (key.fallback)(call.host) });
            }
            (key.path.to_owned(), entry)
        };
        let keys: Map<_, _> = KEYS.iter().map(described).collect();
        Ok(Reply::Result(from_value(json!({ "schemaVersion": SCHEMA_VERSION, "keys": keys }))?))
    }
}

impl HostMethod for SettingsWriteValue {
    fn serve(
        params: SettingsWriteValueParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<SettingsWriteValueResult>, Refusal> {
        let value = to_value(&params.value)?;
        let key = check(&params.key_path, &value)?;
        let effective = write(call.host, &[(key, value)]).pop();
        let result = json!({ "keyPath": params.key_path, "effectiveValue": effective });
        Ok(Reply::Result(from_value(result)?))
    }
}

impl HostMethod for SettingsWriteMany {
    fn serve(params: SettingsWriteManyParams, call: &HostCall<'_>) -> Result<Reply<SettingsWriteManyResult>, Refusal> {
        let mut edits = Vec::new();
        for (index, edit) in params.edits.iter().enumerate() {
            let value = to_value(&edit.value)?;
            let key = check(&edit.key_path, &value).map_err(|refusal| refusal.with("index", index))?;
            edits.push((key, value));
        }
        let effective = write(call.host, &edits);
        let results: Vec<_> = params
            .edits
            .iter()
            .zip(effective)
            .map(|(edit, value)| json!({ "keyPath": edit.key_path, "effectiveValue": value }))
            .collect();
        Ok(Reply::Result(from_value(json!({ "results": results }))?))
    }
}

/// The key that an edit may write.
fn check(path: &str, value: &Value) -> Result<&'static Key, Refusal> {
    let Some(key) = KEYS.iter().find(|key| key.path == path) else {
        return Err(Refusal::invalid_params(format!("no setting `{path}` of this host")).with("keyPath", path));
    };
    if key.managed {
        let refusal = Refusal::rejected_request("policy_rejected", format!("setting `{path}` is managed"));
        return Err(refusal.with("keyPath", path));
    }
    let fits = match value {
        Value::Null => true,
        Value::Bool(_) => key.shape == "boolean",
        _ => key.shape == "string",
    };
    if fits {
        Ok(key)
    } else {
        Err(Refusal::invalid_params(format!("setting `{path}` is a {}", key.shape)).with("keyPath", path))
    }
}

/// Values that were written.
fn held(host: &Host) -> BTreeMap<String, Value> {
    let shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    let shelf = shelves.get("settings").and_then(Value::as_object);
    shelf.into_iter().flatten().map(|(path, value)| (path.clone(), value.clone())).collect()
}

fn effective(host: &Host, key: &Key, held: &BTreeMap<String, Value>) -> Value {
    held.get(key.path).cloned().unwrap_or_else(|| (key.fallback)(host))
}

/// Writes all edits, and gives what is in force after them.
fn write(host: &Host, edits: &[(&Key, Value)]) -> Vec<Value> {
    let mut values = held(host);
    for (key, value) in edits {
        if value.is_null() {
            values.remove(key.path);
        } else {
            values.insert(key.path.to_owned(), value.clone());
        }
    }
    host.shelves.lock().unwrap_or_else(PoisonError::into_inner).insert("settings", json!(values));
    edits.iter().map(|(key, _)| effective(host, key, &values)).collect()
}
