//! The functions of an engine that an endpoint cannot do without.

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::hub::Hub;
use super::{BindRequest, ENDPOINT, FunctionInfo, Host};
use crate::ids::uuid;
use crate::message::ErrorBody;

#[derive(Deserialize)]
struct Bind {
    trigger_type: String,
    function_id: String,
    #[serde(default)]
    config: Option<Value>,
    #[serde(default)]
    metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Default, Deserialize)]
struct Asked {
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    function_id: Option<String>,
}

/// Serves a function of the engine; `None` for one that is none.
pub(super) fn call<H: Host>(
    hub: &Hub<H>,
    function_id: &str,
    payload: &str,
) -> Option<Result<Box<RawValue>, ErrorBody>> {
    let name = function_id.strip_prefix("engine::")?;
    let outcome = match name {
        "workers::register" => Ok(json!({ "success": true })),
        "register_trigger" => bind(hub, payload),
        "unregister_trigger" => {
            read::<Named>(payload).map(|named| json!({ "removed": hub.host.unbind(ENDPOINT, &named.id) }))
        }
        "functions::list" => read_or_default(payload).map(|asked| list(&hub.host.functions(), &asked)),
        "functions::info" => read_or_default(payload).and_then(|asked| info(&hub.host.functions(), &asked)),
        "triggers::list" => {
            let row = |(id, description)| json!({ "id": id, "description": description });
            Ok(json!({ "triggers": hub.host.triggers().into_iter().map(row).collect::<Vec<_>>() }))
        }
        _ => return None,
    };
    Some(outcome.map(|value| to_raw_value(&value).unwrap_or_default()))
}

fn bind<H: Host>(hub: &Hub<H>, payload: &str) -> Result<Value, ErrorBody> {
    let Bind { trigger_type, function_id, config, metadata } = read(payload)?;
    let id = uuid();
    let deliver = hub.deliver(ENDPOINT, &function_id, metadata.clone());
    let request = BindRequest { id: id.clone(), trigger_type, function_id, config, metadata };
    let bound = hub.host.bind(ENDPOINT, request, deliver);
    bound.map_err(|error| ErrorBody::new("trigger_registration_failed", error.to_string()))?;
    Ok(json!({ "id": id }))
}

fn list(functions: &[FunctionInfo], asked: &Asked) -> Value {
    let wanted = functions.iter().filter(|one| asked.prefix.as_ref().is_none_or(|prefix| one.id.starts_with(prefix)));
    let row = |one: &FunctionInfo| {
        json!({ "function_id": one.id, "namespace": "default", "worker_name": "", "description": one.description,
            "metadata": one.metadata })
    };
    json!({ "functions": wanted.map(row).collect::<Vec<_>>() })
}

fn info(functions: &[FunctionInfo], asked: &Asked) -> Result<Value, ErrorBody> {
    let id = asked.function_id.as_deref().unwrap_or_default();
    let one = functions.iter().find(|one| one.id == id).ok_or_else(|| ErrorBody::function_not_found(id))?;
    Ok(json!({ "function_id": one.id, "namespace": "default", "worker_name": "", "description": one.description,
        "request_schema": one.request, "response_schema": one.response, "metadata": one.metadata,
        "registered_triggers": [] }))
}

fn read<'a, T: Deserialize<'a>>(payload: &'a str) -> Result<T, ErrorBody> {
    serde_json::from_str(payload).map_err(|error| ErrorBody::new("invocation_failed", error.to_string()))
}

fn read_or_default(payload: &str) -> Result<Asked, ErrorBody> {
    if payload == "null" { Ok(Asked::default()) } else { read(payload) }
}
