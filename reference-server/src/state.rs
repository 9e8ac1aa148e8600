//! The state of a session: what its records fold to, plus what is streaming right now.
//!
//! `decide` reads it, only [`fold`](crate::fold) writes it. It has no clock, no connection and no file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::cursor::Position;
use crate::mint::derived_uuid;
use crate::record::{Body, First, Intake};
use crate::time::rfc3339;

/// Everything that is known of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// What it began with.
    pub header: Header,
    /// Newest view event.
    pub head: Position,
    /// Number of the first record that is a view event; 0 while there is none.
    pub oldest_event: u64,
    /// Number of the last record that is a view event; 0 while there is none.
    pub newest_event: u64,
    /// Newest place given out: the last record, or an ephemeral event after it.
    pub last: Position,
    /// When the last record was made, Unix milliseconds.
    pub updated_at: i64,
    /// Last number of each stream, by `kind/id`.
    pub streams: BTreeMap<String, u64>,
    /// Commands by id.
    pub ledger: BTreeMap<String, Intake>,
    /// Items in the order in which they opened.
    pub items: Items,
    /// Turns.
    pub turns: Turns,
    /// Approvals.
    pub approvals: Prompts,
    /// Questions to the user.
    pub user_inputs: Prompts,
    /// Peers that ask to be let in.
    #[serde(default)]
    pub admissions: Prompts,
    /// The newest params of each state event (section 20), by notification.
    pub values: BTreeMap<String, Value>,
    /// What families keep beyond view events.
    pub facts: BTreeMap<String, Value>,
    /// Stored output by the id of its reference: the record that holds it.
    pub outputs: BTreeMap<String, Output>,
    /// Places where the log cannot be read, in order.
    pub damages: Vec<Damage>,
    /// Whether a host let it go in an orderly way after it last loaded it.
    pub ended: bool,
}

/// What a session begins with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Header {
    /// `UUIDv7`, made by the host unless the client gave one.
    pub session_id: String,
    /// Unix milliseconds.
    pub created_at: i64,
    /// The command that made it, for replays across restarts (CMD-14).
    pub command: Option<Intake>,
    /// As given.
    pub workspace_root: Option<String>,
    /// As given, or the one root.
    pub workspace_roots: Vec<String>,
    /// Model at the start.
    pub model_id: Option<String>,
    /// Provider at the start.
    pub provider_id: Option<String>,
    /// Approval mode at the start.
    pub approval_mode: String,
    /// `root` or `subagent`.
    pub kind: String,
    /// Session of the parent, for subagents.
    pub parent_session_id: Option<String>,
    /// Provenance of a fork, as the wire writes it.
    pub forked_from: Option<Value>,
    /// Provenance of a side chat, as the wire writes it.
    pub side_from: Option<Value>,
    /// `clientInfo` of who made it.
    pub client: Option<Value>,
    /// `config` as given.
    pub config: Option<Value>,
    /// `on` or `off`, where it was chosen.
    pub recovery_mode: Option<String>,
    /// Profile that was chosen.
    pub permission_profile: Option<String>,
    /// The worktree that it runs in, as the wire writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Value>,
}

/// Items of the view.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Items {
    order: Vec<String>,
    held: BTreeMap<String, Map<String, Value>>,
    /// When each opened, where a record says so.
    #[serde(default)]
    opened: BTreeMap<String, String>,
    /// Those whose start is no record.
    pub(crate) ephemeral: BTreeSet<String>,
    /// The records that opened compactions which are not over: their ends build on them.
    #[serde(default)]
    openings: BTreeMap<String, First>,
}

/// Turns of the session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Turns {
    /// The one in the foreground.
    pub active: Option<ActiveTurn>,
    /// Submits that wait, in launch order.
    pub queue: VecDeque<Submit>,
    /// How each turn ended, and the record that says so.
    pub ended: BTreeMap<String, TurnEnd>,
    /// Turns that were taken out of the queue again.
    pub unqueued: BTreeSet<String>,
    /// `lastTurn` of the wire.
    pub last: Option<Value>,
    /// Those that ended `completed`.
    pub completed: i64,
}

