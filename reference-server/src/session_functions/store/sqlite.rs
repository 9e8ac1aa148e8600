//! The store that the configuration calls `fs`: one `SQLite` file in a folder, with a write-ahead log, synced at every commit.
//!
//! The file belongs to one process at a time. Session records are also held in memory, in the orders in which they are listed; entries and
//! attachments are read from the file. A row whose JSON is damaged counts as absent, and costs nothing else (SF-PERSIST-4).

mod layout;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use msp_types::session::{AttachmentMeta, ListOrder, Role, SessionEntry, SessionMeta};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::catalogue::Catalogue;
use super::{Attachment, Change, Position, Step, Store, StoreError, id, parent_id, role};

/// Name of the file in its folder.
const FILE: &str = "sessions.sqlite";

/// Keeps everything in one file.
pub struct Sqlite {
    connection: Connection,
    catalogue: Catalogue,
    rows: HashMap<String, Row>,
}

/// What is known of a session id without reading the file.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    key: i64,
    leaf: Option<String>,
    /// The leaf was set on its own, and no record came since.
    open: bool,
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.connection.path()).finish_non_exhaustive()
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Sqlite {
    /// Opens the file in a folder, and makes both where they are missing.
    ///
    /// # Errors
    /// A text for the user that names the file: it cannot be made or opened, another process has it, it is no store, or one of a newer
    /// version.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let failed = |path: &Path, error: &dyn fmt::Display| format!("store `{}`: {error}", path.display());
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        let path = folder.join(FILE);
        let connection = layout::open(&path).map_err(|error| failed(&path, &error))?;
        let mut store = Self { connection, catalogue: Catalogue::default(), rows: HashMap::new() };
        store.load().map_err(|error| failed(&path, &error))?;
        Ok(store)
    }

    fn load(&mut self) -> rusqlite::Result<()> {
        let mut query = self.connection.prepare("SELECT id, key, leaf, open, record FROM sessions")?;
        let mut rows = query.query(())?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            self.rows.insert(id, Row { key: row.get(1)?, leaf: row.get(2)?, open: row.get(3)? });
            if let Some(meta) = row.get::<_, Option<String>>(4)?.and_then(|record| parsed::<SessionMeta>(&record)) {
                self.catalogue.put(Arc::new(meta));
            }
        }
        Ok(())
    }

    fn key(&self, session_id: &str) -> Option<i64> {
        self.rows.get(session_id).map(|row| row.key)
    }

    /// All records of a table for a session.
    fn records<T: DeserializeOwned>(&self, sql: &str, session_id: &str) -> Result<Vec<T>, StoreError> {
        let Some(key) = self.key(session_id) else { return Ok(Vec::new()) };
        let mut query = self.connection.prepare_cached(sql)?;
        let texts = query.query_map([key], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        Ok(texts.iter().filter_map(|text| parsed(text)).collect())
    }
}

/// A record; `None` for a damaged one.
fn parsed<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn written(record: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(|error| StoreError::Failed(error.to_string()))
}

/// Changes at work: what the transaction has made of the rows, and of the catalogue once it is committed.
struct Work<'a> {
    transaction: Transaction<'a>,
    before: &'a HashMap<String, Row>,
    rows: HashMap<String, Option<Row>>,
    metas: Vec<(String, Option<Arc<SessionMeta>>)>,
}

