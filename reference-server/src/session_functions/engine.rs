//! The functions as a worker of a real engine: the same instance, behind one link that registers everything again when it comes back.

use std::sync::Arc;
use std::time::Duration;

use iii_wire::ErrorBody;
use iii_wire::endpoint::BindRequest;
use iii_wire::link::{Handler, Link, Nothing, Options};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::bindings::{Delivery, Owner, Sink};
use super::blocking::Blocking;
use super::functions::ON_CONFIG_CHANGE;
use super::server::{Server, Stored};
use super::settings::Settings;
use super::{catalog, configuration, wire};

/// Owner of all bindings: they come through one engine, which says when one is gone.
const ENGINE: u64 = 1;
/// Longest wait for an answer of the engine's configuration worker.
const LONGEST: Duration = Duration::from_secs(10);

/// The configuration value, kept by an engine.
#[derive(Debug)]
pub struct EngineConfiguration(Blocking);

impl EngineConfiguration {
    /// Registers the value's schema, and the seed: always where one is given, and the defaults where nothing is stored (SF-CFG-3).
    ///
    /// # Errors
    /// A text for the user: the engine cannot be reached, or its configuration worker refuses.
    pub fn register(url: &str, token: Option<String>, seed: Option<Value>) -> Result<Self, String> {
        let name = format!("session-manager-configuration-{}", std::process::id());
        let options = Options { url: url.to_owned(), token, name, ..Options::default() };
        let this = Self(Blocking::open(options, Nothing, LONGEST)?);
        let mut entry = configuration::entry();
        if let Some(seed) = seed {
            entry["initial_value"] = seed;
        }
        this.ask("configuration::register", &entry)?;
        if this.ask("configuration::get", &json!({ "id": configuration::ID }))?["value"].is_null() {
            entry["initial_value"] = Settings::defaults();
            this.ask("configuration::register", &entry)?;
        }
        Ok(this)
    }

    fn ask(&self, function: &str, payload: &Value) -> Result<Value, String> {
        let failed = |error: &dyn std::fmt::Display| format!("engine: {function}: {error}");
        let payload = to_raw_value(payload).map_err(|error| failed(&error))?;
        let answer = self.0.ask(function, &payload).map_err(|error| failed(&error))?;
        serde_json::from_str(answer.get()).map_err(|error| failed(&error))
    }
}

impl Stored for EngineConfiguration {
    fn fetch(&self) -> Result<Value, String> {
        let answer = self.ask("configuration::get", &json!({ "id": configuration::ID }))?;
        Ok(answer["value"].clone())
    }
}

/// Serves an instance as a worker, until the link is closed. Must be called within a tokio runtime.
pub fn work(server: Arc<Server>, url: &str, token: Option<String>) -> Link {
    let changes = BindRequest {
        id: format!("session-manager-{}", std::process::id()),
        trigger_type: configuration::TRIGGER.to_owned(),
        function_id: ON_CONFIG_CHANGE.to_owned(),
        config: Some(json!({ "configuration_id": configuration::ID, "event_types": [configuration::UPDATED] })),
        metadata: None,
    };
    let options = Options {
        url: url.to_owned(),
        token,
        name: "session-manager".to_owned(),
        functions: catalog::functions(),
        triggers: catalog::triggers(),
        bindings: vec![changes],
    };
    Link::open(options, Arc::new(Worker(server)))
}

struct Worker(Arc<Server>);

/// A delivery that calls a function somewhere on the engine.
#[derive(Debug)]
struct Calling {
    link: Link,
    namespace: Option<String>,
}

impl Sink for Calling {
    fn deliver(&self, delivery: Delivery) {
        let Delivery { binding, payload, .. } = delivery;
        let (metadata, namespace) = (binding.metadata.as_ref(), self.namespace.as_deref());
        self.link.notify(&binding.function_id, &payload, metadata, namespace);
    }
}

impl Handler for Worker {
    async fn call(&self, function_id: &str, payload: &str) -> Result<Box<RawValue>, ErrorBody> {
        wire::call(&self.0, function_id, payload).await
    }

    fn bind(&self, link: &Link, request: BindRequest, namespace: Option<String>) -> Result<(), ErrorBody> {
        wire::bind(&self.0, ENGINE, request, Arc::new(Calling { link: link.clone(), namespace }))
    }

    fn unbind(&self, id: &str) {
        self.0.unbind(Owner(ENGINE), id);
    }

    fn dropped(&self) {
        self.0.drop_owner(Owner(ENGINE));
    }
}
