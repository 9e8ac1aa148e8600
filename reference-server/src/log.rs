//! The log of a session: a folder with `session.jsonl`, its lease, and derived files that may be deleted at any time.
//!
//! - `session.jsonl`: the truth. One [`Record`] a line, only ever appended to, synced before anything of it is told to anyone.
//! - `session.lock`: locked while a host has the session loaded; the operating system frees it when the process dies.
//! - `session.checkpoint`: derived; the state after a record, so that a load need not fold what is before it.
//! - `session.index`: derived; where each record begins, eight bytes a record, so that a page need not read what it does not show.
//!
//! At open a last line without line feed is cut, and so is a last commit that is not whole (neither was ever told to anyone). Any
//! other unreadable line is *damage*: it stays where it is, is reported to whoever reads, and never repaired.

pub mod checkpoint;
pub mod layer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::layer::{Layer, Lease};
use crate::record::Record;

/// Bytes read from the log at once.
const CHUNK: usize = 128 * 1024;
/// Records after which what is derived is written down.
const FLUSH_EVERY: usize = 512;

/// The log of one session, open for reading and, with its lease, for writing.
#[derive(Debug)]
pub struct Log {
    layer: Arc<dyn Layer>,
    folder: PathBuf,
    length: u64,
    index: Index,
    lease: Option<Lease>,
}

/// Where the records begin: what the derived file has, and what is not written there yet.
#[derive(Debug, Default)]
struct Index {
    written: u64,
    tail: Vec<u64>,
}

/// A line of the log.
#[derive(Debug)]
pub enum Line {
    /// A record, and where it begins.
    Record(Box<Record>, u64),
    /// Something that is no record.
    Damage {
        /// Where it begins.
        offset: u64,
        /// Bytes, with the line feed.
        length: u64,
    },
}

impl Log {
    /// The log in a folder, for reading.
    ///
    /// # Errors
    /// Of the disk.
    pub fn read_only(layer: Arc<dyn Layer>, folder: &Path) -> io::Result<Self> {
        Self::attach(layer, folder, None)
    }

    fn attach(layer: Arc<dyn Layer>, folder: &Path, lease: Option<Lease>) -> io::Result<Self> {
        let length = layer.length(&folder.join("session.jsonl"))?.unwrap_or(0);
        let mut log = Self { layer, folder: folder.to_owned(), length, index: Index::default(), lease };
        log.length = log.whole_commits()?;
        log.read_index()?;
        Ok(log)
    }

    /// The log in a folder, made if missing, for writing; `None` when another process has it.
    ///
    /// # Errors
    /// Of the disk.
    pub fn open(layer: Arc<dyn Layer>, folder: &Path) -> io::Result<Option<Self>> {
        layer.create_dir(folder)?;
        let Some(lease) = layer.lease(&folder.join("session.lock"))? else { return Ok(None) };
        let log = Self::attach(layer, folder, Some(lease))?;
        if log.layer.length(&log.path())?.is_some_and(|length| length > log.length) {
            log.layer.truncate(&log.path(), log.length)?;
        }
        Ok(Some(log))
    }

