//! What a command decides: drafts of records and events, the answer, and what is to happen outside the state afterwards.

use msp_types::Event;
use serde_json::{Map, Value};

use crate::mint::{Mint, derived_uuid};
use crate::record::{Body, Stored};
use crate::session::Core;
use crate::state::{State, Submit};

/// A record or an ephemeral event to be; sequence, id, time and cursor come when it is committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    /// Goes into the log.
    Record(Body, Stream),
    /// Goes to subscribers only.
    Ephemeral(&'static str, Map<String, Value>),
}

/// The stream that the source range of a record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The session's own.
    Session,
    /// That of a turn.
    Run(String),
    /// That of the review of an approval, by the approval's id.
    Review(String),
    /// That of a task.
    Task(String),
    /// Another kind, and its id.
    Other(String, String),
}

impl Draft {
    /// A durable view event. `params` is an object without `sessionId`, `viewCursor` and `sourceRange`.
    pub fn view<E: Event>(stream: Stream, params: Value) -> Self {
        Self::Record(Body::View { method: E::NAME.to_owned(), params }, stream)
    }

    /// A durable view event of a method known by name only.
    pub fn view_named(method: &str, stream: Stream, params: Value) -> Self {
        Self::Record(Body::View { method: method.to_owned(), params }, stream)
    }

    /// An event that nothing durable stands behind.
    pub fn ephemeral<E: Event>(params: Value) -> Self {
        let params = if let Value::Object(params) = params { params } else { Map::new() };
        Self::Ephemeral(E::NAME, params)
    }

    /// A record of the session that shows nothing.
    pub fn silent(body: Body) -> Self {
        Self::Record(body, Stream::Session)
    }

    /// A fact of a family.
    pub fn fact(family: &str, data: Value) -> Self {
        Self::silent(Body::Fact { family: family.to_owned(), data })
    }

    /// Output for `item/readOutput`.
    pub fn stored(stored: Stored) -> Self {
        Self::silent(Body::Stored(stored))
    }
}

impl Stream {
    /// Kind and id as the wire writes them.
    pub fn named(&self, session_id: &str) -> (&str, String) {
        match self {
            Self::Session => ("session", session_id.to_owned()),
            Self::Run(id) => ("run", id.clone()),
            // A review is no approval: its id follows from that of the approval, so that each load finds the same.
            Self::Review(id) => ("approval.review", derived_uuid(&format!("review/{id}"), id)),
            Self::Task(id) => ("task", id.clone()),
            Self::Other(kind, id) => (kind, id.clone()),
        }
    }
}

/// What a command decides.
#[derive(Debug)]
pub struct Decision<R = Value> {
    /// In order: all of it is on the disk before the answer leaves.
    pub drafts: Vec<Draft>,
    /// The answer; its events follow it.
    pub result: R,
    /// In order, after answer and events.
    pub effects: Vec<Effect>,
    /// When the command is over.
    pub settles: Settles,
}

/// When nothing is left to do for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settles {
    /// With its answer.
    Now,
    /// Later, by a `Settled` record of its family; a crash before that abandons it (CMD-12).
    Later,
}

/// What happens outside the state.
pub enum Effect {
    /// The provider stops working on the running turn.
    StopRun,
    /// The provider begins with a submit whose `turn/started` is among the drafts.
    Run(Box<Submit>),
    /// The next queued submit is launched, if no turn runs.
    LaunchNext,
    /// The run hears of steered input.
    Steered,
    /// A notification outside the view goes to every connection.
    Broadcast(&'static str, Value),
    /// Whatever else.
    Do(Box<dyn FnOnce(&mut Core) + Send>),
}

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::StopRun => "StopRun",
            Self::Run(_) => "Run",
            Self::LaunchNext => "LaunchNext",
            Self::Steered => "Steered",
            Self::Broadcast(method, _) => method,
            Self::Do(_) => "Do",
        })
    }
}

impl<R> Decision<R> {
    /// An answer, and nothing else yet.
    pub fn new(result: R) -> Self {
        Self { drafts: Vec::new(), result, effects: Vec::new(), settles: Settles::Now }
    }

    /// Adds a draft.
    #[must_use]
    pub fn draft(mut self, draft: Draft) -> Self {
        self.drafts.push(draft);
        self
    }

    /// Adds drafts.
    #[must_use]
    pub fn drafts(mut self, drafts: impl IntoIterator<Item = Draft>) -> Self {
        self.drafts.extend(drafts);
        self
    }

    /// Adds an effect.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Leaves the command open until its family settles it.
    #[must_use]
    pub fn settles_later(mut self) -> Self {
        self.settles = Settles::Later;
        self
    }
}

/// What `decide` may look at.
pub struct Context<'a> {
    /// The session.
    pub state: &'a State,
    /// Clock and ids.
    pub mint: &'a mut Mint,
    /// The command's id.
    pub command_id: &'a str,
    /// Who asks.
    pub caller: &'a crate::connection::Caller,
    /// The host's settings and catalogues.
    pub host: &'a crate::host::Host,
    /// Connections that are subscribed to the session.
    pub subscribers: usize,
}
