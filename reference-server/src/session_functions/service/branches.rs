//! `set-active-leaf` and `fork`.

use std::collections::HashMap;
use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{
    ForkRequest, ForkResponse, SessionEntry, SessionMeta, SessionStatus, SetActiveLeafRequest, SetActiveLeafResponse,
};
use serde_json::Value;

use super::{Answer, Service, attachments};
use crate::session_functions::failure::Failure;
use crate::session_functions::members::{always, given, taken};
use crate::session_functions::store::{Attachment, Change, role};

impl Service<'_> {
    pub(crate) fn set_active_leaf(&mut self, request: SetActiveLeafRequest) -> Answer<SetActiveLeafResponse> {
        let SetActiveLeafRequest { session_id, entry_id, .. } = request;
        self.meta(&session_id)?;
        if self.store.step(&session_id, &entry_id)?.is_none() {
            return Err(Failure::no_entry(&session_id, &entry_id));
        }
        self.store.apply(vec![Change::SetLeaf { session_id, entry_id: entry_id.clone(), sealed: false }])?;
        Ok(SetActiveLeafResponse::new(entry_id))
    }

    pub(crate) fn fork(&mut self, request: ForkRequest) -> Answer<ForkResponse> {
        let ForkRequest { session_id: source_id, entry_id, .. } = request;
        let source = self.meta(&source_id)?;
        if self.store.step(&source_id, &entry_id)?.is_none() {
            return Err(Failure::no_entry(&source_id, &entry_id));
        }
        let path = self.chain(&source_id, entry_id)?;
        let fresh: HashMap<String, String> = path.iter().map(|step| (step.id.clone(), self.clock.id("e_"))).collect();
        let session_id = self.clock.id("s_");
        let (mut changes, mut referred) = (Vec::new(), Vec::new());
        let (mut messages, mut leaf) = (0, String::new());
        for step in &path {
            let entry = self.entry_on_path(&source_id, &step.id)?;
            messages += u64::from(role(&entry).is_some());
            attachments::referred(&entry, &mut referred);
            leaf.clone_from(&fresh[&step.id]);
            let entry = Arc::new(copied(&entry, &fresh));
            changes.push(Change::PutEntry { session_id: session_id.clone(), entry, committed: true });
        }
        changes.push(Change::SetLeaf { session_id: session_id.clone(), entry_id: leaf, sealed: true });
        referred.sort_unstable();
        referred.dedup();
        for attachment_id in referred {
            if let Some(Attachment { mut meta, bytes }) = self.store.attachment(&source_id, &attachment_id)? {
                meta.session_id.clone_from(&session_id);
                changes.push(Change::PutAttachment(Attachment { meta, bytes }));
            }
        }
        let now = self.clock.now_ms();
        let title = taken(request.title).unwrap_or_else(|| source.title.clone());
        let description = source.description.clone();
        let mut meta =
            SessionMeta::new(session_id.clone(), title, description, SessionStatus::Idle, now, now, messages);
        meta.kind.clone_from(&source.kind);
        meta.metadata = source.metadata.clone();
        meta.forked_from = Presence::Value(source_id);
        changes.push(Change::PutMeta(Arc::new(meta.clone())));
        self.store.apply(changes)?;
        self.announce_created(&meta);
        Ok(ForkResponse::new(session_id, meta))
    }
}

/// An entry under its new ids (SF-FORK-1, SF-FORK-2, SF-FORK-5).
fn copied(entry: &SessionEntry, fresh: &HashMap<String, String>) -> SessionEntry {
    let id = |id: &String| fresh.get(id).cloned().unwrap_or_else(|| id.clone());
    let mut entry = entry.clone();
    match &mut entry {
        SessionEntry::Message(entry) => {
            entry.id = id(&entry.id);
            entry.parent_id = always(entry.parent_id.value().map(id));
            entry.origin = given(taken(std::mem::take(&mut entry.origin)));
            entry.revision = Some(0);
        }
        SessionEntry::Custom(entry) => {
            entry.id = id(&entry.id);
            entry.parent_id = always(entry.parent_id.value().map(id));
            entry.revision = Some(0);
            if let Some(Value::Object(data)) = &mut entry.data {
                match entry.custom_type.as_str() {
                    "compaction" => renamed(data.get_mut("tail_start_entry_id"), fresh),
                    "message_order" => {
                        renamed(data.get_mut("after"), fresh);
                        let moved = data.get_mut("moved").and_then(Value::as_array_mut);
                        moved.into_iter().flatten().for_each(|id| renamed(Some(id), fresh));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    entry
}

/// Replaces the id of a copied entry by that of its copy; anything else stays.
fn renamed(value: Option<&mut Value>, fresh: &HashMap<String, String>) {
    if let Some(Value::String(id)) = value
        && let Some(copy) = fresh.get(id)
    {
        id.clone_from(copy);
    }
}
