//! The rules that this release knows, by their stable ids.
//!
//! Ids with a number are those of the protocol's own rules: what they say is data, [`table`]. The others are about
//! shapes and transcripts as such and stand here. An id is never given to another rule.

mod agent;
mod appr;
mod cap;
mod cmd;
mod cur;
mod delta;
mod err;
mod gap;
mod goal;
mod hs;
mod instant;
mod item;
mod items;
mod links;
mod model;
mod page;
mod read_output;
mod sess;
mod state;
mod stops;
mod sub;
mod task;
mod turn;
mod uin;
mod workflow;

pub(crate) mod claims;
pub(crate) mod monitor;
pub(crate) mod out;
pub(crate) mod registry;
pub mod table;
pub(crate) mod tally;
pub(crate) mod watch;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something to know; never counts.
    Note,
    /// Counts only where warnings were asked to.
    Warning,
    /// Counts.
    Error,
}

impl Severity {
    /// The word that reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A rule that a finding names: its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule(&'static str);

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $severity:ident;)+) => {
        impl Rule {
            $($(#[doc = $doc])+ pub const $name: Self = Self($id);)+
            /// The rules that the judge itself holds, without a monitor, in the order of the protocol.
            pub const OWN: &[Self] = &[$(Self::$name),+];
        }

        /// What stands here about a rule of the judge itself: how much a breach weighs, and what it says.
        fn own(id: &str) -> Option<(Severity, &'static str)> {
            match id {
                $($id => Some((Severity::$severity, concat!($($doc),+).trim_ascii_start())),)+
                _ => None,
            }
        }
    };
}

rules! {
    /// A line of a transcript is of a known form.
    TRANSCRIPT = "TRANSCRIPT", Error;
    /// A frame is one JSON object in UTF-8.
    JSON = "FRAME-1", Error;
    /// A frame has no line feed inside.
    INNER_LINE_FEED = "FRAME-2", Error;
    /// The host sends no carriage return before the line feed.
    CARRIAGE_RETURN = "FRAME-4", Error;
    /// Every frame, the last one too, ends with a line feed.
    LINE_FEED = "FRAME-7", Error;
    /// A frame is no longer than the frame limit.
    TOO_LONG = "FRAME-8", Error;
    /// A frame is no array: there are no batches.
    BATCH = "FRAME-11", Error;
    /// A name comes once in an object; the last one is judged.
    DUPLICATE = "DUPLICATE", Error;
    /// Every frame has `jsonrpc` `2.0`.
    VERSION = "ENV-1", Error;
    /// A frame is a request, a notification, a result or an error.
    SHAPE = "ENV-2", Error;
    /// `result` is an object.
    RESULT_OBJECT = "ENV-3", Error;
    /// `params` is an object or left out.
    PARAMS_OBJECT = "ENV-4", Error;
    /// An id is a string or an integer.
    ID_KIND = "ENV-5", Error;
    /// An id is not used again while its request is open.
    ID_IN_FLIGHT = "ENV-6", Error;
    /// Only an error may have the id null.
    NULL_ID = "ENV-9", Error;
    /// A response answers a request that is open, once.
    UNASKED = "ENV-13", Error;
    /// The kind of an error belongs to its code. Watched for single values only.
    ERROR_KIND = "ERR-3", Error;
    /// A method goes the way that the table says.
    DIRECTION = "DIRECTION", Error;
    /// A method is sent as what it is: a request with an id, a notification without.
    CARRIER = "CARRIER", Error;
    /// A value fits its definition.
    SCHEMA = "SCHEMA", Error;
    /// A word stands in the list of its open enum.
    NEW_WORD = "OPEN-10", Warning;
    /// The kind of a log stream is one of the known ones.
    STREAM_KIND = "CUR-10", Warning;
    /// A request names a method of the bundle.
    UNLISTED_REQUEST = "UNLISTED-REQUEST", Warning;
    /// A function or trigger is one of the session schemas.
    UNLISTED_FUNCTION = "UNLISTED-FUNCTION", Warning;
    /// A notification names a method of the bundle; receivers ignore others.
    UNLISTED_NOTIFICATION = "OPEN-6", Note;
    /// A response pairs with a request of the transcript; of others only the envelope is judged.
    UNPAIRED = "UNPAIRED", Note;
    /// A host reports a revision that is known, by fingerprint and version alike; else it is judged by the nearest.
    REVISION = "REVISION", Note;
    /// Open requests are remembered up to a limit.
    FORGOTTEN = "FORGOTTEN", Note;
    /// Every fault of a value is described, up to a limit for each frame.
    MORE = "MORE", Note;
}

impl Rule {
    /// The rule of an id: one of the protocol's, or one of the judge's own.
    pub fn find(id: &str) -> Option<Self> {
        let of_table = || table::Table::msp().find(id).map(table::Row::rule);
        Self::OWN.iter().copied().find(|rule| rule.id() == id).or_else(of_table)
    }

    /// Names a rule of the table. The id has to be there, which the tests of the table see to.
    pub(crate) const fn of(id: &'static str) -> Self {
        Self(id)
    }

    /// The stable id.
    pub const fn id(self) -> &'static str {
        self.0
    }

    /// How much a breach weighs: what the judge itself holds has a weight of its own, else the level of the rule says it.
    pub fn severity(self) -> Severity {
        match own(self.0) {
            Some((severity, _)) => severity,
            None => table::Table::msp().find(self.0).map_or(Severity::Error, |row| row.level().severity()),
        }
    }

    /// What the rule says.
    pub fn statement(self) -> &'static str {
        match own(self.0) {
            Some((_, statement)) => statement,
            None => table::Table::msp().find(self.0).map_or("", |row| row.statement()),
        }
    }
}

impl serde::Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_statements_are_sentences() {
        for rule in Rule::OWN {
            assert_eq!(Rule::find(rule.id()), Some(*rule));
            assert!(rule.statement().ends_with('.') && !rule.statement().starts_with(' '), "{}", rule.id());
        }
    }
}
