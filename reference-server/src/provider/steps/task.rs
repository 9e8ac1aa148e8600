//! Work that goes on: commands in the background, monitors, scheduled jobs, reminder agents.
//!
//! - `task {"command"?, "tool"?, "name"?, "ms"?, "output"?, "status"?, "failureReason"?, "backgroundAfterMs"?, "dueMs"?, "workId"?}`: a
//!   command; the turn waits until it ends or goes to the background. It ends after `ms`, or never; after `backgroundAfterMs` its wait
//!   runs out. A turn that begins after `dueMs`, while it runs in the background, hears that it is overdue (ITEM-70). `workId` is that of
//!   a managed shell, told with the end of a command in the background (ITEM-58). Example:
//!   `task {"command":"sleep 9","ms":9000,"backgroundAfterMs":100,"dueMs":5000}`.
//! - `monitor {"description", "name"?}`: arms a monitor, which is a task in the background. `monitorLine {"name", "text", "eventKind"?}`:
//!   a line of it, shown and taken into the inbox, where the next turn that begins finds it; `monitorDrain {"name"}`: this turn takes
//!   its lines; `monitorVoid {"name"}`: they are void. Example: `monitor {"name":"m","description":"ci"}`, then `monitorLine {"name":"m","text":"build failed"}`.
//! - `scheduledFire {"jobId"?, "deliveryNumber"?, "nextFireAtMs"?}`: a scheduled job fires.
//! - `reminder {"name"?, "reminderAgentId"?, "blocking"?}`: a reminder agent checks; `complete` ends it. `foregroundCompleted {"ms"?}`:
//!   the turn has done its work and waits so long for the blocking ones, which then complete.
//! - `sideChatEnd {"status"?}`: open side chats are settled, `completed` (default), `rejected` or `cancelled`.

use msp_types::msp::notifications::{MonitorInboxItemAdmitted, MonitorInboxItemVoided, TurnForegroundCompleted};
use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb};
use crate::commands::task::{self, End};
use crate::decision::{Draft, Stream};
use crate::inbox;
use crate::items;
use crate::session::{Action, Core};
use crate::state::State;
use crate::time::rfc3339;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "task",
        members: &[
            "command",
            "tool",
            "name",
            "ms",
            "output",
            "status",
            "failureReason",
            "backgroundAfterMs",
            "dueMs",
            "workId",
        ],
        expand: run,
    },
    Verb { name: "monitor", members: &["description", "name"], expand: monitor },
    Verb { name: "monitorLine", members: &["name", "text", "eventKind"], expand: line },
    Verb { name: "monitorDrain", members: &["name"], expand: drain },
    Verb { name: "monitorVoid", members: &["name"], expand: void },
    Verb { name: "scheduledFire", members: &["jobId", "deliveryNumber", "nextFireAtMs", "name"], expand: fire },
    Verb { name: "reminder", members: &["name", "reminderAgentId", "blocking"], expand: reminder },
    Verb { name: "foregroundCompleted", members: &["ms"], expand: foreground },
    Verb { name: "sideChatEnd", members: &["status"], expand: side_chat },
];

/// How often a waiting turn looks after its task.
const LOOK_MS: u64 = 10;

fn call(args: &mut Args, stage: &mut Stage<'_>, tool: &str, arguments: &Value) -> Result<Map<String, Value>, String> {
    let id = stage.item_id(args)?;
    let call_id = format!("call_{:08x}", stage.mint.random() >> 32);
    let members = json!({ "tool": tool, "callId": call_id, "args": arguments.to_string() });
    Ok(items::new(&id, "toolCall", Some(&stage.submit.turn_id), members))
}

fn id_of(item: &Map<String, Value>) -> String {
    item["itemId"].as_str().unwrap_or_default().to_owned()
}

