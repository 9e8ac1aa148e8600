//! The session behind its task: commit, deliver, attach, close.

use std::sync::{Arc, Weak};

use serde_json::{Map, Value, json};

use super::{Followers, Loaded, Run, Subscriber, leave};
use crate::connection::Connection;
use crate::cursor::Position;
use crate::decision::Draft;
use crate::fold::{self, ViewEvent};
use crate::host::Host;
use crate::log::Log;
use crate::log::checkpoint::Due;
use crate::record::{Body, Record, StreamPosition, VERSION};
use crate::refusal::Refusal;
use crate::state::{Presence, State};
use crate::turns;

/// A loaded session. Its task and, for reads and subscriptions, the connections hold it for a moment each.
#[derive(Debug)]
pub struct Core {
    /// What the records fold to.
    pub state: State,
    /// The records.
    pub log: Log,
    checkpoint: Due,
    /// The host.
    pub host: Arc<Host>,
    /// Where the log lies; empty on ephemeral hosts.
    pub path: String,
    /// Made here, or loaded.
    pub presence: Presence,
    /// What the provider is doing.
    pub run: Option<Run>,
    /// The task that owns this.
    pub handle: Option<Weak<Loaded>>,
    /// The recap in flight.
    pub recap: Option<crate::commands::recap::Recap>,
    pub(super) subscribers: Vec<Subscriber>,
    /// Who follows the raw log.
    pub followers: Followers,
    /// Status and attention as last told (SESS-9).
    shown: (bool, Vec<&'static str>),
    /// Set by a `session/leave` that may go ahead: its command, and who sent it.
    pub leaving: Option<(String, Arc<Connection>)>,
    /// Timed prompts that somebody engaged with.
    engaged: std::collections::BTreeSet<String>,
    pub(super) waiting_leave: Option<(String, Arc<Connection>)>,
    /// Set when the log failed: nothing is accepted any more.
    pub(super) failed: bool,
}

/// Why a session is let go.
#[derive(Clone, Debug)]
pub enum Closing {
    /// The host drains.
    HostShutdown,
    /// Nobody needs it.
    Idle,
    /// A client asked, by this command.
    Leave(String, Arc<Connection>),
}

impl Closing {
    fn reason(&self) -> &'static str {
        match self {
            Self::HostShutdown => "hostShutdown",
            Self::Idle => "idle",
            Self::Leave(..) => "leave",
        }
    }
}

impl Core {
    /// A session with what its log folds to.
    pub fn new(host: Arc<Host>, log: Log, state: State, presence: Presence) -> Self {
        let path = host.shown_path(&log);
        let shown = (state.is_running(), state.attention());
        let (handle, run) = (None, None);
        Self {
            state,
            log,
            checkpoint: Due::default(),
            host,
            path,
            presence,
            run,
            handle,
            recap: None,
            subscribers: Vec::new(),
            followers: Followers::default(),
            shown,
            leaving: None,
            engaged: std::collections::BTreeSet::new(),
            waiting_leave: None,
            failed: false,
        }
    }

    /// The `Session` object.
    pub fn session(&self) -> Value {
        self.state.session(&self.path, self.presence)
    }

    /// Makes drafts durable and folds them. Nothing is told yet.
    ///
    /// # Errors
    /// −32603 when the log failed. The session then accepts nothing any more: what is on the disk is not known.
    pub fn commit(&mut self, mut drafts: Vec<Draft>) -> Result<Vec<ViewEvent>, Refusal> {
        if self.failed {
            return Err(Refusal::internal("the session's log failed earlier"));
        }
        self.host.seam().drafts(&self.state, &mut drafts);
        let records = self.number(&drafts);
        if !records.is_empty()
            && let Err(error) = self.log.append(&records)
        {
            self.failed = true;
            let session_id = &self.state.header.session_id;
            self.host.complain(&format!("log of session {session_id} failed: {error}"));
            if !session_id.is_empty() {
                // Its view shows nothing new from here on (SESS-17).
                let noted = json!({
                    "sessionId": session_id, "health": "unavailable", "noneReason": "projectionUnavailable",
                });
                self.host.broadcast("session/viewHealthChanged", &noted);
            }
            return Err(Refusal::internal("the session's log could not be written"));
        }
        self.tell_followers(&records);
        let mut records = records.into_iter();
        let mut events = Vec::new();
        for draft in &drafts {
            match draft {
                Draft::Record(..) => {
                    events.extend(records.next().and_then(|record| fold::apply(&mut self.state, &record)));
                }
                Draft::Ephemeral(method, params) => events.push(fold::apply_ephemeral(&mut self.state, method, params)),
            }
        }
        if let Err(error) = self.checkpoint.write_if_due(&self.log, &self.state) {
            self.host.complain(&format!("checkpoint of session {} not written: {error}", self.state.header.session_id));
        }
        Ok(events)
    }

    /// Gives drafts their numbers, ids and times.
    fn number(&self, drafts: &[Draft]) -> Vec<Record> {
        let mut mint = self.host.mint.lock();
        let mut sequence = self.state.last.sequence;
        let mut streams = std::collections::BTreeMap::new();
        let session_id = match drafts {
            [Draft::Record(Body::Created(header), _), ..] => &header.session_id,
            _ => &self.state.header.session_id,
        };
        let number = |draft: &Draft| {
            let Draft::Record(body, stream) = draft else { return None };
            let (kind, id) = stream.named(session_id);
            let name = format!("{kind}/{id}");
            let before = streams.get(&name).or_else(|| self.state.streams.get(&name)).copied().unwrap_or(0);
            streams.insert(name, before + 1);
            sequence += 1;
            let since = self.state.items.opening(body).cloned();
            let stream = StreamPosition { kind: kind.to_owned(), id, sequence: before + 1, since };
            let (id, at, body) = (mint.uuid(), mint.now_ms(), body.clone());
            Some(Record { v: VERSION, more: true, sequence, id, at, stream, body })
        };
        let mut records: Vec<_> = drafts.iter().filter_map(number).collect();
        if let Some(last) = records.last_mut() {
            last.more = false;
        }
        records
    }