/// The running turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveTurn {
    /// Turn.
    pub turn_id: String,
    /// Command that submitted it.
    pub command_id: String,
    /// Unix milliseconds of its start.
    pub started_at: i64,
    /// Whether something of the assistant is committed, so that a retract comes too late (TURN-21).
    pub committed: bool,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Terminal of `turn/completed`.
    pub terminal: String,
    /// Number of its record.
    pub sequence: u64,
}

/// What was submitted for a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Submit {
    /// Command that submitted it.
    pub command_id: String,
    /// Turn that it becomes.
    pub turn_id: String,
    /// Text parts, joined.
    pub text: String,
    /// Metadata of images and videos, as the wire shows them.
    pub attachments: Vec<Value>,
    /// What to show in place of the text.
    pub display_text: Option<String>,
    /// Effort for this turn only.
    pub reasoning_effort: Option<String>,
    /// Command text of the queued shell form.
    pub user_shell: Option<String>,
    /// Skill selector, where the input named one.
    pub skill: Option<String>,
}

/// Approvals, or questions to the user.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Prompts {
    /// Open ones in opening order: the params of their `…/requested` event as they stand now.
    pub pending: Vec<Prompt>,
    /// Closed ones: the params of `approval/resolved` or `userInput/settled` with their cursor.
    pub closed: BTreeMap<String, Value>,
}

/// An open prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// `approvalId` or `userInputId`.
    pub id: String,
    /// Params with cursor and source range, as the host request carries them.
    pub params: Value,
}

/// Where stored output lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Item that refers to it.
    pub item_id: String,
    /// Record with the content.
    pub sequence: u64,
}

/// A place where the log cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Damage {
    /// Last record that could be read before it; 0 where there is none.
    pub after: u64,
    /// When that record was made.
    pub before_at: Option<i64>,
    /// Lines that are no records.
    pub unreadable: u64,
    /// Numbers that are missing.
    pub missing: u64,
    /// When the first record after it was made; none while nothing readable follows.
    pub after_at: Option<i64>,
    /// Last finished turn before it.
    pub last_good_turn: Option<String>,
}

impl Damage {
    /// Its place in the view: behind everything of the last record before it.
    pub fn position(&self) -> Position {
        Position { sequence: self.after, minor: u32::MAX }
    }

    /// The item that shows it (ITEM-67).
    pub fn item(&self, session_id: &str) -> Map<String, Value> {
        let mut range = json!({
            "unreadableLines": self.unreadable, "missingRecords": self.missing,
            "readableAfterAt": rfc3339(self.after_at.unwrap_or(0)),
        });
        if let Some(at) = self.before_at {
            range["readableBeforeAt"] = rfc3339(at).into();
        }
        if let Some(turn_id) = &self.last_good_turn {
            range["lastGoodTurnId"] = turn_id.as_str().into();
        }
        let item_id = derived_uuid(&format!("{session_id}/{}", self.after + 1), session_id);
        let members = json!({ "damagedRange": range, "fallbackText": "a part of the log cannot be read" });
        let mut item = crate::items::new(&item_id, "damagedRange", None, members);
        item.insert("status".to_owned(), "completed".into());
        item
    }
}

impl Items {
    /// An item by id.
    pub fn find(&self, item_id: &str) -> Option<&Map<String, Value>> {
        self.held.get(item_id)
    }

    /// All items, in the order in which they opened.
    pub fn iter(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.order.iter().filter_map(|id| self.held.get(id))
    }

    /// Open items of a turn, or of no turn, in opening order.
    pub fn open_of<'a>(&'a self, turn_id: Option<&'a str>) -> impl Iterator<Item = &'a Map<String, Value>> {
        self.iter().filter(move |item| {
            item.get("status").and_then(Value::as_str) == Some("inProgress")
                && item.get("turnId").and_then(Value::as_str) == turn_id
        })
    }

