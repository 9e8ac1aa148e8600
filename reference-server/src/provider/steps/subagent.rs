//! Children of the session.
//!
//! - `subagent {"objective", "name"?, "subagentId"?, "agentPath"?, "role"?, "depth"?, "workflowRunId"?}`: a child is accepted, started
//!   and runs; it is a session of its own. Example: `subagent {"name":"a","subagentId":"sub-1","objective":"survey the tests"}`.
//! - `subagentUsage {"name", "inputTokens"?, "outputTokens"?, "durationMs"?}`: what it used so far.
//! - `subagentResult {"name", "summary"?, "text"?, "errorKind"?, "close"?}`: its result is ready, or it failed with `errorKind`; `close`
//!   ends its item at once. Example: `subagentResult {"name":"a","summary":"two failures share one fixture","close":true}`.
//! - `subagentDrained {"name"}`: the parent has taken in the result (ITEM-59).
//!
//! Objective, summary and text are cut at 64 KiB, and say so (LIM-5, ITEM-19, AGENT-9).

use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb};
use crate::commands::subagent::child::{self, Task};
use crate::commands::subagent::control;
use crate::items;
use crate::output::cut;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "subagent",
        members: &["objective", "name", "subagentId", "agentPath", "role", "depth", "workflowRunId"],
        expand: subagent,
    },
    Verb { name: "subagentUsage", members: &["name", "inputTokens", "outputTokens", "durationMs"], expand: usage },
    Verb { name: "subagentResult", members: &["name", "summary", "text", "errorKind", "close"], expand: result },
    Verb { name: "subagentDrained", members: &["name"], expand: drained },
];

fn subagent(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let objective = args.text("objective")?.ok_or("`objective` is missing")?;
    let (shown, is_cut) = cut(&objective);
    let mut members = json!({
        "subagentId": args.text("subagentId")?.unwrap_or_else(|| stage.mint.uuid()),
        "agentPath": args.text("agentPath")?.unwrap_or_else(|| ".agents/worker.md".to_owned()),
        "depth": args.number("depth")?.unwrap_or(1),
        "objective": shown, "controlStatus": "accepted",
    });
    if is_cut {
        members["truncated"] = true.into();
    }
    for name in ["role", "workflowRunId"] {
        if let Some(text) = args.text(name)? {
            members[name] = text.into();
        }
    }
    let id = stage.item_id(args)?;
    args.end()?;
    let child_id = stage.mint.uuid();
    let item = items::new(&id, "subagent", Some(&stage.submit.turn_id), members);
    let started = child_id.clone();
    Ok(vec![
        Action::Emit(vec![items::start(&item)]),
        revise(id.clone(), control("starting")),
        Action::Do(Box::new(move |core| {
            child::spawn(core, &child_id, &objective);
            Vec::new()
        })),
        revise(id, move |item| {
            control("running")(item);
            item.insert("childSessionId".to_owned(), started.into());
        }),
    ])
}

/// The next revision of an item, when its turn comes.
fn revise(id: String, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Action {
    Action::With(Box::new(move |state, _| {
        state.items.find(&id).map(|item| items::update(item, change)).into_iter().collect()
    }))
}

fn usage(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    let (input, output) = (args.number("inputTokens")?.unwrap_or(0), args.number("outputTokens")?.unwrap_or(0));
    let duration = args.number("durationMs")?;
    args.end()?;
    let usage = json!({ "inputTokens": input, "outputTokens": output, "cachedTokens": 0, "reasoningTokens": 0 });
    Ok(vec![Action::With(Box::new(move |state, _| {
        let item = state.items.find(&id).filter(|item| item["status"] == "inProgress");
        let update = item.map(|item| {
            items::update(item, |item| {
                item.insert("usage".to_owned(), usage);
                item.extend(duration.map(|duration| ("durationMs".to_owned(), Value::from(duration))));
            })
        });
        update.into_iter().collect()
    }))])
}

fn result(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    let whole = args.text("summary")?.unwrap_or_else(|| "done".to_owned());
    let (summary, mut is_cut) = cut(&whole);
    let mut result = json!({ "summary": summary, "evidenceRefs": [], "artifactRefs": [] });
    for name in ["text", "errorKind"] {
        if let Some(text) = args.text(name)? {
            let (text, cut) = cut(&text);
            result[name] = text.into();
            is_cut |= cut;
        }
    }
    let close = args.flag("close")?.unwrap_or(false);
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        let Some(item) = core.state.items.find(&id).filter(|item| item["status"] == "inProgress").cloned() else {
            return Vec::new(); // a command ended it before
        };
        let status = if result.get("errorKind").is_some() { "failed" } else { "completed" };
        let child = item.get("childSessionId").and_then(Value::as_str).unwrap_or_default();
        child::tell(&core.host, child, Task::Answer(whole));
        core.emit(vec![items::update(&item, |item| {
            control("resultReady")(item);
            item.insert("result".to_owned(), result);
            if is_cut {
                item.insert("truncated".to_owned(), true.into());
            }
        })]);
        if let Some(item) = core.state.items.find(&id).filter(|_| close) {
            let end = items::complete(item, status, control("closed"));
            core.emit(vec![end]);
        }
        Vec::new()
    }))])
}

fn drained(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        let item =
            state.items.find(&id).filter(|item| item.get("result").is_some_and(|result| result["drained"] != true));
        let draft = item.map(|item| {
            items::update(item, |item| {
                if let Some(Value::Object(result)) = item.get_mut("result") {
                    result.insert("drained".to_owned(), true.into());
                }
            })
        });
        draft.into_iter().collect()
    }))])
}
