//! Records in the form in which they are kept: members with a default are there (SF-WIRE-5), optional ones without a value are not
//! (SF-WIRE-4). Unknown members, and `null` that the writer gave for an optional member of a message, stay as they came (SF-WIRE-6).

use msp_types::session::{
    AgentMessage, ContentBlock, CustomPayload, SessionEntry, SessionEntryCustom, SessionEntryMessage,
};
use serde_json::{Map, Value};

use crate::session_functions::members::{always, given, taken};

/// Blocks with their defaults, nested ones too.
pub(super) fn content(blocks: &mut [ContentBlock]) {
    for block in blocks {
        match block {
            ContentBlock::FunctionCall(call) => {
                call.arguments.get_or_insert_default();
            }
            ContentBlock::FunctionResult(result) => content(&mut result.content),
            _ => {}
        }
    }
}

/// A message with its defaults.
pub(super) fn message(mut message: AgentMessage) -> AgentMessage {
    if let AgentMessage::FunctionResult(result) = &mut message {
        result.details.get_or_insert_default();
        result.is_error.get_or_insert_default();
    }
    if let Some(blocks) = content_of(&mut message) {
        content(blocks);
    }
    message
}

/// Blocks of a message.
pub(super) fn content_of(message: &mut AgentMessage) -> Option<&mut Vec<ContentBlock>> {
    match message {
        AgentMessage::User(message) => Some(&mut message.content),
        AgentMessage::Assistant(message) => Some(&mut message.content),
        AgentMessage::FunctionResult(message) => Some(&mut message.content),
        AgentMessage::Custom(message) => Some(&mut message.content),
        _ => None,
    }
}

/// A new entry for a message, not placed yet.
pub(super) fn message_entry(
    id: String,
    timestamp: i64,
    written: AgentMessage,
    origin: Option<Map<String, Value>>,
) -> SessionEntry {
    let mut entry = SessionEntryMessage::new(id, timestamp, message(written));
    entry.parent_id = always(None);
    entry.revision = Some(0);
    entry.origin = given(origin);
    SessionEntry::Message(entry)
}

/// A new entry for a record that is no message, not placed yet.
pub(super) fn custom_entry(
    id: String,
    timestamp: i64,
    custom: CustomPayload,
    origin: Option<Map<String, Value>>,
) -> SessionEntry {
    let mut entry = SessionEntryCustom::new(id, timestamp, custom.custom_type);
    entry.parent_id = always(None);
    entry.revision = Some(0);
    entry.origin = given(origin);
    entry.data = Some(custom.data.unwrap_or_default());
    SessionEntry::Custom(entry)
}

/// An entry that another instance wrote.
pub(super) fn entry(mut entry: SessionEntry) -> SessionEntry {
    match &mut entry {
        SessionEntry::Message(written) => {
            written.parent_id = always(taken(std::mem::take(&mut written.parent_id)));
            written.origin = given(taken(std::mem::take(&mut written.origin)));
            written.revision.get_or_insert(0);
            written.message = message(written.message.clone());
        }
        SessionEntry::Custom(written) => {
            written.parent_id = always(taken(std::mem::take(&mut written.parent_id)));
            written.origin = given(taken(std::mem::take(&mut written.origin)));
            written.revision.get_or_insert(0);
            written.data.get_or_insert_default();
        }
        _ => {}
    }
    entry
}
