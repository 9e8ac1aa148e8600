//! One instance: its store, its limits, its bindings. Calls are served one at a time; what they announce leaves in that order.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msp_types::Presence;
use msp_types::session::{
    ConfigStatusResponse, EventEnvelope, MessageUpdatedPayload, OnConfigChangeResponse, ReloadOutcome, SessionEntry,
    functions as wire,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::bindings::{Binding, Bindings, Owner, Sink};
use super::clock::Clock;
use super::configuration::{self, Configurations};
use super::event::{Event, added, raw};
use super::failure::Failure;
use super::filter::Refusal;
use super::functions::{self, CONFIG_STATUS, ON_CONFIG_CHANGE};
use super::service::{Answer, Service, created};
use super::settings::{Adapter, Limits, Settings};
use super::store::{self, Store};

/// Where the configuration value is kept.
pub trait Stored: Send + Sync + std::fmt::Debug {
    /// The value as it is now.
    ///
    /// # Errors
    /// It cannot be had.
    fn fetch(&self) -> Result<Value, String>;
}

impl Stored for Configurations {
    fn fetch(&self) -> Result<Value, String> {
        Ok(self.value())
    }
}

/// What an instance starts with.
pub struct Start {
    /// Where state is kept when the configuration does not say.
    pub adapter: Adapter,
    /// Whether that holds at the start whatever the configuration says, until a reload names another.
    pub hold: bool,
    /// Folder of `fs` when the configuration names none.
    pub data_dir: Option<PathBuf>,
    /// Address of the engine or endpoint that this instance is reached by; a bridge to it is refused (SF-BRIDGE-8).
    pub own_url: Option<String>,
    /// Makes ids and clock repeat themselves.
    pub seed: Option<u64>,
    /// The embedded configuration functions, if this instance answers them.
    pub configurations: Option<Arc<Configurations>>,
    /// Where the value is fetched.
    pub stored: Arc<dyn Stored>,
}

impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start").field("adapter", &self.adapter).finish_non_exhaustive()
    }
}

impl Start {
    /// In memory, with the built-in limits and the embedded configuration functions.
    pub fn in_memory() -> Self {
        Self::embedded(Adapter::Memory, serde_json::json!({}))
    }

    /// With the embedded configuration functions and a seed value.
    pub fn embedded(adapter: Adapter, value: Value) -> Self {
        let configurations = Arc::new(Configurations::new(value));
        let stored: Arc<dyn Stored> = Arc::<Configurations>::clone(&configurations);
        Self {
            adapter,
            hold: false,
            data_dir: None,
            own_url: None,
            seed: None,
            configurations: Some(configurations),
            stored,
        }
    }
}

/// One instance.
#[derive(Debug)]
pub struct Server {
    core: Mutex<Core>,
    bindings: Arc<Mutex<Bindings>>,
    configurations: Option<Arc<Configurations>>,
    /// How long a call may take with the store in use.
    pace: AtomicU8,
}

/// How long calls may take.
struct Pace;

impl Pace {
    /// Microseconds.
    const MEMORY: u8 = 0;
    /// Writes wait for a disk.
    const DISK: u8 = 1;
    /// Everything waits for another instance.
    const REMOTE: u8 = 2;

    fn of(adapter: &Adapter) -> u8 {
        match adapter {
            Adapter::Memory => Self::MEMORY,
            Adapter::Fs { .. } => Self::DISK,
            Adapter::Bridge { .. } => Self::REMOTE,
        }
    }
}

#[derive(Debug)]
struct Core {
    store: Box<dyn Store>,
    adapter: Adapter,
    limits: Limits,
    clock: Clock,
    outcome: ReloadOutcome,
    last_error: Option<String>,
    rejected: u64,
    start: Start,
}

impl Server {
    /// Reads the stored value and opens its store.
    ///
    /// # Errors
    /// A text for the user: the value cannot be had or read, or its store cannot be opened.
    pub fn new(start: Start) -> Result<Self, String> {
        let settings = Settings::read(&start.stored.fetch()?)?;
        let adapter = resolved(&start, settings.adapter.filter(|_| !start.hold))?;
        let bindings = Arc::new(Mutex::new(Bindings::default()));
        let store = store::open(&adapter, feed(&bindings))?;
        let configurations = start.configurations.clone();
        let core = Core {
            store,
            adapter,
            limits: settings.limits,
            clock: Clock::new(start.seed),
            outcome: ReloadOutcome::Applied,
            last_error: None,
            rejected: 0,
            start,
        };
        let pace = AtomicU8::new(Pace::of(&core.adapter));
        Ok(Self { core: Mutex::new(core), bindings, configurations, pace })
    }

