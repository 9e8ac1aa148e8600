//! `workflow/…`: runs of workflows and their children (WF). Effects are revisions of the `workflow` item.
//!
//! Runs come from the verb `workflow` of a script. Simulated: no script of a workflow is run; children move by the verb
//! `workflowChild`. A cancelled run cancels its children a moment after its ack, and ends a moment after that, so that a second cancel
//! can still meet it alive (WF-2).

use msp_types::msp::methods::{WorkflowCancel, WorkflowChildControl, WorkflowPause, WorkflowResume};
use msp_types::msp::notifications::ItemCompleted;
use msp_types::msp::{
    CommandStatus, WorkflowCancelParams, WorkflowChildAction, WorkflowChildControlParams, WorkflowControlResult,
    WorkflowPauseParams, WorkflowResumeParams, WorkflowResumeResult,
};
use serde_json::{Map, Value, json};

use super::{Command, Method, command};
use crate::decision::{Context, Decision, Draft, Effect, Stream};
use crate::inbox;
use crate::items;
use crate::refusal::Refusal;
use crate::session::Core;
use crate::state::{State, Submit};
use crate::turns;

/// What this family has.
pub const METHODS: &[Method] = &[
    command::<WorkflowCancel>(),
    command::<WorkflowPause>(),
    command::<WorkflowResume>(),
    command::<WorkflowChildControl>(),
];

/// How long a cancelled run takes to cancel its children, and then to come to its end.
const WIND_DOWN_MS: u64 = 50;

type Item = Map<String, Value>;

impl Command for WorkflowCancel {
    fn decide(params: WorkflowCancelParams, ctx: &mut Context<'_>) -> Result<Decision<WorkflowControlResult>, Refusal> {
        let item = live(ctx.state, &params.workflow_run_id)?;
        let decision = accept(ctx);
        let winding = ctx.state.facts.get("workflowCancel").is_some_and(|id| *id == item["itemId"]);
        if winding {
            return Ok(decision);
        }
        let id = item["itemId"].as_str().unwrap_or_default().to_owned();
        let wind_down = move |core: &mut Core| {
            cancel_children(core, &id);
            core.after(WIND_DOWN_MS, move |core| finish(core, &id, "cancelled", Item::new()));
        };
        Ok(decision
            .draft(Draft::fact("workflowCancel", item["itemId"].clone()))
            .effect(Effect::Do(Box::new(move |core| core.after(WIND_DOWN_MS, wind_down)))))
    }
}

impl Command for WorkflowPause {
    fn decide(params: WorkflowPauseParams, ctx: &mut Context<'_>) -> Result<Decision<WorkflowControlResult>, Refusal> {
        let item = live(ctx.state, &params.workflow_run_id)?;
        if item.contains_key("paused") {
            return Err(Refusal::rejected("invalid_target", "the run is paused already"));
        }
        let draft = items::update(item, |item| {
            item.insert("paused".to_owned(), true.into());
        });
        Ok(accept(ctx).draft(draft))
    }
}

impl Command for WorkflowResume {
    fn decide(params: WorkflowResumeParams, ctx: &mut Context<'_>) -> Result<Decision<WorkflowResumeResult>, Refusal> {
        let item = live(ctx.state, &params.workflow_run_id)?;
        if !item.contains_key("paused") {
            return Err(Refusal::rejected("invalid_target", "the run is not paused"));
        }
        let mut submit = Submit {
            command_id: ctx.command_id.to_owned(),
            turn_id: ctx.mint.uuid(),
            text: "The workflow goes on.".to_owned(),
            ..Submit::default()
        };
        let active = ctx.state.turns.active.as_ref().map(|turn| turn.turn_id.clone());
        let turn_id = active.clone().unwrap_or_else(|| submit.turn_id.clone());
        let result = WorkflowResumeResult::new(ctx.command_id.to_owned(), CommandStatus::Accepted, turn_id.clone());
        // The paused run comes to its end, and its new launch is an item of its own (ITEM-36).
        let old = items::complete(item, "cancelled", |item| {
            item.remove("paused");
            item.insert("stopAvailable".to_owned(), false.into());
        });
        let launched = items::start(&relaunch(item, &ctx.mint.uuid(), &ctx.mint.uuid(), &turn_id));
        if active.is_some() {
            submit.text = format!("Workflow {} goes on.", params.workflow_run_id);
            let message = turns::user_message(ctx.mint, &submit, Some(&turn_id));
            let steer = Draft::view::<ItemCompleted>(Stream::Run(turn_id), json!({ "item": message }));
            return Ok(Decision::new(result).drafts([steer, old, launched]).effect(Effect::Steered));
        }
        let begin = turns::begin(&submit);
        let waiting = inbox::drain(ctx.state, ctx.mint, &submit.turn_id);
        let decision = Decision::new(result).draft(begin).drafts(waiting).drafts([old, launched]);
        Ok(decision.effect(Effect::Run(Box::new(submit))))
    }
}

