//! What a client saw of a host that died and came back: plain data, whoever recorded it.

use std::collections::BTreeMap;

use serde_json::Value;

/// All that was seen, from the first life of the host to the last.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Commands in the order in which they were first sent.
    pub(crate) commands: Vec<Command>,
    /// From one start of the host to its end.
    pub(crate) lives: Vec<Life>,
}

/// A command and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// `commandId`.
    pub(crate) id: String,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// Each answer, and the number of the life in which it came. The command is sent again in every life.
    pub(crate) answers: Vec<(usize, Answer)>,
}

/// What a command was answered: `result`, or `error`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Result(Value),
    Error(Value),
}

/// A life of the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    /// What was found when it began, by session; a session that it died before it came to is missing.
    pub(crate) found: BTreeMap<String, Found>,
    /// View events as they arrived, of all sessions.
    pub(crate) live: Vec<Event>,
}

/// A session as a life of the host found it.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// It was resumed.
    There {
        /// All durable events, paged from the beginning.
        pages: Vec<Event>,
        /// Turns that wait in its queue.
        queued: Vec<String>,
    },
    /// `session/resume` was refused.
    Refused(Value),
}

/// A view event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Event {
    /// The event of a frame; `None` for what is no view event.
    pub(crate) fn of(frame: &Value) -> Option<Self> {
        let method = frame["method"].as_str()?;
        // The view cursor of these says where the view was; they are no part of it (CUR-12).
        let beside = ["session/statusChanged", "session/closed", "session/leaveCompleted"].contains(&method);
        let is_event = frame.get("id").is_none() && frame["params"]["viewCursor"].is_string() && !beside;
        is_event.then(|| Self { method: method.to_owned(), params: frame["params"].clone() })
    }

    pub(crate) fn session(&self) -> &str {
        self.params["sessionId"].as_str().unwrap_or_default()
    }

    pub(crate) fn cursor(&self) -> &str {
        self.params["viewCursor"].as_str().unwrap_or_default()
    }

    /// Whether a record stands behind it (CUR-8).
    pub(crate) fn is_durable(&self) -> bool {
        self.params.get("sourceRange").is_some()
    }
}

impl Command {
    pub(crate) fn session(&self) -> &str {
        self.params["sessionId"].as_str().unwrap_or_default()
    }
}

impl Answer {
    /// The reason of a refusal that settles a command (CMD-10); `None` for a result and for refusals that admit nothing.
    pub(crate) fn rejection(&self) -> Option<&str> {
        match self {
            Self::Error(error) if error["code"] == -32030 => Some(error["data"]["reason"].as_str().unwrap_or_default()),
            Self::Error(_) | Self::Result(_) => None,
        }
    }

    /// Whether the command is in the ledger from here on.
    pub(crate) fn settles(&self) -> bool {
        matches!(self, Self::Result(_)) || self.rejection().is_some()
    }
}

impl Life {
    /// Events that were seen in it, live or in pages.
    pub(crate) fn seen(&self) -> impl Iterator<Item = &Event> {
        self.live.iter().chain(self.pages().flat_map(|(_, pages)| pages))
    }

    /// Pages of the sessions that it came to.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (&String, &Vec<Event>)> {
        self.found.iter().filter_map(|(session, found)| match found {
            Found::There { pages, .. } => Some((session, pages)),
            Found::Refused(_) => None,
        })
    }
}
