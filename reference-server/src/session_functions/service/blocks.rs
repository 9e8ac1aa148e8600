//! Blocks: which entries form an activity run, and which of a run come whole (SF-BLOCK).

use msp_types::Presence;
use msp_types::session::{AgentMessage, ContentBlock, SessionEntry};
use serde_json::{Map, Value};

use crate::session_functions::store::id;

/// Ids of entries that wake an agent begin with one of these.
const WAKES: [&str; 9] = [
    "e_fire_",
    "e_notify_",
    "e_expire_",
    "e_stalespawn_",
    "e_claimfail_",
    "e_condfail_",
    "e_trigfired_",
    "e_trigexpired_",
    "e_trigstale_",
];
/// Custom messages and entries of this type belong to a run, whatever woke it.
const TRIGGER_FIRED: &str = "trigger_fired";

/// Whether an entry belongs to an activity run (SF-BLOCK-1).
pub(super) fn in_run(entry: &SessionEntry) -> bool {
    match entry {
        SessionEntry::Message(message) => match &message.message {
            AgentMessage::Assistant(assistant) => calls(&assistant.content).next().is_some(),
            AgentMessage::FunctionResult(_) => true,
            AgentMessage::User(_) => wakes(id(entry), &message.origin),
            AgentMessage::Custom(custom) => custom.custom_type == TRIGGER_FIRED || wakes(id(entry), &message.origin),
            _ => false,
        },
        SessionEntry::Custom(custom) => custom.custom_type == TRIGGER_FIRED || wakes(id(entry), &custom.origin),
        _ => false,
    }
}

/// Ids of the calls in a message.
pub(super) fn calls(content: &[ContentBlock]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|block| match block {
        ContentBlock::FunctionCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

fn wakes(entry_id: &str, origin: &Presence<Map<String, Value>>) -> bool {
    let flag = |name: &str| origin.value().and_then(|origin| origin.get(name)) == Some(&Value::Bool(true));
    flag("notification") || flag("trigger_fired") || WAKES.iter().any(|prefix| entry_id.starts_with(prefix))
}

/// Which entries of a run, oldest first, are elided (SF-BLOCK-3): earlier calling messages, and results that answer their calls.
pub(super) fn elided(run: &[impl AsRef<SessionEntry>]) -> Vec<bool> {
    let assistant = |entry: &SessionEntry| match entry {
        SessionEntry::Message(entry) => match &entry.message {
            AgentMessage::Assistant(assistant) => Some(calls(&assistant.content).map(ToOwned::to_owned).collect()),
            _ => None,
        },
        _ => None,
    };
    let last = run.iter().rposition(|entry| assistant(entry.as_ref()).is_some());
    let open: Vec<String> = last.and_then(|last| assistant(run[last].as_ref())).unwrap_or_default();
    let elide = |(place, entry): (usize, &SessionEntry)| match entry {
        SessionEntry::Message(entry) => match &entry.message {
            AgentMessage::Assistant(_) => Some(place) != last,
            AgentMessage::FunctionResult(result) => !open.contains(&result.function_call_id),
            _ => false,
        },
        _ => false,
    };
    run.iter().map(AsRef::as_ref).enumerate().map(elide).collect()
}
