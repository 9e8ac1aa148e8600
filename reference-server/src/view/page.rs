//! Pages: durable events in order, read from the log where they are, not from its beginning (PAGE).

use msp_types::msp::errors;
use serde_json::{Value, json};

use crate::cursor::Position;
use crate::fold::{self, ViewEvent};
use crate::log::{Line, Log};
use crate::refusal::Refusal;
use crate::state::{Damage, State};

/// Bytes of events after which a page is served as it is, with a cursor for the rest (PAGE-2).
const ENOUGH_BYTES: usize = 384 * 1024;
/// Bytes that an answer needs around its events.
const FRAME_RESERVE: usize = 4096;

/// Records that are read at once on the way back to the newest event.
const WINDOW: u64 = 64;

/// Where to read, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Exclusive bound; the nearer end of the view without one.
    pub from: Option<Position>,
    /// Towards the beginning?
    pub backward: bool,
    /// Most events.
    pub limit: usize,
    /// Longest frame.
    pub frame_limit: usize,
    /// The oldest event that is served, where not all are.
    pub earliest: Option<Position>,
}

/// Events in view order, and where the next page begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// `{method, params}` each.
    pub events: Vec<Value>,
    /// `null` when there is nothing more in that direction.
    pub next_cursor: Option<String>,
}

/// Reads a page.
///
/// # Errors
/// −32603 `pageEventTooLarge` when the first event alone does not fit a frame, −32603 when the disk fails.
pub fn read(state: &State, log: &Log, asked: Asked) -> Result<Page, Refusal> {
    let mut asked = asked;
    let events = if asked.backward {
        backward(state, log, asked)?
    } else {
        // From the beginning is from the oldest event on, with it.
        let before = |earliest: Position| Position { sequence: earliest.sequence.saturating_sub(1), minor: 0 };
        asked.from = asked.from.filter(|from| from.sequence > 0).or(asked.earliest.map(before));
        forward(state, log, asked)?
    };
    let edge = if asked.backward { events.first() } else { events.last() };
    let more = edge.is_some_and(|event| {
        let place = event.position;
        let damages = || state.damages.iter().map(Damage::position);
        if asked.backward {
            match asked.earliest {
                Some(earliest) => place > earliest,
                None => place.sequence > state.oldest_event || damages().any(|damage| damage < place),
            }
        } else {
            place.sequence < state.newest_event || damages().any(|damage| damage > place)
        }
    });
    let next_cursor = edge.filter(|_| more).map(|event| state.cursor(event.position));
    let events = events.into_iter().map(|event| json!({ "method": event.method, "params": event.params })).collect();
    Ok(Page { events, next_cursor })
}

/// Durable events after a place, as many as a page has.
///
/// # Errors
/// As [`read`].
pub fn forward(state: &State, log: &Log, asked: Asked) -> Result<Vec<ViewEvent>, Refusal> {
    let first = asked.from.map_or(1, |from| from.sequence + 1);
    let mut budget = Budget::new(state, asked);
    let from = asked.from.unwrap_or_default();
    let mut damages = state.damages.iter().filter(|damage| damage.position() > from).peekable();
    let offset = log.offset_of(first).map_err(|error| failed(&error))?;
    let session_id = &state.header.session_id;
    log.scan(offset, |line| {
        let Line::Record(record, _) = line else { return true };
        while let Some(damage) = damages.next_if(|damage| damage.after < record.sequence) {
            if !budget.take(fold::damage_event(session_id, damage)) {
                return false;
            }
        }
        fold::view_event(session_id, &record).is_none_or(|event| budget.take(event))
    })
    .map_err(|error| failed(&error))?;
    budget.done()
}

