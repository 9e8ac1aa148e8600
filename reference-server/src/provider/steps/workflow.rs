//! Workflows.
//!
//! - `workflow {"name"?, "workflowRunId"?, "entryId"?, "scriptId"?, "triggerSource"?, "tokenBudget"?}`: a run begins, without children.
//!   Example: `workflow {"name":"w","workflowRunId":"wfr-1","tokenBudget":200000}`.
//! - `workflowChild {"name", "childId", "attempt"?, …}`: the row of a child, new or changed by the other members, such as `status`,
//!   `terminal`, `label`, `failureKind`, `inputTokens`, `outputTokens`; an `objective` is stored, and referred to (ITEM-26). Example: `workflowChild {"name":"w","childId":"c1","status":"started","label":"one"}`.
//! - `workflowEnd {"name", "status"?, "summary"?, "phase"?, "durationMs"?}`: the run is over, `completed` (default), `failed` or
//!   `cancelled`; the summary is cut at 64 KiB.

use serde_json::{Value, json};

use super::{Args, Stage, Verb};
use crate::commands::workflow::finish;
use crate::decision::Draft;
use crate::items;
use crate::output;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "workflow",
        members: &["name", "workflowRunId", "entryId", "scriptId", "triggerSource", "tokenBudget"],
        expand: workflow,
    },
    Verb {
        name: "workflowChild",
        members: &[
            "name",
            "childId",
            "attempt",
            "status",
            "terminal",
            "label",
            "phase",
            "failureKind",
            "failureReason",
            "resultRef",
            "durationMs",
            "inputTokens",
            "outputTokens",
            "objective",
        ],
        expand: child,
    },
    Verb { name: "workflowEnd", members: &["name", "status", "summary", "phase", "durationMs"], expand: end },
];

fn workflow(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut members = json!({ "children": [], "stopAvailable": true });
    let run_id = args.text("workflowRunId")?.unwrap_or_else(|| format!("wfr-{}", stage.mint.uuid()));
    members["workflowRunId"] = run_id.into();
    for (name, otherwise) in [("entryId", "scripted"), ("scriptId", "scripted@1"), ("triggerSource", "explicitUserAsk")]
    {
        members[name] = args.text(name)?.unwrap_or_else(|| otherwise.to_owned()).into();
    }
    if let Some(total) = args.number("tokenBudget")? {
        members["tokenBudget"] = json!({ "total": total });
    }
    let id = stage.item_id(args)?;
    args.end()?;
    Ok(vec![Action::Emit(vec![items::start(&items::new(&id, "workflow", Some(&stage.submit.turn_id), members))])])
}

fn child(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    let child_id = args.text("childId")?.ok_or("`childId` is missing")?;
    let attempt = args.number("attempt")?.unwrap_or(1);
    let mut row = json!({ "childId": child_id, "attempt": attempt, "status": "scheduled" });
    let mut change = serde_json::Map::new();
    for name in ["status", "terminal", "label", "phase", "failureKind", "failureReason", "resultRef"] {
        change.extend(args.text(name)?.map(|text| (name.to_owned(), Value::from(text))));
    }
    change.extend(args.number("durationMs")?.map(|number| ("durationMs".to_owned(), Value::from(number))));
    if let (Some(input), output) = (args.number("inputTokens")?, args.number("outputTokens")?) {
        let usage = json!({
            "inputTokens": input, "outputTokens": output.unwrap_or(0), "cachedTokens": 0, "reasoningTokens": 0,
        });
        change.insert("usage".to_owned(), usage);
    }
    let objective = args.text("objective")?;
    let stored = objective.map(|text| output::store(&text, &id, "workflow_child_prompt", "text/plain", stage.mint));
    let (stored, reference) = stored.unzip();
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        let item = state.items.find(&id).filter(|item| item["status"] == "inProgress");
        let update = item.map(|item| {
            items::update(item, |item| {
                if let Some(reference) = reference
                    && let Value::Array(refs) = item.entry("childPromptRefs").or_insert_with(|| json!([]))
                {
                    refs.push(reference);
                }
                let Some(Value::Array(rows)) = item.get_mut("children") else { return };
                let held = rows.iter_mut().find(|held| held["childId"] == row["childId"] && held["attempt"] == attempt);
                let target = if let Some(held) = held { held } else { &mut row };
                if let Value::Object(target) = target {
                    target.extend(change);
                }
                if !rows.iter().any(|held| held["childId"] == row["childId"] && held["attempt"] == attempt) {
                    rows.push(row);
                }
            })
        });
        stored.map(Draft::stored).into_iter().chain(update).collect()
    }))])
}

fn end(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    let status = args.text("status")?.unwrap_or_else(|| "completed".to_owned());
    let mut members = serde_json::Map::new();
    let summary = args.text("summary")?.map(|text| output::cut(&text).0);
    members.extend(summary.map(|text| ("finalSummary".to_owned(), Value::from(text))));
    members.extend(args.text("phase")?.map(|phase| ("declaredPhase".to_owned(), Value::from(phase))));
    members.extend(args.number("durationMs")?.map(|ms| ("durationMs".to_owned(), Value::from(ms))));
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        finish(core, &id, &status, members);
        Vec::new()
    }))])
}
