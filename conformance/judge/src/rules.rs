//! The rules that this release knows, by their stable ids.
//!
//! Ids with a number are those of the protocol's own rules; the others are shapes and transcripts as such. An id is
//! never given to another rule.

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

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $severity:ident;)+) => {
        /// A rule that a finding names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Rule {
            /// All rules, in the order of the protocol.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The stable id.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id),+ }
            }

            /// How much a breach weighs.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity),+ }
            }

            /// What the rule says.
            pub const fn statement(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii_start()),+ }
            }
        }
    };
}

rules! {
    /// A line of a transcript is of a known form.
    Transcript = "TRANSCRIPT", Error;
    /// A frame is one JSON object in UTF-8.
    Json = "FRAME-1", Error;
    /// A frame has no line feed inside.
    InnerLineFeed = "FRAME-2", Error;
    /// The host sends no carriage return before the line feed.
    CarriageReturn = "FRAME-4", Error;
    /// Every frame, the last one too, ends with a line feed.
    LineFeed = "FRAME-7", Error;
    /// A frame is no longer than the frame limit.
    TooLong = "FRAME-8", Error;
    /// A frame is no array: there are no batches.
    Batch = "FRAME-11", Error;
    /// A name comes once in an object; the last one is judged.
    Duplicate = "DUPLICATE", Error;
    /// Every frame has `jsonrpc` `2.0`.
    Version = "ENV-1", Error;
    /// A frame is a request, a notification, a result or an error.
    Shape = "ENV-2", Error;
    /// `result` is an object.
    ResultObject = "ENV-3", Error;
    /// `params` is an object or left out.
    ParamsObject = "ENV-4", Error;
    /// An id is a string or an integer.
    IdKind = "ENV-5", Error;
    /// An id is not used again while its request is open.
    IdInFlight = "ENV-6", Error;
    /// Only an error may have the id null.
    NullId = "ENV-9", Error;
    /// A response answers a request that is open, once.
    Unasked = "ENV-13", Error;
    /// The kind of an error belongs to its code. Watched for single values only.
    ErrorKind = "ERR-3", Error;
    /// A method goes the way that the table says.
    Direction = "DIRECTION", Error;
    /// A method is sent as what it is: a request with an id, a notification without.
    Carrier = "CARRIER", Error;
    /// A value fits its definition.
    Schema = "SCHEMA", Error;
    /// A word stands in the list of its open enum.
    NewWord = "OPEN-10", Warning;
    /// The kind of a log stream is one of the known ones.
    StreamKind = "CUR-10", Warning;
    /// A request names a method of the bundle.
    UnlistedRequest = "UNLISTED-REQUEST", Warning;
    /// A function or trigger is one of the session schemas.
    UnlistedFunction = "UNLISTED-FUNCTION", Warning;
    /// A notification names a method of the bundle; receivers ignore others.
    UnlistedNotification = "OPEN-6", Note;
    /// A response pairs with a request of the transcript; of others only the envelope is judged.
    Unpaired = "UNPAIRED", Note;
    /// A host reports a revision that is known, by fingerprint and version alike; else it is judged by the nearest.
    Revision = "REVISION", Note;
    /// Open requests are remembered up to a limit.
    Forgotten = "FORGOTTEN", Note;
    /// Every fault of a value is described, up to a limit for each frame.
    More = "MORE", Note;
}

impl Rule {
    /// The rule of an id.
    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
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
        for rule in Rule::ALL {
            assert_eq!(Rule::find(rule.id()), Some(*rule));
            assert!(rule.statement().ends_with('.') && !rule.statement().starts_with(' '), "{}", rule.id());
        }
    }
}
