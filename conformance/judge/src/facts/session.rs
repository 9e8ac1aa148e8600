//! What is known of a session on a connection.

use super::hash::Id;

/// How far a connection knows a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// The transcript has the session from its birth on this connection, and nothing of it was missed since.
    pub(crate) whole: bool,
    /// Whether the connection is subscribed, where that is known.
    pub(crate) subscribed: Option<bool>,
    /// Changes whenever something may have been missed: a gap, an attach, an unsubscribe, a fault of the host, its end.
    /// What a monitor remembers from one epoch says nothing about what is absent in another.
    pub(crate) epoch: Epoch,
}

/// A stretch of a session on a connection in which nothing is missing. Equal: the same stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Epoch {
    pub(crate) connection: u32,
    pub(crate) session: u32,
}

/// Where two events stand in the order of the view, but for what is protected and may come early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    /// Live, in this stretch.
    Stretch(Epoch),
    /// In the page that this line asked for.
    Page(u64),
}

/// How a session stands on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct State {
    /// Whether it is loaded on this host, where that is known.
    pub(crate) loaded: Option<bool>,
    /// Whether this connection is subscribed, where that is known.
    pub(crate) subscribed: Option<bool>,
    /// What its turn does, as far as the connection has seen.
    pub(crate) turn: Turn,
    /// The newest durable cursor that was delivered live, or that an answer gave as the head.
    pub(crate) head: Option<Id>,
}

/// What the turn of a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Turn {
    /// Nobody has seen.
    #[default]
    Unknown,
    /// No turn is open.
    Idle,
    /// This one is.
    Open(Id),
}

/// What the core remembers of a session on a connection.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    pub(crate) state: State,
    pub(crate) whole: bool,
    pub(crate) breaks: u32,
}

impl Attached {
    /// From here on something may be missing.
    pub(crate) fn interrupt(&mut self) {
        self.breaks += 1;
        self.whole = false;
        self.state.turn = Turn::Unknown;
    }
}
