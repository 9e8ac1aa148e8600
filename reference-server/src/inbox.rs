//! The inbox: what monitors put there waits for a turn, and the next turn that begins takes it (MISC-10). A turn that does so hears of
//! background work that is overdue as well (ITEM-70).
//!
//! When a model would look into its inbox within a turn is not known, so here it does so at the beginning, and where a script says
//! so. How late work has to be is not known either: a script says when it is due.

use msp_types::msp::notifications::MonitorInboxItemDrained;
use serde_json::{Map, Value, json};

use crate::commands::task;
use crate::decision::{Draft, Stream};
use crate::items;
use crate::mint::Mint;
use crate::state::State;
use crate::time::rfc3339;

/// Entries that monitors made, each with its task and whether it waits.
pub const INBOX: &str = "monitorInbox";
/// When background work is due, Unix milliseconds by item.
pub const DUE: &str = "due";

/// Entries of a monitor, with whether they wait, in the order in which they came.
pub fn entries<'a>(state: &'a State, task_id: &'a str) -> impl Iterator<Item = (&'a String, bool)> {
    all(state).filter(move |(_, entry)| entry["taskId"] == task_id).map(|(id, entry)| (id, entry["waits"] == true))
}

fn all(state: &State) -> impl Iterator<Item = (&String, &Value)> {
    // Ids are made in order, and members are kept in it.
    state.facts.get(INBOX).and_then(Value::as_object).into_iter().flatten()
}

/// A new entry that waits.
pub fn admitted(entry: &str, task_id: &str) -> Draft {
    Draft::fact(INBOX, json!({ entry: { "taskId": task_id, "waits": true } }))
}

/// An entry that waits no more.
pub fn gone(entry: &str, task_id: &Value) -> Draft {
    Draft::fact(INBOX, json!({ entry: { "taskId": task_id, "waits": false } }))
}

/// A turn takes an entry.
pub fn drained(entry: &str, turn_id: &str, now: &str) -> Draft {
    let target = json!({ "kind": "run", "id": turn_id });
    let params = json!({ "itemId": entry, "drainedAt": now, "deliveryVisible": true, "drainTargetRunStream": target });
    Draft::view::<MonitorInboxItemDrained>(Stream::Session, params)
}

/// A turn takes all that waits.
pub fn drain(state: &State, mint: &mut Mint, turn_id: &str) -> Vec<Draft> {
    let waiting = all(state).filter(|(_, entry)| entry["waits"] == true);
    let mut drafts: Vec<_> = waiting
        .flat_map(|(id, entry)| [drained(id, turn_id, &rfc3339(mint.now_ms())), gone(id, &entry["taskId"])])
        .collect();
    let due = state.facts.get(DUE).and_then(Value::as_object).into_iter().flatten();
    for (item_id, at) in due {
        let item = state.items.find(item_id).filter(|item| task::is_live(item));
        let late = at.as_i64().map_or(0, |at| mint.now_ms() - at);
        match item {
            Some(item) if task::is_background(item) && late >= 0 => {
                drafts.push(notice(mint, turn_id, item, late));
                drafts.push(forget(item_id));
            }
            Some(_) => {}
            None => drafts.push(forget(item_id)), // it is over
        }
    }
    drafts
}

fn forget(item_id: &str) -> Draft {
    Draft::fact(DUE, json!({ item_id: null }))
}

fn notice(mint: &mut Mint, turn_id: &str, item: &Map<String, Value>, late_ms: i64) -> Draft {
    let what = task::command_of(item).or_else(|| item.get("tool").and_then(Value::as_str).map(str::to_owned));
    let text = format!("`{}` was due {late_ms} ms ago and runs still", what.unwrap_or_default());
    items::single(items::new(&mint.uuid(), "overdueNotice", Some(turn_id), json!({ "text": text })))
}
