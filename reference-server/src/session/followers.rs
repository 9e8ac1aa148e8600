//! Subscriptions to the raw log: to the records of one stream, or to the lines of the file.
//!
//! Both are told in [`Core::commit`], so that they see exactly what is on the disk, in its order. What a slow reader cannot take
//! waits in the log, or is a hole that is told when it reads again.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Core;
use crate::connection::{Connection, Delivery};
use crate::host::Host;
use crate::log::{Line, Log};
use crate::record::Record;

/// Bytes of the log that are read at once for somebody who is behind.
const SLICE: u64 = 1024 * 1024;
/// The same for lines, unless one is longer.
const WINDOW: usize = 256 * 1024;
/// Room that is left in a frame for what stands around a record or a chunk.
const AROUND: usize = 1024;

/// Who follows the log of a session.
#[derive(Debug, Default)]
pub struct Followers {
    records: Vec<RecordFollower>,
    lines: Vec<LineFollower>,
    /// Connections that somebody waits for to read on.
    watched: Vec<Arc<Connection>>,
}

/// A subscription to one stream.
#[derive(Debug)]
pub struct RecordFollower {
    id: i64,
    connection: Arc<Connection>,
    stream: Value,
    /// Position of the last record that reached it, or behind which it began.
    delivered: Value,
    /// Number of the record up to which it has all, while it is behind: what is newer waits in the log.
    behind: Option<u64>,
    /// What was dropped after `delivered`, if anything was.
    dropped: Option<Dropped>,
    /// Whether everything is dropped, until it has read half of what waits for it.
    stalled: bool,
}

/// The end of a hole.
#[derive(Debug)]
struct Dropped {
    /// Number of the newest record in it.
    sequence: u64,
    /// Position of that one.
    position: Value,
    /// Position of the one before it, if that was dropped too.
    before: Option<Value>,
}

/// A subscription to the file.
#[derive(Debug)]
pub struct LineFollower {
    /// As `log/physicalSubscribe` answered.
    id: i64,
    connection: Arc<Connection>,
    /// Where the next line begins.
    offset: u64,
    /// What the client calls that line.
    ordinal: u64,
    /// Most bytes of a chunk.
    chunk: usize,
    /// Whether lines wait for it to read.
    waits: bool,
}

/// A record as the raw log shows it: storage names, and the body as it is stored (ENV-18).
pub fn envelope(record: &Record) -> Value {
    let body = serde_json::to_value(&record.body).unwrap_or_default();
    let payload = if body["data"].is_object() { body["data"].clone() } else { body.clone() };
    json!({
        "schema_version": record.v, "id": record.id, "sequence": record.stream.sequence,
        "stream": stream(record), "record_type": "event", "durability": "durable",
        "payload_type": format!("reference.{}", body["type"].as_str().unwrap_or_default()),
        "payload_schema_version": record.v, "payload": payload, "recorded_at": record.at, "causation_id": null,
    })
}

/// Whether a frame has room for a record.
fn fits(envelope: &Value, host: &Host) -> bool {
    envelope.to_string().len() + AROUND <= host.config.frame_limit
}

/// The stream of a record, as the wire names it.
pub fn stream(record: &Record) -> Value {
    json!({ "kind": record.stream.kind, "id": record.stream.id })
}

/// The position of a record in its stream.
pub fn position(record: &Record) -> Value {
    json!({ "id": record.id, "sequence": record.stream.sequence })
}

impl Followers {
    /// Ends a subscription to a stream.
    pub fn leave_records(&mut self, id: i64, connection: &Arc<Connection>) {
        self.records.retain(|follower| follower.id != id || !Arc::ptr_eq(&follower.connection, connection));
    }

    /// Ends a subscription to the file.
    pub fn leave_lines(&mut self, id: i64, connection: &Arc<Connection>) {
        self.lines.retain(|follower| follower.id != id || !Arc::ptr_eq(&follower.connection, connection));
    }

    /// Tells what was appended.
    fn tell(&mut self, records: &[Record], host: &Host, log: &Log) {
        for follower in &mut self.records {
            for record in records {
                follower.tell(record, host);
            }
        }
        self.lines.retain_mut(|follower| follower.tell(host, log));
    }

    /// Goes on with those of a connection that reads again; `true` when none of them waits any more.
    fn read_on(&mut self, connection: &Arc<Connection>, host: &Host, log: &Log) -> bool {
        let of = |other: &Arc<Connection>| Arc::ptr_eq(other, connection);
        for follower in self.records.iter_mut().filter(|follower| of(&follower.connection)) {
            if let Err(error) = follower.read_on(host, log) {
                host.complain(&format!("records of subscription {} could not be read: {error}", follower.id));
                follower.behind = None;
            }
        }
        self.lines.retain_mut(|follower| !of(&follower.connection) || follower.tell(host, log));
        let records = self.records.iter().filter(|follower| of(&follower.connection)).any(RecordFollower::waits);
        let waits = records || self.lines.iter().filter(|follower| of(&follower.connection)).any(|line| line.waits);
        if !waits {
            self.watched.retain(|other| !of(other));
        }
        !waits
    }

