//! Checkpoints: the state after a record, written beside the log now and then. Derived: without one a load folds the whole log.
//!
//! A checkpoint is believed if the log still has its record where it says. If nothing was appended since, the file must also be
//! unchanged, so that damage done to a log at rest is seen.

use std::io;

use serde::{Deserialize, Serialize};

use super::{Line, Log};
use crate::state::State;

const NAME: &str = "session.checkpoint";
const VERSION: u32 = 1;

/// Records between two checkpoints, at least; more where a checkpoint is large, so that writing them stays a small part of the work.
const EVERY: u64 = 4096;
const BYTES_A_RECORD: u64 = 64;

/// When the next checkpoint is due.
#[derive(Debug, Default)]
pub struct Due {
    written_at: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Checkpoint<S> {
    v: u32,
    /// Bytes of the log that it covers.
    covers: u64,
    /// Where its last record begins.
    last_at: u64,
    /// The log's stamp at the time.
    stamp: Option<u64>,
    state: S,
}

impl Due {
    /// Writes a checkpoint if it is time for one.
    ///
    /// # Errors
    /// Of the disk. The log is not touched by it.
    pub fn write_if_due(&mut self, log: &Log, state: &State) -> io::Result<()> {
        let since = state.last.sequence.saturating_sub(self.written_at);
        if since < EVERY || since * BYTES_A_RECORD < self.bytes {
            return Ok(());
        }
        self.write(log, state)
    }

    /// Writes a checkpoint now.
    ///
    /// # Errors
    /// Of the disk. The log is not touched by it.
    pub fn write(&mut self, log: &Log, state: &State) -> io::Result<()> {
        if !log.is_writable() || state.last.sequence == 0 {
            return Ok(());
        }
        let last_at = log.offset_of(state.last.sequence)?;
        let checkpoint = Checkpoint { v: VERSION, covers: log.length(), last_at, stamp: log.stamp(), state };
        let bytes = serde_json::to_vec(&checkpoint)?;
        log.write_beside(NAME, &bytes)?;
        *self = Self { written_at: state.last.sequence, bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX) };
        Ok(())
    }
}

/// The newest state that is written down, and where the log goes on behind it; the empty one at the beginning otherwise.
pub fn read(log: &Log) -> (State, u64) {
    believed(log).unwrap_or_default()
}

fn believed(log: &Log) -> Option<(State, u64)> {
    let bytes = log.read_beside(NAME).ok()??;
    let checkpoint: Checkpoint<State> = serde_json::from_slice(&bytes).ok()?;
    let Checkpoint { v, covers, last_at, stamp, mut state } = checkpoint;
    let unchanged = covers < log.length() || (stamp.is_some() && stamp == log.stamp());
    if v != VERSION || covers > log.length() || !unchanged || log.indexed() < state.last.sequence {
        return None;
    }
    let mut there = false;
    let scanned = log.scan(last_at, |line| {
        there = matches!(line, Line::Record(record, at) if record.sequence == state.last.sequence && at == last_at);
        false
    });
    scanned.ok().filter(|()| there)?;
    state.forget_ephemeral();
    Some((state, covers))
}
