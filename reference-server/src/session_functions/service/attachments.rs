//! `put-attachment`, `get-attachment`, `list-attachments`, `delete-attachment`.

use std::sync::Arc;

use data_encoding::BASE64;
use msp_schema::digest;
use msp_types::Presence;
use msp_types::session::{
    AgentMessage, AttachmentMeta, ContentBlock, ContentBlockFile, DeleteAttachmentRequest, DeleteAttachmentResponse,
    GetAttachmentRequest, GetAttachmentResponse, GetAttachmentResponseBody, ListAttachmentsRequest,
    ListAttachmentsResponse, PutAttachmentRequest, PutAttachmentResponse, SessionEntry, SessionMeta, errors,
};

use super::{Answer, Service};
use crate::session_functions::failure::Failure;
use crate::session_functions::members::{always, given, taken};
use crate::session_functions::store::{Attachment, Change};

/// What a blank `mime` becomes.
const ANY_BYTES: &str = "application/octet-stream";

impl Service<'_> {
    /// The checks stand in the order in which they win (SF-ATT-4).
    pub(crate) fn put_attachment(&mut self, request: PutAttachmentRequest) -> Answer<PutAttachmentResponse> {
        let name = request.name.trim();
        if name.is_empty() {
            return Err(Failure::invalid("`name` is blank"));
        }
        let mime = Some(request.mime.trim()).filter(|mime| !mime.is_empty()).unwrap_or(ANY_BYTES);
        let bytes = decoded(&request.data)?;
        let size = bytes.len() as u64;
        if size > self.limits.max_attachment_bytes {
            let text = format!("{size} bytes are more than the {} allowed", self.limits.max_attachment_bytes);
            return Err(Failure::domain(errors::ATTACHMENT_TOO_LARGE, text));
        }
        self.meta(&request.session_id)?;
        let meta = AttachmentMeta::new(
            self.clock.id("a_"),
            request.session_id,
            name.to_owned(),
            mime.to_owned(),
            size,
            sha256(&bytes),
            self.clock.now_ms(),
        );
        self.store.apply(vec![Change::PutAttachment(Attachment { meta: meta.clone(), bytes: Arc::from(bytes) })])?;
        let block = ContentBlockFile::new(meta.attachment_id.clone(), meta.name.clone(), meta.mime.clone(), meta.size);
        Ok(PutAttachmentResponse::new(meta, ContentBlock::File(block)))
    }

    pub(crate) fn get_attachment(&mut self, request: GetAttachmentRequest) -> Answer<GetAttachmentResponse> {
        let GetAttachmentRequest { session_id, attachment_id, .. } = request;
        if self.store.meta(&session_id)?.is_none() {
            return Ok(GetAttachmentResponse(None));
        }
        let found = if request.include_data.value() == Some(&false) {
            self.store.attachment_meta(&session_id, &attachment_id)?.map(|meta| (meta, None))
        } else {
            let attachment = self.store.attachment(&session_id, &attachment_id)?;
            attachment.map(|attachment| (attachment.meta, Some(BASE64.encode(&attachment.bytes))))
        };
        Ok(GetAttachmentResponse(found.map(|(meta, data)| {
            let mut body = GetAttachmentResponseBody::new(meta);
            body.data = always(data);
            body
        })))
    }

    pub(crate) fn list_attachments(&mut self, request: ListAttachmentsRequest) -> Answer<ListAttachmentsResponse> {
        self.meta(&request.session_id)?;
        let mut attachments = self.store.attachments(&request.session_id)?;
        attachments.sort_by(|a, b| (a.created_at, &a.attachment_id).cmp(&(b.created_at, &b.attachment_id)));
        Ok(ListAttachmentsResponse::new(attachments))
    }

    pub(crate) fn delete_attachment(&mut self, request: DeleteAttachmentRequest) -> Answer<DeleteAttachmentResponse> {
        let DeleteAttachmentRequest { session_id, attachment_id, .. } = request;
        let meta = self.meta(&session_id)?;
        let mut ids = Vec::new();
        for entry in self.store.entries(&session_id)? {
            referred(&entry, &mut ids);
        }
        if ids.contains(&attachment_id) {
            // Before the question whether it exists (SF-ATT-13).
            let text = format!("a message of session `{session_id}` refers to `{attachment_id}`");
            return Err(Failure::domain(errors::ATTACHMENT_IN_USE, text));
        }
        let deleted = self.store.attachment_meta(&session_id, &attachment_id)?.is_some();
        let mut changes = Vec::new();
        if let Some(meta) = unparked(&meta, &attachment_id) {
            changes.push(Change::PutMeta(Arc::new(meta)));
        }
        if deleted {
            changes.push(Change::DeleteAttachment { session_id, attachment_id });
        }
        if !changes.is_empty() {
            self.store.apply(changes)?;
        }
        Ok(DeleteAttachmentResponse::new(deleted))
    }
}

/// The record without a parked attachment, if it was parked.
fn unparked(meta: &SessionMeta, attachment_id: &str) -> Option<SessionMeta> {
    let parked = meta.draft_attachments.value()?;
    parked.iter().any(|one| one.attachment_id == attachment_id).then(|| {
        let mut meta = meta.clone();
        let mut left = taken(meta.draft_attachments).unwrap_or_default();
        left.retain(|one| one.attachment_id != attachment_id);
        meta.draft_attachments = given(Some(left).filter(|left| !left.is_empty()));
        meta
    })
}

/// Bytes of padded standard base64.
///
/// # Errors
/// `session/invalid_request`: anything else.
pub(super) fn decoded(data: &str) -> Answer<Vec<u8>> {
    BASE64.decode(data.as_bytes()).map_err(|error| Failure::invalid(format!("`data` is no padded base64: {error}")))
}

/// Lowercase hexadecimal digest.
fn sha256(bytes: &[u8]) -> String {
    let digest = digest::of_bytes(bytes);
    digest.strip_prefix("sha256:").unwrap_or(&digest).to_owned()
}

/// Adds the attachments that a message entry refers to (SF-ATT-10); a custom entry refers to none.
pub(super) fn referred(entry: &SessionEntry, out: &mut Vec<String>) {
    if let SessionEntry::Message(entry) = entry {
        let content = match &entry.message {
            AgentMessage::User(message) => &message.content,
            AgentMessage::Assistant(message) => &message.content,
            AgentMessage::FunctionResult(message) => &message.content,
            AgentMessage::Custom(message) => &message.content,
            _ => return,
        };
        in_blocks(content, out);
    }
}

fn in_blocks(blocks: &[ContentBlock], out: &mut Vec<String>) {
    for block in blocks {
        match block {
            ContentBlock::File(file) => out.push(file.attachment_id.clone()),
            ContentBlock::Image(image) => {
                if let Presence::Value(id) = &image.attachment_id {
                    out.push(id.clone());
                }
            }
            ContentBlock::FunctionResult(result) => in_blocks(&result.content, out),
            _ => {}
        }
    }
}
