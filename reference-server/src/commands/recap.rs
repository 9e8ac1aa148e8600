//! Recaps: `recap/request`, `recap/cancel`, and `recap/completed` to who asked (MISC-7).
//!
//! Simulated: no model is asked. The text counts turns and repeats the first prompt, unless the verb `recap` said what the next
//! request is to end with.

use std::sync::{Arc, Weak};

use msp_types::msp::methods::{RecapCancel, RecapRequest};
use msp_types::msp::{CommandStatus, RecapCancelParams, RecapCancelResult, RecapRequestParams, RecapRequestResult};
use serde_json::{Value, json};

use super::{Command, Method, command};
use crate::connection::Connection;
use crate::decision::{Context, Decision, Draft, Effect};
use crate::record::Body;
use crate::refusal::Refusal;
use crate::session::Core;

/// What this family has.
pub const METHODS: &[Method] = &[command::<RecapRequest>(), command::<RecapCancel>()];

/// Longest time that a recap may take, in milliseconds (LIM-8).
const LIMIT_MS: u64 = 45_000;
/// How long one takes that nothing was said about.
const USUAL_MS: u64 = 50;

/// A recap in flight.
#[derive(Clone, Debug)]
pub struct Recap {
    command_id: String,
    connection: Arc<Connection>,
}

impl Command for RecapRequest {
    fn decide(params: RecapRequestParams, ctx: &mut Context<'_>) -> Result<Decision<RecapRequestResult>, Refusal> {
        refuse_unknown(params.unknown.keys().next())?;
        let in_flight = |intake: &crate::record::Intake| intake.method == "recap/request" && !intake.settled;
        if ctx.state.ledger.values().any(in_flight) {
            return Err(Refusal::rejected("runtime_busy", "a recap of this session is in flight"));
        }
        let recap = Recap { command_id: params.command_id.clone(), connection: Arc::clone(&ctx.caller.connection) };
        let result = RecapRequestResult::new(params.command_id, CommandStatus::Accepted);
        let begin = Effect::Do(Box::new(move |core: &mut Core| begin(core, recap)));
        Ok(Decision::new(result).effect(begin).settles_later())
    }
}

impl Command for RecapCancel {
    fn decide(params: RecapCancelParams, _: &mut Context<'_>) -> Result<Decision<RecapCancelResult>, Refusal> {
        refuse_unknown(params.unknown.keys().next())?;
        let result = RecapCancelResult::new(params.command_id, CommandStatus::Accepted);
        Ok(Decision::new(result).effect(Effect::Do(Box::new(abort))))
    }
}

fn refuse_unknown(member: Option<&String>) -> Result<(), Refusal> {
    member.map_or(Ok(()), |member| Err(Refusal::invalid_params(format!("unknown field `{member}`"))))
}

/// Begins to work on a recap: after a while it ends as planned, or at the limit.
fn begin(core: &mut Core, recap: Recap) {
    let plan = core.state.facts.get("recap").cloned().unwrap_or_else(|| json!({}));
    if plan.as_object().is_some_and(|plan| !plan.is_empty()) {
        core.emit(vec![Draft::fact("recap", json!({}))]); // for one request only
    }
    let mut end = json!({ "outcome": plan["outcome"].as_str().unwrap_or("completed") });
    if end["outcome"] == "completed" {
        end["text"] = plan.get("text").cloned().unwrap_or_else(|| text(core).into());
        if let Some(title) = plan.get("title") {
            end["title"] = title.clone();
        }
    } else if end["outcome"] == "failed" {
        end["reason"] = "providerFailed".into();
    }
    let wanted = plan["delayMs"].as_u64().unwrap_or(USUAL_MS);
    if wanted >= LIMIT_MS {
        end = json!({ "outcome": "timedOut" });
    }
    let command_id = recap.command_id.clone();
    core.recap = Some(recap);
    let Some(handle) = core.handle.as_ref().and_then(Weak::upgrade) else { return };
    handle.later(wanted.min(LIMIT_MS), move |core| settle(core, &command_id, end));
}

fn text(core: &Core) -> String {
    let turns = core.state.turns.completed;
    match core.state.facts.get("firstUserPrompt").and_then(Value::as_str) {
        Some(prompt) => format!("{turns} turns were completed. It began with: {prompt}"),
        None => "Nothing happened yet.".to_owned(),
    }
}

/// Cancels the recap in flight, if there is one: a client asked, or the session closes.
pub fn abort(core: &mut Core) {
    if let Some(command_id) = core.recap.as_ref().map(|recap| recap.command_id.clone()) {
        settle(core, &command_id, json!({ "outcome": "cancelled" }));
    }
}

/// Settles a recap, unless it was settled before.
fn settle(core: &mut Core, command_id: &str, mut end: Value) {
    let Some(recap) = core.recap.take_if(|recap| recap.command_id == command_id) else { return };
    core.emit(vec![Draft::silent(Body::Settled { command_id: recap.command_id.clone(), answer: None })]);
    end["commandId"] = recap.command_id.into();
    end["sessionId"] = core.state.header.session_id.as_str().into();
    let now_ms = core.host.mint.lock().now_ms();
    recap.connection.broadcast("recap/completed", &end, now_ms);
}
