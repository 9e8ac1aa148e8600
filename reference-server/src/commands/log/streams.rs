//! The streams of a log: which there are, where each begins and ends, and which record stands where.

use std::collections::BTreeMap;

use msp_types::msp::errors;
use serde_json::{Value, json};

use crate::log::{Line, Log};
use crate::record::Record;
use crate::refusal::Refusal;

/// The streams of a log.
#[derive(Debug, Default)]
pub struct Streams {
    /// By first appearance: stream, first position, last position.
    all: Vec<(Value, Value, Value)>,
    /// By record id: its stream and its number there.
    places: BTreeMap<String, (usize, u64)>,
}

/// Reads the streams of a log.
///
/// # Errors
/// −32603 when the disk fails.
pub fn read(log: &Log) -> Result<Streams, Refusal> {
    let mut streams = Streams::default();
    scan(log, |record| {
        let (stream, position) = super::place(record);
        let at = streams.all.iter().position(|(known, ..)| *known == stream).unwrap_or(streams.all.len());
        match streams.all.get_mut(at) {
            Some((.., tail)) => *tail = position,
            None => streams.all.push((stream, position.clone(), position)),
        }
        streams.places.insert(record.id.clone(), (at, record.stream.sequence));
        true
    })?;
    Ok(streams)
}

/// Visits the records of a stream behind a number, until `visit` says `false`.
///
/// # Errors
/// −32603 when the disk fails.
pub(super) fn visit(
    log: &Log,
    stream: &Value,
    after: u64,
    mut visit: impl FnMut(&Record) -> bool,
) -> Result<(), Refusal> {
    let wanted = |record: &Record| *stream == super::stream(record) && record.stream.sequence > after;
    scan(log, |record| !wanted(record) || visit(record))
}

fn scan(log: &Log, mut visit: impl FnMut(&Record) -> bool) -> Result<(), Refusal> {
    let scanned = log.scan(0, |line| match line {
        Line::Record(record, _) => visit(&record),
        Line::Damage { .. } => true, // no record, so in no stream
    });
    scanned.map_err(|error| Refusal::internal(format!("the log could not be read: {error}")))
}

impl Streams {
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
        self.places.len()
    }

    /// The last position of a stream.
    pub fn tail(&self, stream: &Value) -> Value {
        self.all.iter().find(|(known, ..)| known == stream).map(|(.., tail)| tail.clone()).unwrap_or_default()
    }

    /// Whether there is such a stream.
    ///
    /// # Errors
    /// −32063.
    pub fn check(&self, stream: &Value) -> Result<(), Refusal> {
        if self.all.iter().any(|(known, ..)| known == stream) {
            return Ok(());
        }
        Err(Refusal::new(errors::UNKNOWN_STREAM, "the session has no such stream").with("stream", stream.clone()))
    }

    /// The number of a position in a stream.
    ///
    /// # Errors
    /// −32063 for an unknown stream, −32062 for a position of another one, −32060 for a position that is nowhere.
    pub fn find(&self, stream: &Value, position: &Value) -> Result<u64, Refusal> {
        self.check(stream)?;
        let place = position["id"].as_str().and_then(|id| self.places.get(id));
        match place.filter(|(_, sequence)| position["sequence"] == *sequence) {
            Some((at, sequence)) if self.all[*at].0 == *stream => Ok(*sequence),
            Some((at, _)) => Err(Refusal::new(errors::WRONG_STREAM, "the position belongs to another stream")
                .with("requestedStream", stream.clone())
                .with("cursorStream", self.all[*at].0.clone())),
            None => Err(Refusal::new(errors::MISSING_ANCHOR, "the stream has no such position")
                .with("stream", stream.clone())
                .with("after", position.clone())),
        }
    }
}
