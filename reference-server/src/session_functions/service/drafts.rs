//! `set-draft`.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{AttachmentMeta, SessionMeta, SetDraftRequest, SetDraftResponse};

use super::{Answer, Service};
use crate::session_functions::failure::Failure;
use crate::session_functions::members::{always, given, taken};
use crate::session_functions::store::Change;

impl Service<'_> {
    pub(crate) fn set_draft(&mut self, request: SetDraftRequest) -> Answer<SetDraftResponse> {
        let mut meta = SessionMeta::clone(&*self.meta(&request.session_id)?);
        let parked = match request.attachment_ids {
            Presence::Absent | Presence::Null => taken(std::mem::take(&mut meta.draft_attachments)).unwrap_or_default(),
            Presence::Value(ids) => self.records(&request.session_id, ids)?,
        };
        let draft = taken(request.draft).filter(|text| !text.trim().is_empty());
        meta.draft = given(draft.clone());
        meta.draft_attachments = given(Some(parked.clone()).filter(|parked| !parked.is_empty()));
        self.store.apply(vec![Change::PutMeta(Arc::new(meta))])?;
        let mut answer = SetDraftResponse::new(parked);
        answer.draft = always(draft);
        Ok(answer)
    }

    /// Records of attachments in the order of their ids, each once.
    fn records(&mut self, session_id: &str, ids: Vec<String>) -> Answer<Vec<AttachmentMeta>> {
        let mut records: Vec<AttachmentMeta> = Vec::new();
        for id in ids {
            if records.iter().any(|record| record.attachment_id == id) {
                continue;
            }
            let record = self.store.attachment_meta(session_id, &id)?;
            records.push(record.ok_or_else(|| {
                Failure::invalid(format!("`attachment_ids`: session `{session_id}` has no attachment `{id}`"))
            })?);
        }
        Ok(records)
    }
}
