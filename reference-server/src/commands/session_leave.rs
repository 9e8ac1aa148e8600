//! `session/leave`: lets a loaded session go; with `stop` its work is cancelled first (SESS-10).

use std::sync::Arc;

use msp_types::Call as _;
use msp_types::msp::methods::SessionLeave;
use msp_types::msp::{CommandAckStatus, SessionLeaveParams, SessionLeaveResult};

use super::{Command, HostCall, Method, command};
use crate::decision::{Context, Decision, Effect};
use crate::record::Answer;
use crate::refusal::Refusal;
use crate::session::Core;

/// What this family has.
pub const METHODS: &[Method] = &[command::<SessionLeave>()];

/// How long a leave without `stop` waits for work that goes on, in milliseconds.
const WINDOW_MS: u64 = 5_000;

impl Command for SessionLeave {
    fn decide(params: SessionLeaveParams, ctx: &mut Context<'_>) -> Result<Decision<SessionLeaveResult>, Refusal> {
        let (command_id, connection) = (params.command_id.clone(), Arc::clone(&ctx.caller.connection));
        let at_once = params.stop == Some(true) || !ctx.state.is_running();
        let leave = move |core: &mut Core| {
            if at_once {
                core.leaving = Some((command_id, connection));
            } else {
                core.leave_when_idle(command_id, connection, WINDOW_MS);
            }
        };
        let result = SessionLeaveResult::new(params.command_id, CommandAckStatus::Accepted);
        Ok(Decision::new(result).effect(Effect::Do(Box::new(leave))).settles_later())
    }
}

/// Answers a leave that let the session go, sent once more: as before, with its end told again. `false` for anything else.
pub fn tell_again(call: &HostCall<'_>, method: &str, session_id: &str, command_id: &str, digest: &str) -> bool {
    if method != SessionLeave::NAME {
        return false;
    }
    let Ok(readable) = call.host.readable(session_id) else { return false };
    let held = readable.hold();
    let state = held.state();
    let seen = state.ledger.get(command_id).filter(|intake| intake.method == method && intake.digest == digest);
    let completed = state.facts.get("leave").and_then(|leaves| leaves.get(command_id));
    let (Some(Answer::Result(result)), Some(completed)) = (seen.map(|intake| &intake.answer), completed) else {
        return false;
    };
    let now_ms = call.host.mint.lock().now_ms();
    call.caller.connection.respond(call.id, Ok(result));
    call.caller.connection.broadcast("session/leaveCompleted", completed, now_ms);
    true
}