/// Reads windows of records, the last one first, until there are enough events.
fn backward(state: &State, log: &Log, asked: Asked) -> Result<Vec<ViewEvent>, Refusal> {
    // An ephemeral event stands behind the record of its number.
    let mut end =
        asked.from.map_or(state.last.sequence, |from| from.sequence - u64::from(from.minor == 0 && from.sequence > 0));
    let mut budget = Budget::new(state, asked);
    let mut window = u64::try_from(asked.limit).unwrap_or(1).clamp(8, 128);
    while end > 0 {
        let start = end.saturating_sub(window) + 1;
        let mut events = Vec::new();
        let offset = log.offset_of(start).map_err(|error| failed(&error))?;
        log.scan(offset, |line| {
            let Line::Record(record, _) = line else { return true };
            if record.sequence > end {
                return false;
            }
            events.extend(fold::view_event(&state.header.session_id, &record));
            record.sequence < end
        })
        .map_err(|error| failed(&error))?;
        // A damage belongs to the window of the last record before it; one at the very beginning to the last window.
        let here = state.damages.iter().filter(|damage| (damage.after >= start || start == 1) && damage.after <= end);
        let before = |damage: &&Damage| asked.from.is_none_or(|from| damage.position() < from);
        events.extend(here.filter(before).map(|damage| fold::damage_event(&state.header.session_id, damage)));
        events.sort_by_key(|event| event.position);
        let served = |event: &ViewEvent| asked.earliest.is_none_or(|earliest| event.position >= earliest);
        if !events.into_iter().rev().all(|event| served(&event) && budget.take(event)) {
            break;
        }
        end = start - 1;
        window = (window * 2).min(1024);
    }
    let mut events = budget.done()?;
    events.reverse();
    Ok(events)
}

/// The newest event after a place that is wanted, if there is one. A damage is none: it is in pages only.
///
/// # Errors
/// −32603 when the disk fails.
pub fn newest(
    state: &State,
    log: &Log,
    after: Position,
    wanted: impl Fn(&ViewEvent) -> bool,
) -> Result<Option<ViewEvent>, Refusal> {
    let mut end = state.newest_event;
    while end > after.sequence {
        let start = end.saturating_sub(WINDOW).max(after.sequence) + 1;
        let offset = log.offset_of(start).map_err(|error| failed(&error))?;
        let mut found = None;
        log.scan(offset, |line| {
            let Line::Record(record, _) = line else { return true };
            if record.sequence > end {
                return false;
            }
            found = fold::view_event(&state.header.session_id, &record).filter(&wanted).or(found.take());
            record.sequence < end
        })
        .map_err(|error| failed(&error))?;
        if found.is_some() {
            return Ok(found);
        }
        end = start - 1;
    }
    Ok(None)
}

/// Takes events until the page is full.
struct Budget<'a> {
    state: &'a State,
    asked: Asked,
    taken: Vec<ViewEvent>,
    bytes: usize,
    too_large: Option<Position>,
}

impl<'a> Budget<'a> {
    fn new(state: &'a State, asked: Asked) -> Self {
        Self { state, asked, taken: Vec::new(), bytes: 0, too_large: None }
    }

    /// Takes an event; `false` when the page is full, with it or before it.
    fn take(&mut self, event: ViewEvent) -> bool {
        let size = serde_json::to_string(&event.params).map_or(0, |text| text.len()) + event.method.len() + 32;
        let room = self.asked.frame_limit.saturating_sub(FRAME_RESERVE);
        if self.bytes + size > room {
            if self.taken.is_empty() {
                self.too_large = Some(event.position);
            }
            return false;
        }
        self.bytes += size;
        self.taken.push(event);
        self.taken.len() < self.asked.limit && self.bytes < ENOUGH_BYTES
    }

    fn done(self) -> Result<Vec<ViewEvent>, Refusal> {
        match self.too_large {
            None => Ok(self.taken),
            Some(position) => Err(Refusal::new(errors::INTERNAL, "one event does not fit a frame")
                .of_kind("pageEventTooLarge")
                .with("sessionId", self.state.header.session_id.as_str())
                .with("viewCursor", self.state.cursor(position))
                .with("limitBytes", self.asked.frame_limit)),
        }
    }
}

fn failed(error: &std::io::Error) -> Refusal {
    Refusal::internal(format!("the session's log could not be read: {error}"))
}
