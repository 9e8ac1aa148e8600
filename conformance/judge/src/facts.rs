//! What rules are judged by: facts, made once from the entries of a transcript and handed to the monitors.
//!
//! | fact | is made of |
//! |---|---|
//! | [`Line`] | any line that somebody wrote, good or not |
//! | [`Message`] | any well-formed frame |
//! | [`Request`] | a well-formed request, of either side |
//! | [`Answer`] | a well-formed response, with the request that it answers |
//! | [`Event`] | a well-formed notification, live or as an element of a page |
//! | [`Sighting`] | an item on any path: live, page, inline history, snapshot |
//! | [`Happened`] | what happened to a process |
//!
//! What is remembered between facts is in [`Core`]: connections, sessions, cursors, open requests. Texts that a peer
//! chose are remembered as [`Id`]s. A fact is well typed: what does not fit the schema is no fact but a fault, and after
//! a fault of the host nothing is [`known`](Core::known) of its sessions until they are attached anew.

#![allow(dead_code, unused_imports, reason = "families that are still to come ask for it")]

pub(crate) mod class;
pub(crate) mod connection;
pub(crate) mod core;
pub(crate) mod cursors;
pub(crate) mod document;
pub(crate) mod hash;
pub(crate) mod session;

pub(crate) use self::class::Class;
pub(crate) use self::connection::Connection;
pub(crate) use self::core::Core;
pub(crate) use self::cursors::Sight;
pub(crate) use self::document::{Kind, Name, Value};
pub(crate) use self::hash::{BySession, Id, Map, Set};
pub(crate) use self::session::{Epoch, Known, State, Turn, Within};

use crate::rules::Rule;
use crate::transcript::{Damage, Side};

/// Where a fact is in the transcript.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'f> {
    /// Line, from 1. No two facts of different frames share one, so it also names the frame.
    pub(crate) line: u64,
    /// Connection; its facts are in [`Core::connection`].
    pub(crate) conn: u32,
    /// Who sent the frame, or did what happened.
    pub(crate) side: Side,
    /// Method of the frame, or of the request that it answers; empty where there is none.
    pub(crate) method: &'f str,
    /// Milliseconds since the recording started.
    pub(crate) ms: Option<u64>,
}

/// Something that a finding can be about.
pub(crate) trait Placed {
    /// Where it is.
    fn at(&self) -> At<'_>;
    /// JSON Pointer into the frame of a place below what the fact is about, such as `/viewCursor` of an event.
    fn pointer(&self, below: &str) -> String;
}

macro_rules! placed {
    ($($fact:ident: $self:ident, $below:ident => $pointer:expr;)+) => {
        $(impl Placed for $fact<'_> {
            fn at(&self) -> At<'_> {
                self.at
            }

            fn pointer(&$self, $below: &str) -> String {
                $pointer
            }
        })+
    };
}

placed! {
    Line: self, below => below.to_owned();
    Message: self, below => below.to_owned();
    Request: self, below => format!("/params{below}");
    Answer: self, below => format!("{}{below}", self.part());
    Event: self, below => format!("{}{below}", self.path.params());
    Sighting: self, below => format!("{}{below}", self.path.pointer());
    Happened: self, below => below.to_owned();
}

/// A line that somebody wrote. Every one is handed out, before anything else that is in it.
#[derive(Debug)]
pub(crate) struct Line<'f> {
    pub(crate) at: At<'f>,
    /// The bytes without the line feed; nothing where they were passed over.
    pub(crate) bytes: &'f [u8],
    /// Why the line cannot be judged by the schema.
    pub(crate) damage: Option<Damage>,
    /// The value, where it is JSON.
    pub(crate) json: Option<Value<'f>>,
    /// What was found so far: nothing for a frame that goes on to the other facts.
    pub(crate) faults: &'f [Fault],
}

/// What is wrong with a frame, as the lanes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// `SCHEMA`, the rule that claims the place, or one of the envelope.
    pub(crate) rule: Rule,
    /// Place in the frame.
    pub(crate) pointer: String,
    /// Keyword of the schema.
    pub(crate) keyword: Option<String>,
    /// What was expected.
    pub(crate) expected: String,
}

