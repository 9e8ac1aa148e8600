//! `turn/start` and `turn/steer`: a turn of its own, a place in the queue, or a word into the running one.

use msp_types::msp::methods::{TurnStart, TurnSteer};
use msp_types::msp::notifications::ItemCompleted;
use msp_types::msp::{
    CommandStatus, IfBusy, TurnInputPart, TurnInputPartType, TurnStartDisposition, TurnStartParams, TurnStartResult,
    TurnSteerParams, TurnSteerResult,
};
use serde_json::json;

use super::read_input;
use crate::commands::Command;
use crate::commands::session_load::check_roots;
use crate::commands::session_shell;
use crate::decision::{Context, Decision, Draft, Effect, Stream};
use crate::mint::is_uuid;
use crate::record::Body;
use crate::refusal::Refusal;
use crate::state::Submit;
use crate::turns::{self, Stop};

impl Command for TurnStart {
    fn decide(params: TurnStartParams, ctx: &mut Context<'_>) -> Result<Decision<TurnStartResult>, Refusal> {
        let if_busy = params.if_busy.clone().unwrap_or(IfBusy::Queue);
        let submit = submit(&params, ctx)?;
        let roots = roots(&params, &if_busy)?;
        let (command_id, turn_id) = (params.command_id, submit.turn_id.clone());
        let answer = |disposition: TurnStartDisposition, turn_id: String| {
            let started = disposition == TurnStartDisposition::Started;
            Decision::new(TurnStartResult::new(command_id, disposition, started, CommandStatus::Accepted, turn_id))
                .drafts(roots)
        };
        let running = ctx.state.turns.active.as_ref().map(|turn| turn.turn_id.clone());
        match (running, if_busy) {
            (Some(running), IfBusy::Steer) => {
                let message = turns::user_message(ctx.mint, &submit, Some(&running));
                let item = Draft::view::<ItemCompleted>(Stream::Run(running.clone()), json!({ "item": message }));
                let shell = submit.user_shell.as_ref();
                let shell = shell.map(|text| session_shell::steered(ctx.mint, &submit.command_id, text));
                let mut decision = answer(TurnStartDisposition::Steered, running).draft(item).effect(Effect::Steered);
                decision.effects.extend(shell);
                Ok(decision)
            }
            (Some(_), IfBusy::Replace) => {
                let mut drafts = turns::stop(ctx.state, ctx.mint, &Stop::by_client("replaced by another submit"));
                drafts.extend(turns::launch(ctx.state, ctx.mint, &submit));
                let decision = answer(TurnStartDisposition::Started, turn_id).drafts(drafts);
                Ok(decision.effect(Effect::StopRun).effect(Effect::Run(Box::new(submit))).settles_later())
            }
            (None, _) if ctx.state.turns.queue.is_empty() => {
                let drafts = turns::launch(ctx.state, ctx.mint, &submit);
                let decision = answer(TurnStartDisposition::Started, turn_id).drafts(drafts);
                Ok(decision.effect(Effect::Run(Box::new(submit))).settles_later())
            }
            _ => {
                let queued = Draft::silent(Body::Queued(submit));
                Ok(answer(TurnStartDisposition::Queued, turn_id)
                    .draft(queued)
                    .effect(Effect::LaunchNext)
                    .settles_later())
            }
        }
    }
}

/// What is submitted; its turn has the id of the command (TURN-6).
fn submit(params: &TurnStartParams, ctx: &Context<'_>) -> Result<Submit, Refusal> {
    let is_image_or_video =
        |part: &TurnInputPart| !matches!(part.type_, TurnInputPartType::Text | TurnInputPartType::Skill);
    if params.user_shell.is_some() && !params.input.iter().all(is_image_or_video) {
        return Err(Refusal::invalid_params("`userShell` excludes `text` and `skill` parts"));
    }
    if params.user_shell.is_none() && params.input.is_empty() {
        return Err(Refusal::invalid_params("`input` is empty"));
    }
    if ctx.state.turns.knows(&params.command_id) {
        return Err(Refusal::invalid_params("the turn of this `commandId` exists"));
    }
    let mut submit = Submit {
        command_id: params.command_id.clone(),
        turn_id: params.command_id.clone(),
        display_text: params.display_text.clone(),
        reasoning_effort: params.reasoning_effort.as_ref().map(|effort| effort.as_str().to_owned()),
        ..Submit::default()
    };
    read_input(ctx.host, &params.input, true, &mut submit)?;
    if let Some(shell) = &params.user_shell {
        submit.user_shell = Some(shell.command_text.clone());
        submit.display_text.get_or_insert_with(|| format!("!{}", shell.command_text));
    }
    Ok(submit)
}

/// New roots of the session, which stay (TURN-4).
fn roots(params: &TurnStartParams, if_busy: &IfBusy) -> Result<Option<Draft>, Refusal> {
    let Some(roots) = &params.workspace_roots else { return Ok(None) };
    if *if_busy == IfBusy::Steer {
        return Err(Refusal::invalid_params("`workspaceRoots` has no place in a steer"));
    }
    check_roots(roots)?;
    Ok(Some(Draft::fact("workspaceRoots", json!(roots))))
}

impl Command for TurnSteer {
    fn decide(params: TurnSteerParams, ctx: &mut Context<'_>) -> Result<Decision<TurnSteerResult>, Refusal> {
        if params.input.is_empty() {
            return Err(Refusal::invalid_params("`input` is empty"));
        }
        let mut submit = Submit { command_id: params.command_id.clone(), ..Submit::default() };
        read_input(ctx.host, &params.input, false, &mut submit)?;
        let expected = params.expected_turn_id;
        if !is_uuid(&expected, false) {
            return Err(Refusal::invalid_params("`expectedTurnId` is no UUID"));
        }
        if ctx.state.turns.active.as_ref().is_none_or(|turn| turn.turn_id != expected) {
            return Err(Refusal::rejected("invalid_target", format!("turn `{expected}` is not running")));
        }
        let message = turns::user_message(ctx.mint, &submit, Some(&expected));
        let item = Draft::view::<ItemCompleted>(Stream::Run(expected.clone()), json!({ "item": message }));
        let result = TurnSteerResult::new(params.command_id, CommandStatus::Accepted, expected);
        Ok(Decision::new(result).draft(item).effect(Effect::Steered))
    }
}