    /// When an item opened, RFC 3339.
    pub fn opened_at(&self, item_id: &str) -> Option<&str> {
        self.opened.get(item_id).map(String::as_str)
    }

    /// The record that opened the item of a later event of it, where its range begins there.
    pub fn opening(&self, body: &Body) -> Option<&First> {
        let Body::View { params, .. } = body else { return None };
        self.openings.get(params["item"]["itemId"].as_str()?)
    }

    /// Keeps the record that opened a compaction until that is over.
    pub(crate) fn open(&mut self, item: &Map<String, Value>, first: &Value) {
        let Some(item_id) = item.get("itemId").and_then(Value::as_str) else { return };
        if item.get("status").is_none_or(|status| status != "inProgress") {
            self.openings.remove(item_id);
        } else if item.get("kind").is_some_and(|kind| kind == "compaction") && !self.openings.contains_key(item_id) {
            let sequence = first["sequence"].as_u64().unwrap_or(1);
            let id = first["id"].as_str().unwrap_or_default().to_owned();
            self.openings.insert(item_id.to_owned(), First { id, sequence });
        }
    }

    pub(crate) fn put(&mut self, item_id: &str, item: Map<String, Value>) {
        if let Some(at) = item.get("recordedAt").and_then(Value::as_str).filter(|_| !self.held.contains_key(item_id)) {
            self.opened.insert(item_id.to_owned(), at.to_owned());
        }
        if self.held.insert(item_id.to_owned(), item).is_none() {
            self.order.push(item_id.to_owned());
        }
    }

    fn remove(&mut self, item_id: &str) {
        self.held.remove(item_id);
        self.order.retain(|held| held != item_id);
    }

    pub(crate) fn find_mut(&mut self, item_id: &str) -> Option<&mut Map<String, Value>> {
        self.held.get_mut(item_id)
    }
}

impl Turns {
    /// Whether a turn of this id is running, queued or over.
    pub fn knows(&self, turn_id: &str) -> bool {
        self.active.as_ref().is_some_and(|turn| turn.turn_id == turn_id)
            || self.queue.iter().any(|submit| submit.turn_id == turn_id)
            || self.ended.contains_key(turn_id)
            || self.unqueued.contains(turn_id)
    }
}

impl Prompts {
    /// An open one by id.
    pub fn find(&self, id: &str) -> Option<&Prompt> {
        self.pending.iter().find(|prompt| prompt.id == id)
    }
}

/// The flag of attention that only clients with the experimental opt-in get (EXP-6).
pub const ADMISSION_PENDING: &str = "admissionPending";

impl State {
    /// Takes back what no record stands behind: streaming items, and places behind the last record.
    pub(crate) fn forget_ephemeral(&mut self) {
        for item_id in std::mem::take(&mut self.items.ephemeral) {
            self.items.remove(&item_id);
        }
        self.last.minor = 0;
        self.head = Position { sequence: self.newest_event, minor: 0 };
    }

    /// The cursor of a place.
    pub fn cursor(&self, position: Position) -> String {
        position.cursor(&self.header.session_id)
    }

    /// The cursor of the newest view event; before the first one, of the place before it.
    pub fn head_cursor(&self) -> String {
        self.cursor(self.head)
    }

    /// The place that a cursor of this session names; `None` when the session never gave it out.
    pub fn find_cursor(&self, cursor: &str) -> Option<Position> {
        Position::parse(&self.header.session_id, cursor)
            .filter(|position| *position <= self.last || position.sequence < self.last.sequence)
            .or_else(|| self.compaction_anchor(cursor))
    }

    /// The boundary of an anchor that a compaction item showed (CUR-6, RES-6).
    pub fn compaction_anchor(&self, anchor: &str) -> Option<Position> {
        let sequence = self.facts.get("compactionAnchors")?.get(anchor)?.as_u64()?;
        Some(Position { sequence, minor: 0 })
    }

