//! `session/leave` from its ack to its end: one `session/leaveCompleted`, which a repeated command gets again (SESS-10).

use std::sync::{Arc, Weak};

use serde_json::{Value, json};

use super::{Closing, Core};
use crate::connection::Connection;
use crate::decision::Draft;
use crate::record::Body;
use crate::state::State;

/// Records that a leave came to its end: released, or failed for a reason. The fact is what is told, and told again.
pub(super) fn end(state: &State, command_id: &str, failed: Option<&str>) -> Vec<Draft> {
    let mut completed = json!({
        "sessionId": state.header.session_id, "commandId": command_id,
        "outcome": if failed.is_some() { "failed" } else { "released" },
    });
    match failed {
        Some(reason) => completed["reason"] = reason.into(),
        None => completed["viewCursor"] = state.head_cursor().into(),
    }
    let mut fact = json!({});
    fact[command_id] = completed;
    vec![Draft::fact("leave", fact), Draft::silent(Body::Settled { command_id: command_id.to_owned(), answer: None })]
}

impl Core {
    /// Lets the session go as soon as nothing runs any more; after a while without that, tells that it did not happen.
    pub fn leave_when_idle(&mut self, command_id: String, connection: Arc<Connection>, window_ms: u64) {
        self.waiting_leave = Some((command_id.clone(), connection));
        let Some(handle) = self.handle.as_ref().and_then(Weak::upgrade) else { return };
        handle.later(window_ms, move |core| {
            let waits = core.waiting_leave.take_if(|(waiting, _)| *waiting == command_id);
            if let Some((command_id, connection)) = waits {
                core.emit(end(&core.state, &command_id, Some("timeout")));
                core.tell_leave(&command_id, &connection);
            }
        });
    }

    /// The leave that may go ahead now: one that need not wait, or one whose session came to rest.
    pub(super) fn take_leave(&mut self) -> Option<Closing> {
        let idle = !self.state.is_running();
        let leave = self.leaving.take().or_else(|| if idle { self.waiting_leave.take() } else { None });
        leave.map(|(command_id, connection)| Closing::Leave(command_id, connection))
    }

    /// Tells the end of a leave to who asks; nothing while it is under way. A log that failed has no end of it to tell.
    pub(super) fn tell_leave(&self, command_id: &str, connection: &Connection) {
        let failed = || {
            json!({
                "sessionId": self.state.header.session_id, "commandId": command_id,
                "outcome": "failed", "reason": "persistenceFailed",
            })
        };
        let told = self.state.facts.get("leave").and_then(|leaves| leaves.get(command_id)).cloned();
        let completed: Option<Value> = told.or_else(|| self.failed.then(failed));
        if let Some(completed) = completed {
            let now_ms = self.host.mint.lock().now_ms();
            connection.broadcast("session/leaveCompleted", &completed, now_ms);
        }
    }
}