impl Work<'_> {
    fn row(&self, session_id: &str) -> Option<Row> {
        self.rows.get(session_id).cloned().unwrap_or_else(|| self.before.get(session_id).cloned())
    }

    /// The row of a session id, made where it is missing.
    fn made(&mut self, session_id: &str) -> Result<Row, StoreError> {
        if let Some(row) = self.row(session_id) {
            return Ok(row);
        }
        self.transaction.prepare_cached("INSERT INTO sessions (id) VALUES (?1)")?.execute([session_id])?;
        let row = Row { key: self.transaction.last_insert_rowid(), leaf: None, open: false };
        self.rows.insert(session_id.to_owned(), Some(row.clone()));
        Ok(row)
    }

    fn set_leaf(&mut self, session_id: &str, leaf: Option<String>, open: bool) -> Result<(), StoreError> {
        let key = self.made(session_id)?.key;
        let mut update = self.transaction.prepare_cached("UPDATE sessions SET leaf = ?2, open = ?3 WHERE key = ?1")?;
        update.execute(params![key, leaf, open])?;
        self.rows.insert(session_id.to_owned(), Some(Row { key, leaf, open }));
        Ok(())
    }

    fn put_meta(&mut self, meta: Arc<SessionMeta>) -> Result<(), StoreError> {
        let row = self.made(&meta.session_id)?;
        if row.open {
            self.seal(&row)?;
            self.set_leaf(&meta.session_id, row.leaf, false)?;
        }
        let mut update = self.transaction.prepare_cached("UPDATE sessions SET record = ?2 WHERE key = ?1")?;
        update.execute(params![row.key, written(&*meta)?])?;
        self.metas.push((meta.session_id.clone(), Some(meta)));
        Ok(())
    }

    /// Commits the path of a leaf that was set on its own. A broken path ends where it breaks.
    fn seal(&self, row: &Row) -> Result<(), StoreError> {
        let mut commit = self
            .transaction
            .prepare_cached("UPDATE entries SET committed = 1 WHERE session = ?1 AND id = ?2 RETURNING parent")?;
        let (mut next, mut seen) = (row.leaf.clone(), HashSet::new());
        while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
            next = commit.query_row(params![row.key, id], |row| row.get(0)).optional()?.flatten();
        }
        Ok(())
    }

    fn put_entry(&mut self, session_id: &str, entry: &SessionEntry, committed: bool) -> Result<(), StoreError> {
        let key = self.made(session_id)?.key;
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO entries (session, id, parent, role, committed, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (session, id) DO UPDATE SET parent = excluded.parent, role = excluded.role,
                 committed = committed OR excluded.committed, record = excluded.record",
        )?;
        let role = role(entry);
        let role = role.as_ref().map(Role::as_str);
        insert.execute(params![key, id(entry), parent_id(entry), role, committed, written(entry)?])?;
        Ok(())
    }

    fn delete_meta(&mut self, session_id: &str) -> Result<(), StoreError> {
        let Some(row) = self.row(session_id) else { return Ok(()) };
        self.transaction.prepare_cached("UPDATE sessions SET record = NULL WHERE key = ?1")?.execute([row.key])?;
        let gone = self
            .transaction
            .prepare_cached(
                "DELETE FROM sessions WHERE key = ?1 AND leaf IS NULL
                     AND NOT EXISTS (SELECT 1 FROM entries WHERE session = ?1)
                     AND NOT EXISTS (SELECT 1 FROM attachments WHERE session = ?1)",
            )?
            .execute([row.key])?;
        if gone > 0 {
            self.rows.insert(session_id.to_owned(), None);
        }
        self.metas.push((session_id.to_owned(), None));
        Ok(())
    }

    /// Removes rows that belong to a session.
    fn delete(&self, sql: &str, session_id: &str) -> Result<(), StoreError> {
        if let Some(row) = self.row(session_id) {
            self.transaction.prepare_cached(sql)?.execute([row.key])?;
        }
        Ok(())
    }

    fn put_attachment(&mut self, attachment: &Attachment) -> Result<(), StoreError> {
        let Attachment { meta, bytes } = attachment;
        let key = self.made(&meta.session_id)?.key;
        let mut insert = self.transaction.prepare_cached(
            "INSERT OR REPLACE INTO attachments (session, id, record, bytes) VALUES (?1, ?2, ?3, ?4)",
        )?;
        insert.execute(params![key, meta.attachment_id, written(meta)?, bytes])?;
        Ok(())
    }

    fn change(&mut self, change: Change) -> Result<(), StoreError> {
        match change {
            Change::PutMeta(meta) => self.put_meta(meta),
            Change::PutEntry { session_id, entry, committed } => self.put_entry(&session_id, &entry, committed),
            Change::SetLeaf { session_id, entry_id, sealed } => self.set_leaf(&session_id, Some(entry_id), !sealed),
            Change::DeleteLeaf(session_id) if self.row(&session_id).is_none() => Ok(()),
            Change::DeleteLeaf(session_id) => self.set_leaf(&session_id, None, false),
            Change::DeleteMeta(session_id) => self.delete_meta(&session_id),
            Change::DeleteEntries(session_id) => self.delete("DELETE FROM entries WHERE session = ?1", &session_id),
            Change::PutAttachment(attachment) => self.put_attachment(&attachment),
            Change::DeleteAttachment { session_id, attachment_id } => {
                if let Some(row) = self.row(&session_id) {
                    self.transaction
                        .prepare_cached("DELETE FROM attachments WHERE session = ?1 AND id = ?2")?
                        .execute(params![row.key, attachment_id])?;
                }
                Ok(())
            }
            Change::DeleteAttachments(session_id) => {
                self.delete("DELETE FROM attachments WHERE session = ?1", &session_id)
            }
        }
    }
}