    /// Whether the session works: a turn runs, or waits to.
    pub fn is_running(&self) -> bool {
        self.turns.active.is_some() || !self.turns.queue.is_empty()
    }

    /// Flags of what waits for a person, in the order of the protocol.
    pub fn attention(&self) -> Vec<&'static str> {
        let mut flags = Vec::new();
        if !self.approvals.pending.is_empty() {
            flags.push("approvalPending");
        }
        if !self.user_inputs.pending.is_empty() {
            flags.push("inputPending");
        }
        if !self.admissions.pending.is_empty() {
            flags.push(ADMISSION_PENDING);
        }
        flags
    }

    /// The newest value of a member of a state event.
    pub fn value(&self, method: &str, member: &str) -> Option<&Value> {
        self.values.get(method).and_then(|params| params.get(member)).filter(|value| !value.is_null())
    }

    /// Approval mode in force, as the wire shows it.
    pub fn approval_mode(&self, loaded_again: bool) -> Value {
        match self.values.get("session/approvalModeChanged") {
            Some(changed) => json!({
                "mode": changed["mode"], "source": changed["source"], "lastCommandId": changed["commandId"],
            }),
            None => json!({
                "mode": self.header.approval_mode,
                "source": if loaded_again { "replay" } else { "startup" },
                "lastCommandId": null,
            }),
        }
    }

    /// Model in force.
    pub fn model_id(&self) -> Option<String> {
        let changed = self.value("session/modelChanged", "modelId").and_then(Value::as_str);
        changed.map(str::to_owned).or_else(|| self.header.model_id.clone())
    }

    /// Provider in force.
    pub fn provider_id(&self) -> Option<String> {
        match self.values.get("session/modelChanged") {
            Some(changed) => changed["providerId"].as_str().map(str::to_owned),
            None => self.header.provider_id.clone(),
        }
    }

    /// The `Session` object. `path` is empty for ephemeral hosts.
    pub fn session(&self, path: &str, presence: Presence) -> Value {
        let loaded = presence != Presence::NotLoaded;
        let header = &self.header;
        let mut session = json!({
            "sessionId": header.session_id,
            "status": if !loaded { "notLoaded" } else if self.is_running() { "running" } else { "idle" },
            "activeTurnId": self.turns.active.as_ref().filter(|_| loaded).map(|turn| &turn.turn_id),
            "turnCount": self.turns.completed,
            "path": path,
            "createdAt": rfc3339(header.created_at),
            "updatedAt": rfc3339(self.updated_at.max(header.created_at)),
            "workspaceRoot": header.workspace_root,
            "modelId": self.model_id(),
            "providerId": self.provider_id(),
            "approvalMode": self.approval_mode(presence == Presence::LoadedAgain),
            "forkedFrom": header.forked_from,
            "kind": header.kind,
        });
        let mut put = |member: &str, value: Option<Value>| value.map(|value| session[member] = value);
        put("worktree", header.worktree.clone());
        put("sideFrom", header.side_from.clone());
        put("parentSessionId", header.parent_session_id.clone().map(Value::from));
        put("createdByClient", header.client.clone());
        put("name", self.value("session/nameChanged", "name").cloned());
        put(
            "nameOrigin",
            self.value("session/nameChanged", "name").and(self.value("session/nameChanged", "nameOrigin")).cloned(),
        );
        put("branch", self.value("session/branchChanged", "branch").cloned());
        put("firstUserPrompt", self.facts.get("firstUserPrompt").cloned());
        let attention = self.attention();
        if loaded && !attention.is_empty() {
            put("attention", Some(json!(attention)));
        }
        session
    }
}

/// How a host has a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Only in the store.
    NotLoaded,
    /// Here, since it was made.
    Loaded,
    /// Here, from the store.
    LoadedAgain,
}
