//! Subscriptions to the raw log: to the records of one stream, or to the lines of the file.
//!
//! Both are told in [`Core::commit`], so that they see exactly what is on the disk, in its order.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Core;
use crate::connection::{Connection, Delivery};
use crate::host::Host;
use crate::log::Log;
use crate::record::Record;

/// Room that is left in a frame for what stands around a record or a chunk.
const AROUND: usize = 1024;

/// Who follows the log of a session.
#[derive(Debug, Default)]
pub struct Followers {
    records: Vec<RecordFollower>,
    lines: Vec<LineFollower>,
}

/// A subscription to one stream.
#[derive(Debug)]
pub struct RecordFollower {
    /// As `log/subscribe` answered.
    pub id: i64,
    /// Whose it is.
    pub connection: Arc<Connection>,
    /// The stream, as the wire writes it.
    pub stream: Value,
    /// Position of the last record that reached it, or behind which it began.
    pub delivered: Value,
    /// Whether records after that one were dropped.
    pub hole: bool,
}

/// A subscription to the file.
#[derive(Debug)]
pub struct LineFollower {
    /// As `log/physicalSubscribe` answered.
    pub id: i64,
    /// Whose it is.
    pub connection: Arc<Connection>,
    /// Where the next line begins.
    pub offset: u64,
    /// What the client calls that line.
    pub ordinal: u64,
    /// Most bytes of a chunk.
    pub chunk: usize,
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

/// The stream of a record, as the wire names it.
pub fn stream(record: &Record) -> Value {
    json!({ "kind": record.stream.kind, "id": record.stream.id })
}

/// The position of a record in its stream.
pub fn position(record: &Record) -> Value {
    json!({ "id": record.id, "sequence": record.stream.sequence })
}

impl Followers {
    /// Adds a subscription to a stream.
    pub fn follow_records(&mut self, follower: RecordFollower) {
        self.records.push(follower);
    }

    /// Adds a subscription to the file, and tells it what is there already.
    pub fn follow_lines(&mut self, mut follower: LineFollower, host: &Host, log: &Log) {
        if follower.tell(host, log) {
            self.lines.push(follower);
        }
    }

    /// Ends a subscription to a stream.
    pub fn leave_records(&mut self, id: i64, connection: &Arc<Connection>) {
        self.records.retain(|follower| follower.id != id || !Arc::ptr_eq(&follower.connection, connection));
    }

    /// Ends a subscription to the file.
    pub fn leave_lines(&mut self, id: i64, connection: &Arc<Connection>) {
        self.lines.retain(|follower| follower.id != id || !Arc::ptr_eq(&follower.connection, connection));
    }

    /// Tells what was appended.
    pub(super) fn tell(&mut self, records: &[Record], host: &Host, log: &Log) {
        for follower in &mut self.records {
            for record in records {
                follower.tell(record, host);
            }
        }
        self.lines.retain_mut(|follower| follower.tell(host, log));
    }

    /// The session is let go: whoever follows the file hears of it last of all.
    pub(super) fn unload(&mut self, host: &Host) {
        for follower in self.lines.drain(..) {
            follower.reset(host, "unloaded");
        }
        self.records.clear();
    }
}

impl RecordFollower {
    /// Delivers a record of its stream, brackets a hole before it, or notes that there is one.
    pub fn tell(&mut self, record: &Record, host: &Host) {
        if self.stream != stream(record) {
            return;
        }
        let now_ms = host.mint.lock().now_ms();
        let envelope = envelope(record);
        let fits = envelope.to_string().len() + AROUND <= host.config.frame_limit;
        let gap = |after: &Value, reason: &str| {
            let gap = json!({
                "subscriptionId": self.id, "stream": self.stream, "after": after, "next": position(record),
                "reason": reason,
            });
            self.connection.notification("log/gap", gap, now_ms)
        };
        let mut frames = Vec::with_capacity(2);
        if !fits {
            frames.extend(gap(&self.delivered, "overFrame"));
        } else if self.hole {
            frames.extend(gap(&self.delivered, "replayAnchorLost"));
        }
        let delivery = if fits { Delivery::Droppable } else { Delivery::Protected };
        if fits {
            let params = json!({ "subscriptionId": self.id, "record": envelope });
            frames.extend(self.connection.notification("log/record", params, now_ms));
        }
        self.hole = !self.connection.send_all(frames, delivery);
        if !self.hole {
            self.delivered = position(record);
        }
    }
}

impl LineFollower {
    /// Delivers the lines from its place to the end of the log. False when a fault ended it, and was told.
    fn tell(&mut self, host: &Host, log: &Log) -> bool {
        let (layer, path) = (&host.store.layer, log.path());
        let fault = match layer.length(&path) {
            Ok(Some(length)) if length >= log.length() => None,
            Ok(Some(_)) => Some("truncated"),
            Ok(None) => Some("gone"),
            Err(_) => Some("corrupt"),
        };
        if let Some(reason) = fault {
            self.reset(host, reason);
            return false;
        }
        let want = usize::try_from(log.length().saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let bytes = layer.read(&path, self.offset, want).unwrap_or_default();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let Ok(text) = std::str::from_utf8(line) else {
                self.reset(host, "corrupt"); // no text, so no frame can carry it
                return false;
            };
            self.tell_line(host, text);
        }
        true
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
    /// Adds a subscription to the file, from its place on.
    pub fn follow_lines(&mut self, follower: LineFollower) {
        self.followers.follow_lines(follower, &self.host, &self.log);
    }
}
