//! What happens beside the conversation: searches of the provider, hooks, skills read, notices. Nothing of it is real.
//!
//! - `search {"action"?, "query"?, "url"?, "pattern"?, "results"?, "providerStatus"?, "status"?, "raw"?, "delayMs"?, "name"?}`: a web
//!   search of the provider; `action` is `search` (default), `openPage` or `findInPage`; `results` are `{"title", "url"}`.
//! - `hook {"event", "hookKey"?, "label"?, "outcome"?, "reason"?, "delayMs"?, "name"?}`: a hook runs; `outcome` is `completed`
//!   (default), `blocked`, `failed`, `timedOut` or `cancelled`; a blocked one ends its item `rejected` (ITEM-37).
//! - `skillRead {"selector", "source"?, "name"?}`: the model reads a skill; seen by those who opted in.
//! - `overdue {"text", "name"?}`: the turn takes notice of background work that is late (ITEM-70).

use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb};
use crate::items;
use crate::output::{self, VIEW_BYTES};
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "search",
        members: &[
            "action",
            "query",
            "url",
            "pattern",
            "results",
            "providerStatus",
            "status",
            "raw",
            "delayMs",
            "name",
        ],
        expand: search,
    },
    Verb {
        name: "hook",
        members: &["event", "hookKey", "label", "outcome", "reason", "delayMs", "name"],
        expand: hook,
    },
    Verb { name: "skillRead", members: &["selector", "source", "name"], expand: skill_read },
    Verb { name: "overdue", members: &["text", "name"], expand: overdue },
];

fn search(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let action = args.text("action")?.unwrap_or_else(|| "search".to_owned());
    let mut ended = Map::new();
    let members = match action.as_str() {
        "search" => &["query"][..],
        "openPage" => &["url"],
        "findInPage" => &["url", "pattern"],
        other => return Err(format!("`{other}` is no action of a search")),
    };
    for member in members {
        let text = args.text(member)?.ok_or_else(|| format!("`{member}` is missing"))?;
        ended.insert((*member).to_owned(), text.into());
    }
    ended.insert("action".to_owned(), action.into());
    ended.extend(args.value("results").map(|results| ("results".to_owned(), results)));
    let status = args.text("status")?.unwrap_or_else(|| "completed".to_owned());
    ended.insert("providerStatus".to_owned(), args.text("providerStatus")?.unwrap_or_else(|| status.clone()).into());
    let (raw, delay) = (args.text("raw")?, args.number("delayMs")?);
    let id = stage.item_id(args)?;
    args.end()?;
    let mut stored = None;
    if let Some(raw) = raw {
        let bounded = output::bound(&raw, &id, "web_search_frame", stage.mint);
        ended.insert("rawItem".to_owned(), bounded.visible.into());
        if let Some((whole, reference)) = bounded.stored {
            ended.insert("outputRef".to_owned(), reference);
            stored = Some(crate::decision::Draft::stored(whole));
        }
    }
    let item = items::new(&id, "webSearch", Some(&stage.submit.turn_id), json!({}));
    let mut actions = vec![Action::Emit(vec![items::start(&item)])];
    actions.extend(delay.map(Action::Sleep));
    let end = items::complete(&item, &status, |item| item.extend(ended));
    actions.push(Action::Emit(stored.into_iter().chain([end]).collect()));
    Ok(actions)
}

fn hook(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let event = args.text("event")?.ok_or("`event` is missing")?;
    let mut members = json!({
        "event": event, "hookKey": args.text("hookKey")?.unwrap_or_else(|| format!("scripted/{event}")),
    });
    if let Some(label) = args.text("label")? {
        members["label"] = label.into();
    }
    let outcome = args.text("outcome")?.unwrap_or_else(|| "completed".to_owned());
    let status = match outcome.as_str() {
        "blocked" => "rejected",
        "completed" | "failed" | "timedOut" | "cancelled" => outcome.as_str(),
        other => return Err(format!("a hook does not end `{other}`")),
    };
    let (reason, delay) = (args.text("reason")?, args.number("delayMs")?);
    let id = stage.item_id(args)?;
    args.end()?;
    let item = items::new(&id, "hookRun", Some(&stage.submit.turn_id), members);
    let mut actions = vec![Action::Emit(vec![items::start(&item)])];
    actions.extend(delay.map(Action::Sleep));
    actions.push(Action::Emit(vec![items::complete(&item, status, |item| {
        item.insert("runStatus".to_owned(), outcome.as_str().into());
        item.extend(reason.map(|reason| ("reason".to_owned(), Value::from(reason))));
    })]));
    Ok(actions)
}

fn skill_read(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let selector = args.text("selector")?.ok_or("`selector` is missing")?;
    let source = args.text("source")?.unwrap_or_default();
    let id = stage.item_id(args)?;
    args.end()?;
    let members = json!({ "selector": selector, "source": source });
    Ok(vec![Action::Emit(vec![items::single(items::new(&id, "skillRead", Some(&stage.submit.turn_id), members))])])
}

fn overdue(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let text = args.text("text")?.ok_or("`text` is missing")?;
    if text.len() > VIEW_BYTES {
        return Err(format!("`text` is longer than {VIEW_BYTES} bytes, and a notice cannot be cut"));
    }
    let id = stage.item_id(args)?;
    args.end()?;
    let item = items::new(&id, "overdueNotice", Some(&stage.submit.turn_id), json!({ "text": text }));
    Ok(vec![Action::Emit(vec![items::single(item)])])
}
