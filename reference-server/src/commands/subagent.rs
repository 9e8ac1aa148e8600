//! `subagent/…`: eight verbs over the children of a session (AGENT). The effect shows as a revision of the parent's `subagent` item,
//! or in the view of the child, which is a session of its own.
//!
//! Children come from the verb `subagent` of a script. Simulated: a child does no work of its own, its turn stays open until a
//! `subagentResult` of the parent's script or a command ends it. An interrupted child is shown as `manualReconciliation`, since no
//! source says which word stands for a child that gave way.

pub mod child;

use msp_types::msp::methods::{
    SubagentClose, SubagentFollowupTask, SubagentInterrupt, SubagentReadResult, SubagentReopen, SubagentResume,
    SubagentSendMessage, SubagentStop,
};
use msp_types::msp::{
    CommandAcceptedResult, CommandAckStatus, SubagentInputParams, SubagentOwnerReasonParams, SubagentTargetParams,
};
use serde_json::{Map, Value};

use self::child::Task;
use super::{Command, Method, command};
use crate::decision::{Context, Decision, Draft, Effect};
use crate::items;
use crate::refusal::Refusal;
use crate::session::Core;
use crate::state::State;

/// What this family has.
pub const METHODS: &[Method] = &[
    command::<SubagentSendMessage>(),
    command::<SubagentFollowupTask>(),
    command::<SubagentInterrupt>(),
    command::<SubagentStop>(),
    command::<SubagentClose>(),
    command::<SubagentResume>(),
    command::<SubagentReopen>(),
    command::<SubagentReadResult>(),
];

/// How long a child that was told to stop takes to come to its end.
const WIND_DOWN_MS: u64 = 50;

type Decided = Result<Decision<CommandAcceptedResult>, Refusal>;
type Item = Map<String, Value>;

/// States of a child that works, or is about to.
const WORKING: &[&str] = &["accepted", "starting", "running"];

impl Command for SubagentSendMessage {
    fn decide(params: SubagentInputParams, ctx: &mut Context<'_>) -> Decided {
        let body = body(&params.body)?;
        let item = child_in(ctx.state, &params.subagent_id, WORKING)?;
        Ok(accept(ctx).effect(child::ask(item, Task::Note(ctx.command_id.to_owned(), body))))
    }
}

impl Command for SubagentFollowupTask {
    fn decide(params: SubagentInputParams, ctx: &mut Context<'_>) -> Decided {
        let body = body(&params.body)?;
        let item = child_in(ctx.state, &params.subagent_id, &["accepted", "starting", "running", "resultReady"])?;
        Ok(accept(ctx).effect(child::ask(item, Task::More(ctx.command_id.to_owned(), body))))
    }
}

impl Command for SubagentInterrupt {
    fn decide(params: SubagentOwnerReasonParams, ctx: &mut Context<'_>) -> Decided {
        let item = child_in(ctx.state, &params.subagent_id, WORKING)?;
        let draft = items::update(item, control("manualReconciliation"));
        let effect = child::ask(item, Task::Stop("interrupted by its owner".to_owned()));
        Ok(accept(ctx).drafts(reason(&params)).draft(draft).effect(effect))
    }
}

impl Command for SubagentStop {
    fn decide(params: SubagentOwnerReasonParams, ctx: &mut Context<'_>) -> Decided {
        let item = child_in(ctx.state, &params.subagent_id, WORKING)?;
        let id = item["itemId"].as_str().unwrap_or_default().to_owned();
        let stopped = Effect::Do(Box::new(move |core| core.after(WIND_DOWN_MS, move |core| stop(core, &id))));
        let effect = child::ask(item, Task::Stop("stopped by its owner".to_owned()));
        Ok(accept(ctx).drafts(reason(&params)).effect(effect).effect(stopped))
    }
}

impl Command for SubagentClose {
    fn decide(params: SubagentOwnerReasonParams, ctx: &mut Context<'_>) -> Decided {
        let item =
            child_in(ctx.state, &params.subagent_id, &["resultReady", "manualReconciliation", "recoveryPending"])?;
        let status = match item.get("result") {
            Some(result) if result.get("errorKind").is_some() => "failed",
            Some(_) => "completed",
            None => "cancelled",
        };
        let draft = end(item, status, control("closed"));
        Ok(accept(ctx).drafts(reason(&params)).draft(draft))
    }
}

