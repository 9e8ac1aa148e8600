//! What may have stopped a turn, so that prompts of it end without a decision; for the families of prompts.

use crate::facts::{Happened, Id, Map, Request, Turn};

/// Methods whose requests [`Stops`] wants.
macro_rules! stopping {
    ($($more:literal),* $(,)?) => {
        &[
            $($more,)*
            "turn/interrupt",
            "turn/cancel",
            "turn/start",
            "task/stop",
            "task/stopAll",
            "subagent/interrupt",
            "subagent/stop",
            "subagent/close",
            "workflow/cancel",
            "workflow/pause",
            "workflow/childControl",
            "session/leave",
        ]
    };
}
pub(crate) use stopping;

/// Stops so far, in any session: a prompt of a child ends with its parent.
#[derive(Default)]
pub(crate) struct Stops {
    newest: u64,
    turns: Map<Id, u64>,
}

impl Stops {
    /// Takes a request in that may stop a turn.
    pub(crate) fn sent(&mut self, request: &Request<'_>) {
        if request.at.method == "turn/start" && !request.param("ifBusy").is_some_and(|it| it.is("replace")) {
            return;
        }
        self.newest = request.at.line;
        if let ("turn/interrupt" | "turn/cancel", Turn::Open(turn)) = (request.at.method, request.state.turn) {
            let named = request.param("turnId").and_then(|it| it.id());
            self.turns.insert(named.unwrap_or(turn), request.at.line);
        }
    }

    /// Takes in what happened to a process: it may have been stopped.
    pub(crate) fn happened(&mut self, happened: &Happened<'_>) {
        self.newest = happened.at.line;
    }

    /// Whether something may have stopped a turn after a line.
    pub(crate) fn since(&self, line: u64) -> bool {
        self.newest > line
    }

    /// Line in which a stop of a turn was sent, after another.
    pub(crate) fn of_turn(&self, turn: Option<Id>, after: u64) -> Option<u64> {
        self.turns.get(&turn?).copied().filter(|line| *line > after)
    }

    /// The turn has ended.
    pub(crate) fn ended(&mut self, turn: Id) -> Option<u64> {
        self.turns.remove(&turn)
    }
}
