//! Subscriptions: what happened reaches each subscriber in order, or the hole is bracketed by `view/gap` (GAP-1, GAP-2).

use std::sync::Arc;

use serde_json::{Value, json};

use super::Core;
use crate::commands::admission::payload;
use crate::connection::{Connection, Delivery};
use crate::cursor::Position;
use crate::fold::ViewEvent;
use crate::view::page::{self, Asked};

/// Events that a subscriber who is behind gets at once.
const PAGE: usize = 256;

/// A connection that is subscribed to a session.
#[derive(Debug)]
pub struct Subscriber {
    connection: Arc<Connection>,
    /// Cursor of the last event that reached it, or from which it is subscribed.
    delivered: String,
    /// Whether events after that one were dropped.
    hole: bool,
    /// Where it is with older events: until it has them all, newer ones wait in the log.
    behind: Option<Position>,
    /// Whether events that are in no log came by meanwhile.
    missed: bool,
}

impl Subscriber {
    pub(super) fn new(connection: Arc<Connection>, after: String) -> Self {
        Self { connection, delivered: after, hole: false, behind: None, missed: false }
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
                if subscriber.behind.is_some() {
                    subscriber.missed |= !event.durable;
                } else {
                    subscriber.deliver(&session_id, event, now_ms);
                }
            }
            let id = |member: &str| event.params.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
            let staged =
                || event.params.get("change").and_then(|change| change["kind"].as_str()) == Some("stageResolved");
            match event.method.as_str() {
                "approval/requested" => self.ask("approval/request", &id("approvalId"), None),
                "approval/updated" if staged() => self.ask("approval/request", &id("approvalId"), None),
                "userInput/requested" => self.ask("userInput/request", &id("userInputId"), None),
                "admission/requested" => self.ask("admission/request", &id("admissionId"), None),
                _ => {}
            }
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
        if self.catch_up(connection) {
            return;
        }
        let (session, connection) = (self.handle.clone().unwrap_or_default(), Arc::clone(connection));
        tokio::spawn(async move {
            loop {
                connection.outbox.half_empty().await;
                let Some(session) = session.upgrade() else { return };
                if session.core().catch_up(&connection) {
                    return;
                }
            }
        });
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
        };
        let events = page::forward(state, log, asked).unwrap_or_else(|refusal| {
            host.complain(&format!("events of session {} could not be replayed: {refusal:?}", state.header.session_id));
            subscriber.missed = true;
            Vec::new()
        });
        let mut last = None;
        for event in &events {
            if !connection.outbox.has_room() {
                break;
            }
            subscriber.deliver(&state.header.session_id, event, host.mint.lock().now_ms());
            last = Some(event.position);
        }
        subscriber.behind = last.or(subscriber.behind);
        let done = events.is_empty() || last.is_some_and(|last| last.sequence >= state.newest_event);
        if done {
            subscriber.behind = None;
            subscriber.hole |= std::mem::take(&mut subscriber.missed);
        }
        done
    }
}
