//! `goal/…`: the one goal of a session, and the turns that it drives (GOAL).
//!
//! The goal stands in `session/goalChanged`; the fact `goalTurn` names the turn that it drove last, so that an interrupt of that turn
//! pauses the goal (GOAL-6, in `turns::stop`). The objective is the prompt of that turn: it is echoed, or played if it is a script.
//! Simulated: a goal drives one turn for each wake, and `goal/pause` lets a running turn go on, since no source says more.

use msp_types::msp::methods::{GoalClear, GoalEdit, GoalPause, GoalResume, GoalSet};
use msp_types::msp::notifications::SessionGoalChanged;
use msp_types::msp::{
    CommandStatus, GoalClearParams, GoalCommandResult, GoalEditParams, GoalPauseParams, GoalResumeParams, GoalSetParams,
};
use serde_json::{Value, json};

use super::{Command, Method, command};
use crate::decision::{Context, Decision, Draft, Effect, Stream};
use crate::inbox;
use crate::refusal::Refusal;
use crate::state::{State, Submit};
use crate::turns;

/// What this family has.
pub const METHODS: &[Method] = &[
    command::<GoalSet>(),
    command::<GoalEdit>(),
    command::<GoalClear>(),
    command::<GoalPause>(),
    command::<GoalResume>(),
];

type Decided = Result<Decision<GoalCommandResult>, Refusal>;

impl Command for GoalSet {
    fn decide(params: GoalSetParams, ctx: &mut Context<'_>) -> Decided {
        let objective = objective(&params.objective)?;
        let now = ctx.mint.now_ms();
        let goal = json!({
            "objective": objective, "status": "active", "percentComplete": 0, "createdAtMs": now, "updatedAtMs": now,
        });
        Ok(waking(&goal, ctx))
    }
}

impl Command for GoalEdit {
    fn decide(params: GoalEditParams, ctx: &mut Context<'_>) -> Decided {
        let objective = objective(&params.objective)?;
        let mut goal = held(ctx.state)?;
        goal["objective"] = objective.into();
        goal["updatedAtMs"] = ctx.mint.now_ms().into();
        Ok(waking(&goal, ctx))
    }
}

impl Command for GoalResume {
    fn decide(params: GoalResumeParams, ctx: &mut Context<'_>) -> Decided {
        bare(params.unknown.get("objective"))?;
        let goal = moved(ctx, "paused", "active")?;
        Ok(waking(&goal, ctx))
    }
}

impl Command for GoalPause {
    fn decide(params: GoalPauseParams, ctx: &mut Context<'_>) -> Decided {
        bare(params.unknown.get("objective"))?;
        let goal = moved(ctx, "active", "paused")?;
        Ok(Decision::new(ack(ctx)).draft(changed(&goal)))
    }
}

impl Command for GoalClear {
    fn decide(params: GoalClearParams, ctx: &mut Context<'_>) -> Decided {
        bare(params.unknown.get("objective"))?;
        held(ctx.state)?;
        Ok(Decision::new(ack(ctx)).draft(changed(&Value::Null)))
    }
}

/// The event of a goal as it stands now; null = none any more (STATE-5).
pub fn changed(goal: &Value) -> Draft {
    Draft::view::<SessionGoalChanged>(Stream::Session, json!({ "goal": goal }))
}

/// The goal paused, if it is active and drives the running turn (GOAL-6).
pub fn paused_by_stop(state: &State, now_ms: i64) -> Option<Draft> {
    let turn = state.turns.active.as_ref()?;
    let driven = state.facts.get("goalTurn").is_some_and(|driven| *driven == turn.turn_id);
    let mut goal =
        state.value("session/goalChanged", "goal").filter(|goal| driven && goal["status"] == "active")?.clone();
    goal["status"] = "paused".into();
    goal["updatedAtMs"] = now_ms.into();
    Some(changed(&goal))
}

/// An objective without white space around it.
fn objective(text: &str) -> Result<&str, Refusal> {
    let text = text.trim();
    if text.is_empty() { Err(Refusal::invalid_params("`objective` is empty")) } else { Ok(text) }
}

/// A verb without objective takes none (GOAL-1).
fn bare(objective: Option<&Value>) -> Result<(), Refusal> {
    match objective {
        Some(_) => Err(Refusal::invalid_params("`objective` has no place here")),
        None => Ok(()),
    }
}

/// The goal there is.
fn held(state: &State) -> Result<Value, Refusal> {
    let goal = state.value("session/goalChanged", "goal").cloned();
    goal.ok_or_else(|| Refusal::rejected("missing_goal", "the session has no goal"))
}

/// The goal in its next state, if it is in the one that the verb begins from.
fn moved(ctx: &mut Context<'_>, from: &str, to: &str) -> Result<Value, Refusal> {
    let mut goal = held(ctx.state)?;
    if goal["status"] != from {
        let message = format!("the goal is {}, not {from}", goal["status"].as_str().unwrap_or_default());
        return Err(Refusal::rejected("invalid_goal_state", message));
    }
    goal["status"] = to.into();
    goal["updatedAtMs"] = ctx.mint.now_ms().into();
    Ok(goal)
}

fn ack(ctx: &Context<'_>) -> GoalCommandResult {
    GoalCommandResult::new(ctx.command_id.to_owned(), CommandStatus::Accepted)
}

/// The goal changes, and wakes an idle session if there is something to do for it (GOAL-3, GOAL-4).
fn waking(goal: &Value, ctx: &mut Context<'_>) -> Decision<GoalCommandResult> {
    let (mut result, turns) = (ack(ctx), &ctx.state.turns);
    if let Some(active) = &turns.active {
        result.turn_id = Some(active.turn_id.clone());
        return Decision::new(result).draft(changed(goal));
    }
    if goal["status"] != "active" || !turns.queue.is_empty() {
        return Decision::new(result).draft(changed(goal));
    }
    let submit = Submit {
        command_id: ctx.command_id.to_owned(),
        turn_id: ctx.mint.uuid(),
        text: goal["objective"].as_str().unwrap_or_default().to_owned(),
        ..Submit::default()
    };
    result.turn_id = Some(submit.turn_id.clone());
    // The command is over with its ack: a replay repeats it, whatever becomes of the turn (GOAL-7).
    Decision::new(result)
        .draft(changed(goal))
        .draft(Draft::fact("goalTurn", submit.turn_id.as_str().into()))
        .draft(turns::begin(&submit))
        .drafts(inbox::drain(ctx.state, ctx.mint, &submit.turn_id))
        .effect(Effect::Run(Box::new(submit)))
}
