//! Items: whole objects that replace each other by revision, and deltas that append (ITEM-3, ITEM-4, DELTA-1).

use serde_json::{Map, Value, json};

use super::ViewEvent;
use crate::state::State;

pub(super) fn apply(state: &mut State, event: &ViewEvent) {
    if event.method == "item/delta" {
        let field = event.params.get("field").and_then(Value::as_str).unwrap_or("text");
        let delta = event.params.get("delta").and_then(Value::as_str).unwrap_or_default();
        let item = event.params.get("itemId").and_then(Value::as_str).and_then(|id| state.items.find_mut(id));
        if let Some(item) = item {
            append(item, field, delta);
        }
        return;
    }
    let Some(Value::Object(item)) = event.params.get("item") else { return };
    let Some(item_id) = item.get("itemId").and_then(Value::as_str) else { return };
    if let Some(range) = event.params.get("sourceRange") {
        state.items.open(item, &range["first"]);
    }
    if !event.durable {
        state.items.ephemeral.insert(item_id.to_owned());
    } else if event.method != "item/started" {
        state.items.ephemeral.remove(item_id);
        commit_to(state, item);
    }
    if state.items.find(item_id).is_none_or(|held| revision(item) > revision(held)) {
        state.items.put(item_id, item.clone());
    }
}

/// Notes that the running turn has something of the assistant that stays (TURN-21).
fn commit_to(state: &mut State, item: &Map<String, Value>) {
    let of_assistant = item.get("kind").is_some_and(|kind| kind != "userMessage" && kind != "overdueNotice");
    let turn_id = item.get("turnId").and_then(Value::as_str);
    if let Some(turn) = state.turns.active.as_mut().filter(|turn| of_assistant && turn_id == Some(&turn.turn_id)) {
        turn.committed = true;
    }
}

fn revision(item: &Map<String, Value>) -> i64 {
    item.get("revision").and_then(Value::as_i64).unwrap_or(0)
}

/// Adds a delta to the field it names.
fn append(item: &mut Map<String, Value>, field: &str, delta: &str) {
    if let Some(part) = field.strip_prefix("summary.").and_then(|part| part.parse::<usize>().ok()) {
        let summary = item.entry("summary").or_insert_with(|| json!([]));
        if let Value::Array(parts) = summary {
            while parts.len() <= part.min(1024) {
                parts.push("".into());
            }
            if let Some(Value::String(text)) = parts.get_mut(part) {
                text.push_str(delta);
            }
        }
        return;
    }
    let member = if field == "output" { "visibleOutput" } else { field };
    if let Value::String(text) = item.entry(member).or_insert_with(|| "".into()) {
        text.push_str(delta);
    }
}
