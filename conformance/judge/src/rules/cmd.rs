//! Commands (CMD): each counts once, is known by its id, and is answered the same when it is sent again.
//!
//! | file | rules |
//! |---|---|
//! | [`ack`] | one command and its answer (CMD-1 to 3, 15, 16, 18) |
//! | [`replay`] | the same command again (CMD-5 to 12, 14) |
//! | [`trace`] | what the view shows of commands (CMD-4, 20, 21) |

mod ack;
mod replay;
mod trace;

use crate::facts::{Answer, Event, Id, Map, Request, Set, Sighting};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::transcript::Side;

family! {
    CMD_1 = "CMD-1",
    CMD_2 = "CMD-2",
    CMD_3 = "CMD-3",
    CMD_4 = "CMD-4",
    CMD_5 = "CMD-5",
    CMD_6 = "CMD-6",
    CMD_7 = "CMD-7",
    CMD_8 = "CMD-8",
    CMD_9 = "CMD-9",
    CMD_10 = "CMD-10",
    CMD_11 = "CMD-11",
    CMD_12 = "CMD-12",
    CMD_14 = "CMD-14",
    CMD_15 = "CMD-15",
    CMD_16 = "CMD-16",
    CMD_17 = "CMD-17",
    CMD_18 = "CMD-18",
    CMD_20 = "CMD-20",
    CMD_21 = "CMD-21",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::All,
        answers: Methods::All,
        bad: Methods::All,
        events: Methods::These(&[
            "turn/started",
            "turn/completed",
            "turn/unqueued",
            "session/statusChanged",
            "session/approvalModeChanged",
            "approval/resolved",
            "userInput/settled",
        ]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Commands>::default(),
};

#[derive(Default)]
struct Commands {
    /// Boxed, since a map keeps up to as much room free as it fills.
    known: Map<Id, Box<Command>>,
    /// Requests that wait for their answer, by connection and line.
    open: Map<(u32, u64), Sent>,
    /// Sessions that a host said it does not have, with the line; and those that it listed.
    missing: Map<(u32, Id), u64>,
    listed: Map<(u32, Id), u64>,
    /// Turns of acked commands: the command, the line of the ack.
    turns: Map<Id, trace::OfTurn>,
    /// Commands of acked decisions, by approval or user input.
    decided: Map<Id, (Id, u64)>,
    /// Newest acked change of the approval mode of a session.
    modes: Map<Id, (Id, Id, u64)>,
    /// Acked turns whose trace is to come, by session.
    untraced: Map<Id, Vec<Id>>,
    /// Line in which a session was said to be idle, last, by connection.
    idle: Map<(u32, Id), (u64, crate::facts::Epoch)>,
    /// Refused commands that were never sent again.
    refused: Map<Id, (u64, u32)>,
    /// Reasons that nobody knows, by command, for clients under test.
    strange: Set<Id>,
}

/// A command, as it was first sent.
struct Command {
    method: Id,
    session: Option<Id>,
    host: u32,
    line: u64,
    /// Stands for the bytes of its params, and of its `trace`.
    bytes: (Id, Option<u64>),
    /// Stands for its params as JSON.
    params: u64,
    /// Name and value of each member of the params.
    members: Box<[(Id, u64)]>,
    answer: First,
    /// Answers are compared only where nothing crossed.
    crossed: bool,
    /// Line of the event that named it first.
    named: Option<u64>,
    turn: Option<Id>,
    is_queued: bool,
    /// Where a replay to a later process was sent before anything had named it.
    replayed_unnamed: Option<u64>,
}

/// The first answer that settles.
#[derive(Clone, Copy)]
enum First {
    /// None yet.
    Open,
    /// Refused by an error that settles nothing.
    Refused(u64),
    /// A result: what it is, its line, and the session that it gave birth to.
    Result { hash: u64, line: u64, born: Option<Id> },
    /// −32030 with this reason.
    Rejected { reason: Id, line: u64 },
}

/// A request that waits for its answer.
struct Sent {
    command: Id,
    again: Option<replay::Again>,
}

fn word(text: &str) -> Id {
    Id::of(text.as_bytes())
}

impl Monitor for Commands {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        if let (Side::Client, Some(command)) = (request.at.side, request.command) {
            ack::id_of_client(request, out);
            self.sent(request, command, out);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.side != Side::Server {
            return;
        }
        self.learn(answer, out);
        if answer.at.method == "view/page" {
            self.walked(answer, out);
        }
        if answer.request.command.is_none() {
            return;
        }
        if !ack::form_of_id(answer, out) {
            self.open.remove(&(answer.at.conn, answer.request.line));
            return;
        }
        ack::echo(answer, out);
        ack::rejection(answer, out);
        self.loaded(answer, out);
        self.answered(answer, out);
        self.acked(answer, out);
    }

    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.side == Side::Server {
            ack::lacks_id(answer, out);
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        self.shown(event, out);
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        if sighting.kind == "userMessage" {
            self.message(sighting, out);
        }
    }

    fn closed(&mut self, conn: u32, session: Id) {
        self.untraced.remove(&session);
        self.idle.remove(&(conn, session));
    }
}