fn run(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let tool = args.text("tool")?.unwrap_or_else(|| "shell".to_owned());
    let command = args.text("command")?.unwrap_or_else(|| "true".to_owned());
    let (ms, wait, due) = (args.number("ms")?, args.number("backgroundAfterMs")?, args.number("dueMs")?);
    let end = End {
        status: args.text("status")?.unwrap_or_else(|| "completed".to_owned()),
        failure: args.text("failureReason")?,
        output: args.text("output")?.unwrap_or_default(),
    };
    let work_id = args.text("workId")?;
    let item = call(args, stage, &tool, &json!({ "command": command }))?;
    args.end()?;
    let id = id_of(&item);
    let timers = id.clone();
    let owed = id.clone();
    Ok(vec![
        Action::Emit(vec![items::start(&item)]),
        Action::With(Box::new(move |_, mint| {
            let at = |due| mint.now_ms().saturating_add(i64::try_from(due).unwrap_or(i64::MAX));
            due.map(at).map(|at| Draft::fact(inbox::DUE, json!({ owed: at }))).into_iter().collect()
        })),
        Action::Do(Box::new(move |core| {
            if let Some(wait) = wait {
                let id = timers.clone();
                core.after(wait, move |core| give_up_waiting(core, &id));
            }
            if let Some(ms) = ms {
                core.after(ms, move |core| finish(core, &timers, &end, work_id));
            }
            Vec::new()
        })),
        look_after(id),
    ])
}

/// Waits as long as the task holds the turn.
fn look_after(id: String) -> Action {
    Action::Do(Box::new(move |core| {
        let holds = core.state.items.find(&id).is_some_and(|item| task::is_live(item) && !task::is_background(item));
        if holds { vec![Action::Sleep(LOOK_MS), look_after(id)] } else { Vec::new() }
    }))
}

fn give_up_waiting(core: &mut Core, id: &str) {
    let item = core.state.items.find(id).filter(|item| task::is_live(item) && !task::is_background(item));
    if let Some(draft) = item.map(|item| task::to_background(item, Some("timeout"))) {
        core.emit(vec![draft]);
    }
}

fn finish(core: &mut Core, id: &str, end: &End, work_id: Option<String>) {
    let Some(item) = core.state.items.find(id).filter(|item| task::is_live(item)) else { return };
    let background = task::is_background(item);
    let drafts = task::end(item, end, &mut core.host.mint.lock());
    core.emit(drafts);
    let told = work_id.filter(|_| background).zip(core.state.items.find(id));
    if let Some(draft) = told.map(|(work_id, item)| {
        items::update(item, |item| {
            item.insert("workId".to_owned(), work_id.into());
        })
    }) {
        core.emit(vec![draft]);
    }
}

fn monitor(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let description = args.text("description")?.ok_or("`description` is missing")?;
    let item = call(args, stage, "monitor", &json!({ "description": description }))?;
    args.end()?;
    Ok(vec![Action::Emit(vec![items::start(&item)]), Action::Emit(vec![task::to_background(&item, None)])])
}

fn line(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    let text = args.text("text")?.ok_or("`text` is missing")?;
    let kind = args.text("eventKind")?.unwrap_or_else(|| "line".to_owned());
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, mint| {
        let arguments = state.items.find(&id).and_then(|item| item["args"].as_str()).unwrap_or_default();
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let description = arguments["description"].as_str().unwrap_or_default();
        let feed = json!({ "monitorId": id, "monitorDescription": description, "text": text });
        let (entry, index) = (mint.uuid(), inbox::entries(state, &id).count());
        let admitted = json!({
            "itemId": entry, "taskId": id, "eventIndex": index, "lineIndex": 0, "eventKind": kind,
            "queuedAt": rfc3339(mint.now_ms()), "showLines": true, "summary": format!("{description}: {text}"),
            "displayBody": text, "body": format!("<monitor>{text}</monitor>"),
        });
        vec![
            items::single(items::new(&mint.uuid(), "monitorFeed", None, feed)),
            Draft::view::<MonitorInboxItemAdmitted>(Stream::Task(id.clone()), admitted),
            inbox::admitted(&entry, &id),
        ]
    }))])
}

