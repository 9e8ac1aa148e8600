//! The store protocol: what bridged instances are served. Raw: no checks, no counters, no events, except where said.

use std::sync::Arc;

use data_encoding::BASE64;
use msp_types::session::{
    AttachmentMeta, SessionEntry, SessionMeta, StoreCommitAppendRequest, StoreCommitAppendResponse,
    StoreDeleteActiveLeafRequest, StoreDeleteActiveLeafResponse, StoreDeleteAttachmentRequest,
    StoreDeleteAttachmentResponse, StoreDeleteAttachmentsRequest, StoreDeleteAttachmentsResponse,
    StoreDeleteEntriesRequest, StoreDeleteEntriesResponse, StoreDeleteMetaRequest, StoreDeleteMetaResponse,
    StoreGetActiveLeafRequest, StoreGetActiveLeafResponse, StoreGetAttachmentRequest, StoreGetAttachmentResponse,
    StoreGetEntryRequest, StoreGetEntryResponse, StoreGetMetaRequest, StoreGetMetaResponse,
    StoreListAttachmentsRequest, StoreListAttachmentsResponse, StoreListEntriesRequest, StoreListEntriesResponse,
    StoreListMetasRequest, StoreListMetasResponse, StorePublishEventsRequest, StorePublishEventsResponse,
    StorePutAttachmentRequest, StorePutAttachmentResponse, StorePutEntryRequest, StorePutEntryResponse,
    StorePutMetaRequest, StorePutMetaResponse, StoreSetActiveLeafRequest, StoreSetActiveLeafResponse, StoredAttachment,
    errors,
};

use super::{Answer, Service, attachments, normal};
use crate::session_functions::event::Event;
use crate::session_functions::failure::Failure;
use crate::session_functions::members::always;
use crate::session_functions::store::{Attachment, Change, CommitError, settled_meta};

