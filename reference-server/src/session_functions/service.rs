//! The rules of the session functions, pure over a [`Store`]: what a request reads, what it writes in one transaction, and which events
//! follow. Nothing here knows of a wire.

#![expect(clippy::needless_pass_by_value, reason = "the table of functions hands every rule its request")]

mod append;
mod attachments;
mod blocks;
mod branches;
mod cursor;
mod drafts;
mod elide;
mod lifecycle;
mod list;
mod mentions;
mod messages;
mod normal;
mod path;
mod raw;
mod tail;
mod update;

use std::sync::Arc;

use msp_types::session::{CustomPayload, SessionEntryCustom, SessionMeta};
use serde_json::{Map, Value};

use super::clock::Clock;
use super::event::Event;
use super::failure::Failure;
use super::settings::Limits;
use super::store::Store;

pub(crate) use lifecycle::created;

/// What a function answers.
pub(crate) type Answer<T> = Result<T, Failure>;

/// One call at work.
#[derive(Debug)]
pub(crate) struct Service<'a> {
    pub(crate) store: &'a mut dyn Store,
    pub(crate) clock: &'a mut Clock,
    pub(crate) limits: Limits,
    /// What the call announces, in order; published when it succeeded.
    pub(crate) events: Vec<Event>,
}

impl<'a> Service<'a> {
    pub(crate) fn new(store: &'a mut dyn Store, clock: &'a mut Clock, limits: Limits) -> Self {
        store.begin();
        Self { store, clock, limits, events: Vec::new() }
    }

    /// The record of a session.
    ///
    /// # Errors
    /// `session/not_found`.
    fn meta(&mut self, session_id: &str) -> Answer<Arc<SessionMeta>> {
        self.store.meta(session_id)?.ok_or_else(|| Failure::no_session(session_id))
    }
}

/// Metadata of a session, for filters.
fn metadata(meta: &SessionMeta) -> Option<Map<String, Value>> {
    meta.metadata.value().cloned()
}

/// The record in a custom entry.
pub(crate) fn custom_of(entry: &SessionEntryCustom) -> CustomPayload {
    let mut custom = CustomPayload::new(entry.custom_type.clone());
    custom.data = Some(entry.data.clone().unwrap_or_default());
    custom
}
