//! The host: the sessions that are loaded here, the connections, and what they share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::config::Config;
use crate::connection::Connection;
use crate::log::Log;
use crate::log::layer::{Disk, Layer, Memory};
use crate::mint::SharedMint;
use crate::refusal::Refusal;
use crate::seam::{Honest, Seam};
use crate::session::{Closing, Core, Loaded, Message};
use crate::store::{Store, Stored};

/// A host.
#[derive(Debug)]
pub struct Host {
    /// Its settings.
    pub config: Config,
    /// Clock, ids, randomness.
    pub mint: SharedMint,
    /// Its sessions root.
    pub store: Store,
    loaded: Mutex<BTreeMap<String, Arc<Loaded>>>,
    connections: Mutex<Vec<Arc<Connection>>>,
    /// State of families that belongs to no session, by family.
    pub shelves: Mutex<BTreeMap<&'static str, Value>>,
    /// Commands that made sessions.
    pub births: crate::commands::session_load::Births,
    seam: Mutex<Box<dyn Seam>>,
}

/// A session that can be read: loaded here, or from the store.
pub enum Readable {
    /// Loaded here.
    Loaded(Arc<Loaded>),
    /// From the store, without its lease.
    Stored(Box<Stored>),
}

impl Host {
    /// A host on the disk that its settings ask for.
    pub fn new(config: Config) -> Arc<Self> {
        let layer: Arc<dyn Layer> =
            if config.sessions_dir.is_some() { Arc::new(Disk::default()) } else { Arc::new(Memory::default()) };
        Self::with(config, layer, Box::new(Honest))
    }

    /// A host on any disk, with a seam of one's own.
    pub fn with(config: Config, layer: Arc<dyn Layer>, seam: Box<dyn Seam>) -> Arc<Self> {
        let root = config.sessions_dir.clone().unwrap_or_else(|| PathBuf::from("memory"));
        Arc::new(Self {
            mint: SharedMint::new(config.seed),
            store: Store::new(layer, root),
            loaded: Mutex::default(),
            connections: Mutex::default(),
            shelves: Mutex::default(),
            births: crate::commands::session_load::Births::default(),
            seam: Mutex::new(seam),
            config,
        })
    }

    /// Whether sessions outlive the process.
    pub fn is_durable(&self) -> bool {
        self.config.sessions_dir.is_some()
    }

    /// The seam.
    pub fn seam(&self) -> MutexGuard<'_, Box<dyn Seam>> {
        self.seam.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that is loaded here.
    pub fn find_loaded(&self, session_id: &str) -> Option<Arc<Loaded>> {
        self.all().get(session_id).cloned()
    }

    /// A session that is loaded here, for a command.
    ///
    /// # Errors
    /// −32024 when it is only stored, −32020 when there is none (CMD-15).
    pub fn loaded(&self, session_id: &str) -> Result<Arc<Loaded>, Refusal> {
        match self.find_loaded(session_id) {
            Some(loaded) => Ok(loaded),
            None => Err(match self.store.find(session_id) {
                Err(refusal) if self.is_durable() => refusal,
                _ if !self.is_durable() => Refusal::session_not_found(session_id),
                _ => Refusal::session_not_loaded(session_id),
            }),
        }
    }

    /// A session for a query, loaded or not.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn readable(&self, session_id: &str) -> Result<Readable, Refusal> {
        match self.find_loaded(session_id) {
            Some(loaded) => Ok(Readable::Loaded(loaded)),
            None if self.is_durable() => Ok(Readable::Stored(Box::new(self.store.read(session_id)?))),
            None => Err(Refusal::session_not_found(session_id)),
        }
    }

    /// Starts the task of a session.
    pub fn load(&self, core: Core) -> Arc<Loaded> {
        let loaded = Loaded::start(core, self.config.command_capacity);
        self.all().insert(loaded.id.clone(), Arc::clone(&loaded));
        loaded
    }

    /// Drops a session that was let go.
    pub fn forget(&self, session_id: &str) {
        self.all().remove(session_id);
    }

    /// All sessions that are loaded here.
    pub fn sessions(&self) -> Vec<Arc<Loaded>> {
        self.all().values().cloned().collect()
    }

    /// Adds a connection.
    pub fn connect(&self, connection: &Arc<Connection>) {
        self.connections().push(Arc::clone(connection));
    }

    /// Tells a notification outside the view to every initialized connection that wants it.
    pub fn broadcast(&self, method: &str, params: &Value) {
        let now_ms = self.mint.lock().now_ms();
        for connection in self.connections().iter() {
            connection.broadcast(method, params, now_ms);
        }
    }

    /// Lets every session go, one after another (SESS-14).
    pub async fn drain(&self) {
        for session in self.sessions() {
            let (done, closed) = oneshot::channel();
            session.post(Message::Close(Closing::HostShutdown, Some(done))).await;
            let _ = closed.await; // the session is gone either way
        }
    }

    /// Approval rules that outlive sessions.
    pub fn rules(&self) -> Vec<String> {
        let read = || {
            let length = self.store.layer.length(&self.rules_path()).ok()??;
            let bytes = self.store.layer.read(&self.rules_path(), 0, usize::try_from(length).ok()?).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Keeps an approval rule beyond its session.
    ///
    /// # Errors
    /// Of the disk.
    pub fn keep_rule(&self, rule: &str) -> std::io::Result<()> {
        let mut rules = self.rules();
        rules.push(rule.to_owned());
        rules.sort();
        rules.dedup();
        self.store.layer.create_dir(&self.store.root)?;
        self.store.layer.replace(&self.rules_path(), &serde_json::to_vec(&rules)?)
    }

    fn rules_path(&self) -> PathBuf {
        self.store.root.join("approval-rules.json")
    }

    /// Says something to whoever runs the host.
    #[expect(clippy::print_stderr, reason = "stderr is where a host's diagnostics go (FRAME-6)")]
    pub fn complain(&self, message: &str) {
        eprintln!("msp-reference-server: {message}");
    }

    /// The path of a log as the wire shows it: empty on ephemeral hosts (EPH-1).
    pub fn shown_path(&self, log: &Log) -> String {
        if self.is_durable() { log.path().display().to_string() } else { String::new() }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Loaded>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
