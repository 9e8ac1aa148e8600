//! Transcripts: what an entry is, and how the lines of a file become entries.
//!
//! A transcript is NDJSON. Its forms mix freely, each line is recognised by itself:
//!
//! | line | entry |
//! |---|---|
//! | `{"dir":"client","raw":"…"}`, `rawBase64` in the place of `raw` | a frame, with who sent it |
//! | `{"jsonrpc":"2.0",…}` | a bare frame; the method table says who sent it |
//! | `{"event":"spawn",…}` | something that happened to a process |
//! | `{"call":1,"function_id":"…","payload":{…}}`, `{"call":1,"result":{…}}` | a session function and its answer |
//! | `{"trigger_type":"…","payload":{…}}`, `{"bind":{…}}`, `{"unbind":"…"}` | a delivery, a binding, its end |
//!
//! `conn` and `atMs` may stand on every line but a bare frame. The JSON schema of the format is
//! `transcript.schema.json` beside the crate ([`FORMAT`]).

mod base64;
mod lines;
mod record;
pub(crate) mod unescape;

pub use lines::{Line, LineReader, Lines};
pub use record::Recogniser;

/// The JSON schema of one line of a transcript.
pub const FORMAT: &str = include_str!("../transcript.schema.json");

/// The most bytes that a frame may have, its line feed not counted (FRAME-8).
pub const FRAME_LIMIT: usize = 10_485_760;

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The client.
    Client,
    /// The host, which transcripts call `server`.
    Server,
}

impl Side {
    /// The other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The word that transcripts use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// One line of a transcript.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Line in its file, from 1.
    pub line: u64,
    /// Connection, as the text of the member `conn`; empty where there is none.
    pub conn: &'a str,
    /// Milliseconds since the recording started, where the line says so.
    pub at_ms: Option<u64>,
    /// What the line holds.
    pub what: What<'a>,
}

/// What a line of a transcript holds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum What<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// Something that happened to a process.
    Event {
        /// What happened, such as `spawn` or `exit`.
        name: &'a str,
        /// The whole line, as JSON.
        line: &'a [u8],
    },
    /// A line about session functions, as JSON.
    Session(&'a [u8]),
    /// A line that holds nothing that the schema could judge.
    Damaged {
        /// Why not.
        damage: Damage,
        /// Who sent it, where the line says so.
        side: Option<Side>,
        /// What is there of it; nothing where it was passed over.
        bytes: &'a [u8],
    },
}

/// The bytes of one frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Who sent it; unknown for a bare frame.
    pub side: Option<Side>,
    /// Its bytes without the line feed. They are UTF-8.
    pub bytes: &'a [u8],
}

/// Why a line cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// Not UTF-8; the first `valid` bytes are.
    NotUtf8 {
        /// Bytes before the fault.
        valid: usize,
    },
    /// The file or the frame ends before its line feed.
    NoLineFeed {
        /// Bytes that are there.
        length: u64,
    },
    /// Longer than the limit. Only so much is known.
    TooLong {
        /// Length in bytes, line feed not counted.
        length: u64,
    },
    /// A line of a transcript that is not of its format.
    NotARecord {
        /// What is wrong.
        what: &'static str,
    },
    /// A line of no known form.
    UnknownForm,
}
