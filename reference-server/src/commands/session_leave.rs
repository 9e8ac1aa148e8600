//! `session/leave`: lets a loaded session go; with `stop` its work is cancelled first (SESS-10).

use std::sync::Arc;

use msp_types::msp::methods::SessionLeave;
use msp_types::msp::{CommandAckStatus, SessionLeaveParams, SessionLeaveResult};

use super::{Command, Method, command};
use crate::decision::{Context, Decision, Effect};
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