    /// Serves one call. The payload is JSON text.
    ///
    /// # Errors
    /// The call has no result; nothing was changed and nothing announced.
    pub fn call(&self, function: &str, payload: &str) -> Result<Box<RawValue>, Failure> {
        if let Some(answer) = self.configurations.as_ref().and_then(|of| of.call(function, payload)) {
            let (answer, changed) = answer?;
            if let (Some(changed), Some(configurations)) = (changed, &self.configurations) {
                let _told_by_config_status = self.call(ON_CONFIG_CHANGE, "{}");
                configurations.announce(changed);
            }
            return Ok(raw(&answer));
        }
        let mut core = self.core();
        match function {
            CONFIG_STATUS => {
                functions::request::<wire::ConfigStatus>(payload)?;
                Ok(raw(&core.status()))
            }
            ON_CONFIG_CHANGE => {
                functions::request::<wire::OnConfigChange>(payload)?;
                core.reload(&self.bindings)?;
                self.pace.store(Pace::of(&core.adapter), Ordering::Relaxed);
                Ok(raw(&OnConfigChangeResponse::new(true)))
            }
            _ => core.serve(&self.bindings, function, payload),
        }
    }

    /// Serves a call if that takes no waiting: neither for a disk or another instance, nor long for another call.
    pub fn try_call(&self, function: &str, payload: &str) -> Option<Result<Box<RawValue>, Failure>> {
        let reads = functions::Function::of(function).is_some_and(|function| function.reads);
        let mut core = match self.pace.load(Ordering::Relaxed) {
            Pace::MEMORY if function != ON_CONFIG_CHANGE && functions::is_session(function) => self.core(),
            Pace::DISK if reads => self.core.try_lock().ok()?,
            _ => return None,
        };
        Some(match function {
            CONFIG_STATUS => functions::request::<wire::ConfigStatus>(payload).map(|_| raw(&core.status())),
            _ => core.serve(&self.bindings, function, payload),
        })
    }

    /// Whether this instance answers the function, be it with a refusal.
    pub fn has(&self, function: &str) -> bool {
        functions::Function::of(function).is_some()
            || self.configurations.is_some() && function.starts_with("configuration::")
    }

    /// Binds events of a trigger type, in place of an earlier binding of the owner with the same id.
    ///
    /// # Errors
    /// The trigger type is unknown, or the config does not fit it.
    pub fn bind(
        &self,
        owner: Owner,
        trigger_type: &str,
        config: Option<&Value>,
        binding: Binding,
        sink: Arc<dyn Sink>,
    ) -> Result<(), Refusal> {
        match &self.configurations {
            Some(configurations) if trigger_type == configuration::TRIGGER => {
                configurations.bind(owner, config, binding, sink)
            }
            _ => lock(&self.bindings).bind(owner, trigger_type, config, binding, sink),
        }
    }

    /// Removes a binding; whether there was one.
    pub fn unbind(&self, owner: Owner, id: &str) -> bool {
        let changes = self.configurations.as_ref().is_some_and(|configurations| configurations.unbind(owner, id));
        lock(&self.bindings).unbind(owner, id) || changes
    }

    /// Removes the bindings of a connection that is gone.
    pub fn drop_owner(&self, owner: Owner) {
        if let Some(configurations) = &self.configurations {
            configurations.drop_owner(owner);
        }
        lock(&self.bindings).drop_owner(owner);
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        lock(&self.core)
    }
}

/// A lock; a panic elsewhere while it was held leaves it usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives what the main hands on to the local bindings.
fn feed(bindings: &Arc<Mutex<Bindings>>) -> store::Feed {
    let bindings = Arc::clone(bindings);
    Arc::new(move |envelope: EventEnvelope| {
        if let Some(event) = Event::open(envelope) {
            lock(&bindings).publish_local(&event);
        }
    })
}

/// The adapter of a value, with what it leaves to the start filled in.
///
/// # Errors
/// `fs` without a folder, a bridge to this instance itself.
fn resolved(start: &Start, adapter: Option<Adapter>) -> Result<Adapter, String> {
    let adapter = adapter.unwrap_or_else(|| start.adapter.clone());
    match adapter {
        Adapter::Fs { data_dir } => {
            let dir = data_dir.or_else(|| start.data_dir.clone()).ok_or("no folder for sessions: give `--data-dir`")?;
            Ok(Adapter::Fs { data_dir: Some(dir) })
        }
        Adapter::Bridge { url, .. } if start.own_url.as_ref() == Some(&url) => {
            Err(format!("`{url}` is this instance's own address: a bridge to itself"))
        }
        other => Ok(other),
    }
}