    /// Commits and tells the subscribers; a failure of the log is complained about and ends the session's work.
    pub fn emit(&mut self, drafts: Vec<Draft>) {
        match self.commit(drafts) {
            Ok(events) => self.deliver(&events),
            Err(_) => self.run = None,
        }
    }

    /// Does something at once, or after a while in milliseconds, unless the session is gone by then.
    pub fn after(&mut self, delay_ms: u64, work: impl FnOnce(&mut Self) + Send + 'static) {
        match self.handle.as_ref().and_then(Weak::upgrade) {
            Some(handle) if delay_ms > 0 => handle.later(delay_ms, work),
            _ => work(self),
        }
    }

    /// Tells status and attention where they changed.
    pub fn tell_status(&mut self) {
        let now = (self.state.is_running(), self.state.attention());
        if now == self.shown {
            return;
        }
        self.shown = now;
        let mut params = Map::new();
        params.insert("sessionId".to_owned(), self.state.header.session_id.clone().into());
        params.insert("status".to_owned(), if self.shown.0 { "running" } else { "idle" }.into());
        params.insert("viewCursor".to_owned(), self.state.head_cursor().into());
        if !self.shown.1.is_empty() {
            params.insert("attention".to_owned(), json!(self.shown.1));
        }
        self.host.broadcast("session/statusChanged", &Value::Object(params));
        self.tell_list();
    }

    /// Tells those with the list stream that the row changed (SESS-18).
    pub fn tell_list(&self) {
        self.host.broadcast("session/listChanged", &json!({ "session": self.session() }));
    }

    /// Subscribes a connection from a place on; one that was subscribed starts anew there.
    pub fn attach(&mut self, connection: &Arc<Connection>, from: Position) {
        self.detach(connection);
        self.subscribers.push(Subscriber::new(Arc::clone(connection), from));
    }

    /// Ends a subscription; nothing happens where there is none.
    pub fn detach(&mut self, connection: &Arc<Connection>) {
        self.subscribers.retain(|subscriber| !subscriber.is(connection));
    }

    /// Whether it was let go.
    pub fn has_ended(&self) -> bool {
        self.state.ended
    }

    /// How many connections are subscribed.
    pub fn subscriber_count(&self) -> usize {
        self.subscribers.len()
    }

    /// Ends what runs, writes the end down, lets the lease go and tells everyone (SESS-11, SESS-14).
    pub fn close(&mut self, closing: Closing) {
        self.run = None;
        crate::commands::recap::abort(self);
        let stop = turns::Stop::torn_down("the session was closed");
        let mut drafts = turns::stop_all(&self.state, &mut self.host.mint.lock(), &stop);
        drafts.extend(crate::commands::session_shell::stop(&self.host, &self.state));
        self.emit(drafts);
        let left = match &closing {
            Closing::Leave(command_id, _) => leave::end(&self.state, command_id, None),
            Closing::HostShutdown | Closing::Idle => Vec::new(),
        };
        self.emit(left);
        self.emit(vec![Draft::silent(Body::Ended { reason: closing.reason().to_owned() })]);
        self.followers.unload(&self.host);
        self.tell_status();
        let session_id = self.state.header.session_id.clone();
        let cursor = if self.failed { Value::Null } else { self.state.head_cursor().into() };
        let flushed = self.log.flush_index().and_then(|()| self.checkpoint.write(&self.log, &self.state));
        if let Err(error) = flushed.and(self.log.release()) {
            self.host.complain(&format!("derived files of session {session_id} not written: {error}"));
        }
        self.host.forget(&session_id);
        let closed = json!({ "sessionId": session_id, "reason": closing.reason(), "viewCursor": cursor });
        self.host.broadcast("session/closed", &closed);
        if let Closing::Leave(command_id, connection) = closing {
            self.tell_leave(&command_id, &connection);
        }
        self.subscribers.clear();
    }

    /// Whether a connection is subscribed.
    pub fn is_attached(&self, connection: &Arc<Connection>) -> bool {
        self.subscribers.iter().any(|subscriber| subscriber.is(connection))
    }

    /// Stops the countdown of a prompt, if it is open and has one.
    pub fn engage(&mut self, user_input_id: &str) {
        if self.state.user_inputs.find(user_input_id).is_some() {
            self.engaged.insert(user_input_id.to_owned());
        }
    }

    /// Whether somebody engaged with a prompt.
    pub fn is_engaged(&self, user_input_id: &str) -> bool {
        self.engaged.contains(user_input_id)
    }

    /// Tells the model something that no event and no record has.
    pub fn hear(&mut self, words: String) {
        if let Some(run) = &mut self.run {
            run.heard.push(words);
        }
    }

    /// Whether nobody needs the session: no subscriber, nothing running, nothing asked (SESS-12).
    pub(super) fn is_idle(&self) -> bool {
        let works = self.state.is_running() || self.state.items.open_of(None).next().is_some();
        self.subscribers.is_empty() && !works && self.state.attention().is_empty()
    }
}
