//! `task/…`: tool calls that run for a while, in the foreground or the background (TASK). A task is named by the `itemId` of its call.
//!
//! Tasks come from the verbs `task` and `monitor` of a script. Simulated: no process runs; a task ends when its script says so.
//! `task/list` shows tool calls only: no source says how other work is listed beside its own item.

use msp_types::msp::methods::{TaskBackground, TaskList, TaskStop, TaskStopAll};
use msp_types::msp::{
    CommandStatus, TaskBackgroundParams, TaskCommandResult, TaskListParams, TaskListResult, TaskStopAllParams,
    TaskStopAllResult, TaskStopParams,
};
use serde_json::{Map, Value, json};

use super::{Command, HostCall, HostMethod, Method, Reply, command, from_value, method};
use crate::decision::{Context, Decision, Draft};
use crate::items;
use crate::mint::Mint;
use crate::refusal::Refusal;
use crate::state::State;

/// What this family has.
pub const METHODS: &[Method] =
    &[command::<TaskBackground>(), command::<TaskStop>(), command::<TaskStopAll>(), method::<TaskList>()];

type Item = Map<String, Value>;

impl Command for TaskBackground {
    fn decide(params: TaskBackgroundParams, ctx: &mut Context<'_>) -> Result<Decision<TaskCommandResult>, Refusal> {
        let item = find(ctx.state, &params.task_id)?;
        if !is_live(item) || is_background(item) {
            return Err(invalid("the task is not running in the foreground"));
        }
        let draft = to_background(item, Some("user"));
        Ok(Decision::new(ack(ctx, params.task_id)).draft(draft))
    }
}

impl Command for TaskStop {
    const URGENT: bool = true;

    fn decide(params: TaskStopParams, ctx: &mut Context<'_>) -> Result<Decision<TaskCommandResult>, Refusal> {
        let item = find(ctx.state, &params.task_id)?;
        if !is_live(item) {
            return Err(Refusal::rejected("already_terminal", format!("task `{}` is over", params.task_id)));
        }
        if !is_background(item) {
            return Err(invalid("the task runs in the foreground"));
        }
        let drafts = stop(item, ctx.mint);
        Ok(Decision::new(ack(ctx, params.task_id)).drafts(drafts))
    }
}

impl Command for TaskStopAll {
    const URGENT: bool = true;

    fn decide(params: TaskStopAllParams, ctx: &mut Context<'_>) -> Result<Decision<TaskStopAllResult>, Refusal> {
        let live = ctx.state.items.iter().filter(|item| is_task(item) && is_live(item) && is_background(item));
        let drafts: Vec<_> = live.flat_map(|item| stop(item, ctx.mint)).collect();
        Ok(Decision::new(TaskStopAllResult::new(params.command_id, CommandStatus::Accepted)).drafts(drafts))
    }
}

impl HostMethod for TaskList {
    fn serve(params: TaskListParams, call: &HostCall<'_>) -> Result<Reply<TaskListResult>, Refusal> {
        let loaded = call.host.loaded(&params.session_id)?;
        let core = loaded.core();
        let live = core.state.items.iter().filter(|item| is_task(item) && is_live(item));
        let tasks: Vec<_> = live.map(|item| row(&core.state, item)).collect();
        Ok(Reply::Result(from_value(json!({ "tasks": tasks }))?))
    }
}

/// A row of `task/list`; items stand in the order in which they opened (TASK-4).
fn row(state: &State, item: &Item) -> Value {
    let mut row = json!({
        "taskId": item["itemId"], "kind": "tool", "status": "inProgress",
        "executionMode": if is_background(item) { "background" } else { "foreground" },
    });
    for member in ["tool", "backgroundInitiator"] {
        if let Some(value) = item.get(member) {
            row[member] = value.clone();
        }
    }
    if let Some(command) = command_of(item) {
        row["command"] = command.into();
    }
    if let Some(at) = item["itemId"].as_str().and_then(|id| state.items.opened_at(id)) {
        row["startedAt"] = at.into();
    }
    row
}

/// The `command` argument of a call, as the model wrote it.
pub fn command_of(item: &Item) -> Option<String> {
    let arguments: Value = serde_json::from_str(item.get("args")?.as_str()?).ok()?;
    arguments["command"].as_str().map(str::to_owned)
}

fn ack(ctx: &Context<'_>, task_id: String) -> TaskCommandResult {
    TaskCommandResult::new(ctx.command_id.to_owned(), CommandStatus::Accepted, task_id)
}

fn invalid(message: &str) -> Refusal {
    Refusal::rejected("invalid_target", message)
}

fn find<'a>(state: &'a State, task_id: &str) -> Result<&'a Item, Refusal> {
    state.items.find(task_id).filter(|item| is_task(item)).ok_or_else(|| invalid("there is no such task"))
}

fn is_task(item: &Item) -> bool {
    item.get("kind").is_some_and(|kind| kind == "toolCall")
}

/// Whether a task goes on.
pub fn is_live(item: &Item) -> bool {
    item.get("status").is_some_and(|status| status == "inProgress")
}

/// Whether a task went to the background.
pub fn is_background(item: &Item) -> bool {
    item.get("background").is_some_and(|flag| *flag == true)
}

/// The revision with which a call goes to the background; `initiator` is `user` or `timeout`, where there is one.
pub fn to_background(item: &Item, initiator: Option<&str>) -> Draft {
    items::update(item, |item| {
        item.insert("background".to_owned(), true.into());
        if let Some(initiator) = initiator {
            item.insert("backgroundInitiator".to_owned(), initiator.into());
        }
        item.insert("backgroundStatus".to_owned(), json!({ "state": "backgrounded" }));
    })
}

/// A stopped task: its end, and the notice of it.
fn stop(item: &Item, mint: &mut Mint) -> Vec<Draft> {
    let failure = Some("stopped by the user".to_owned());
    end(item, &End { status: "cancelled".to_owned(), failure, output: String::new() }, mint)
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Item status.
    pub status: String,
    /// Why, for an end that is no success.
    pub failure: Option<String>,
    /// Its last output, added to what it wrote before.
    pub output: String,
}

/// The end of a task; a command in the background leaves a notice in the view as well (ITEM-69).
pub fn end(item: &Item, end: &End, mint: &mut Mint) -> Vec<Draft> {
    let mut drafts = vec![items::complete(item, &end.status, |item| {
        item.remove("backgroundStatus");
        let visible = item.entry("visibleOutput").or_insert_with(|| "".into());
        if let Value::String(visible) = visible {
            visible.push_str(&end.output);
        }
        item.extend(end.failure.clone().map(|failure| ("failureReason".to_owned(), Value::from(failure))));
    })];
    if let Some(command) = command_of(item).filter(|_| is_background(item)) {
        let notice = json!({
            "toolCallId": item["callId"], "command": command, "terminalStatus": end.status,
            "output": end.output, "outputTruncated": false,
        });
        let members = json!({ "backgroundTerminalCompletion": notice });
        drafts.push(items::single(items::new(&mint.uuid(), "backgroundTerminalCompletion", None, members)));
    }
    drafts
}
