//! Records: what stands in a session's log, one JSON object a line.
//!
//! ```text
//! {"v":1,"seq":5,"id":"<uuid>","at":1754590940010,"stream":{"kind":"run","id":"<turn>","seq":2},"type":"view","data":{…}}
//! ```
//!
//! Records that were committed together stand or fall together: all but the last of them have `"more":true`, and what is at the end
//! of a log without that last one is cut with the torn line behind it.
//!
//! `seq` counts from 1 without holes; `stream.seq` counts within the stream that the event's source range names. Every record ever
//! written must still apply: a new meaning is a new type, and a member that came later has a default.

use msp_types::msp::{RecordPosition, SourceRange, StreamRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::state::{Header, Submit};

/// Version of the format.
pub const VERSION: u32 = 1;

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format.
    pub v: u32,
    /// Whether the next record belongs to the same commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Number in this log, from 1.
    #[serde(rename = "seq")]
    pub sequence: u64,
    /// UUID of the record.
    pub id: String,
    /// When it was made, Unix milliseconds.
    pub at: i64,
    /// Where it stands in the stream that source ranges name.
    pub stream: StreamPosition,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// A place in a named stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamPosition {
    /// Such as `session`, `run`, `approval.review`.
    pub kind: String,
    /// Session, turn or review.
    pub id: String,
    /// Number in the stream, from 1.
    #[serde(rename = "seq")]
    pub sequence: u64,
    /// Where the range of the event begins, if that is before this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<First>,
}

/// The first record of a source range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// UUID of the record.
    pub id: String,
    /// Number in the stream, from 1.
    #[serde(rename = "seq")]
    pub sequence: u64,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "camelCase")]
pub enum Body {
    /// The session begins.
    Created(Box<Header>),
    /// A host loaded the session.
    Loaded {
        /// Name of the client that asked.
        client: Option<String>,
        /// Recovery choice of this load, where it named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recovery_mode: Option<String>,
    },
    /// A host let the session go in an orderly way.
    Ended {
        /// `idle`, `hostShutdown` or `leave`.
        reason: String,
    },
    /// A command was admitted or rejected: its place in the ledger (CMD).
    Command(Intake),
    /// A command that was admitted came to its end; `answer` replaces the first one (CMD-11, CMD-12).
    Settled {
        /// The command.
        command_id: String,
        /// The answer that a replay gets from now on; absent = the first one stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
    },
    /// A durable view event, without the members that its place gives it (`sessionId`, `viewCursor`, `sourceRange`).
    View {
        /// Notification method.
        method: String,
        /// Its params.
        params: Value,
    },
    /// A submit waits behind the running turn.
    Queued(Submit),
    /// A queued submit left the queue to be launched.
    Launched {
        /// Its turn.
        turn_id: String,
    },
    /// Output that `item/readOutput` serves.
    Stored(Stored),
    /// State of a family that is no view event; folded by the family's file in `fold/`.
    Fact {
        /// The family, such as `workflow`.
        family: String,
        /// Its own business.
        data: Value,
    },
}

/// A line of the command ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intake {
    /// As the client sent it.
    pub command_id: String,
    /// The method.
    pub method: String,
    /// SHA-256 over the canonical params.
    pub digest: String,
    /// What was answered.
    pub answer: Answer,
    /// Whether nothing is left to do.
    pub settled: bool,
}

/// What a command was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The result.
    Result(Value),
    /// The `error` member of a rejection.
    Error(Value),
}

/// Stored output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// What the reference on the item calls it.
    pub id: String,
    /// The item.
    pub item_id: String,
    /// Media type; text is served as it is, all else in base64.
    pub media_type: String,
    /// The text, or base64 for media that are no text.
    pub content: String,
}

impl Record {
    /// The source range of the event that comes from this record, and from those before it that it builds on (CUR-8).
    pub fn source_range(&self) -> SourceRange {
        let position =
            |id: &str, sequence| RecordPosition::new(id.to_owned(), i64::try_from(sequence).unwrap_or(i64::MAX));
        let last = position(&self.id, self.stream.sequence);
        let first =
            self.stream.since.as_ref().map_or_else(|| last.clone(), |first| position(&first.id, first.sequence));
        SourceRange::new(first, last, StreamRef::new(self.stream.id.clone(), self.stream.kind.clone()))
    }
}