impl Command for WorkflowChildControl {
    fn decide(
        params: WorkflowChildControlParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<WorkflowControlResult>, Refusal> {
        if params.child_id.is_empty() {
            return Err(Refusal::invalid_params("`childId` is empty"));
        }
        if params.attempt < 1 {
            return Err(Refusal::invalid_params("`attempt` is below 1"));
        }
        let retry = match params.action {
            WorkflowChildAction::Skip => false,
            WorkflowChildAction::Retry => true,
        };
        let item = live(ctx.state, &params.workflow_run_id)?;
        let attempts = || item.get("children").and_then(Value::as_array).into_iter().flatten();
        let current = attempts().rfind(|child| child["childId"] == params.child_id.as_str());
        let Some(current) = current.filter(|child| child["attempt"] == params.attempt) else {
            return Err(Refusal::rejected("stale_attempt", "this is not the child's current attempt"));
        };
        if is_over(current) && !(retry && current["terminal"] == "failed") {
            return Err(Refusal::rejected("already_terminal", "the attempt is over"));
        }
        let draft = items::update(item, |item| {
            let mut again = None;
            for child in children(item).filter(|child| child["childId"] == params.child_id.as_str()) {
                if !is_over(child) {
                    child["status"] = "cancelled".into();
                    child["terminal"] = "cancelled".into();
                }
                again = Some(attempt_after(child));
            }
            if let (true, Some(again), Some(Value::Array(rows))) = (retry, again, item.get_mut("children")) {
                rows.push(again);
            }
        });
        Ok(accept(ctx).draft(draft))
    }
}

/// The next attempt of a child: a row of its own, the old one stays (WF-5).
fn attempt_after(child: &Value) -> Value {
    let attempt = child["attempt"].as_i64().unwrap_or(1).saturating_add(1);
    let mut next = json!({ "childId": child["childId"], "attempt": attempt, "status": "scheduled" });
    for member in ["label", "phase"] {
        if let Some(value) = child.get(member) {
            next[member] = value.clone();
        }
    }
    next
}

/// The item of a resumed launch.
fn relaunch(paused: &Item, item_id: &str, run_id: &str, turn_id: &str) -> Item {
    let mut item = items::new(item_id, "workflow", Some(turn_id), json!({}));
    for member in ["entryId", "scriptId", "triggerSource", "tokenBudget", "children"] {
        item.extend(paused.get(member).map(|value| (member.to_owned(), value.clone())));
    }
    item.insert("stopAvailable".to_owned(), true.into());
    item.insert("workflowRunId".to_owned(), format!("wfr-{run_id}").into());
    item.insert("resumeFromRunId".to_owned(), paused["workflowRunId"].clone());
    item
}

/// Cancels what children of a run still do, unless it is over already.
fn cancel_children(core: &mut Core, item_id: &str) {
    let item = core.state.items.find(item_id).filter(|item| item["status"] == "inProgress");
    let draft = item.map(|item| {
        items::update(item, |item| {
            for child in children(item).filter(|child| !is_over(child)) {
                child["status"] = "cancelled".into();
                child["terminal"] = "cancelled".into();
            }
        })
    });
    core.emit(draft.into_iter().collect());
}

/// Ends a run with further members of its item, unless it is over already.
pub fn finish(core: &mut Core, item_id: &str, status: &str, members: Item) {
    let item = core.state.items.find(item_id).filter(|item| item["status"] == "inProgress");
    let draft = item.map(|item| {
        let rows = item.get("children").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let good = rows.iter().filter(|child| child["terminal"] == "completed").count();
        let entry = item["entryId"].as_str().unwrap_or_default();
        let message = format!("Workflow {entry} {status}: {good}/{} children succeeded", rows.len());
        items::complete(item, status, |item| {
            item.remove("paused");
            item.insert("stopAvailable".to_owned(), false.into());
            item.insert("message".to_owned(), message.into());
            item.extend(members);
        })
    });
    core.emit(draft.into_iter().collect());
}

fn children(item: &mut Item) -> impl Iterator<Item = &mut Value> {
    item.get_mut("children").and_then(Value::as_array_mut).into_iter().flatten()
}

/// Whether an attempt came to its end.
fn is_over(child: &Value) -> bool {
    child.get("terminal").is_some()
}

fn accept(ctx: &Context<'_>) -> Decision<WorkflowControlResult> {
    Decision::new(WorkflowControlResult::new(ctx.command_id.to_owned(), CommandStatus::Accepted))
}

/// The item of a run that goes on.
fn live<'a>(state: &'a State, run_id: &str) -> Result<&'a Item, Refusal> {
    if run_id.is_empty() {
        return Err(Refusal::invalid_params("`workflowRunId` is empty"));
    }
    let of_run = |item: &&Item| item["kind"] == "workflow" && item.get("workflowRunId").is_some_and(|id| id == run_id);
    let item = state.items.iter().find(of_run);
    let item = item.ok_or_else(|| Refusal::rejected("missing_run", format!("there is no run `{run_id}`")))?;
    if item["status"] == "inProgress" {
        Ok(item)
    } else {
        Err(Refusal::rejected("already_terminal", format!("run `{run_id}` is over")))
    }
}
