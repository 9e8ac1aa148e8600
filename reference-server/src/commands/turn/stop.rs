//! `turn/interrupt`, `turn/cancel`, `turn/unqueue`: the running turn ends, or a queued one never begins.

use msp_types::msp::methods::{TurnCancel, TurnInterrupt, TurnUnqueue};
use msp_types::msp::notifications::TurnUnqueued;
use msp_types::msp::{
    CommandStatus, TurnCancelParams, TurnCancelResult, TurnInterruptParams, TurnInterruptResult, TurnUnqueueParams,
    TurnUnqueueResult,
};
use serde_json::json;

use crate::commands::Command;
use crate::decision::{Context, Decision, Draft, Effect, Stream};
use crate::mint::is_uuid;
use crate::record::Body;
use crate::refusal::Refusal;
use crate::state::State;
use crate::turns::{self, Stop};

impl Command for TurnInterrupt {
    const URGENT: bool = true;

    fn decide(params: TurnInterruptParams, ctx: &mut Context<'_>) -> Result<Decision<TurnInterruptResult>, Refusal> {
        let turn_id = target(ctx.state, params.turn_id.as_deref())?;
        let stop = Stop { retract: params.retract == Some(true), ..Stop::by_client("interrupted by the client") };
        let result = TurnInterruptResult::new(params.command_id, CommandStatus::Accepted, turn_id);
        Ok(stopping(Decision::new(result), ctx, &stop))
    }
}

impl Command for TurnCancel {
    fn decide(params: TurnCancelParams, ctx: &mut Context<'_>) -> Result<Decision<TurnCancelResult>, Refusal> {
        if params.unknown.get("retract").is_some_and(|retract| *retract == true) {
            return Err(Refusal::rejected("not_paired_interrupt", "only `turn/interrupt` can retract"));
        }
        let turn_id = target(ctx.state, params.turn_id.as_deref())?;
        let result = TurnCancelResult::new(params.command_id, CommandStatus::Accepted, turn_id);
        Ok(stopping(Decision::new(result), ctx, &Stop::by_client("cancelled by the client")))
    }
}

/// The running turn stops, and the next queued one begins (TURN-16, TURN-18).
fn stopping<R>(decision: Decision<R>, ctx: &mut Context<'_>, stop: &Stop) -> Decision<R> {
    let drafts = turns::stop(ctx.state, ctx.mint, stop);
    decision.drafts(drafts).effect(Effect::StopRun).effect(Effect::LaunchNext)
}

/// The running turn, if it is the one that is meant (TURN-17).
fn target(state: &State, turn_id: Option<&str>) -> Result<String, Refusal> {
    let active = state.turns.active.as_ref().map(|turn| turn.turn_id.as_str());
    match (turn_id, active) {
        (Some(turn_id), _) if !is_uuid(turn_id, false) => Err(Refusal::invalid_params("`turnId` is no UUID")),
        (None, Some(active)) => Ok(active.to_owned()),
        (Some(turn_id), Some(active)) if turn_id == active => Ok(active.to_owned()),
        (Some(turn_id), _) if state.turns.ended.contains_key(turn_id) => {
            Err(Refusal::rejected("already_terminal", format!("turn `{turn_id}` is over")))
        }
        (Some(turn_id), _) => Err(Refusal::rejected("missing_run", format!("turn `{turn_id}` is not running"))),
        (None, None) => Err(Refusal::rejected("missing_run", "no turn is running")),
    }
}

impl Command for TurnUnqueue {
    fn decide(params: TurnUnqueueParams, ctx: &mut Context<'_>) -> Result<Decision<TurnUnqueueResult>, Refusal> {
        let (turn_id, turns) = (params.turn_id, &ctx.state.turns);
        if !is_uuid(&turn_id, false) {
            return Err(Refusal::invalid_params("`turnId` is no UUID"));
        }
        let Some(submit) = turns.queue.iter().find(|submit| submit.turn_id == turn_id) else {
            let launched =
                turns.ended.contains_key(&turn_id) || turns.active.as_ref().is_some_and(|turn| turn.turn_id == turn_id);
            return Err(if turns.unqueued.contains(&turn_id) {
                Refusal::rejected("already_applied", format!("turn `{turn_id}` was taken out of the queue before"))
            } else if launched {
                Refusal::rejected("run_active", format!("turn `{turn_id}` was launched"))
            } else {
                Refusal::rejected("missing_run", format!("no turn `{turn_id}` is queued"))
            });
        };
        let unqueued = json!({ "turnId": turn_id, "commandId": submit.command_id });
        let settled = Body::Settled { command_id: submit.command_id.clone(), answer: None };
        let result = TurnUnqueueResult::new(params.command_id, CommandStatus::Accepted, turn_id);
        Ok(Decision::new(result)
            .draft(Draft::view::<TurnUnqueued>(Stream::Session, unqueued))
            .draft(Draft::silent(settled)))
    }
}