/// A well-formed frame.
#[derive(Debug)]
pub(crate) struct Message<'f> {
    pub(crate) at: At<'f>,
    pub(crate) bytes: &'f [u8],
    pub(crate) root: Value<'f>,
    pub(crate) shape: Shape,
}

/// The four shapes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Request,
    Notification,
    Result,
    Error,
}

/// A request. `at.side` says who asks: hosts ask too.
#[derive(Debug)]
pub(crate) struct Request<'f> {
    pub(crate) at: At<'f>,
    pub(crate) root: Value<'f>,
    /// Its params; those that are left out have no members.
    pub(crate) params: Option<Value<'f>>,
    /// The session that its params name.
    pub(crate) session: Option<Id>,
    /// The command id that its params name.
    pub(crate) command: Option<Id>,
    /// How the session stood when it was sent.
    pub(crate) state: State,
    /// What the schema has against it, where a peer is to refuse it: such a request comes through
    /// [`bad_request`](crate::rules::monitor::Monitor::bad_request) alone, and its answer likewise.
    pub(crate) faults: &'f [Fault],
}

impl<'f> Request<'f> {
    /// A member of its params.
    pub(crate) fn param(&self, name: &str) -> Option<Value<'f>> {
        self.params?.get(name)
    }
}

/// A request that waits for its answer, as it is remembered.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Line of the request.
    pub(crate) line: u64,
    pub(crate) ms: Option<u64>,
    pub(crate) method: Box<str>,
    /// The session that its params name.
    pub(crate) session: Option<Id>,
    /// The command id that its params name.
    pub(crate) command: Option<Id>,
    /// How the session stood when it was sent.
    pub(crate) state: State,
    pub(crate) faults: Vec<Fault>,
    /// The frame.
    pub(crate) bytes: Box<[u8]>,
}

/// A response with the request that it answers. `at.side` says who answers.
#[derive(Debug)]
pub(crate) struct Answer<'f> {
    pub(crate) at: At<'f>,
    pub(crate) root: Value<'f>,
    pub(crate) outcome: Outcome<'f>,
    /// The request.
    pub(crate) request: &'f Asked,
    /// The params of the request, as they were sent.
    pub(crate) params: Option<Value<'f>>,
    /// The session of the request; for a start, fork or side chat, the one that the result gives.
    pub(crate) session: Option<Id>,
    /// How that session stood before the answer.
    pub(crate) state: State,
}

impl<'f> Answer<'f> {
    /// The result, where it is one.
    pub(crate) fn result(&self) -> Option<Value<'f>> {
        match self.outcome {
            Outcome::Result(result) => Some(result),
            Outcome::Error { .. } => None,
        }
    }

    /// Whether the ledger refused the command before anybody looked at what it names (ERR-10, CMD-7, CMD-12).
    pub(crate) fn is_of_ledger(&self) -> bool {
        let reason = self.data("reason");
        let of_ledger = reason.is_some_and(|it| it.is("command_id_conflict") || it.is("abandoned"));
        self.code() == Some(-32030) && of_ledger
    }

    /// The code of the error, where it is one.
    pub(crate) fn code(&self) -> Option<i64> {
        match self.outcome {
            Outcome::Result(_) => None,
            Outcome::Error { code, .. } => Some(code),
        }
    }

    /// A member of the error's data.
    pub(crate) fn data(&self, name: &str) -> Option<Value<'f>> {
        match self.outcome {
            Outcome::Result(_) => None,
            Outcome::Error { data, .. } => data?.get(name),
        }
    }

    /// A member of the params of the request.
    pub(crate) fn param(&self, name: &str) -> Option<Value<'f>> {
        self.params?.get(name)
    }

    fn part(&self) -> &'static str {
        if matches!(self.outcome, Outcome::Result(_)) { "/result" } else { "/error" }
    }
}

