//! Births: the commands that made sessions, resolved across the sessions root, so that a repeated one gives the same session (CMD-14).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::commands::HostCall;
use crate::cursor::Position;
use crate::decision::Draft;
use crate::host::Host;
use crate::log::{Line, Log};
use crate::record::{Answer, Body, Intake};
use crate::refusal::Refusal;
use crate::session::{Core, Loaded, digest};
use crate::state::{Header, Presence, State};

/// Commands that made sessions, by command id.
#[derive(Debug, Default)]
pub struct Births(Mutex<Option<BTreeMap<String, Birth>>>);

/// One such command.
#[derive(Clone, Debug)]
struct Birth {
    session_id: Option<String>,
    intake: Intake,
}

/// A command of the start family, before anything is decided.
pub(super) struct Labour {
    pub(super) command_id: String,
    pub(super) method: &'static str,
    pub(super) digest: String,
}

impl Labour {
    /// Reads the parts of the params that make a command what it is.
    pub(super) fn new<T: serde::Serialize>(
        method: &'static str,
        command_id: &str,
        params: &T,
    ) -> Result<Self, Refusal> {
        let digest = digest(&crate::commands::to_value(params)?);
        Ok(Self { command_id: command_id.to_owned(), method, digest })
    }

    fn intake(&self, answer: Answer) -> Intake {
        let (command_id, method, digest) = (self.command_id.clone(), self.method.to_owned(), self.digest.clone());
        Intake { command_id, method, digest, answer, settled: true }
    }

    /// What stands in the header of the session that it makes; the answer comes in a record of its own.
    pub(super) fn mark(&self) -> Intake {
        self.intake(Answer::Result(Value::Null))
    }

    /// Gives the answer of a command that was seen before: `None` for a new one. `first` makes the answer of one that the host died
    /// before it could answer; it is written down like any other.
    pub(super) fn replay(
        &self,
        call: &HostCall<'_>,
        first: impl FnOnce(&Core) -> Value,
    ) -> Result<Option<Value>, Refusal> {
        let host = call.host;
        let Some(birth) = host.births.all(host).as_ref().and_then(|births| births.get(&self.command_id).cloned())
        else {
            return Ok(None);
        };
        if birth.intake.method != self.method || birth.intake.digest != self.digest {
            let message = format!("command id `{}` was used for another command", self.command_id);
            return Err(Refusal::rejected("command_id_conflict", message).with("commandId", self.command_id.as_str()));
        }
        if let Answer::Error(error) = birth.intake.answer {
            let reason = error["data"]["reason"].as_str().unwrap_or_default();
            let message = error["message"].as_str().unwrap_or_default();
            return Err(Refusal::rejected(reason, message).with("commandId", self.command_id.as_str()));
        }
        let session_id = birth.session_id.unwrap_or_default();
        let loaded = load(host, &session_id, Some(&call.caller.handshake.client_name), None)?;
        let mut core = loaded.core();
        let head = core.state.head;
        if !core.is_attached(&call.caller.connection) {
            core.attach(&call.caller.connection, head);
        }
        let stored = core.state.ledger.get(&self.command_id).map(|intake| intake.answer.clone());
        if let Some(Answer::Result(result)) = stored {
            return Ok(Some(result));
        }
        // The host died between making the session and answering: this is the first answer.
        let result = first(&core);
        self.settle(host, &mut core, &result)?;
        Ok(Some(result))
    }

    /// Remembers a rejection, so that a repeated command gets it again (CMD-9).
    pub(super) fn reject(&self, host: &Host, refusal: Refusal) -> Refusal {
        if !refusal.is_rejection() {
            return refusal;
        }
        let refusal = refusal.of_command(self.method, &self.command_id);
        let birth = Birth { session_id: None, intake: self.intake(Answer::Error(refusal.to_error())) };
        if let Some(births) = host.births.all(host).as_mut() {
            births.insert(self.command_id.clone(), birth);
        }
        refusal
    }

    /// Writes the answer down and remembers whose it is.
    pub(super) fn settle(&self, host: &Host, core: &mut Core, result: &Value) -> Result<(), Refusal> {
        let intake = self.intake(Answer::Result(result.clone()));
        core.commit(vec![Draft::silent(Body::Command(intake.clone()))])?;
        let birth = Birth { session_id: Some(core.state.header.session_id.clone()), intake };
        if let Some(births) = host.births.all(host).as_mut() {
            births.insert(self.command_id.clone(), birth);
        }
        Ok(())
    }
}

impl Births {
    /// All births; the first look reads the first record of every stored session.
    fn all(&self, host: &Host) -> MutexGuard<'_, Option<BTreeMap<String, Birth>>> {
        let mut births = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if births.is_none() {
            let folders = host.store.folders().unwrap_or_default();
            let found = folders.iter().filter_map(|folder| {
                let log = Log::read_only(Arc::clone(&host.store.layer), folder).ok()?;
                let header = first_header(&log)?;
                let intake = header.command?;
                Some((intake.command_id.clone(), Birth { session_id: Some(header.session_id), intake }))
            });
            *births = Some(found.collect());
        }
        births
    }
}

fn first_header(log: &Log) -> Option<Header> {
    let mut header = None;
    let scanned = log.scan(0, |line| {
        if let Line::Record(record, _) = line
            && let Body::Created(created) = record.body
        {
            header = Some(*created);
        }
        false
    });
    scanned.ok().and(header)
}

/// Makes a session with its first records; it is loaded and nobody is told yet.
pub(crate) fn give_birth(host: &Arc<Host>, header: Header, drafts: Vec<Draft>) -> Result<Arc<Loaded>, Refusal> {
    let log = host.store.create(&header.session_id, header.created_at)?;
    let mut core = Core::new(Arc::clone(host), log, State::default(), Presence::Loaded);
    let mut all = vec![Draft::silent(Body::Created(Box::new(header)))];
    all.extend(drafts);
    core.commit(all)?;
    Ok(host.load(core))
}

/// The loaded session, from the store if need be: with one record that says so, and what a dead host left brought to rest.
pub(super) fn load(
    host: &Arc<Host>,
    session_id: &str,
    client: Option<&str>,
    recovery_mode: Option<String>,
) -> Result<Arc<Loaded>, Refusal> {
    if let Some(loaded) = host.find_loaded(session_id) {
        return Ok(loaded);
    }
    let stored = host.store.open(session_id)?;
    let mut core = Core::new(Arc::clone(host), stored.log, stored.state, Presence::LoadedAgain);
    let mut drafts = vec![Draft::silent(Body::Loaded { client: client.map(str::to_owned), recovery_mode })];
    drafts.extend(crate::session::reconcile::reconcile(&core.state, &mut host.mint.lock()));
    core.commit(drafts)?;
    crate::commands::approval::keep_owed_rule(&mut core);
    core.launch_next();
    Ok(host.load(core))
}

/// A place that a client may name: the start of the view is as good as none (RES-8).
pub(super) fn find_position(state: &State, cursor: &str) -> Result<Option<Position>, Refusal> {
    match state.find_cursor(cursor) {
        Some(position) if position.sequence == 0 => Ok(None),
        Some(position) => Ok(Some(position)),
        None => Err(Refusal::missing_anchor(&state.header.session_id)),
    }
}