impl Core {
    fn serve(&mut self, bindings: &Mutex<Bindings>, function: &str, payload: &str) -> Answer<Box<RawValue>> {
        if functions::is_store(function) && self.store.main().is_some() {
            return Err(Failure::NotServed { function: function.to_owned() });
        }
        let mut service = Service::new(&mut *self.store, &mut self.clock, self.limits);
        let answer = functions::serve(&mut service, function, payload)
            .ok_or_else(|| Failure::UnknownFunction { function: function.to_owned() })??;
        let events = std::mem::take(&mut service.events);
        if events.is_empty() {
            return Ok(answer);
        }
        if let Some(main) = self.store.main() {
            main.publish(events.iter().map(Event::envelope).collect()); // comes back through its feed (SF-BRIDGE-2)
        } else {
            let bindings = lock(bindings);
            for event in &events {
                bindings.publish(event);
            }
        }
        Ok(answer)
    }

    fn status(&self) -> ConfigStatusResponse {
        let mut status = ConfigStatusResponse::new(self.outcome.clone(), self.rejected);
        status.last_error = self.last_error.clone().map_or(Presence::Null, Presence::Value);
        status
    }

    /// Fetches the value again and puts it in force.
    ///
    /// # Errors
    /// The value cannot be had or read; then nothing changed (SF-CFG-8). A store that cannot be opened is no error: the old one goes
    /// on, and the status tells (SF-CFG-7).
    fn reload(&mut self, bindings: &Arc<Mutex<Bindings>>) -> Answer<()> {
        let unreadable = |text: String| Failure::Configuration { text };
        let settings = Settings::read(&self.start.stored.fetch().map_err(unreadable)?).map_err(unreadable)?;
        let outcome = resolved(&self.start, settings.adapter).and_then(|adapter| self.adopt(adapter, bindings));
        match outcome {
            Ok(()) => {
                self.limits = settings.limits;
                self.outcome = ReloadOutcome::Applied;
                self.last_error = None;
            }
            Err(error) => {
                self.outcome = ReloadOutcome::Rejected;
                self.last_error = Some(error);
                self.rejected += 1;
            }
        }
        Ok(())
    }

    /// Takes another store in use, and tells what that changes for subscribers (SF-CFG-6, SF-CFG-9).
    fn adopt(&mut self, adapter: Adapter, bindings: &Arc<Mutex<Bindings>>) -> Result<(), String> {
        if adapter == self.adapter {
            return Ok(());
        }
        let mut opened = store::open(&adapter, feed(bindings))?;
        opened.begin();
        self.store.begin();
        let before = self.store.metas().unwrap_or_default(); // of a store that fails nothing is known to be gone
        let replay = replay(&mut *opened, &before, self.clock.now_ms()).map_err(|error| error.to_string())?;
        self.store = opened;
        self.adapter = adapter;
        let bindings = lock(bindings);
        for event in &replay {
            bindings.publish(event);
        }
        Ok(())
    }
}

/// The events that turn a subscriber's picture of one store into that of another.
fn replay(
    store: &mut dyn Store,
    before: &[Arc<msp_types::session::SessionMeta>],
    now: i64,
) -> Result<Vec<Event>, store::StoreError> {
    let mut events = Vec::new();
    for meta in before {
        if store.meta(&meta.session_id)?.is_none() {
            let payload = msp_types::session::DeletedPayload::new(meta.session_id.clone(), now);
            events.push(Event::deleted(&payload, meta.metadata.value().cloned()));
        }
    }
    for meta in store.metas()? {
        events.push(created(&meta));
        for entry in store.entries(&meta.session_id)? {
            let metadata = meta.metadata.value().cloned();
            match &*entry {
                SessionEntry::Message(message) if message.revision.unwrap_or(0) > 0 => {
                    let mut payload = MessageUpdatedPayload::new(
                        meta.session_id.clone(),
                        message.id.clone(),
                        message.message.clone(),
                        message.revision.unwrap_or(0),
                        message.timestamp,
                    );
                    payload.origin = message.origin.clone();
                    events.push(Event::message_updated(&payload, metadata));
                }
                _ => events.push(added(&meta.session_id, &entry, metadata)),
            }
        }
    }
    Ok(events)
}
