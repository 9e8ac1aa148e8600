//! Subscriptions: what happened reaches each subscriber in order, or the hole is bracketed by `view/gap` (GAP-1, GAP-2).

use std::sync::Arc;

use serde_json::{Value, json};

use super::Core;
use crate::approvals;
use crate::commands::admission::payload;
use crate::connection::{Connection, Delivery, Framed};
use crate::cursor::Position;
use crate::fold::ViewEvent;
use crate::view::page::{self, Asked};

/// Events that a subscriber who is behind gets at once.
const PAGE: usize = 256;

/// A connection that is subscribed to a session.
#[derive(Debug)]
pub struct Subscriber {
    connection: Arc<Connection>,
    /// Last event that reached it, or after which it is subscribed.
    delivered: Position,
    /// The newest event that was dropped after that one, if any was.
    dropped: Option<Position>,
    /// Whether all that may be dropped is, until it has read half of what waits for it.
    stalled: bool,
    /// Where it is with older events: until it has them all, newer ones wait in the log.
    behind: Option<Position>,
    /// The first and the last event that are in no log and came by meanwhile.
    missed: Option<(Position, Position)>,
    /// How many events to come are dropped on purpose, protected ones aside.
    losing: u64,
}

impl Subscriber {
    pub(super) fn new(connection: Arc<Connection>, after: Position) -> Self {
        Self { connection, delivered: after, dropped: None, stalled: false, behind: None, missed: None, losing: 0 }
    }

    /// Whether it is this connection.
    pub fn is(&self, connection: &Arc<Connection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }

    /// Delivers an event, or notes that it did not; `true` when this is where the connection stalls.
    fn deliver(&mut self, session_id: &str, event: &ViewEvent, now_ms: i64) -> bool {
        if self.behind.is_some() {
            if !event.durable {
                self.missed = Some((self.missed.map_or(event.position, |(first, _)| first), event.position));
            }
            return false;
        }
        if self.loses(event) {
            self.dropped = Some(event.position);
            return false;
        }
        // What is dropped in a row is one hole (GAP-2), so nothing slips in before there is room for more than one event.
        let waits = self.stalled && !self.connection.is_protected(&event.method);
        if waits && self.connection.wants(&event.method, &event.params) {
            self.dropped = Some(event.position);
        }
        if waits || self.offer(session_id, event, now_ms) {
            return false;
        }
        self.dropped = Some(event.position);
        !std::mem::replace(&mut self.stalled, true)
    }

    /// Whether an event is one of those that a script loses.
    fn loses(&mut self, event: &ViewEvent) -> bool {
        let lost = self.losing > 0
            && !self.connection.is_protected(&event.method)
            && self.connection.wants(&event.method, &event.params);
        self.losing -= u64::from(lost);
        lost
    }

    /// Queues an event, behind the gap before it; `false` when there is no room. One that the connection does not want is no
    /// hole (GAP-6), one that fits no frame is.
    fn offer(&mut self, session_id: &str, event: &ViewEvent, now_ms: i64) -> bool {
        if !self.connection.wants(&event.method, &event.params) {
            return true;
        }
        let mut frames = Vec::with_capacity(2);
        if self.dropped.is_some() {
            let (after, next) = (self.delivered.cursor(session_id), event.position.cursor(session_id));
            let gap = json!({ "sessionId": session_id, "after": after, "next": next });
            frames.extend(self.connection.notification("view/gap", gap, now_ms));
        }
        match self.connection.frame_of(&event.method, Value::Object(event.params.clone()), now_ms) {
            Framed::Bytes(frame) => frames.push(frame),
            Framed::Withheld => return true,
            Framed::TooLarge => {
                self.dropped = Some(event.position);
                return true;
            }
        }
        let delivery =
            if self.connection.is_protected(&event.method) { Delivery::Protected } else { Delivery::Droppable };
        if !self.connection.send_all(frames, delivery) {
            return false;
        }
        self.delivered = event.position;
        self.dropped = self.dropped.filter(|dropped| *dropped > event.position);
        true
    }

    /// Delivers an event of the log to a subscriber that is behind; `false` when there is no room.
    fn catch_up(&mut self, session_id: &str, event: &ViewEvent, now_ms: i64) -> bool {
        let before = self.dropped;
        if self.missed.is_some_and(|(first, last)| first < event.position && last > self.delivered) {
            self.dropped = before.max(Some(self.delivered)); // some of them stand before this one
        }
        let room = self.connection.outbox.has_room() && self.offer(session_id, event, now_ms);
        if room {
            self.behind = Some(event.position);
        } else {
            self.dropped = before;
        }
        room
    }
}

impl Core {
    /// Tells events to all subscribers, and makes the host requests that follow them (APPR-2, UIN-1).
    pub fn deliver(&mut self, events: &[ViewEvent]) {
        let session_id = self.state.header.session_id.clone();
        for event in events {
            let now_ms = self.host.mint.lock().now_ms();
            let stalls = |subscriber: &mut Subscriber| {
                let stalled = subscriber.deliver(&session_id, event, now_ms);
                stalled.then(|| Arc::clone(&subscriber.connection))
            };
            let stalled: Vec<_> = self.subscribers.iter_mut().filter_map(stalls).collect();
            for connection in stalled {
                self.when_it_reads(connection, Self::tell_gap);
            }
            let id = |member: &str| event.params.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
            let staged =
                || event.params.get("change").and_then(|change| change["kind"].as_str()) == Some("stageResolved");
            match event.method.as_str() {
                "approval/requested" => self.ask("approval/request", &id("approvalId"), None),
                "approval/updated" if staged() && !approvals::is_quiet(&self.state, &id("approvalId")) => {
                    self.ask("approval/request", &id("approvalId"), None);
                }
                "userInput/requested" => self.ask("userInput/request", &id("userInputId"), None),
                "admission/requested" => self.ask("admission/request", &id("admissionId"), None),
                _ => {}
            }
        }
    }

