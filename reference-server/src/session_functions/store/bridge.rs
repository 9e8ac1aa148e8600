//! The store that keeps nothing: its records are in another instance, reached through the `session::store::*` functions.
//!
//! A list of changes is a list of calls here: what fails in the middle leaves what went before. Appends are decided by the main in one
//! call, so that they hold against other instances too (SF-BRIDGE-9). Events go to the main, and come back through its feed
//! (SF-BRIDGE-2).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use iii_wire::ErrorBody;
use iii_wire::endpoint::{BindRequest, FunctionInfo};
use iii_wire::link::{Handler, Link, Options};
use msp_types::Call;
use msp_types::session::{
    AttachmentMeta, EventEnvelope, SessionEntry, SessionMeta, StoreCommitAppendRequest, StoreDeleteActiveLeafRequest,
    StoreDeleteAttachmentRequest, StoreDeleteAttachmentsRequest, StoreDeleteEntriesRequest, StoreDeleteMetaRequest,
    StoreGetActiveLeafRequest, StoreGetAttachmentRequest, StoreGetEntryRequest, StoreGetMetaRequest,
    StoreListAttachmentsRequest, StoreListEntriesRequest, StoreListMetasRequest, StorePublishEventsRequest,
    StorePutAttachmentRequest, StorePutEntryRequest, StorePutMetaRequest, StoreSetActiveLeafRequest, functions as wire,
    triggers,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::{Attachment, Change, CommitError, Committed, Feed, Main, Step, Store, StoreError, id};
use crate::session_functions::blocking::Blocking;
use crate::session_functions::clock::Clock;
use crate::session_functions::members::taken;

/// Prefix of the function that takes the main's feed (SF-BRIDGE-7).
const RELAY: &str = "session::bridge::recv::";

/// Keeps everything in another instance.
#[derive(Debug)]
pub struct Bridge {
    main: Blocking,
    /// Entries of a session, read whole once in a call that asks for many.
    entries: HashMap<String, HashMap<String, Arc<SessionEntry>>>,
}

/// Takes the main's feed.
struct Relay(Feed);

impl Relay {
    fn take(&self, payload: &str) -> serde_json::Result<()> {
        serde_json::from_str(payload).map(|envelope: EventEnvelope| (self.0)(envelope))
    }
}

impl Handler for Relay {
    async fn call(&self, _: &str, payload: &str) -> Result<Box<RawValue>, ErrorBody> {
        self.take(payload).map_err(|error| ErrorBody::new("invocation_failed", error.to_string()))?;
        Ok(RawValue::NULL.to_owned())
    }

    fn told(&self, _: &str, payload: &str) -> bool {
        let _no_envelope_no_event = self.take(payload);
        true
    }

    fn bind(&self, _: &Link, request: BindRequest, _: Option<String>) -> Result<(), ErrorBody> {
        Err(ErrorBody::new("trigger_type_not_found", format!("no trigger type `{}`", request.trigger_type)))
    }

    fn unbind(&self, _: &str) {}

    fn dropped(&self) {}
}

impl Bridge {
    /// Starts a link to the main. Whether it can be reached shows with the first call.
    ///
    /// # Errors
    /// A text for the user: the system gives no thread.
    pub(crate) fn open(url: &str, timeout_ms: u64, feed: Feed) -> Result<Self, String> {
        let unique = Clock::new(None).id("");
        let function_id = format!("{RELAY}{unique}");
        let options = Options {
            url: url.to_owned(),
            token: std::env::var("III_TOKEN").ok().filter(|token| !token.is_empty()),
            name: format!("session-bridge-{unique}"),
            functions: vec![FunctionInfo { id: function_id.clone(), ..FunctionInfo::default() }],
            bindings: vec![BindRequest {
                id: unique,
                trigger_type: <triggers::StoreEvents as msp_types::Event>::NAME.to_owned(),
                function_id,
                config: None,
                metadata: None,
            }],
            triggers: Vec::new(),
        };
        let main = Blocking::open(options, Relay(feed), Duration::from_millis(timeout_ms))?;
        Ok(Self { main, entries: HashMap::new() })
    }

    /// Calls a function of the main and waits for it, on a thread where that is allowed.
    fn ask<C: Call>(&self, request: &C::Params) -> Result<C::Result, StoreError>
    where
        C::Params: Serialize,
        C::Result: DeserializeOwned,
    {
        let failed = |error: &dyn std::fmt::Display| StoreError::Failed(format!("main instance: {}: {error}", C::NAME));
        let payload = to_raw_value(request).map_err(|error| failed(&error))?;
        let answer = self.main.ask(C::NAME, &payload).map_err(|error| failed(&error))?;
        serde_json::from_str(answer.get()).map_err(|error| failed(&error))
    }

    fn change(&self, change: Change) -> Result<(), StoreError> {
        match change {
            Change::PutMeta(meta) => {
                self.ask::<wire::StorePutMeta>(&StorePutMetaRequest::new(SessionMeta::clone(&meta))).map(drop)
            }
            Change::PutEntry { session_id, entry, .. } => {
                let request = StorePutEntryRequest::new(session_id, SessionEntry::clone(&entry));
                self.ask::<wire::StorePutEntry>(&request).map(drop)
            }
            Change::SetLeaf { session_id, entry_id, .. } => {
                self.ask::<wire::StoreSetActiveLeaf>(&StoreSetActiveLeafRequest::new(session_id, entry_id)).map(drop)
            }
            Change::DeleteLeaf(session_id) => {
                self.ask::<wire::StoreDeleteActiveLeaf>(&StoreDeleteActiveLeafRequest::new(session_id)).map(drop)
            }
            Change::DeleteMeta(session_id) => {
                self.ask::<wire::StoreDeleteMeta>(&StoreDeleteMetaRequest::new(session_id)).map(drop)
            }
            Change::DeleteEntries(session_id) => {
                self.ask::<wire::StoreDeleteEntries>(&StoreDeleteEntriesRequest::new(session_id)).map(drop)
            }
            Change::PutAttachment(Attachment { meta, bytes }) => {
                let request = StorePutAttachmentRequest::new(meta, BASE64.encode(&bytes));
                self.ask::<wire::StorePutAttachment>(&request).map(drop)
            }
            Change::DeleteAttachment { session_id, attachment_id } => {
                let request = StoreDeleteAttachmentRequest::new(session_id, attachment_id);
                self.ask::<wire::StoreDeleteAttachment>(&request).map(drop)
            }
            Change::DeleteAttachments(session_id) => {
                self.ask::<wire::StoreDeleteAttachments>(&StoreDeleteAttachmentsRequest::new(session_id)).map(drop)
            }
        }
    }

    /// All entries of a session, read once in a call.
    fn all(&mut self, session_id: &str) -> Result<&HashMap<String, Arc<SessionEntry>>, StoreError> {
        if !self.entries.contains_key(session_id) {
            let entries = self.entries(session_id)?;
            let by_id = entries.into_iter().map(|entry| (id(&entry).to_owned(), entry)).collect();
            self.entries.insert(session_id.to_owned(), by_id);
        }
        Ok(&self.entries[session_id])
    }
}

impl Main for Bridge {
    fn publish(&mut self, events: Vec<EventEnvelope>) {
        let _lost = self.ask::<wire::StorePublishEvents>(&StorePublishEventsRequest::new(events));
    }
}

impl Store for Bridge {
    fn begin(&mut self) {
        self.entries.clear();
    }

    fn meta(&mut self, session_id: &str) -> Result<Option<Arc<SessionMeta>>, StoreError> {
        let answer = self.ask::<wire::StoreGetMeta>(&StoreGetMetaRequest::new(session_id.to_owned()))?;
        Ok(answer.0.map(Arc::new))
    }

    fn metas(&mut self) -> Result<Vec<Arc<SessionMeta>>, StoreError> {
        let answer = self.ask::<wire::StoreListMetas>(&StoreListMetasRequest::new())?;
        Ok(answer.metas.into_iter().map(Arc::new).collect())
    }

    fn entry(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Arc<SessionEntry>>, StoreError> {
        if let Some(all) = self.entries.get(session_id) {
            return Ok(all.get(entry_id).cloned());
        }
        let request = StoreGetEntryRequest::new(session_id.to_owned(), entry_id.to_owned());
        Ok(self.ask::<wire::StoreGetEntry>(&request)?.0.map(Arc::new))
    }

    fn step(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Step>, StoreError> {
        Ok(self.all(session_id)?.get(entry_id).map(|entry| Step::of(entry)))
    }

    fn entries(&mut self, session_id: &str) -> Result<Vec<Arc<SessionEntry>>, StoreError> {
        let answer = self.ask::<wire::StoreListEntries>(&StoreListEntriesRequest::new(session_id.to_owned()))?;
        Ok(answer.entries.into_iter().map(Arc::new).collect())
    }

    fn is_committed(&mut self, _: &str, _: &str) -> Result<bool, StoreError> {
        Err(StoreError::Failed("only the main knows what is committed".to_owned())) // commit_append asks it
    }

    fn leaf(&mut self, session_id: &str) -> Result<Option<String>, StoreError> {
        let answer = self.ask::<wire::StoreGetActiveLeaf>(&StoreGetActiveLeafRequest::new(session_id.to_owned()))?;
        Ok(taken(answer.entry_id))
    }

    fn attachment_meta(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<AttachmentMeta>, StoreError> {
        let all = self.attachments(session_id)?;
        Ok(all.into_iter().find(|meta| meta.attachment_id == attachment_id))
    }

    fn attachment(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<Attachment>, StoreError> {
        let request = StoreGetAttachmentRequest::new(session_id.to_owned(), attachment_id.to_owned());
        let Some(stored) = self.ask::<wire::StoreGetAttachment>(&request)?.0 else { return Ok(None) };
        let bytes = BASE64
            .decode(stored.data.as_bytes())
            .map_err(|error| StoreError::Failed(format!("main instance: attachment `{attachment_id}`: {error}")))?;
        Ok(Some(Attachment { meta: stored.meta, bytes: bytes.into() }))
    }

    fn attachments(&mut self, session_id: &str) -> Result<Vec<AttachmentMeta>, StoreError> {
        let request = StoreListAttachmentsRequest::new(session_id.to_owned());
        Ok(self.ask::<wire::StoreListAttachments>(&request)?.attachments)
    }

    fn apply(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.entries.clear();
        changes.into_iter().try_for_each(|change| self.change(change))
    }

    fn commit_append(
        &mut self,
        session_id: &str,
        entry: SessionEntry,
        parent_explicit: bool,
    ) -> Result<Committed, CommitError> {
        let parent = super::parent_id(&entry).map(ToOwned::to_owned).filter(|_| parent_explicit);
        let request = StoreCommitAppendRequest::new(session_id.to_owned(), entry, parent_explicit);
        match self.ask::<wire::StoreCommitAppend>(&request) {
            Ok(answer) => {
                Ok(Committed { entry: Arc::new(answer.entry), meta: Arc::new(answer.meta), fresh: answer.committed })
            }
            // The main tells both refusals as a failure of the store (SF-STORE-9); what they are shows when asked for.
            Err(error) => {
                if self.meta(session_id)?.is_none() {
                    return Err(CommitError::NoSession);
                }
                match parent {
                    Some(parent) if self.entry(session_id, &parent)?.is_none() => Err(CommitError::NoParent(parent)),
                    _ => Err(error.into()),
                }
            }
        }
    }

    fn main(&mut self) -> Option<&mut dyn Main> {
        Some(self)
    }
}
