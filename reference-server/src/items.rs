//! Items as drafts: opened, revised, completed; always the whole object on a higher revision (ITEM-3).

use msp_types::msp::notifications::{ItemCompleted, ItemDelta, ItemStarted, ItemUpdated};
use serde_json::{Map, Value, json};

use crate::decision::{Draft, Stream};

/// A new item at revision 1. `members` is an object of further members.
pub fn new(item_id: &str, kind: &str, turn_id: Option<&str>, members: Value) -> Map<String, Value> {
    let mut item = if let Value::Object(members) = members { members } else { Map::new() };
    item.insert("itemId".to_owned(), item_id.into());
    item.insert("kind".to_owned(), kind.into());
    item.insert("revision".to_owned(), 1.into());
    item.insert("status".to_owned(), "inProgress".into());
    item.insert("turnId".to_owned(), turn_id.into());
    item
}

/// Opens an item with a record behind it.
pub fn start(item: &Map<String, Value>) -> Draft {
    Draft::view::<ItemStarted>(stream(item), json!({ "item": item }))
}

/// Opens an item that streams: nothing durable stands behind it until it completes (CUR-5).
pub fn stream_start(item: &Map<String, Value>) -> Draft {
    Draft::ephemeral::<ItemStarted>(json!({ "item": item }))
}

/// Appends to a streaming field; `field` is `text`, `output` or `summary.<n>`.
pub fn delta(item_id: &str, field: &str, text: &str) -> Draft {
    Draft::ephemeral::<ItemDelta>(json!({ "itemId": item_id, "field": field, "delta": text }))
}

/// An item that is only ever complete (ITEM-6).
pub fn single(mut item: Map<String, Value>) -> Draft {
    item.insert("status".to_owned(), "completed".into());
    Draft::view::<ItemCompleted>(stream(&item), json!({ "item": item }))
}

/// The next revision of an item.
pub fn update(item: &Map<String, Value>, change: impl FnOnce(&mut Map<String, Value>)) -> Draft {
    let item = next(item, change);
    Draft::view::<ItemUpdated>(stream(&item), json!({ "item": item }))
}

/// The end of an item.
pub fn complete(item: &Map<String, Value>, status: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Draft {
    let mut item = next(item, change);
    item.insert("status".to_owned(), status.into());
    Draft::view::<ItemCompleted>(stream(&item), json!({ "item": item }))
}

/// The end of an item that something else ends, with the members that its kind has at its end.
pub fn cut_short(item: &Map<String, Value>, status: &str) -> Draft {
    let kind = item.get("kind").and_then(Value::as_str).unwrap_or_default();
    complete(item, status, |item| match kind {
        "compaction" => {
            item.insert("outcome".to_owned(), status.into());
            item.insert("reason".to_owned(), "cancelled".into());
        }
        "subagent" => {
            item.insert("controlStatus".to_owned(), "closed".into());
        }
        "workflow" => {
            item.insert("stopAvailable".to_owned(), false.into());
        }
        _ => {}
    })
}

/// Whether an item may go on after its turn ended (ITEM-8).
pub fn outlives_turn(item: &Map<String, Value>) -> bool {
    item.get("background").is_some_and(|flag| flag == true)
        || item.get("kind").is_some_and(|kind| kind == "subagent" || kind == "workflow")
}

fn next(item: &Map<String, Value>, change: impl FnOnce(&mut Map<String, Value>)) -> Map<String, Value> {
    let mut item = item.clone();
    let revision = item.get("revision").and_then(Value::as_i64).unwrap_or(0);
    item.remove("recordedAt"); // that of the new record comes in the fold
    item.insert("revision".to_owned(), (revision + 1).into());
    change(&mut item);
    item
}

/// The stream of an item's records: messages, questions and compactions ride on their run, all else on the session (as the recordings
/// show it).
fn stream(item: &Map<String, Value>) -> Stream {
    let kind = item.get("kind").and_then(Value::as_str).unwrap_or_default();
    let asks = item.get("tool").is_some_and(|tool| tool == "request_user_input");
    match item.get("turnId").and_then(Value::as_str) {
        Some(turn_id) if asks || matches!(kind, "userMessage" | "agentMessage" | "reasoning" | "compaction") => {
            Stream::Run(turn_id.to_owned())
        }
        _ => Stream::Session,
    }
}
