//! Subscriptions: what happened reaches each subscriber in order, or the hole is bracketed by `view/gap` (GAP-1, GAP-2).

use std::sync::Arc;

use serde_json::{Value, json};

use super::Core;
use crate::connection::{Connection, Delivery};
use crate::cursor::Position;
use crate::fold::{self, ViewEvent};
use crate::log::Line;

/// A connection that is subscribed to a session.
#[derive(Debug)]
pub struct Subscriber {
    connection: Arc<Connection>,
    /// Cursor of the last event that reached it, or from which it is subscribed.
    delivered: String,
    /// Whether events after that one were dropped.
    hole: bool,
}

impl Subscriber {
    pub(super) fn new(connection: Arc<Connection>, after: String) -> Self {
        Self { connection, delivered: after, hole: false }
    }

    /// Whether it is this connection.
    pub fn is(&self, connection: &Arc<Connection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }

    /// Delivers an event, or notes that it did not. An event that the connection does not want is no hole (GAP-6).
    fn deliver(&mut self, session_id: &str, event: &ViewEvent, now_ms: i64) {
        let params = Value::Object(event.params.clone());
        let Some(frame) = self.connection.notification(&event.method, params, now_ms) else { return };
        let cursor = event.params.get("viewCursor").and_then(Value::as_str).unwrap_or_default();
        let mut frames = Vec::with_capacity(2);
        if self.hole {
            let gap = json!({ "sessionId": session_id, "after": self.delivered, "next": cursor });
            frames.extend(self.connection.notification("view/gap", gap, now_ms));
        }
        frames.push(frame);
        let delivery =
            if self.connection.is_protected(&event.method) { Delivery::Protected } else { Delivery::Droppable };
        if self.connection.send_all(frames, delivery) {
            self.hole = false;
            cursor.clone_into(&mut self.delivered);
        } else {
            self.hole = true;
        }
    }
}

impl Core {
    /// Tells events to all subscribers, and makes the host requests that follow them (APPR-2, UIN-1).
    pub fn deliver(&mut self, events: &[ViewEvent]) {
        let session_id = self.state.header.session_id.clone();
        for event in events {
            let now_ms = self.host.mint.lock().now_ms();
            for subscriber in &mut self.subscribers {
                subscriber.deliver(&session_id, event, now_ms);
            }
            let id = |member: &str| event.params.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
            let staged =
                || event.params.get("change").and_then(|change| change["kind"].as_str()) == Some("stageResolved");
            match event.method.as_str() {
                "approval/requested" => self.ask("approval/request", &id("approvalId"), None),
                "approval/updated" if staged() => self.ask("approval/request", &id("approvalId"), None),
                "userInput/requested" => self.ask("userInput/request", &id("userInputId"), None),
                _ => {}
            }
        }
    }

    /// Sends the host request of an open prompt to all subscribers, or to one.
    pub fn ask(&self, method: &'static str, id: &str, only: Option<&Arc<Connection>>) {
        let prompts = if method == "approval/request" { &self.state.approvals } else { &self.state.user_inputs };
        let Some(prompt) = prompts.find(id) else { return };
        for subscriber in &self.subscribers {
            if only.is_none_or(|only| subscriber.is(only)) {
                let mut params = prompt.params.clone();
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
    }

    /// Delivers the durable events after a place to one connection that is attached there (RES-6, SUB-2).
    pub fn replay(&mut self, connection: &Arc<Connection>, after: Position) {
        let session_id = self.state.header.session_id.clone();
        let mut events = Vec::new();
        let scanned = self.log.offset_of(after.sequence + 1).and_then(|offset| {
            self.log.scan(offset, |line| {
                if let Line::Record(record, _) = line {
                    events.extend(fold::view_event(&session_id, &record));
                }
                true
            })
        });
        if let Err(error) = scanned {
            self.host.complain(&format!("log of session {session_id} could not be read: {error}"));
        }
        let Some(subscriber) = self.subscribers.iter_mut().find(|subscriber| subscriber.is(connection)) else { return };
        for event in &events {
            let now_ms = self.host.mint.lock().now_ms();
            subscriber.deliver(&session_id, event, now_ms);
        }
    }
}
