//! `append` and `append-many`.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{AppendManyRequest, AppendManyResponse, AppendRequest, AppendResponse, SessionMeta, errors};

use super::{Answer, Service, metadata, normal};
use crate::session_functions::event::added;
use crate::session_functions::failure::Failure;
use crate::session_functions::members::{always, taken};
use crate::session_functions::store::{Change, CommitError, id, parent_id, set_parent, timestamp};

impl Service<'_> {
    pub(crate) fn append(&mut self, request: AppendRequest) -> Answer<AppendResponse> {
        let session_id = request.session_id;
        self.meta(&session_id)?;
        let (message, custom, origin) = (taken(request.message), taken(request.custom), taken(request.origin));
        let entry_id = taken(request.entry_id).unwrap_or_else(|| self.clock.id("e_"));
        let now = self.clock.now_ms();
        let mut entry = match (message, custom) {
            (Some(message), None) => normal::message_entry(entry_id, now, message, origin),
            (None, Some(custom)) => normal::custom_entry(entry_id, now, custom, origin),
            (Some(_), Some(_)) => return Err(Failure::invalid("both `message` and `custom` are given")),
            (None, None) => return Err(Failure::invalid("neither `message` nor `custom` is given")),
        };
        let explicit = request.parent_id.value().is_some();
        set_parent(&mut entry, taken(request.parent_id));
        let committed = self.store.commit_append(&session_id, entry, explicit).map_err(|error| match error {
            CommitError::NoSession => Failure::no_session(&session_id),
            CommitError::NoParent(parent) => Failure::no_parent(&session_id, &parent),
            CommitError::Store(error) => error.into(),
        })?;
        if committed.fresh {
            self.events.push(added(&session_id, &committed.entry, metadata(&committed.meta)));
        }
        let mut answer = AppendResponse::new(id(&committed.entry).to_owned(), timestamp(&committed.entry));
        answer.parent_id = always(parent_id(&committed.entry).map(ToOwned::to_owned));
        Ok(answer)
    }

    pub(crate) fn append_many(&mut self, request: AppendManyRequest) -> Answer<AppendManyResponse> {
        let session_id = request.session_id;
        let mut meta = SessionMeta::clone(&*self.meta(&session_id)?);
        if request.messages.is_empty() {
            return Err(Failure::domain(errors::EMPTY_BATCH, "`messages` is empty"));
        }
        let mut parent = match request.parent_id {
            Presence::Value(parent) => {
                if self.store.step(&session_id, &parent)?.is_none() {
                    return Err(Failure::no_parent(&session_id, &parent));
                }
                Some(parent)
            }
            Presence::Absent | Presence::Null => self.store.leaf(&session_id)?,
        };
        let (now, origin) = (self.clock.now_ms(), taken(request.origin));
        let mut entries = Vec::with_capacity(request.messages.len());
        for message in request.messages {
            let id = self.clock.id("e_");
            let mut entry = normal::message_entry(id.clone(), now, message, origin.clone());
            set_parent(&mut entry, parent.replace(id));
            entries.push(Arc::new(entry));
        }
        meta.updated_at = now;
        meta.message_count += entries.len() as u64;
        let mut changes: Vec<Change> = entries
            .iter()
            .map(|entry| Change::PutEntry { session_id: session_id.clone(), entry: Arc::clone(entry), committed: true })
            .collect();
        let entry_ids: Vec<String> = entries.iter().map(|entry| id(entry).to_owned()).collect();
        let last = parent.unwrap_or_default();
        changes.push(Change::SetLeaf { session_id: session_id.clone(), entry_id: last.clone(), sealed: true });
        let metadata = metadata(&meta);
        changes.push(Change::PutMeta(Arc::new(meta)));
        self.store.apply(changes)?;
        self.events.extend(entries.iter().map(|entry| added(&session_id, entry, metadata.clone())));
        Ok(AppendManyResponse::new(entry_ids, last))
    }
}