    /// The log as it is now, to be read while it grows.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let (layer, folder) = (Arc::clone(&self.layer), self.folder.clone());
        Self { layer, folder, length: self.length, index: Index::default(), lease: None }
    }

    /// The file of records.
    pub fn path(&self) -> PathBuf {
        self.folder.join("session.jsonl")
    }

    /// Whether it has no record at all.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends records and returns once they are on the disk.
    ///
    /// # Errors
    /// Of the disk; then nothing of it may be told to anyone.
    pub fn append(&mut self, records: &[Record]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut starts = Vec::with_capacity(records.len());
        for record in records {
            starts.push(self.length + u64::try_from(bytes.len()).unwrap_or(0));
            serde_json::to_writer(&mut bytes, record)?;
            bytes.push(b'\n');
        }
        self.layer.append(&self.path(), &bytes)?;
        self.layer.sync(&self.path())?;
        self.length += u64::try_from(bytes.len()).unwrap_or(0);
        for (record, start) in records.iter().zip(starts) {
            self.index.put(record.sequence, start);
        }
        if self.index.tail.len() >= FLUSH_EVERY {
            self.flush_index()?;
        }
        Ok(())
    }

    /// Reads lines from a place on, in order, until the end or until `visit` says `false`.
    ///
    /// # Errors
    /// Of the disk.
    pub fn scan(&self, from: u64, mut visit: impl FnMut(Line) -> bool) -> io::Result<()> {
        let (mut offset, mut at, mut pending) = (from, from, Vec::new());
        while at < self.length {
            let want = usize::try_from(self.length - at).unwrap_or(CHUNK).min(CHUNK);
            let chunk = self.layer.read(&self.path(), at, want)?;
            if chunk.is_empty() {
                break; // shorter than it was: somebody cut it
            }
            at += u64::try_from(chunk.len()).unwrap_or(0);
            pending.extend_from_slice(&chunk);
            let mut start = 0;
            while let Some(end) = pending[start..].iter().position(|&byte| byte == b'\n').map(|end| start + end) {
                let length = u64::try_from(end + 1 - start).unwrap_or(0);
                let line = match serde_json::from_slice::<Record>(&pending[start..end]) {
                    Ok(record) => Line::Record(Box::new(record), offset),
                    Err(_) => Line::Damage { offset, length },
                };
                offset += length;
                start = end + 1;
                if !visit(line) {
                    return Ok(());
                }
            }
            pending.drain(..start);
        }
        Ok(())
    }

    /// Tells the index where a record begins that a scan came across.
    pub fn note(&mut self, sequence: u64, offset: u64) {
        self.index.put(sequence, offset);
    }

    /// Where the first record with at least this number begins.
    ///
    /// # Errors
    /// Of the disk.
    pub fn offset_of(&self, sequence: u64) -> io::Result<u64> {
        let Some(at) = sequence.checked_sub(1) else { return Ok(0) };
        if at < self.index.written {
            let bytes = self.layer.read(&self.index_path(), at * 8, 8)?;
            if let Ok(bytes) = bytes.try_into() {
                return Ok(u64::from_le_bytes(bytes));
            }
        }
        let tail = usize::try_from(at.saturating_sub(self.index.written)).unwrap_or(usize::MAX);
        Ok(self.index.tail.get(tail).copied().unwrap_or(self.length))
    }

    /// How many records the index knows.
    pub fn indexed(&self) -> u64 {
        self.index.written + u64::try_from(self.index.tail.len()).unwrap_or(0)
    }

    /// Writes derived data down; what fails here is made again at the next open.
    ///
    /// # Errors
    /// Of the disk.
    pub fn flush_index(&mut self) -> io::Result<()> {
        if self.lease.is_none() || self.index.tail.is_empty() {
            return Ok(());
        }
        let bytes: Vec<u8> = self.index.tail.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        self.layer.append(&self.index_path(), &bytes)?;
        self.layer.close(&self.index_path()); // it is seldom written
        self.index.written += u64::try_from(self.index.tail.len()).unwrap_or(0);
        self.index.tail.clear();
        Ok(())
    }

    /// Bytes of whole lines.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// A number that changes whenever somebody changes the file; `None` where the disk has none.
    pub fn stamp(&self) -> Option<u64> {
        self.layer.stamp(&self.path()).ok().flatten()
    }

    /// Whether this host may write it.
    pub fn is_writable(&self) -> bool {
        self.lease.is_some()
    }

    /// Writes derived data down and lets the lease go: from here on the log is for reading.
    ///
    /// # Errors
    /// Of the disk; the lease is gone all the same.
    pub fn release(&mut self) -> io::Result<()> {
        let flushed = self.flush_index();
        self.layer.close(&self.path());
        self.lease = None;
        flushed
    }

    /// Reads a derived file beside the log; `None` where there is none.
    ///
    /// # Errors
    /// Of the disk.
    pub fn read_beside(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.folder.join(name);
        match self.layer.length(&path)? {
            Some(length) => Ok(Some(self.layer.read(&path, 0, usize::try_from(length).unwrap_or(usize::MAX))?)),
            None => Ok(None),
        }
    }

    /// Writes a derived file beside the log.
    ///
    /// # Errors
    /// Of the disk.
    pub fn write_beside(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.layer.replace(&self.folder.join(name), bytes)
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join("session.index")
    }

    /// Bytes up to and with the last commit that is whole.
    fn whole_commits(&self) -> io::Result<u64> {
        let mut end = self.line_before(self.length)?;
        while end > 0 {
            // Without its line feed, the line's own beginning is what follows the one before it.
            let start = self.line_before(end - 1)?;
            let line = self.layer.read(&self.path(), start, usize::try_from(end - start).unwrap_or(0))?;
            if !serde_json::from_slice::<Record>(&line).is_ok_and(|record| record.more) {
                break;
            }
            end = start;
        }
        Ok(end)
    }

    /// Where the last line that ends before a place ends: bytes up to and with its line feed.
    fn line_before(&self, place: u64) -> io::Result<u64> {
        let (mut end, mut step) = (place, 4096);
        while end > 0 {
            let start = end.saturating_sub(step);
            let chunk = self.layer.read(&self.path(), start, usize::try_from(end - start).unwrap_or(0))?;
            if let Some(at) = chunk.iter().rposition(|&byte| byte == b'\n') {
                return Ok(start + u64::try_from(at).unwrap_or(0) + 1);
            }
            end = start;
            step = (step * 4).min(u64::try_from(CHUNK).unwrap_or(4096));
        }
        Ok(0)
    }

    /// Trusts the index as far as its last entry leads to a record of that number.
    fn read_index(&mut self) -> io::Result<()> {
        let entries = self.layer.length(&self.index_path())?.unwrap_or(0) / 8;
        let Some(last) = entries.checked_sub(1) else { return Ok(()) };
        self.index.written = entries;
        let offset = self.offset_of(entries)?;
        let mut good = false;
        if offset < self.length {
            self.scan(offset, |line| {
                good = matches!(line, Line::Record(record, at) if record.sequence == last + 1 && at == offset);
                false
            })?;
        }
        if !good {
            self.index.written = 0; // made anew by whoever scans the log
            if self.lease.is_some() {
                self.layer.truncate(&self.index_path(), 0)?;
            }
        }
        Ok(())
    }
}

impl Index {
    /// Notes a record; numbers that damage swallowed lead to the next good one.
    fn put(&mut self, sequence: u64, offset: u64) {
        let known = self.written + u64::try_from(self.tail.len()).unwrap_or(0);
        for _ in known..sequence {
            self.tail.push(offset);
        }
    }
}
