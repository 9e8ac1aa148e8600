//! The fold: records in order become state and view events. Pure and total: every record ever written applies.
//!
//! One file per family of events. A family that keeps state beyond view events has a row in [`FACTS`].

mod facts;
mod items;
mod prompts;
mod turns;
mod values;

use msp_types::msp::{RecordPosition, SourceRange, StreamRef};
use serde_json::{Map, Value};

use crate::cursor::Position;
use crate::record::{Body, Record};
use crate::state::{Damage, Output, State};

/// An event of the view, as subscribers get it.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewEvent {
    /// Its place.
    pub position: Position,
    /// Notification method.
    pub method: String,
    /// Params, with `sessionId`, `viewCursor` and, if durable, `sourceRange`.
    pub params: Map<String, Value>,
    /// Whether a record stands behind it.
    pub durable: bool,
}

/// How a family folds its facts: `None` keeps the newest one whole.
pub type FactFold = fn(Option<Value>, &Value) -> Value;

/// Families with a fold of their own. A family without a row keeps its newest fact.
pub const FACTS: &[(&str, FactFold)] = &[
    ("leave", facts::merge),
    ("compactionAnchors", facts::merge),
    ("monitorInbox", facts::merge),
    ("due", facts::merge),
    ("stagePlans", facts::merge),
];

/// Applies a record; gives the view event that it makes, if it makes one.
pub fn apply(state: &mut State, record: &Record) -> Option<ViewEvent> {
    state.last = Position { sequence: record.sequence, minor: 0 };
    state.streams.insert(format!("{}/{}", record.stream.kind, record.stream.id), record.stream.sequence);
    state.updated_at = record.at;
    match &record.body {
        Body::Created(header) => {
            state.header = (**header).clone();
            state.ended = false;
        }
        Body::Loaded { recovery_mode, .. } => {
            state.ended = false;
            if recovery_mode.is_some() {
                state.header.recovery_mode.clone_from(recovery_mode);
            }
        }
        Body::Ended { .. } => state.ended = true,
        Body::Command(intake) => {
            state.ledger.insert(intake.command_id.clone(), intake.clone());
        }
        Body::Settled { command_id, answer } => {
            if let Some(intake) = state.ledger.get_mut(command_id) {
                intake.settled = true;
                if let Some(answer) = answer {
                    intake.answer = answer.clone();
                }
            }
        }
        Body::Queued(submit) => state.turns.queue.push_back(submit.clone()),
        Body::Launched { turn_id } => state.turns.queue.retain(|submit| submit.turn_id != *turn_id),
        Body::Stored(stored) => {
            let output = Output { item_id: stored.item_id.clone(), sequence: record.sequence };
            state.outputs.insert(stored.id.clone(), output);
        }
        Body::Fact { family, data } => {
            let fold = FACTS.iter().find(|(name, _)| name == family).map(|(_, fold)| fold);
            let before = state.facts.remove(family);
            let after = fold.map_or_else(|| data.clone(), |fold| fold(before, data));
            state.facts.insert(family.clone(), after);
        }
        Body::View { method, params } => {
            state.head = state.last;
            state.newest_event = record.sequence;
            if state.oldest_event == 0 {
                state.oldest_event = record.sequence;
            }
            let event = dress(&state.header.session_id, record, method, params);
            absorb(state, &event, record.at);
            return Some(event);
        }
    }
    None
}

/// The view event of a record, without applying it: what pages show.
pub fn view_event(session_id: &str, record: &Record) -> Option<ViewEvent> {
    let Body::View { method, params } = &record.body else { return None };
    Some(dress(session_id, record, method, params))
}

/// The event that shows a damage. No record carries it, so it is in pages only (ITEM-67).
pub fn damage_event(session_id: &str, damage: &Damage) -> ViewEvent {
    let item = damage.item(session_id);
    let place = RecordPosition::new(
        item.get("itemId").and_then(Value::as_str).unwrap_or_default().to_owned(),
        i64::try_from(damage.after + 1).unwrap_or(i64::MAX),
    );
    let range = SourceRange::new(place.clone(), place, StreamRef::new(session_id.to_owned(), "session".to_owned()));
    let mut params = Map::new();
    params.insert("sessionId".to_owned(), session_id.into());
    params.insert("viewCursor".to_owned(), damage.position().cursor(session_id).into());
    params.insert("sourceRange".to_owned(), serde_json::to_value(range).unwrap_or_default());
    params.insert("item".to_owned(), Value::Object(item));
    ViewEvent { position: damage.position(), method: "item/completed".to_owned(), params, durable: true }
}

/// Applies an event that no record stands behind.
pub fn apply_ephemeral(state: &mut State, method: &str, params: &Map<String, Value>) -> ViewEvent {
    state.last.minor += 1;
    state.head = state.last;
    let mut params = params.clone();
    params.insert("sessionId".to_owned(), state.header.session_id.clone().into());
    params.insert("viewCursor".to_owned(), state.head_cursor().into());
    let event = ViewEvent { position: state.head, method: method.to_owned(), params, durable: false };
    absorb(state, &event, state.updated_at);
    event
}

/// Adds what the place of a record gives its event.
fn dress(session_id: &str, record: &Record, method: &str, params: &Value) -> ViewEvent {
    let position = Position { sequence: record.sequence, minor: 0 };
    let mut params = params.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(item)) = params.get_mut("item") {
        item.insert("recordedAt".to_owned(), crate::time::rfc3339(record.at).into());
    }
    params.insert("sessionId".to_owned(), session_id.into());
    params.insert("viewCursor".to_owned(), position.cursor(session_id).into());
    if let Ok(range) = serde_json::to_value(record.source_range()) {
        params.insert("sourceRange".to_owned(), range);
    }
    ViewEvent { position, method: method.to_owned(), params, durable: true }
}

/// Lets the event's family change the state.
fn absorb(state: &mut State, event: &ViewEvent, at: i64) {
    match event.method.split_once('/') {
        Some(("item", _)) => items::apply(state, event),
        Some(("turn", _)) => turns::apply(state, event, at),
        Some(("approval" | "userInput" | "admission", _)) => prompts::apply(state, event),
        Some(("session", _)) => values::apply(state, event),
        _ => {} // such as `monitor/…`: shown, and nothing to remember
    }
}