impl Service<'_> {
    pub(crate) fn get_meta(&mut self, request: StoreGetMetaRequest) -> Answer<StoreGetMetaResponse> {
        Ok(StoreGetMetaResponse(self.store.meta(&request.session_id)?.map(|meta| SessionMeta::clone(&meta))))
    }

    pub(crate) fn put_meta(&mut self, request: StorePutMetaRequest) -> Answer<StorePutMetaResponse> {
        self.store.apply(vec![Change::PutMeta(Arc::new(settled_meta(request.meta)))])?;
        Ok(StorePutMetaResponse::new(true))
    }

    pub(crate) fn list_metas(&mut self, _: StoreListMetasRequest) -> Answer<StoreListMetasResponse> {
        let metas = self.store.metas()?;
        Ok(StoreListMetasResponse::new(metas.iter().map(|meta| SessionMeta::clone(meta)).collect()))
    }

    pub(crate) fn delete_meta(&mut self, request: StoreDeleteMetaRequest) -> Answer<StoreDeleteMetaResponse> {
        self.store.apply(vec![Change::DeleteMeta(request.session_id)])?;
        Ok(StoreDeleteMetaResponse::new(true))
    }

    pub(crate) fn get_entry(&mut self, request: StoreGetEntryRequest) -> Answer<StoreGetEntryResponse> {
        let entry = self.store.entry(&request.session_id, &request.entry_id)?;
        Ok(StoreGetEntryResponse(entry.map(|entry| SessionEntry::clone(&entry))))
    }

    pub(crate) fn put_entry(&mut self, request: StorePutEntryRequest) -> Answer<StorePutEntryResponse> {
        let entry = Arc::new(normal::entry(request.entry));
        self.store.apply(vec![Change::PutEntry { session_id: request.session_id, entry, committed: false }])?;
        Ok(StorePutEntryResponse::new(true))
    }

    pub(crate) fn list_entries(&mut self, request: StoreListEntriesRequest) -> Answer<StoreListEntriesResponse> {
        let entries = self.store.entries(&request.session_id)?;
        Ok(StoreListEntriesResponse::new(entries.iter().map(|entry| SessionEntry::clone(entry)).collect()))
    }

    pub(crate) fn delete_entries(&mut self, request: StoreDeleteEntriesRequest) -> Answer<StoreDeleteEntriesResponse> {
        self.store.apply(vec![Change::DeleteEntries(request.session_id)])?;
        Ok(StoreDeleteEntriesResponse::new(true))
    }

    pub(crate) fn get_active_leaf(&mut self, request: StoreGetActiveLeafRequest) -> Answer<StoreGetActiveLeafResponse> {
        let mut answer = StoreGetActiveLeafResponse::new();
        answer.entry_id = always(self.store.leaf(&request.session_id)?);
        Ok(answer)
    }

    pub(crate) fn store_set_active_leaf(
        &mut self,
        request: StoreSetActiveLeafRequest,
    ) -> Answer<StoreSetActiveLeafResponse> {
        let StoreSetActiveLeafRequest { session_id, entry_id, .. } = request;
        self.store.apply(vec![Change::SetLeaf { session_id, entry_id, sealed: false }])?;
        Ok(StoreSetActiveLeafResponse::new(true))
    }

    pub(crate) fn delete_active_leaf(
        &mut self,
        request: StoreDeleteActiveLeafRequest,
    ) -> Answer<StoreDeleteActiveLeafResponse> {
        self.store.apply(vec![Change::DeleteLeaf(request.session_id)])?;
        Ok(StoreDeleteActiveLeafResponse::new(true))
    }

    pub(crate) fn commit_append(&mut self, request: StoreCommitAppendRequest) -> Answer<StoreCommitAppendResponse> {
        let session_id = request.session_id;
        let entry = normal::entry(request.entry);
        let committed = self.store.commit_append(&session_id, entry, request.parent_explicit);
        // Both refusals are the store's own here (SF-STORE-9); a bridge turns them back.
        let committed = committed.map_err(|error| match error {
            CommitError::NoSession => Failure::domain(errors::STORAGE, format!("no session `{session_id}`")),
            CommitError::NoParent(parent) => {
                let text = format!("session `{session_id}` has no entry `{parent}` to append to");
                Failure::domain(errors::STORAGE, text)
            }
            CommitError::Store(error) => error.into(),
        })?;
        Ok(StoreCommitAppendResponse::new(
            SessionEntry::clone(&committed.entry),
            SessionMeta::clone(&committed.meta),
            committed.fresh,
        ))
    }

    pub(crate) fn store_put_attachment(
        &mut self,
        request: StorePutAttachmentRequest,
    ) -> Answer<StorePutAttachmentResponse> {
        let bytes = attachments::decoded(&request.data).map_err(|error| Failure::Malformed {
            function: "session::store::put-attachment".into(),
            text: error.to_string(),
        })?;
        self.store.apply(vec![Change::PutAttachment(Attachment { meta: request.meta, bytes: bytes.into() })])?;
        Ok(StorePutAttachmentResponse::new(true))
    }

    pub(crate) fn store_get_attachment(
        &mut self,
        request: StoreGetAttachmentRequest,
    ) -> Answer<StoreGetAttachmentResponse> {
        let attachment = self.store.attachment(&request.session_id, &request.attachment_id)?;
        Ok(StoreGetAttachmentResponse(
            attachment.map(|attachment| StoredAttachment::new(attachment.meta, BASE64.encode(&attachment.bytes))),
        ))
    }

    pub(crate) fn store_list_attachments(
        &mut self,
        request: StoreListAttachmentsRequest,
    ) -> Answer<StoreListAttachmentsResponse> {
        let attachments: Vec<AttachmentMeta> = self.store.attachments(&request.session_id)?;
        Ok(StoreListAttachmentsResponse::new(attachments))
    }

    pub(crate) fn store_delete_attachment(
        &mut self,
        request: StoreDeleteAttachmentRequest,
    ) -> Answer<StoreDeleteAttachmentResponse> {
        let StoreDeleteAttachmentRequest { session_id, attachment_id, .. } = request;
        let deleted = self.store.attachment_meta(&session_id, &attachment_id)?.is_some();
        if deleted {
            self.store.apply(vec![Change::DeleteAttachment { session_id, attachment_id }])?;
        }
        Ok(StoreDeleteAttachmentResponse::new(deleted))
    }

    pub(crate) fn delete_attachments(
        &mut self,
        request: StoreDeleteAttachmentsRequest,
    ) -> Answer<StoreDeleteAttachmentsResponse> {
        self.store.apply(vec![Change::DeleteAttachments(request.session_id)])?;
        Ok(StoreDeleteAttachmentsResponse::new(true))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the table of functions wants an answer")]
    /// Envelopes that are one of the six and fit are handed on; the others are passed over (SF-STORE-10).
    pub(crate) fn publish_events(&mut self, request: StorePublishEventsRequest) -> Answer<StorePublishEventsResponse> {
        self.events.extend(request.events.into_iter().filter_map(Event::open));
        Ok(StorePublishEventsResponse::new(self.events.len() as u64))
    }
}
