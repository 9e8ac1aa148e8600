//! Set-ups: what a host and its sessions are like when a conversation begins, as data in `setups/<conversation>.json`.
//!
//! A step is a call of a client of ours on a connection of its own, which stays open, or only waits. `script` becomes a prompt that plays it; `until`
//! waits for so many events of a method; `keep` gives names to parts of the answer, `keepEvent` to parts of the last event that was
//! waited for; `$name` in params stands for what was kept. `bind` lets what the recording calls an id stand for what we kept: it
//! names a line of the recording and a pointer into it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::Failed;
use msp_reference_server::log::layer::Memory;
use msp_reference_server::provider::Script;
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::replay::Client;

/// A set-up.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Setup {
    /// What it makes, for the reader.
    about: String,
    /// Settings of the host.
    host: Settings,
    /// What the provider plays for prompts of the recorded client: lines of a script.
    script: Vec<String>,
    /// Steps of another set-up before the own ones.
    after: Option<String>,
    /// Steps.
    steps: Vec<Step>,
    /// What of the recording stands for what was kept.
    pub(super) bind: BTreeMap<String, (usize, String)>,
}

/// Settings of a host that differ from the usual ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Settings {
    frame_limit: Option<usize>,
    retained_records: Option<u64>,
    withheld: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Step {
    #[serde(default)]
    call: Option<String>,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    script: Option<Vec<String>>,
    #[serde(default = "once")]
    times: usize,
    #[serde(default)]
    until: Option<(String, usize)>,
    #[serde(default)]
    keep: BTreeMap<String, String>,
    #[serde(default)]
    keep_event: BTreeMap<String, String>,
}

fn once() -> usize {
    1
}

impl Setup {
    /// The set-up of a conversation; an empty one where there is no file.
    pub(super) fn read(name: &str) -> Result<Self, Failed> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/recorded/setups");
        let path = folder.join(format!("{name}.json"));
        if !path.is_file() {
            return Ok(Self::default());
        }
        let mut setup: Self = serde_json::from_str(&std::fs::read_to_string(&path)?)
            .map_err(|error| format!("set-up `{name}`: {error}"))?;
        if let Some(before) = &setup.after {
            let before = Self::read(before)?;
            setup.steps.splice(0..0, before.steps);
            setup.host.frame_limit = setup.host.frame_limit.or(before.host.frame_limit);
        }
        Ok(setup)
    }

    /// A host as the recordings had it: durable, with their model, in memory.
    pub(super) fn host(&self) -> Result<Arc<Host>, Failed> {
        let mut config = Config::durable("/recorded".into());
        "muse-large-2".clone_into(&mut config.model_id);
        "muse".clone_into(&mut config.provider_id);
        config.seed = Some(7);
        config.script = Script::parse(&self.script.join("\n"))?;
        config.withheld = self.host.withheld.iter().cloned().collect();
        config.retained_records = self.host.retained_records;
        config.frame_limit = self.host.frame_limit.unwrap_or(config.frame_limit);
        Ok(Host::with(config, Arc::new(Memory::default()), Box::new(Honest)))
    }

    /// Takes the steps; gives what was kept, and the client, who has to stay.
    pub(super) async fn play(&self, host: &Arc<Host>) -> Result<(BTreeMap<String, Value>, Option<Client>), Failed> {
        let mut kept = BTreeMap::new();
        if self.steps.is_empty() {
            return Ok((kept, None));
        }
        let mut client = Client::connect(host);
        client.shake().await?;
        let mut commands = 0;
        for step in &self.steps {
            for _ in 0..step.times {
                commands += 1;
                step.play(&mut client, commands, &mut kept).await?;
            }
        }
        Ok((kept, Some(client)))
    }
}

impl Step {
    async fn play(&self, client: &mut Client, number: u64, kept: &mut BTreeMap<String, Value>) -> Result<(), Failed> {
        let mut params = filled(&Value::Object(self.params.clone()), kept);
        params["commandId"] = format!("0198f0ab-5e70-7000-8000-{number:012x}").into();
        if let Some(script) = &self.script {
            params["input"] = json!([{ "type": "text", "text": format!("@script\n{}", script.join("\n")) }]);
        }
        let answer = match &self.call {
            Some(method) => client.call(method, &params).await?,
            None => Value::Null,
        };
        for (name, pointer) in &self.keep {
            let part = answer.pointer(pointer).ok_or_else(|| format!("no `{pointer}` in {answer}"))?;
            kept.insert(name.clone(), part.clone());
        }
        let Some((method, count)) = &self.until else { return Ok(()) };
        let mut event = Value::Null;
        for _ in 0..*count {
            event = client.until(method).await?;
        }
        for (name, pointer) in &self.keep_event {
            let part = event.pointer(pointer).ok_or_else(|| format!("no `{pointer}` in {event}"))?;
            kept.insert(name.clone(), part.clone());
        }
        Ok(())
    }
}

fn filled(value: &Value, kept: &BTreeMap<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            text.strip_prefix('$').and_then(|name| kept.get(name)).cloned().unwrap_or_else(|| value.clone())
        }
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), filled(value, kept))).collect())
        }
        Value::Array(elements) => elements.iter().map(|element| filled(element, kept)).collect(),
        other => other.clone(),
    }
}
