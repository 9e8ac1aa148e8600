//! `update-message`.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{
    AgentMessage, MessageUpdatedPayload, SessionEntry, SessionMeta, UpdateMessageRequest, UpdateMessageResponse, errors,
};
use serde_json::Value;

use super::{Answer, Service, metadata, normal};
use crate::session_functions::event::Event;
use crate::session_functions::failure::Failure;
use crate::session_functions::members::{given, taken};
use crate::session_functions::store::Change;

impl Service<'_> {
    /// The checks stand in the order in which they win (SF-UPDATE-10).
    pub(crate) fn update_message(&mut self, request: UpdateMessageRequest) -> Answer<UpdateMessageResponse> {
        let UpdateMessageRequest { session_id, entry_id, mut content, .. } = request;
        let mut meta = SessionMeta::clone(&*self.meta(&session_id)?);
        let stored =
            self.store.entry(&session_id, &entry_id)?.ok_or_else(|| Failure::no_entry(&session_id, &entry_id))?;
        let SessionEntry::Message(stored) = &*stored else {
            return Err(wrong_kind(format!("entry `{entry_id}` holds no message")));
        };
        let revision = stored.revision.unwrap_or(0);
        if request.expected_revision.value().is_some_and(|expected| *expected != revision) {
            return Ok(UpdateMessageResponse::new(false, revision)); // SF-UPDATE-4
        }
        let mut entry = stored.clone();
        if let Presence::Value(usage) = request.usage {
            let AgentMessage::Assistant(message) = &mut entry.message else {
                return Err(wrong_kind(format!("`usage` is for assistant messages, which `{entry_id}` is not")));
            };
            message.usage = Presence::Value(usage);
        }
        if let Some(details) = request.details.filter(|details| !details.is_null()) {
            replace_details(&mut entry.message, details, &entry_id)?;
        }
        normal::content(&mut content);
        if let Some(blocks) = normal::content_of(&mut entry.message) {
            *blocks = content;
        }
        entry.revision = Some(revision + 1);
        meta.updated_at = self.clock.now_ms();

        let mut payload = MessageUpdatedPayload::new(
            session_id.clone(),
            entry_id,
            entry.message.clone(),
            revision + 1,
            meta.updated_at,
        );
        payload.origin = given(taken(request.origin)); // of the request, never the stored one (SF-UPDATE-3)
        let event = Event::message_updated(&payload, metadata(&meta));
        let committed = false; // leaves what it is
        let entry = Arc::new(SessionEntry::Message(entry));
        self.store.apply(vec![Change::PutEntry { session_id, entry, committed }, Change::PutMeta(Arc::new(meta))])?;
        self.events.push(event);
        Ok(UpdateMessageResponse::new(true, revision + 1))
    }
}

fn replace_details(message: &mut AgentMessage, details: Value, entry_id: &str) -> Answer<()> {
    match message {
        AgentMessage::FunctionResult(message) => message.details = Some(details),
        AgentMessage::Custom(message) => message.details = Some(details),
        _ => {
            let text = format!("`details` is for function_result and custom messages, which `{entry_id}` is not");
            return Err(Failure::domain(errors::DETAILS_NOT_SUPPORTED, text));
        }
    }
    Ok(())
}

fn wrong_kind(text: String) -> Failure {
    Failure::domain(errors::INVALID_ENTRY_KIND, text)
}