fn drain(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let turn_id = stage.submit.turn_id.clone();
    leave_inbox(args, stage, move |entry, now| inbox::drained(entry, &turn_id, &now))
}

fn void(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    leave_inbox(args, stage, |entry, now| {
        Draft::view::<MonitorInboxItemVoided>(Stream::Session, json!({ "itemId": entry, "voidedAt": now }))
    })
}

/// All waiting entries of a monitor leave the inbox.
fn leave_inbox(
    args: &mut Args,
    stage: &mut Stage<'_>,
    event: impl Fn(&str, String) -> Draft + Send + 'static,
) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, mint| {
        let waiting = inbox::entries(state, &id).filter(|(_, waits)| *waits);
        let task_id = Value::from(id.as_str());
        waiting.flat_map(|(entry, _)| [event(entry, rfc3339(mint.now_ms())), inbox::gone(entry, &task_id)]).collect()
    }))])
}

fn fire(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut members = json!({ "jobId": args.text("jobId")?.unwrap_or_else(|| "job-1".to_owned()) });
    for name in ["deliveryNumber", "nextFireAtMs"] {
        if let Some(number) = args.number(name)? {
            members[name] = number.into();
        }
    }
    let id = stage.item_id(args)?;
    args.end()?;
    let turn_id = stage.submit.turn_id.clone();
    Ok(vec![Action::With(Box::new(move |_, mint| {
        members["scheduledFireAtMs"] = mint.now_ms().into();
        vec![items::single(items::new(&id, "scheduledFire", Some(&turn_id), members))]
    }))])
}

fn reminder(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let agent = args.text("reminderAgentId")?.unwrap_or_else(|| "reminder-1".to_owned());
    let mut members = json!({
        "reminderAgentId": agent, "generationId": 1, "taskId": stage.mint.uuid(),
        "childSessionId": stage.mint.uuid(),
    });
    if args.flag("blocking")?.unwrap_or(false) {
        members["blocking"] = true.into();
    }
    let id = stage.item_id(args)?;
    args.end()?;
    Ok(vec![Action::Emit(vec![items::start(&items::new(&id, "reminderChild", Some(&stage.submit.turn_id), members))])])
}

/// Open items of a turn that hold it although its work is done (ITEM-62).
fn blocking<'a>(state: &'a State, turn_id: &'a str) -> impl Iterator<Item = &'a Map<String, Value>> {
    state.items.open_of(Some(turn_id)).filter(|item| item["kind"] == "reminderChild" && item.contains_key("blocking"))
}

fn foreground(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let ms = args.number("ms")?.unwrap_or(0);
    args.end()?;
    let (turn_id, ended) = (stage.submit.turn_id.clone(), stage.submit.turn_id.clone());
    Ok(vec![
        Action::With(Box::new(move |state, _| {
            let agents: Vec<_> = blocking(state, &turn_id).map(|item| item["reminderAgentId"].clone()).collect();
            if agents.is_empty() {
                return Vec::new(); // the list is never empty (TURN-23)
            }
            let params = json!({ "turnId": turn_id, "blockingAgents": agents });
            vec![Draft::view::<TurnForegroundCompleted>(Stream::Run(turn_id.clone()), params)]
        })),
        Action::Sleep(ms),
        Action::With(Box::new(move |state, _| {
            blocking(state, &ended).map(|item| items::complete(item, "completed", |_| {})).collect()
        })),
    ])
}

fn side_chat(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let status = args.text("status")?.unwrap_or_else(|| "completed".to_owned());
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        let open = state.items.open_of(None).filter(|item| item["kind"] == "sideChat");
        open.map(|item| items::complete(item, &status, |_| {})).collect()
    }))])
}
