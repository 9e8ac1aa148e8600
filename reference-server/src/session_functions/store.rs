//! What the rules need of a store: reads of records, and mutations that happen whole or not at all.

mod bridge;
mod catalogue;
mod memory;
mod sqlite;

use std::sync::Arc;

use msp_types::session::{AttachmentMeta, EventEnvelope, ListOrder, Role, SessionEntry, SessionMeta};

pub use bridge::Bridge;
pub use catalogue::Position;
pub use memory::Memory;
pub use sqlite::Sqlite;

use super::members::{always, taken};
use super::settings::Adapter;

/// Why a store could not serve. Told as `session/storage`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A chain of parents names an entry that is not there.
    #[error("the parent chain of session `{session_id}` is broken: there is no entry `{entry_id}`")]
    MissingEntry {
        /// Session of the chain.
        session_id: String,
        /// Entry that is named and not there.
        entry_id: String,
    },
    /// A chain of parents comes back to itself.
    #[error("the parent chain of session `{session_id}` is a cycle through `{entry_id}`")]
    Cycle {
        /// Session of the chain.
        session_id: String,
        /// One entry of the cycle.
        entry_id: String,
    },
    /// What keeps the records failed.
    #[error("{0}")]
    Failed(String),
}

/// Why an append was not committed.
#[derive(Clone, Debug, PartialEq)]
pub enum CommitError {
    /// No session has the id.
    NoSession,
    /// The named parent is no entry of the session.
    NoParent(String),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// One append, as it stands after the commit.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Entry as stored; the earlier one for an id that was committed before.
    pub entry: Arc<SessionEntry>,
    /// Session record after the commit.
    pub meta: Arc<SessionMeta>,
    /// False if the id had been committed before, and nothing changed.
    pub fresh: bool,
}

/// An attachment with its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    /// Record.
    pub meta: AttachmentMeta,
    /// The bytes themselves.
    pub bytes: Arc<[u8]>,
}

/// One write. Several of them are applied together.
#[derive(Clone, Debug)]
pub enum Change {
    /// Writes a session record; seals a leaf that was set on its own (SF-STORE-8).
    PutMeta(Arc<SessionMeta>),
    /// Writes an entry. Once committed, an id stays committed.
    PutEntry {
        /// Session of the entry.
        session_id: String,
        /// The entry.
        entry: Arc<SessionEntry>,
        /// Whether this write commits the id.
        committed: bool,
    },
    /// Moves the leaf. One that is not sealed is sealed by the next record of the session: its path counts as committed then.
    SetLeaf {
        /// Session of the leaf.
        session_id: String,
        /// The new leaf.
        entry_id: String,
        /// Whether its path is committed already.
        sealed: bool,
    },
    /// Removes the leaf of a session.
    DeleteLeaf(String),
    /// Removes the record of a session.
    DeleteMeta(String),
    /// Removes all entries of a session.
    DeleteEntries(String),
    /// Writes an attachment.
    PutAttachment(Attachment),
    /// Removes one attachment.
    DeleteAttachment {
        /// Session of the attachment.
        session_id: String,
        /// The attachment.
        attachment_id: String,
    },
    /// Removes all attachments of a session.
    DeleteAttachments(String),
}

/// One entry on the way from a leaf to the root, without its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Id of the entry.
    pub id: String,
    /// Its parent; `None` at the root.
    pub parent_id: Option<String>,
    /// Role of its message; `None` for a custom entry.
    pub role: Option<Role>,
}

impl Step {
    /// The step of an entry.
    pub(crate) fn of(entry: &SessionEntry) -> Self {
        Self { id: id(entry).to_owned(), parent_id: parent_id(entry).map(ToOwned::to_owned), role: role(entry) }
    }
}

/// Keeps the records. One caller at a time.
pub trait Store: Send + std::fmt::Debug {
    /// A call begins: what was read for an earlier one is out of date.
    fn begin(&mut self) {}

    /// The record of a session.
    ///
    /// # Errors
    /// The store failed; so for every function below.
    fn meta(&mut self, session_id: &str) -> Result<Option<Arc<SessionMeta>>, StoreError>;

    /// All records, in no order.
    ///
    /// # Errors
    /// The store failed.
    fn metas(&mut self) -> Result<Vec<Arc<SessionMeta>>, StoreError>;

    /// Shows records in an order, from behind a position on, until `visit` says false.
    ///
    /// # Errors
    /// The store failed.
    fn scan(
        &mut self,
        order: &ListOrder,
        after: Option<&Position>,
        visit: &mut dyn FnMut(&Arc<SessionMeta>) -> bool,
    ) -> Result<(), StoreError> {
        catalogue::scan(self.metas()?, order, after, visit);
        Ok(())
    }