    /// Connections with something that waits for them to read, where nobody looks after that yet.
    fn unwatched(&mut self) -> Vec<Arc<Connection>> {
        let records = self.records.iter().filter(|follower| follower.waits()).map(|follower| &follower.connection);
        let lines = self.lines.iter().filter(|follower| follower.waits).map(|follower| &follower.connection);
        let mut new: Vec<Arc<Connection>> = Vec::new();
        for connection in records.chain(lines) {
            if !self.watched.iter().chain(&new).any(|other| Arc::ptr_eq(other, connection)) {
                new.push(Arc::clone(connection));
            }
        }
        self.watched.extend(new.iter().cloned());
        new
    }

    /// The session is let go: whoever follows the file hears of it last of all, and where it can go on.
    pub(super) fn unload(&mut self, host: &Host) {
        for follower in self.lines.drain(..) {
            follower.reset(host, "unloaded");
        }
        self.records.clear();
    }
}

impl RecordFollower {
    /// A subscription that has all up to `delivered`. With the number of that record it goes on from there, without one from now.
    pub fn new(id: i64, connection: Arc<Connection>, stream: Value, delivered: Value, behind: Option<u64>) -> Self {
        Self { id, connection, stream, delivered, behind, dropped: None, stalled: false }
    }

    fn waits(&self) -> bool {
        self.stalled || self.behind.is_some()
    }

    /// Delivers a record of its stream, or notes that it did not.
    fn tell(&mut self, record: &Record, host: &Host) {
        if self.behind.is_some() || self.stream != stream(record) {
            return;
        }
        if self.stalled && fits(&envelope(record), host) { self.note(record) } else { self.offer(record, host) }
    }

    fn note(&mut self, record: &Record) {
        let before = self.dropped.take().map(|dropped| dropped.position);
        self.dropped = Some(Dropped { sequence: record.sequence, position: position(record), before });
    }

    /// Queues a record behind the gap before it. One that fits no frame is a gap of its own: nobody pages for it, but for what was
    /// dropped before it one does.
    fn offer(&mut self, record: &Record, host: &Host) {
        let now_ms = host.mint.lock().now_ms();
        let envelope = envelope(record);
        let fits = fits(&envelope, host);
        let gap = |after: &Value, reason: &str| {
            let gap = json!({
                "subscriptionId": self.id, "stream": self.stream, "after": after, "next": position(record),
                "reason": reason,
            });
            self.connection.notification("log/gap", gap, now_ms)
        };
        let mut before = &self.delivered;
        let mut frames = Vec::with_capacity(2);
        if let Some(dropped) = &self.dropped {
            frames.extend(gap(before, "replayAnchorLost"));
            before = &dropped.position;
        }
        if fits {
            let params = json!({ "subscriptionId": self.id, "record": envelope });
            frames.extend(self.connection.notification("log/record", params, now_ms));
        } else {
            frames.extend(gap(before, "overFrame"));
        }
        let delivery = if fits { Delivery::Droppable } else { Delivery::Protected };
        if self.connection.send_all(frames, delivery) {
            self.delivered = position(record);
            self.dropped = None;
        } else {
            self.note(record);
            self.stalled = true;
        }
    }

    /// Goes on where it is behind; behind a hole, with the gap and the newest record.
    fn read_on(&mut self, host: &Host, log: &Log) -> std::io::Result<()> {
        self.stalled = false;
        if let Some(behind) = self.behind {
            let from = log.offset_of(behind + 1)?;
            let mut reached = behind;
            log.scan(from, |line| {
                let Line::Record(record, offset) = line else { return true };
                if offset > from + SLICE || !self.connection.outbox.has_room() {
                    return false;
                }
                if self.stream == stream(&record) {
                    self.offer(&record, host);
                }
                reached = record.sequence;
                true
            })?;
            self.behind = Some(reached).filter(|reached| *reached < log.indexed());
        } else if let Some(Dropped { sequence, before, .. }) = self.dropped.take() {
            self.dropped = before.map(|position| Dropped { sequence: 0, position, before: None });
            log.scan(log.offset_of(sequence)?, |line| {
                if let Line::Record(record, _) = line {
                    self.offer(&record, host);
                }
                false
            })?;
        }
        Ok(())
    }
}

