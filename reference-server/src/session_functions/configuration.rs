//! The configuration functions of an engine, answered for the one id that this server registers: `session-manager` (section 14 of the
//! worker protocol). So a reload works without an engine. Values live as long as the process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bindings::{Binding, Delivery, Owner, Sink};
use super::event::raw;
use super::failure::Failure;
use super::filter::Refusal;
use super::settings::Settings;

/// Id of the value.
pub(crate) const ID: &str = "session-manager";
/// Trigger type of changes.
pub(crate) const TRIGGER: &str = "configuration";
/// Kind of event when a value was set.
pub(crate) const UPDATED: &str = "configuration:updated";

/// The stored value, and who is told of changes.
#[derive(Debug)]
pub struct Configurations(Mutex<State>);

#[derive(Debug)]
struct State {
    value: Value,
    bound: Vec<(Owner, Arc<Binding>, Arc<dyn Sink>)>,
}

/// A change that is stored and not yet announced.
#[derive(Debug)]
pub(crate) struct Changed(Value);

#[derive(Deserialize)]
struct Named {
    id: String,
    #[serde(default)]
    raw: Option<bool>,
}

#[derive(Deserialize)]
struct Set {
    id: String,
    value: Value,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    configuration_id: Option<String>,
    event_types: Option<Vec<String>>,
    condition_function_id: Option<String>,
}

impl Configurations {
    /// With the seed value.
    pub fn new(seed: Value) -> Self {
        Self(Mutex::new(State { value: seed, bound: Vec::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stored value, with `${NAME:default}` replaced from the environment.
    pub fn value(&self) -> Value {
        expanded(&self.state().value)
    }

    /// Answers one of the functions; `None` for a function that is none of them.
    pub(crate) fn call(&self, function: &str, payload: &str) -> Option<Result<(Value, Option<Changed>), Failure>> {
        let plain = |answer: Result<Value, Failure>| Some(answer.map(|answer| (answer, None)));
        match function {
            "configuration::get" => plain(self.get(payload)),
            "configuration::schema" => plain(named(function, payload).map(|_| entry())),
            "configuration::list" => plain(Ok(json!({ "configurations": [entry()] }))),
            "configuration::set" => Some(self.set(payload)),
            "configuration::register" => plain(Err(refused("ADAPTER_ERROR", "this endpoint keeps no other values"))),
            _ => None,
        }
    }

    fn get(&self, payload: &str) -> Result<Value, Failure> {
        let asked = named("configuration::get", payload)?;
        let value = self.state().value.clone();
        let value = if asked.raw == Some(true) { value } else { expanded(&value) };
        Ok(json!({ "id": ID, "value": value }))
    }

    fn set(&self, payload: &str) -> Result<(Value, Option<Changed>), Failure> {
        let set: Set = read("configuration::set", payload)?;
        if set.id != ID {
            return Err(refused("NOT_REGISTERED", format!("no configuration `{}`", set.id)));
        }
        Settings::read(&expanded(&set.value)).map_err(|error| refused("SCHEMA_INVALID", error))?;
        let old = std::mem::replace(&mut self.state().value, set.value.clone());
        let mut event = entry();
        event["type"] = TRIGGER.into();
        event["event_type"] = UPDATED.into();
        event["old_value"] = expanded(&old);
        event["new_value"] = expanded(&set.value);
        Ok((json!({ "old_value": old, "new_value": set.value }), Some(Changed(event))))
    }

    /// Binds changes.
    ///
    /// # Errors
    /// The config does not fit, or asks for a condition, which is not built.
    pub(crate) fn bind(
        &self,
        owner: Owner,
        config: Option<&Value>,
        binding: Binding,
        sink: Arc<dyn Sink>,
    ) -> Result<(), Refusal> {
        let refused = |text: String| Refusal::Config { trigger_type: TRIGGER.to_owned(), text };
        let wanted: Option<Wanted> =
            serde_json::from_value(config.cloned().unwrap_or_default()).map_err(|error| refused(error.to_string()))?;
        let wanted = wanted.unwrap_or_default();
        if wanted.condition_function_id.is_some() {
            return Err(refused("`condition_function_id` is not built here".to_owned()));
        }
        self.unbind(owner, &binding.id);
        let heard = wanted.configuration_id.is_none_or(|id| id == ID)
            && wanted.event_types.is_none_or(|types| types.iter().any(|one| one == UPDATED));
        if heard {
            self.state().bound.push((owner, Arc::new(binding), sink));
        }
        Ok(())
    }

    pub(crate) fn unbind(&self, owner: Owner, id: &str) -> bool {
        let mut state = self.state();
        let before = state.bound.len();
        state.bound.retain(|(of, binding, _)| *of != owner || binding.id != id);
        state.bound.len() < before
    }

    pub(crate) fn drop_owner(&self, owner: Owner) {
        self.state().bound.retain(|(of, ..)| *of != owner);
    }

    /// Tells everyone who bound changes.
    pub(crate) fn announce(&self, Changed(event): Changed) {
        let payload: Arc<_> = raw(&event).into();
        for (_, binding, sink) in &self.state().bound {
            let (binding, payload) = (Arc::clone(binding), Arc::clone(&payload));
            sink.deliver(Delivery { trigger_type: TRIGGER, binding, payload });
        }
    }
}

/// What is known of the value beside the value.
pub(crate) fn entry() -> Value {
    json!({
        "id": ID,
        "name": "Session manager",
        "description": "Limits of the session functions, and where sessions are kept.",
        "schema": Settings::schema(),
    })
}

fn named(function: &str, payload: &str) -> Result<Named, Failure> {
    let asked: Named = read(function, payload)?;
    if asked.id == ID { Ok(asked) } else { Err(refused("NOT_FOUND", format!("no configuration `{}`", asked.id))) }
}

fn read<T: serde::de::DeserializeOwned>(function: &str, payload: &str) -> Result<T, Failure> {
    serde_json::from_str(payload)
        .map_err(|error| Failure::Malformed { function: function.to_owned(), text: error.to_string() })
}

fn refused(code: &'static str, text: impl Into<String>) -> Failure {
    Failure::Engine { code, text: text.into() }
}

/// A value with `${NAME:default}` in its strings replaced; without a default, an unset name becomes empty.
fn expanded(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(expanded_text(text)),
        Value::Array(values) => values.iter().map(expanded).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), expanded(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn expanded_text(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        let (name, default) = name.split_once(':').unwrap_or((name, ""));
        out.push_str(before);
        out.push_str(&std::env::var(name).unwrap_or_else(|_| default.to_owned()));
        rest = behind;
    }
    out + rest
}