    /// One entry, on any branch.
    ///
    /// # Errors
    /// The store failed.
    fn entry(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Arc<SessionEntry>>, StoreError>;

    /// One entry without its content.
    ///
    /// # Errors
    /// The store failed.
    fn step(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Step>, StoreError> {
        Ok(self.entry(session_id, entry_id)?.map(|entry| Step::of(&entry)))
    }

    /// All entries of a session, on all branches.
    ///
    /// # Errors
    /// The store failed.
    fn entries(&mut self, session_id: &str) -> Result<Vec<Arc<SessionEntry>>, StoreError>;

    /// Whether an entry id is committed (SF-APPEND-6).
    ///
    /// # Errors
    /// The store failed.
    fn is_committed(&mut self, session_id: &str, entry_id: &str) -> Result<bool, StoreError>;

    /// The active leaf.
    ///
    /// # Errors
    /// The store failed.
    fn leaf(&mut self, session_id: &str) -> Result<Option<String>, StoreError>;

    /// The record of an attachment.
    ///
    /// # Errors
    /// The store failed.
    fn attachment_meta(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<AttachmentMeta>, StoreError>;

    /// An attachment.
    ///
    /// # Errors
    /// The store failed.
    fn attachment(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<Attachment>, StoreError>;

    /// The records of all attachments of a session, in no order.
    ///
    /// # Errors
    /// The store failed.
    fn attachments(&mut self, session_id: &str) -> Result<Vec<AttachmentMeta>, StoreError>;

    /// Applies all changes, or none.
    ///
    /// # Errors
    /// The store failed.
    fn apply(&mut self, changes: Vec<Change>) -> Result<(), StoreError>;

    /// Decides and performs one append (SF-STORE-6 to SF-STORE-9).
    ///
    /// # Errors
    /// Session or parent unknown, or the store failed.
    fn commit_append(
        &mut self,
        session_id: &str,
        entry: SessionEntry,
        parent_explicit: bool,
    ) -> Result<Committed, CommitError> {
        let meta = self.meta(session_id)?.ok_or(CommitError::NoSession)?;
        let entry = match self.entry(session_id, id(&entry))? {
            Some(stored) if self.is_committed(session_id, id(&entry))? => {
                return Ok(Committed { entry: stored, meta, fresh: false });
            }
            Some(stored) => stored, // written raw, and committed now as it stands
            None => Arc::new(self.placed(session_id, entry, parent_explicit)?),
        };
        let mut meta = SessionMeta::clone(&meta);
        meta.updated_at = timestamp(&entry);
        meta.message_count += u64::from(role(&entry).is_some());
        let meta = Arc::new(meta);
        self.apply(vec![
            Change::PutEntry { session_id: session_id.to_owned(), entry: Arc::clone(&entry), committed: true },
            Change::SetLeaf { session_id: session_id.to_owned(), entry_id: id(&entry).to_owned(), sealed: true },
            Change::PutMeta(Arc::clone(&meta)),
        ])?;
        Ok(Committed { entry, meta, fresh: true })
    }

    /// An entry under the parent that it is to have.
    ///
    /// # Errors
    /// The named parent is unknown, or the store failed.
    fn placed(
        &mut self,
        session_id: &str,
        mut entry: SessionEntry,
        parent_explicit: bool,
    ) -> Result<SessionEntry, CommitError> {
        if !parent_explicit {
            let leaf = self.leaf(session_id)?;
            set_parent(&mut entry, leaf);
        } else if let Some(parent) = parent_id(&entry)
            && self.step(session_id, parent)?.is_none()
        {
            return Err(CommitError::NoParent(parent.to_owned()));
        }
        Ok(entry)
    }

    /// The instance that gets the events of this store, where that is not this one.
    fn main(&mut self) -> Option<&mut dyn Main> {
        None
    }
}

/// Takes events that the main of a bridged store hands on.
pub type Feed = Arc<dyn Fn(EventEnvelope) + Send + Sync>;

/// Opens the store of an adapter.
///
/// # Errors
/// A text for the user: it cannot be opened.
pub(crate) fn open(adapter: &Adapter, feed: Feed) -> Result<Box<dyn Store>, String> {
    match adapter {
        Adapter::Memory => Ok(Box::new(Memory::default())),
        Adapter::Fs { data_dir: Some(dir) } => Ok(Box::new(Sqlite::open(dir)?)),
        Adapter::Fs { data_dir: None } => Err("no folder for sessions".to_owned()),
        Adapter::Bridge { url, timeout_ms } => Ok(Box::new(Bridge::open(url, *timeout_ms, feed)?)),
    }
}

/// The instance in which a bridged one keeps its state.
pub trait Main {
    /// Hands on the events of one mutation. What goes wrong is lost (SF-BRIDGE-6).
    fn publish(&mut self, events: Vec<EventEnvelope>);
}

/// The way from an entry to the root. A cycle is noticed by meeting a remembered entry again, whose place is moved on at every power of
/// two (Brent), so that long paths need no memory.
#[derive(Debug)]
pub(crate) struct Climb<'a> {
    session_id: &'a str,
    next: Option<String>,
    remembered: String,
    taken: u64,
    power: u64,
}

impl<'a> Climb<'a> {
    pub(crate) fn new(session_id: &'a str, from: Option<String>) -> Self {
        Self { session_id, next: from, remembered: String::new(), taken: 0, power: 1 }
    }

    /// The next entry without its content; `None` behind the root.
    ///
    /// # Errors
    /// The chain is broken, or the store failed.
    pub(crate) fn step(&mut self, store: &mut dyn Store) -> Result<Option<Step>, StoreError> {
        let Some(id) = self.go_on()? else { return Ok(None) };
        let step = store.step(self.session_id, &id)?.ok_or_else(|| self.missing(id))?;
        self.next.clone_from(&step.parent_id);
        Ok(Some(step))
    }

    /// The next entry; `None` behind the root.
    ///
    /// # Errors
    /// The chain is broken, or the store failed.
    pub(crate) fn entry(&mut self, store: &mut dyn Store) -> Result<Option<Arc<SessionEntry>>, StoreError> {
        let Some(id) = self.go_on()? else { return Ok(None) };
        let entry = store.entry(self.session_id, &id)?.ok_or_else(|| self.missing(id))?;
        self.next = parent_id(&entry).map(ToOwned::to_owned);
        Ok(Some(entry))
    }

    fn go_on(&mut self) -> Result<Option<String>, StoreError> {
        let Some(id) = self.next.take() else { return Ok(None) };
        if self.taken > 0 && id == self.remembered {
            return Err(StoreError::Cycle { session_id: self.session_id.to_owned(), entry_id: id });
        }
        if self.taken + 1 >= self.power {
            self.remembered.clone_from(&id);
            self.power *= 2;
        }
        self.taken += 1;
        Ok(Some(id))
    }

    fn missing(&self, entry_id: String) -> StoreError {
        StoreError::MissingEntry { session_id: self.session_id.to_owned(), entry_id }
    }
}

/// Id of an entry.
pub(crate) fn id(entry: &SessionEntry) -> &str {
    match entry {
        SessionEntry::Message(entry) => &entry.id,
        SessionEntry::Custom(entry) => &entry.id,
        _ => "",
    }
}

/// Parent of an entry.
pub(crate) fn parent_id(entry: &SessionEntry) -> Option<&str> {
    match entry {
        SessionEntry::Message(entry) => entry.parent_id.value(),
        SessionEntry::Custom(entry) => entry.parent_id.value(),
        _ => None,
    }
    .map(String::as_str)
}

/// Hangs an entry elsewhere.
pub(crate) fn set_parent(entry: &mut SessionEntry, parent: Option<String>) {
    match entry {
        SessionEntry::Message(entry) => entry.parent_id = always(parent),
        SessionEntry::Custom(entry) => entry.parent_id = always(parent),
        _ => {}
    }
}

/// When an entry was made.
pub(crate) fn timestamp(entry: &SessionEntry) -> i64 {
    match entry {
        SessionEntry::Message(entry) => entry.timestamp,
        SessionEntry::Custom(entry) => entry.timestamp,
        _ => 0,
    }
}

/// Role of the message in an entry; `None` for a custom entry.
pub(crate) fn role(entry: &SessionEntry) -> Option<Role> {
    match entry {
        SessionEntry::Message(entry) => super::event::role_of(&entry.message),
        _ => None,
    }
}

/// A record as it is kept: optional members without a value are left out, `kind` is there (SF-WIRE-4, SF-GET-2).
pub(crate) fn settled_meta(mut meta: SessionMeta) -> SessionMeta {
    use super::members::given;
    meta.kind = Some(meta.kind.unwrap_or(msp_types::session::SessionKind::User));
    meta.status_reason = given(taken(meta.status_reason));
    meta.metadata = given(taken(meta.metadata));
    meta.forked_from = given(taken(meta.forked_from));
    meta.draft = given(taken(meta.draft));
    meta.draft_attachments = given(taken(meta.draft_attachments));
    meta
}