impl LineFollower {
    /// A subscription from an offset on, which is the beginning of a line that the client calls `ordinal`.
    pub fn new(id: i64, connection: Arc<Connection>, offset: u64, ordinal: u64, chunk: usize) -> Self {
        Self { id, connection, offset, ordinal, chunk, waits: false }
    }

    /// Delivers the lines from its place on, as fast as they are read. False when a fault ended it, and was told.
    fn tell(&mut self, host: &Host, log: &Log) -> bool {
        let (layer, path) = (&host.store.layer, log.path());
        let fault = match layer.length(&path) {
            Ok(Some(length)) if length >= log.length() => None,
            Ok(Some(_)) => Some("truncated"),
            Ok(None) => Some("gone"),
            Err(_) => Some("corrupt"),
        };
        let fault = fault.or_else(|| self.tell_lines(host, log).err());
        if let Some(reason) = fault {
            self.reset(host, reason);
        }
        self.waits = self.offset < log.length();
        fault.is_none()
    }

    /// Lines while there is room for them: what waits in memory is one window, and the queue.
    fn tell_lines(&mut self, host: &Host, log: &Log) -> Result<(), &'static str> {
        let mut window = WINDOW;
        while self.offset < log.length() && self.connection.outbox.has_room() {
            let left = usize::try_from(log.length() - self.offset).unwrap_or(usize::MAX);
            let bytes = host.store.layer.read(&log.path(), self.offset, window.min(left)).map_err(|_| "corrupt")?;
            let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else {
                if bytes.len() < window {
                    return Err("corrupt"); // the log ends with a line feed
                }
                window *= 2; // for a line that is longer
                continue;
            };
            for line in bytes[..=end].split_inclusive(|&byte| byte == b'\n') {
                if !self.connection.outbox.has_room() {
                    break;
                }
                // What is no text can be in no frame.
                self.tell_line(host, std::str::from_utf8(line).map_err(|_| "corrupt")?);
            }
            window = WINDOW;
        }
        Ok(())
    }

    fn tell_line(&mut self, host: &Host, line: &str) {
        let end = self.offset + u64::try_from(line.len()).unwrap_or(0);
        let chunks = chunks(line.trim_end_matches('\n'), self.chunk);
        let now_ms = host.mint.lock().now_ms();
        for (index, data) in chunks.iter().enumerate() {
            let params = json!({
                "subscriptionId": self.id, "ordinal": self.ordinal, "data": data, "startOffset": self.offset,
                "endOffset": end, "chunk": { "index": index, "count": chunks.len() },
            });
            // A line that misses a chunk is worth nothing, and there is no gap to tell: the queue takes it all.
            let frames = self.connection.notification("log/physicalLine", params, now_ms).into_iter().collect();
            self.connection.send_all(frames, Delivery::Protected);
        }
        self.offset = end;
        self.ordinal = self.ordinal.saturating_add(1);
    }

    /// The last frame of a subscription.
    fn reset(&self, host: &Host, reason: &str) {
        let at = json!({ "byteOffset": self.offset, "nextOrdinal": self.ordinal });
        let params = json!({ "subscriptionId": self.id, "reason": reason, "at": at });
        let now_ms = host.mint.lock().now_ms();
        let frames = self.connection.notification("log/physicalReset", params, now_ms).into_iter().collect();
        self.connection.send_all(frames, Delivery::Protected);
    }
}

/// Cuts a line into pieces of at most so many bytes, between characters; an empty line is one empty piece.
fn chunks(line: &str, most: usize) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = line;
    while rest.len() > most {
        let at = (1..=most).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
        let (chunk, left) = rest.split_at(at);
        chunks.push(chunk);
        rest = left;
    }
    chunks.push(rest);
    chunks
}

impl Core {
    /// Adds a subscription to the file, and tells it what is there already.
    pub fn follow_lines(&mut self, mut follower: LineFollower) {
        if follower.tell(&self.host, &self.log) {
            self.followers.lines.push(follower);
            self.watch_followers();
        }
    }

    /// Adds a subscription to a stream.
    pub fn follow_records(&mut self, follower: RecordFollower) {
        self.followers.records.push(follower);
        self.watch_followers();
    }

    /// Tells what was appended.
    pub(super) fn tell_followers(&mut self, records: &[Record]) {
        self.followers.tell(records, &self.host, &self.log);
        self.watch_followers();
    }

    fn watch_followers(&mut self) {
        for connection in self.followers.unwatched() {
            self.when_it_reads(connection, |core, connection| {
                let Self { followers, host, log, .. } = core;
                followers.read_on(connection, host, log)
            });
        }
    }
}