    /// Lets so many events to come reach nobody.
    pub fn lose(&mut self, events: u64) {
        for subscriber in &mut self.subscribers {
            subscriber.losing += events;
        }
    }

    /// Makes a request that no prompt stands behind to all subscribers.
    pub fn request(&self, method: &str, params: &Value) {
        for subscriber in &self.subscribers {
            subscriber.connection.ask(method, params);
        }
    }

    /// Sends the host request of an open prompt to all subscribers, or to one.
    pub fn ask(&self, method: &'static str, id: &str, only: Option<&Arc<Connection>>) {
        let prompts = match method {
            "approval/request" => &self.state.approvals,
            "admission/request" => &self.state.admissions,
            _ => &self.state.user_inputs,
        };
        let Some(prompt) = prompts.find(id) else { return };
        for subscriber in &self.subscribers {
            if only.is_none_or(|only| subscriber.is(only)) {
                let mut params = if method == "admission/request" { payload(prompt) } else { prompt.params.clone() };
                if let Some(params) = params.as_object_mut().filter(|_| method == "userInput/request" && only.is_some())
                {
                    params.remove("sourceRange"); // CUR-8: the re-issued request has none
                }
                subscriber.connection.ask(method, &params);
            }
        }
    }

    /// Re-issues every open prompt to a connection that has just subscribed (RES-11, SUB-3).
    pub fn ask_again(&self, connection: &Arc<Connection>) {
        for prompt in &self.state.approvals.pending {
            self.ask("approval/request", &prompt.id, Some(connection));
        }
        for prompt in &self.state.user_inputs.pending {
            self.ask("userInput/request", &prompt.id, Some(connection));
        }
        for prompt in &self.state.admissions.pending {
            self.ask("admission/request", &prompt.id, Some(connection));
        }
    }

    /// Delivers the durable events after a place to one connection that is attached there, as fast as it reads (RES-6, SUB-2).
    pub fn replay(&mut self, connection: &Arc<Connection>, after: Position) {
        if let Some(subscriber) = self.subscribers.iter_mut().find(|subscriber| subscriber.is(connection)) {
            subscriber.behind = Some(after);
        }
        if !self.catch_up(connection) {
            self.when_it_reads(Arc::clone(connection), Self::catch_up);
        }
    }

    /// Does something whenever a connection has read half of what waits for it, until there is nothing left to do.
    pub(super) fn when_it_reads(&self, connection: Arc<Connection>, work: fn(&mut Self, &Arc<Connection>) -> bool) {
        let session = self.handle.clone().unwrap_or_default();
        tokio::spawn(async move {
            while connection.outbox.half_empty().await {
                let Some(session) = session.upgrade() else { return };
                if work(&mut session.core(), &connection) {
                    return;
                }
                drop(session);
                tokio::task::yield_now().await; // there may be room for more at once
            }
        });
    }

    /// Tells a subscriber that reads again of its hole, with the newest event that it may have: nobody has to wait for something
    /// else to happen. Events that are in no log are told with the next one. `true` when there is nothing left to do.
    fn tell_gap(&mut self, connection: &Arc<Connection>) -> bool {
        let Self { state, log, host, subscribers, .. } = self;
        let Some(subscriber) = subscribers.iter_mut().find(|subscriber| subscriber.is(connection)) else { return true };
        subscriber.stalled = false;
        if subscriber.dropped.is_none() || subscriber.behind.is_some() {
            return true;
        }
        let wanted = |event: &ViewEvent| connection.wants(&event.method, &event.params);
        match page::newest(state, log, subscriber.delivered, wanted) {
            Ok(Some(event)) => {
                let told = subscriber.offer(&state.header.session_id, &event, host.mint.lock().now_ms());
                subscriber.stalled = !told;
                told
            }
            Ok(None) => true,
            Err(refusal) => {
                let session_id = &state.header.session_id;
                host.complain(&format!("the newest event of session {session_id} could not be read: {refusal:?}"));
                true
            }
        }
    }

    /// Delivers a page of what a subscriber is behind; `true` when there is nothing left to do.
    fn catch_up(&mut self, connection: &Arc<Connection>) -> bool {
        let Self { state, log, host, subscribers, .. } = self;
        let Some(subscriber) = subscribers.iter_mut().find(|subscriber| subscriber.is(connection)) else { return true };
        let Some(from) = subscriber.behind else { return true };
        let asked = Asked {
            from: Some(from),
            backward: false,
            limit: PAGE.min(host.config.outbox_frames.max(1)),
            frame_limit: host.config.frame_limit,
            earliest: None,
        };
        let session_id = &state.header.session_id;
        let events = page::forward(state, log, asked).unwrap_or_else(|refusal| {
            host.complain(&format!("events of session {session_id} could not be replayed: {refusal:?}"));
            subscriber.missed = Some((from, state.head));
            Vec::new()
        });
        let told = |event: &&ViewEvent| subscriber.catch_up(session_id, event, host.mint.lock().now_ms());
        let last = events.iter().take_while(told).last().map(|event| event.position);
        let done = events.is_empty() || last.is_some_and(|last| last.sequence >= state.newest_event);
        if done {
            subscriber.behind = None;
            let missed = subscriber.missed.take().map(|(_, last)| last);
            subscriber.dropped = subscriber.dropped.max(missed.filter(|missed| *missed > subscriber.delivered));
        }
        done
    }
}
