//! The streams of a log: which there are, where each begins and ends, and which record stands where.
//!
//! Logs are long, so they are read in slices of a snapshot, and whatever else the host has to do is done in between.

use msp_types::msp::errors;
use serde_json::{Value, json};

use crate::log::{Line, Log};
use crate::record::Record;
use crate::refusal::Refusal;
use crate::session::followers::{position, stream};
use crate::state::State;

/// Bytes of a slice.
const SLICE: u64 = 1024 * 1024;

/// The streams of a log.
#[derive(Debug, Default)]
pub struct Streams {
    /// By first appearance: stream, first position, last position.
    all: Vec<(Value, Value, Value)>,
    records: usize,
}

/// A place in a stream that somebody named, while it is looked for.
#[derive(Debug)]
pub(super) struct Anchor {
    stream: Value,
    position: Value,
    found: Option<Found>,
}

#[derive(Debug)]
enum Found {
    /// The record of this number.
    Here(u64),
    /// In another stream.
    Elsewhere(Value),
}

/// Reads the streams of a log.
///
/// # Errors
/// −32603 when the disk fails.
pub async fn read(log: &Log) -> Result<Streams, Refusal> {
    let mut streams = Streams::default();
    scan(log, |record| {
        streams.add(record);
        true
    })
    .await?;
    Ok(streams)
}

/// Visits the records of a log in order until `visit` says `false`.
///
/// # Errors
/// −32603 when the disk fails.
pub(super) async fn scan(log: &Log, mut visit: impl FnMut(&Record) -> bool) -> Result<(), Refusal> {
    let mut from = 0;
    loop {
        let mut next = None;
        let scanned = log.scan(from, |line| match line {
            Line::Record(_, offset) | Line::Damage { offset, .. } if offset >= from + SLICE => {
                next = Some(offset);
                false
            }
            Line::Record(record, _) => visit(&record),
            Line::Damage { .. } => true, // no record, so in no stream
        });
        scanned.map_err(|error| Refusal::internal(format!("the log could not be read: {error}")))?;
        let Some(next) = next else { return Ok(()) };
        from = next;
        tokio::task::yield_now().await;
    }
}

/// Whether a session has a stream.
///
/// # Errors
/// −32063.
pub(super) fn check(state: &State, stream: &Value) -> Result<(), Refusal> {
    let text = |member: &str| stream[member].as_str().unwrap_or_default();
    if state.streams.contains_key(&format!("{}/{}", text("kind"), text("id"))) {
        return Ok(());
    }
    Err(Refusal::new(errors::UNKNOWN_STREAM, "the session has no such stream").with("stream", stream.clone()))
}

impl Streams {
    fn add(&mut self, record: &Record) {
        let (stream, position) = (stream(record), position(record));
        self.records += 1;
        match self.all.iter_mut().find(|(known, ..)| *known == stream) {
            Some((.., tail)) => *tail = position,
            None => self.all.push((stream, position.clone(), position)),
        }
    }

    /// The rows of `log/streams`.
    pub fn rows(&self) -> Vec<Value> {
        let row = |(stream, first, tail): &(Value, Value, Value)| json!({ "stream": stream, "firstAvailable": first, "tail": tail, "prunedThrough": null });
        self.all.iter().map(row).collect()
    }

    /// A cursor behind the last record of each stream.
    pub fn tails(&self) -> Vec<Value> {
        self.all.iter().map(|(stream, _, tail)| json!({ "stream": stream, "after": tail })).collect()
    }

    /// How many records there are.
    pub fn record_count(&self) -> usize {
        self.records
    }
}

impl Anchor {
    pub(super) fn new(stream: Value, position: Value) -> Self {
        Self { stream, position, found: None }
    }

    /// Looks at a record; `true` once it is found, wherever it is.
    pub(super) fn look(&mut self, record: &Record) -> bool {
        if self.found.is_none() && self.position == position(record) {
            let stream = stream(record);
            let here = stream == self.stream;
            self.found = Some(if here { Found::Here(record.sequence) } else { Found::Elsewhere(stream) });
        }
        self.found.is_some()
    }

    /// The number of the record.
    ///
    /// # Errors
    /// −32062 for a position of another stream, −32060 for a position that is nowhere.
    pub(super) fn found(self) -> Result<u64, Refusal> {
        match self.found {
            Some(Found::Here(sequence)) => Ok(sequence),
            Some(Found::Elsewhere(stream)) => {
                Err(Refusal::new(errors::WRONG_STREAM, "the position belongs to another stream")
                    .with("requestedStream", self.stream)
                    .with("cursorStream", stream))
            }
            None => Err(Refusal::new(errors::MISSING_ANCHOR, "the stream has no such position")
                .with("stream", self.stream)
                .with("after", self.position)),
        }
    }
}