impl Command for SubagentResume {
    fn decide(params: SubagentTargetParams, ctx: &mut Context<'_>) -> Decided {
        let item = child_in(ctx.state, &params.subagent_id, &["manualReconciliation", "recoveryPending"])?;
        Ok(again(item, ctx))
    }
}

impl Command for SubagentReopen {
    fn decide(params: SubagentTargetParams, ctx: &mut Context<'_>) -> Decided {
        let item = child_in(ctx.state, &params.subagent_id, &["closed"])?;
        Ok(again(item, ctx))
    }
}

impl Command for SubagentReadResult {
    fn decide(params: SubagentTargetParams, ctx: &mut Context<'_>) -> Decided {
        let item = find(ctx.state, &params.subagent_id)?;
        let Some(Value::Object(mut result)) = item.get("result").cloned() else {
            return Err(Refusal::rejected("not_ready", "the child has no result yet"));
        };
        if result.insert("drained".to_owned(), true.into()).is_some() {
            return Err(ineligible("its result was read before"));
        }
        let draft = items::update(item, |item| {
            item.insert("result".to_owned(), result.into());
        });
        Ok(accept(ctx).draft(draft))
    }
}

/// Ends the item of a child that was told to stop, unless something else did.
fn stop(core: &mut Core, item_id: &str) {
    let is_at_work =
        |item: &&Item| item.get("controlStatus").is_some_and(|held| WORKING.iter().any(|state| held == state));
    let draft = core.state.items.find(item_id).filter(is_at_work).map(|item| {
        end(item, "cancelled", |item| {
            item.insert("controlStatus".to_owned(), "closed".into());
            item.insert("failureReason".to_owned(), "stopped by its owner".into());
        })
    });
    core.emit(draft.into_iter().collect());
}

/// A later attempt: the item says `running` again; one that had its end keeps its status (ITEM-5).
fn again(item: &Item, ctx: &Context<'_>) -> Decision<CommandAcceptedResult> {
    let objective = item.get("objective").and_then(Value::as_str).unwrap_or_default().to_owned();
    let draft = items::update(item, control("running"));
    accept(ctx).draft(draft).effect(child::ask(item, Task::More(ctx.command_id.to_owned(), objective)))
}

fn accept(ctx: &Context<'_>) -> Decision<CommandAcceptedResult> {
    Decision::new(CommandAcceptedResult::new(ctx.command_id.to_owned(), CommandAckStatus::Accepted))
}

/// The reason that a command gives is kept with its record.
fn reason(params: &SubagentOwnerReasonParams) -> Option<Draft> {
    let reason = params.reason.as_ref()?;
    let data =
        serde_json::json!({ "commandId": params.command_id, "subagentId": params.subagent_id, "reason": reason });
    Some(Draft::fact("subagentReason", data))
}

/// A text for a child, without white space around it (AGENT-2).
fn body(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() { Err(Refusal::invalid_params("`body` is empty")) } else { Ok(text.to_owned()) }
}

/// The newest item of a child.
fn find<'a>(state: &'a State, subagent_id: &str) -> Result<&'a Item, Refusal> {
    if subagent_id.trim().is_empty() {
        return Err(Refusal::invalid_params("`subagentId` is empty"));
    }
    let of_child =
        |item: &&Item| item["kind"] == "subagent" && item.get("subagentId").is_some_and(|id| id == subagent_id);
    state.items.iter().filter(of_child).last().ok_or_else(|| ineligible("there is no such child"))
}

/// The item of a child in one of these states (AGENT-4).
fn child_in<'a>(state: &'a State, subagent_id: &str, states: &[&str]) -> Result<&'a Item, Refusal> {
    let item = find(state, subagent_id)?;
    let control = item.get("controlStatus").and_then(Value::as_str).unwrap_or_default();
    if states.contains(&control) { Ok(item) } else { Err(ineligible(&format!("the child is {control}"))) }
}

fn ineligible(message: &str) -> Refusal {
    Refusal::rejected("subagent_state_ineligible", message)
}

/// Sets the state of a child.
pub fn control(state: &'static str) -> impl FnOnce(&mut Item) {
    move |item| {
        item.insert("controlStatus".to_owned(), state.into());
    }
}

/// The end of an item; one that had its end before, and was opened again, only gets a revision.
fn end(item: &Item, status: &str, change: impl FnOnce(&mut Item)) -> Draft {
    if item["status"] == "inProgress" { items::complete(item, status, change) } else { items::update(item, change) }
}
