//! The sessions root: where the folders of sessions are, and what is in them.
//!
//! `<root>/<year>/<month>/<day>/<session id>/session.jsonl`, by the day on which the session was made. Reading takes no lease.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use msp_types::msp::errors;

use crate::fold;
use crate::log::layer::Layer;
use crate::log::{Line, Log, checkpoint};
use crate::mint::is_uuid;

use crate::refusal::Refusal;
use crate::state::{Damage, State};
use crate::time;

/// A sessions root.
#[derive(Debug)]
pub struct Store {
    /// The disk.
    pub layer: Arc<dyn Layer>,
    /// The folder.
    pub root: PathBuf,
}

/// A session as its log has it.
#[derive(Debug)]
pub struct Stored {
    /// Its state.
    pub state: State,
    /// Its log.
    pub log: Log,
}

impl Store {
    /// A store below a folder, which need not exist.
    pub fn new(layer: Arc<dyn Layer>, root: PathBuf) -> Self {
        Self { layer, root }
    }

    /// The folder of a new session.
    pub fn folder(&self, session_id: &str, created_at: i64) -> PathBuf {
        let (year, month, day) = time::day(created_at);
        self.root.join(year).join(month).join(day).join(session_id)
    }

    /// The folder of a stored session.
    ///
    /// # Errors
    /// −32020 when there is none, −32022 when there are several.
    pub fn find(&self, session_id: &str) -> Result<PathBuf, Refusal> {
        let mut found = self.days().map_err(|error| unreadable(&error))?;
        for day in &mut found {
            day.push(session_id);
        }
        // An id is a name, never a path out of the root.
        found.retain(|folder| is_uuid(session_id, false) && self.has_log(folder));
        match found.as_slice() {
            [] => Err(Refusal::session_not_found(session_id)),
            [folder] => Ok(folder.clone()),
            several => {
                let paths: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
                let message = format!("{} stored sessions have the id `{session_id}`", paths.len());
                Err(Refusal::new(errors::SESSION_AMBIGUOUS, message).with("sessionId", session_id).with("paths", paths))
            }
        }
    }

    /// Folders of all stored sessions, oldest day first.
    ///
    /// # Errors
    /// Of the disk.
    pub fn folders(&self) -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for day in self.days()? {
            let names = self.layer.list(&day)?;
            folders.extend(names.iter().filter(|name| is_uuid(name, false)).map(|name| day.join(name)));
        }
        folders.retain(|folder| self.has_log(folder));
        Ok(folders)
    }

    /// Reads a stored session without its lease.
    ///
    /// # Errors
    /// As [`Store::find`], and −32025 when the log is another session's.
    pub fn read(&self, session_id: &str) -> Result<Stored, Refusal> {
        let folder = self.find(session_id)?;
        let log = Log::read_only(Arc::clone(&self.layer), &folder).map_err(|error| unreadable(&error))?;
        read_state(log, session_id)
    }

    /// Takes the lease of a stored session and reads it.
    ///
    /// # Errors
    /// As [`Store::read`], and −32021 when another process has the lease.
    pub fn open(&self, session_id: &str) -> Result<Stored, Refusal> {
        let folder = self.find(session_id)?;
        let log = Log::open(Arc::clone(&self.layer), &folder).map_err(|error| unreadable(&error))?;
        read_state(log.ok_or_else(|| in_use(session_id))?, session_id)
    }

    /// Makes the folder of a new session and takes its lease.
    ///
    /// # Errors
    /// −32021 when another process has it, −32603 when the disk fails.
    pub fn create(&self, session_id: &str, created_at: i64) -> Result<Log, Refusal> {
        let log = Log::open(Arc::clone(&self.layer), &self.folder(session_id, created_at));
        log.map_err(|error| unreadable(&error))?.ok_or_else(|| in_use(session_id))
    }

    fn has_log(&self, folder: &Path) -> bool {
        self.layer.length(&folder.join("session.jsonl")).is_ok_and(|length| length.is_some())
    }

    fn days(&self) -> io::Result<Vec<PathBuf>> {
        let mut folders = vec![self.root.clone()];
        for _ in 0..3 {
            let mut below = Vec::new();
            for folder in folders {
                let names = self.layer.list(&folder)?;
                let number = |name: &&String| name.bytes().all(|byte| byte.is_ascii_digit());
                below.extend(names.iter().filter(number).map(|name| folder.join(name)));
            }
            folders = below;
        }
        Ok(folders)
    }
}

/// Folds a whole log.
fn read_state(mut log: Log, session_id: &str) -> Result<Stored, Refusal> {
    let (mut state, from) = checkpoint::read(&log);
    let mut damage: Option<Damage> = None;
    let (mut starts, indexed) = (Vec::new(), log.indexed());
    let scanned = log.scan(from, |line| {
        match line {
            Line::Record(record, offset) => {
                if record.sequence > indexed {
                    starts.push((record.sequence, offset));
                }
                note_damage(&mut state, &mut damage, record.sequence, record.at);
                fold::apply(&mut state, &record);
            }
            Line::Damage { .. } => open_damage(&state, &mut damage).unreadable += 1,
        }
        true
    });
    scanned.map_err(|error| unreadable(&error))?;
    for (sequence, offset) in starts {
        log.note(sequence, offset);
    }
    if state.header.session_id != session_id {
        let message = format!("the log stored for session `{session_id}` belongs to another");
        return Err(Refusal::new(errors::SESSION_STREAM_MISMATCH, message).with("sessionId", session_id));
    }
    Ok(Stored { state, log })
}

/// Closes a damage before a record that could be read, where there is one.
fn note_damage(state: &mut State, damage: &mut Option<Damage>, sequence: u64, at: i64) {
    let missing = sequence.saturating_sub(state.last.sequence + 1);
    if missing > 0 {
        open_damage(state, damage).missing = missing;
    }
    if let Some(mut damage) = damage.take() {
        damage.after_at = Some(at);
        let item = damage.item(&state.header.session_id);
        let item_id = item.get("itemId").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        state.items.put(&item_id, item);
        state.damages.push(damage);
    }
}

fn open_damage<'a>(state: &State, damage: &'a mut Option<Damage>) -> &'a mut Damage {
    damage.get_or_insert_with(|| Damage {
        after: state.last.sequence,
        before_at: (state.last.sequence > 0).then_some(state.updated_at),
        unreadable: 0,
        missing: 0,
        after_at: None,
        last_good_turn: state
            .turns
            .ended
            .iter()
            .max_by_key(|(_, end)| end.sequence)
            .map(|(turn_id, _)| turn_id.clone()),
    })
}

fn in_use(session_id: &str) -> Refusal {
    Refusal::new(errors::SESSION_IN_USE, format!("another host has session `{session_id}`"))
        .with("sessionId", session_id)
}

fn unreadable(error: &io::Error) -> Refusal {
    Refusal::internal(format!("the session store failed: {error}"))
}
