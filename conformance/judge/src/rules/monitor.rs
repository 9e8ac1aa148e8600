//! What a family of rules is made of: the ids, what its monitor watches, and the monitor.

#![allow(dead_code, reason = "families that are still to come ask for it")]

use crate::facts::{Answer, Event, Happened, Id, Line, Message, Request, Sighting};
use crate::rules::out::Out;

/// A rule of a family, by its place in the family's list; [`family!`] makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watched(pub(crate) u8);

/// Names the rules of a family: a constant for each, and `RULES`, the list of their ids.
macro_rules! family {
    ($($name:ident = $id:literal),+ $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "only counts the rules")]
        enum Place { $($name),+ }
        $(pub(crate) const $name: $crate::rules::monitor::Watched = $crate::rules::monitor::Watched(Place::$name as u8);)+
        /// Ids of the rules of this family.
        pub(crate) const RULES: &[&str] = &[$($id),+];
    };
}
pub(crate) use family;

/// A family of rules, as the registry has it.
pub(crate) struct Family {
    /// Ids, in the order of the constants.
    pub(crate) rules: &'static [&'static str],
    /// Which facts its monitor gets.
    pub(crate) watches: Watches,
    /// A monitor for one transcript.
    pub(crate) monitor: fn() -> Box<dyn Monitor>,
}

/// Which facts a monitor gets; the fewer, the faster.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of fact of its own")]
pub(crate) struct Watches {
    /// Whether it gets every line, good or not.
    pub(crate) lines: bool,
    /// Whether it gets every well-formed frame.
    pub(crate) messages: bool,
    /// Requests of these methods, of either side.
    pub(crate) requests: Methods,
    /// Answers to requests of these methods.
    pub(crate) answers: Methods,
    /// Requests of these methods that the schema refuses, and their answers.
    pub(crate) bad: Methods,
    /// Notifications of these methods, live and paged.
    pub(crate) events: Methods,
    /// Whether it gets items, wherever they are seen.
    pub(crate) items: bool,
    /// Whether it gets what happens to processes.
    pub(crate) processes: bool,
}

impl Watches {
    /// Nothing: what a family starts from.
    pub(crate) const NOTHING: Self = Self {
        lines: false,
        messages: false,
        requests: Methods::None,
        answers: Methods::None,
        bad: Methods::None,
        events: Methods::None,
        items: false,
        processes: false,
    };
}

/// A set of methods.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Methods {
    /// No method.
    None,
    /// Every method, those that nobody lists too.
    All,
    /// These; `goal/*` stands for all that begin so.
    These(&'static [&'static str]),
}

impl Methods {
    /// Whether a method is one of them.
    pub(crate) fn has(self, method: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(list) => list.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(start) => method.starts_with(start),
                None => *wanted == method,
            }),
        }
    }
}

/// Watches for the rules of a family. It is given the facts of one transcript in their order, does O(1) work for each,
/// and remembers no more than what is open, or a fixed number of bytes an event where a rule needs the whole past.
///
/// A monitor is pure: what it says depends on the facts alone.
#[expect(unused_variables, reason = "what a monitor does not watch, it does not look at")]
pub(crate) trait Monitor: Send {
    /// Any line that somebody wrote, before anything else that is in it.
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) {}

    /// Any well-formed frame, before the request, answer or event that it is.
    fn message(&mut self, message: &Message<'_>, out: &mut Out<'_>) {}

    /// A request, of either side.
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {}

    /// The answer to a request.
    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {}

    /// A request that the schema refuses: `request.faults` says why.
    fn bad_request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {}

    /// The answer to such a request.
    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {}

    /// A notification, live or in a page.
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {}

    /// An item on any path; after the event that carries it.
    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {}

    /// Something that happened to a process.
    fn happened(&mut self, happened: &Happened<'_>, out: &mut Out<'_>) {}

    /// A session was closed: what is remembered of it can go.
    fn closed(&mut self, conn: u32, session: Id) {}

    /// The transcript is at its end.
    fn finish(&mut self, out: &mut Out<'_>) {}
}