/// How a request was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome<'f> {
    Result(Value<'f>),
    Error { code: i64, data: Option<Value<'f>> },
}

/// A notification, live or stored.
#[derive(Debug)]
pub(crate) struct Event<'f> {
    pub(crate) at: At<'f>,
    /// Its own method; `at.method` is that of the frame, which for a page is `view/page`.
    pub(crate) method: &'f str,
    /// Its params; `initialized` may have none.
    pub(crate) params: Option<Value<'f>>,
    pub(crate) path: Path,
    pub(crate) class: Class,
    /// Whether it may overtake others and is never dropped (GAP-3, BP-4).
    pub(crate) protected: bool,
    pub(crate) session: Option<Id>,
    /// Its `viewCursor`.
    pub(crate) cursor: Option<Id>,
    /// Whether it has a source range, and so a place in the durable view.
    pub(crate) durable: bool,
    /// Whether its cursor was there before in this session.
    pub(crate) sight: Sight,
    /// Stands for method and params; 0 for what is not durable.
    pub(crate) content: u64,
    /// See [`Core::known`]; that of its connection and session, this event taken in.
    pub(crate) epoch: Epoch,
    /// Top-level `emittedAtMs`.
    pub(crate) emitted_at: Option<i64>,
    /// How its session stood before it.
    pub(crate) state: State,
}

impl<'f> Event<'f> {
    /// A member of its params.
    pub(crate) fn param(&self, name: &str) -> Option<Value<'f>> {
        self.params?.get(name)
    }

    /// What it is ordered with: the stretch, or the page.
    pub(crate) fn within(&self) -> Within {
        match self.path {
            Path::Live => Within::Stretch(self.epoch),
            Path::Page { request, .. } => Within::Page(request),
        }
    }

    /// Whether it came as a notification of its own, not in a page.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.path, Path::Live)
    }
}

/// How an event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// As a notification.
    Live,
    /// As an element of a page.
    Page {
        /// Its place in the page, from 0.
        index: usize,
        /// How many the page has.
        of: usize,
        /// Whether the page was asked forward.
        forward: bool,
        /// Line of the request.
        request: u64,
        /// Cursor of the element before it in the page.
        previous: Option<Id>,
    },
}

impl Path {
    fn params(self) -> String {
        match self {
            Self::Live => "/params".to_owned(),
            Self::Page { index, .. } => format!("/result/events/{index}/params"),
        }
    }
}

/// An item, wherever it is seen.
#[derive(Debug)]
pub(crate) struct Sighting<'f> {
    pub(crate) at: At<'f>,
    pub(crate) item: Value<'f>,
    pub(crate) path: ItemPath,
    pub(crate) session: Option<Id>,
    /// Its `itemId`.
    pub(crate) id: Id,
    pub(crate) kind: &'f str,
    pub(crate) status: &'f str,
    pub(crate) revision: i64,
    /// Its `turnId`; none where that is null or left out.
    pub(crate) turn: Option<Id>,
    /// The event that carries it, where one does: cursor, sight and so on.
    pub(crate) event: Option<&'f Event<'f>>,
    /// See [`Core::known`].
    pub(crate) epoch: Epoch,
}

impl Sighting<'_> {
    /// Whether it has ended: any status but `inProgress` (ITEM-7).
    pub(crate) fn is_terminal(&self) -> bool {
        self.status != "inProgress"
    }

    /// The event that carries it, where it came live.
    pub(crate) fn live(&self) -> Option<&Event<'_>> {
        self.event.filter(|event| event.is_live())
    }
}

/// How an item came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemPath {
    /// In an `item/started`, live or in a page.
    Started(Path),
    /// In an `item/updated`, live or in a page.
    Updated(Path),
    /// In an `item/completed`, live or in a page.
    Completed(Path),
    /// In `history.items`, at this place.
    Inline(usize),
    /// In `history.snapshot.state.items`, at this place.
    Snapshot(usize),
}

impl ItemPath {
    fn pointer(self) -> String {
        match self {
            Self::Started(path) | Self::Updated(path) | Self::Completed(path) => format!("{}/item", path.params()),
            Self::Inline(index) => format!("/result/history/items/{index}"),
            Self::Snapshot(index) => format!("/result/history/snapshot/state/items/{index}"),
        }
    }
}

/// Something that happened to a process, or to a pipe of it.
#[derive(Debug)]
pub(crate) struct Happened<'f> {
    pub(crate) at: At<'f>,
    /// What happened: `spawn`, `exit`, `eof`, …
    pub(crate) what: &'f str,
    /// The whole line.
    pub(crate) line: Value<'f>,
}
