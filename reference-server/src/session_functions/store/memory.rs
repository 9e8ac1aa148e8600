//! The store that lives and dies with the process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use msp_types::session::{AttachmentMeta, ListOrder, SessionEntry, SessionMeta};

use super::catalogue::Catalogue;
use super::{Attachment, Change, Position, Step, Store, StoreError, id, parent_id};

/// Keeps everything in this process.
#[derive(Debug, Default)]
pub struct Memory {
    catalogue: Catalogue,
    sessions: HashMap<String, Session>,
}

/// What belongs to a session id, whether it has a record or not.
#[derive(Debug, Default)]
struct Session {
    leaf: Option<String>,
    /// The leaf was set on its own, and no record came since.
    open: bool,
    entries: Vec<Row>,
    places: HashMap<String, usize>,
    attachments: BTreeMap<String, Attachment>,
}

#[derive(Debug)]
struct Row {
    entry: Arc<SessionEntry>,
    committed: bool,
}

impl Session {
    fn row(&self, entry_id: &str) -> Option<&Row> {
        self.places.get(entry_id).map(|place| &self.entries[*place])
    }

    fn put(&mut self, entry: Arc<SessionEntry>, committed: bool) {
        if let Some(place) = self.places.get(id(&entry)) {
            let row = &mut self.entries[*place];
            row.committed |= committed;
            row.entry = entry;
        } else {
            self.places.insert(id(&entry).to_owned(), self.entries.len());
            self.entries.push(Row { entry, committed });
        }
    }

    /// Commits the path of a leaf that was set on its own. A broken path ends where it breaks.
    fn seal(&mut self) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let mut next = self.leaf.clone();
        let mut left = self.entries.len();
        while let Some(place) = next.and_then(|id| self.places.get(&id).copied()) {
            let row = &mut self.entries[place];
            row.committed = true;
            next = parent_id(&row.entry).map(ToOwned::to_owned);
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => break, // a cycle
            };
        }
    }
}

impl Memory {
    fn session(&mut self, session_id: &str) -> &mut Session {
        if !self.sessions.contains_key(session_id) {
            self.sessions.insert(session_id.to_owned(), Session::default());
        }
        self.sessions.entry(session_id.to_owned()).or_default()
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::PutMeta(meta) => {
                if let Some(session) = self.sessions.get_mut(&meta.session_id) {
                    session.seal();
                }
                self.catalogue.put(meta);
            }
            Change::PutEntry { session_id, entry, committed } => self.session(&session_id).put(entry, committed),
            Change::SetLeaf { session_id, entry_id, sealed } => {
                let session = self.session(&session_id);
                session.leaf = Some(entry_id);
                session.open = !sealed;
            }
            Change::DeleteLeaf(session_id) => {
                let session = self.session(&session_id);
                session.leaf = None;
                session.open = false;
            }
            Change::DeleteMeta(session_id) => {
                self.catalogue.remove(&session_id);
                let bare = |session: &Session| {
                    session.leaf.is_none() && session.entries.is_empty() && session.attachments.is_empty()
                };
                if self.sessions.get(&session_id).is_some_and(bare) {
                    self.sessions.remove(&session_id);
                }
            }
            Change::DeleteEntries(session_id) => {
                let session = self.session(&session_id);
                session.entries.clear();
                session.places.clear();
            }
            Change::PutAttachment(attachment) => {
                let session = self.session(&attachment.meta.session_id);
                session.attachments.insert(attachment.meta.attachment_id.clone(), attachment);
            }
            Change::DeleteAttachment { session_id, attachment_id } => {
                self.session(&session_id).attachments.remove(&attachment_id);
            }
            Change::DeleteAttachments(session_id) => self.session(&session_id).attachments.clear(),
        }
    }
}

impl Store for Memory {
    fn meta(&mut self, session_id: &str) -> Result<Option<Arc<SessionMeta>>, StoreError> {
        Ok(self.catalogue.get(session_id).cloned())
    }

    fn metas(&mut self) -> Result<Vec<Arc<SessionMeta>>, StoreError> {
        Ok(self.catalogue.all())
    }

    fn scan(
        &mut self,
        order: &ListOrder,
        after: Option<&Position>,
        visit: &mut dyn FnMut(&Arc<SessionMeta>) -> bool,
    ) -> Result<(), StoreError> {
        self.catalogue.scan(order, after, visit);
        Ok(())
    }

    fn entry(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Arc<SessionEntry>>, StoreError> {
        let row = self.sessions.get(session_id).and_then(|session| session.row(entry_id));
        Ok(row.map(|row| Arc::clone(&row.entry)))
    }

    fn step(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Step>, StoreError> {
        let row = self.sessions.get(session_id).and_then(|session| session.row(entry_id));
        Ok(row.map(|row| Step::of(&row.entry)))
    }

    fn entries(&mut self, session_id: &str) -> Result<Vec<Arc<SessionEntry>>, StoreError> {
        let rows = self.sessions.get(session_id).map(|session| session.entries.as_slice()).unwrap_or_default();
        Ok(rows.iter().map(|row| Arc::clone(&row.entry)).collect())
    }

    fn is_committed(&mut self, session_id: &str, entry_id: &str) -> Result<bool, StoreError> {
        let row = self.sessions.get(session_id).and_then(|session| session.row(entry_id));
        Ok(row.is_some_and(|row| row.committed))
    }

    fn leaf(&mut self, session_id: &str) -> Result<Option<String>, StoreError> {
        Ok(self.sessions.get(session_id).and_then(|session| session.leaf.clone()))
    }

    fn attachment_meta(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<AttachmentMeta>, StoreError> {
        Ok(self.attachment(session_id, attachment_id)?.map(|attachment| attachment.meta))
    }

    fn attachment(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<Attachment>, StoreError> {
        Ok(self.sessions.get(session_id).and_then(|session| session.attachments.get(attachment_id)).cloned())
    }

    fn attachments(&mut self, session_id: &str) -> Result<Vec<AttachmentMeta>, StoreError> {
        let session = self.sessions.get(session_id);
        Ok(session
            .map(|session| session.attachments.values().map(|one| one.meta.clone()).collect())
            .unwrap_or_default())
    }

    fn apply(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        for change in changes {
            self.change(change);
        }
        Ok(())
    }
}