impl Store for Sqlite {
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
        let Some(key) = self.key(session_id) else { return Ok(None) };
        let mut query = self.connection.prepare_cached("SELECT record FROM entries WHERE session = ?1 AND id = ?2")?;
        let text: Option<String> = query.query_row(params![key, entry_id], |row| row.get(0)).optional()?;
        Ok(text.and_then(|text| parsed(&text)).map(Arc::new))
    }

    fn step(&mut self, session_id: &str, entry_id: &str) -> Result<Option<Step>, StoreError> {
        let Some(key) = self.key(session_id) else { return Ok(None) };
        let mut query =
            self.connection.prepare_cached("SELECT parent, role FROM entries WHERE session = ?1 AND id = ?2")?;
        let step = query.query_row(params![key, entry_id], |row| {
            let role: Option<String> = row.get(1)?;
            Ok(Step { id: entry_id.to_owned(), parent_id: row.get(0)?, role: role.and_then(|role| role_named(&role)) })
        });
        Ok(step.optional()?)
    }

    fn entries(&mut self, session_id: &str) -> Result<Vec<Arc<SessionEntry>>, StoreError> {
        let entries: Vec<SessionEntry> =
            self.records("SELECT record FROM entries WHERE session = ?1 ORDER BY number", session_id)?;
        Ok(entries.into_iter().map(Arc::new).collect())
    }

    fn is_committed(&mut self, session_id: &str, entry_id: &str) -> Result<bool, StoreError> {
        let Some(key) = self.key(session_id) else { return Ok(false) };
        let mut query =
            self.connection.prepare_cached("SELECT committed FROM entries WHERE session = ?1 AND id = ?2")?;
        Ok(query.query_row(params![key, entry_id], |row| row.get(0)).optional()?.unwrap_or(false))
    }

    fn leaf(&mut self, session_id: &str) -> Result<Option<String>, StoreError> {
        Ok(self.rows.get(session_id).and_then(|row| row.leaf.clone()))
    }

    fn attachment_meta(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<AttachmentMeta>, StoreError> {
        let Some(key) = self.key(session_id) else { return Ok(None) };
        let mut query =
            self.connection.prepare_cached("SELECT record FROM attachments WHERE session = ?1 AND id = ?2")?;
        let text: Option<String> = query.query_row(params![key, attachment_id], |row| row.get(0)).optional()?;
        Ok(text.and_then(|text| parsed(&text)))
    }

    fn attachment(&mut self, session_id: &str, attachment_id: &str) -> Result<Option<Attachment>, StoreError> {
        let Some(key) = self.key(session_id) else { return Ok(None) };
        let mut query =
            self.connection.prepare_cached("SELECT record, bytes FROM attachments WHERE session = ?1 AND id = ?2")?;
        let found = query
            .query_row(params![key, attachment_id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)));
        Ok(found
            .optional()?
            .and_then(|(record, bytes)| Some(Attachment { meta: parsed(&record)?, bytes: bytes.into() })))
    }

    fn attachments(&mut self, session_id: &str) -> Result<Vec<AttachmentMeta>, StoreError> {
        self.records("SELECT record FROM attachments WHERE session = ?1", session_id)
    }

    fn apply(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        let (rows, metas) = {
            let transaction = self.connection.transaction()?;
            let mut work = Work { transaction, before: &self.rows, rows: HashMap::new(), metas: Vec::new() };
            for change in changes {
                work.change(change)?;
            }
            work.transaction.commit()?;
            (work.rows, work.metas)
        };
        for (session_id, row) in rows {
            match row {
                Some(row) => self.rows.insert(session_id, row),
                None => self.rows.remove(&session_id),
            };
        }
        for (session_id, meta) in metas {
            match meta {
                Some(meta) => self.catalogue.put(meta),
                None => self.catalogue.remove(&session_id),
            }
        }
        Ok(())
    }
}

fn role_named(text: &str) -> Option<Role> {
    [Role::User, Role::Assistant, Role::FunctionResult, Role::Custom].into_iter().find(|role| role.as_str() == text)
}
