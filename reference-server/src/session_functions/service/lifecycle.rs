//! `create`, `ensure`, `get`, `set-meta`, `set-status`, `delete`.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{
    CreateRequest, CreateResponse, CreatedPayload, DeleteRequest, DeleteResponse, DeletedPayload, EnsureRequest,
    EnsureResponse, GetRequest, GetResponse, GetResponseBody, MetaUpdatedPayload, SessionKind, SessionMeta,
    SessionStatus, SetMetaRequest, SetMetaResponse, SetStatusRequest, SetStatusResponse, StatusChangedPayload,
};
use serde_json::{Map, Value};

use super::{Answer, Service, metadata};
use crate::session_functions::event::Event;
use crate::session_functions::failure::Failure;
use crate::session_functions::members::{given, taken};
use crate::session_functions::store::Change;

/// What a session starts with (SF-CREATE-2).
struct Beginning {
    title: Option<String>,
    description: Option<String>,
    kind: Option<SessionKind>,
    metadata: Option<Map<String, Value>>,
}

impl Service<'_> {
    pub(crate) fn create(&mut self, request: CreateRequest) -> Answer<CreateResponse> {
        let beginning = Beginning {
            title: taken(request.title),
            description: taken(request.description),
            kind: taken(request.kind),
            metadata: taken(request.metadata),
        };
        let session_id = self.clock.id("s_");
        let meta = self.begin(session_id.clone(), beginning)?;
        Ok(CreateResponse::new(session_id, meta))
    }

    pub(crate) fn ensure(&mut self, request: EnsureRequest) -> Answer<EnsureResponse> {
        if request.session_id.is_empty() {
            return Err(Failure::invalid("`session_id` is empty"));
        }
        if let Some(meta) = self.store.meta(&request.session_id)? {
            return Ok(EnsureResponse::new(request.session_id, SessionMeta::clone(&meta), false));
        }
        let beginning = Beginning {
            title: taken(request.title),
            description: taken(request.description),
            kind: taken(request.kind),
            metadata: taken(request.metadata),
        };
        let meta = self.begin(request.session_id.clone(), beginning)?;
        Ok(EnsureResponse::new(request.session_id, meta, true))
    }

    fn begin(&mut self, session_id: String, beginning: Beginning) -> Answer<SessionMeta> {
        let now = self.clock.now_ms();
        let mut meta = SessionMeta::new(
            session_id,
            beginning.title.unwrap_or_default(),
            beginning.description.unwrap_or_default(),
            SessionStatus::Idle,
            now,
            now,
            0,
        );
        meta.kind = Some(beginning.kind.unwrap_or(SessionKind::User));
        meta.metadata = given(beginning.metadata);
        self.store.apply(vec![Change::PutMeta(Arc::new(meta.clone()))])?;
        self.announce_created(&meta);
        Ok(meta)
    }

    /// `session::created` of a session as it stands (SF-EVT-10).
    pub(super) fn announce_created(&mut self, meta: &SessionMeta) {
        self.events.push(created(meta));
    }

    pub(crate) fn get(&mut self, request: GetRequest) -> Answer<GetResponse> {
        let meta = self.store.meta(&request.session_id)?;
        Ok(GetResponse(meta.map(|meta| GetResponseBody::new(SessionMeta::clone(&meta)))))
    }

    pub(crate) fn set_meta(&mut self, request: SetMetaRequest) -> Answer<SetMetaResponse> {
        let mut meta = SessionMeta::clone(&*self.meta(&request.session_id)?);
        let (title, description) = (taken(request.title), taken(request.description));
        if title.is_none() && description.is_none() && request.metadata.value().is_none() {
            return Ok(SetMetaResponse::new(meta)); // SF-META-3
        }
        meta.title = title.unwrap_or(meta.title);
        meta.description = description.unwrap_or(meta.description);
        if let Presence::Value(metadata) = request.metadata {
            meta.metadata = Presence::Value(metadata);
        }
        meta.updated_at = self.clock.now_ms();
        self.store.apply(vec![Change::PutMeta(Arc::new(meta.clone()))])?;
        let mut payload = MetaUpdatedPayload::new(
            meta.session_id.clone(),
            meta.title.clone(),
            meta.description.clone(),
            meta.updated_at,
        );
        payload.metadata = given(metadata(&meta));
        self.events.push(Event::meta_updated(&payload, metadata(&meta)));
        Ok(SetMetaResponse::new(meta))
    }

    pub(crate) fn set_status(&mut self, request: SetStatusRequest) -> Answer<SetStatusResponse> {
        let mut meta = SessionMeta::clone(&*self.meta(&request.session_id)?);
        // An idle session has no reason, and a reason is never inherited (SF-STATUS-2, SF-STATUS-3).
        let reason = taken(request.reason).filter(|_| request.status != SessionStatus::Idle);
        let previous = meta.status.clone();
        let answer = SetStatusResponse::new(request.status.clone(), previous.clone());
        if previous == request.status && meta.status_reason.value() == reason.as_ref() {
            return Ok(answer); // SF-STATUS-4
        }
        meta.status = request.status;
        meta.status_reason = given(reason);
        meta.updated_at = self.clock.now_ms();
        self.store.apply(vec![Change::PutMeta(Arc::new(meta.clone()))])?;
        let mut payload =
            StatusChangedPayload::new(meta.session_id.clone(), meta.status.clone(), previous, meta.updated_at);
        payload.status_reason = meta.status_reason.clone();
        self.events.push(Event::status_changed(&payload, metadata(&meta)));
        Ok(answer)
    }

    pub(crate) fn delete(&mut self, request: DeleteRequest) -> Answer<DeleteResponse> {
        let session_id = request.session_id;
        let Some(meta) = self.store.meta(&session_id)? else {
            return Ok(DeleteResponse::new(false)); // SF-DELETE-2
        };
        self.store.apply(vec![
            Change::DeleteEntries(session_id.clone()),
            Change::DeleteLeaf(session_id.clone()),
            Change::DeleteAttachments(session_id.clone()),
            Change::DeleteMeta(session_id.clone()),
        ])?;
        let now = self.clock.now_ms();
        self.events.push(Event::deleted(&DeletedPayload::new(session_id, now), metadata(&meta)));
        Ok(DeleteResponse::new(true))
    }
}

/// `session::created` of a session as it stands.
pub(crate) fn created(meta: &SessionMeta) -> Event {
    let mut payload = CreatedPayload::new(
        meta.session_id.clone(),
        meta.title.clone(),
        meta.description.clone(),
        meta.status.clone(),
        meta.created_at,
    );
    payload.forked_from = meta.forked_from.clone();
    Event::created(&payload, metadata(meta))
}
