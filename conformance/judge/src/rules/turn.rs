//! Turns (TURN): from the submit over the queue to the one end.

mod life;
mod stop;
mod submit;
mod told;

use crate::facts::{Answer, BySession, Epoch, Event, Id, Map, Request, Sight, Sighting, Turn};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! {
    TURN_1 = "TURN-1",
    TURN_2 = "TURN-2",
    TURN_3 = "TURN-3",
    TURN_4 = "TURN-4",
    TURN_5 = "TURN-5",
    TURN_7 = "TURN-7",
    TURN_8 = "TURN-8",
    TURN_9 = "TURN-9",
    TURN_10 = "TURN-10",
    TURN_11 = "TURN-11",
    TURN_12 = "TURN-12",
    TURN_13 = "TURN-13",
    TURN_14 = "TURN-14",
    TURN_15 = "TURN-15",
    TURN_16 = "TURN-16",
    TURN_17 = "TURN-17",
    TURN_19 = "TURN-19",
    TURN_20 = "TURN-20",
    TURN_21 = "TURN-21",
    TURN_22 = "TURN-22",
    TURN_23 = "TURN-23",
    TURN_25 = "TURN-25",
    TURN_26 = "TURN-26",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["turn/*", "goal/*", "workflow/resume", "session/setReasoningEffort"]),
        answers: Methods::These(&["turn/*", "session/resume", "session/read"]),
        bad: Methods::These(&["turn/start", "turn/steer", "turn/interrupt", "turn/cancel"]),
        events: Methods::These(&["turn/*", "session/goalChanged", "session/reasoningEffortChanged"]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Turns>::default(),
};

#[derive(Default)]
struct Turns {
    sessions: BySession<(u32, Id), Session>,
    /// Ends of turns, with their cursors: one a turn for the life of its session.
    ended: BySession<(Id, Id), Ended>,
    /// Starts of turns.
    started: BySession<(Id, Id), u64>,
    /// The command of each turn's submit, by its ack, and the line of that.
    commands: BySession<(Id, Id), (Id, u64)>,
    /// Commands of submits, with the line of the first.
    submitted: Map<Id, u64>,
    /// Commands that were refused with -32602, with their lines.
    refused: Map<Id, u64>,
    /// The turn that is open in the page that is being read.
    page: (u64, Option<(Id, u64)>),
}

/// How a turn ended.
#[derive(Clone, Copy)]
struct Ended {
    cursor: Option<Id>,
    line: u64,
}

/// What is known of a session on a connection; forgotten where something may have been missed.
#[derive(Default)]
struct Session {
    epoch: Epoch,
    /// Turns that were queued, in the order of their acks.
    queue: Vec<Queued>,
    /// Turns that an ack said were started, and whose start has not come yet.
    awaited: Vec<Id>,
    /// Acks of submits while a turn was open; certain once an event of that turn comes behind them.
    acks: Vec<Ack>,
    /// Steers that were taken in, by command: the turn that the ack named, and its line.
    steers: Map<Id, (Id, u64)>,
    /// `turn/start` requests that wait for their answers.
    in_flight: u32,
    /// Whether a turn may start by itself: a goal, a run.
    stirred: bool,
    /// Whether the last turn failed, and where.
    failed: Option<u64>,
    /// The effort that was asked for the open turn alone, and where.
    effort: Option<(Id, u64)>,
    effort_set: bool,
    stop: Option<Stop>,
    retract: Option<Retract>,
}

struct Queued {
    turn: Id,
    command: Option<Id>,
    line: u64,
    /// Whether a `turn/unqueue` of it was accepted.
    unqueued: Option<u64>,
}

struct Ack {
    busy: Id,
    line: u64,
    disposition: &'static str,
    fits: bool,
}

/// An accepted interrupt or cancel.
struct Stop {
    turn: Id,
    line: u64,
    /// Whether an item of the turn ended cancelled behind it.
    cancelled: Option<u64>,
}

/// An accepted interrupt that asks to take the submit back.
struct Retract {
    turn: Id,
    line: u64,
}

impl Monitor for Turns {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let Some(session) = request.session else { return };
        let epoch = out.core().epoch(request.at.conn, Some(session));
        let state = self.session(request.at.conn, session, epoch);
        match request.at.method {
            "turn/start" => state.in_flight += 1,
            "session/setReasoningEffort" => state.effort_set = true,
            method if method.starts_with("goal/") || method == "workflow/resume" => state.stirred = true,
            _ => {}
        }
        if let Some(command) = request.command {
            self.submitted.entry(command).or_insert(request.at.line);
            self.refused.remove(&command);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        let epoch = out.core().epoch(answer.at.conn, Some(session));
        self.session(answer.at.conn, session, epoch);
        match answer.at.method {
            "turn/start" => {
                self.started_by(answer, session, out);
                self.remember_refusal(answer, out);
            }
            "turn/steer" => {
                self.steered(answer, session, out);
                self.remember_refusal(answer, out);
            }
            "turn/interrupt" | "turn/cancel" => self.stopped(answer, session, out),
            "turn/unqueue" => self.unqueued(answer, session, out),
            "session/resume" | "session/read" => self.told(answer, session, out),
            _ => {}
        }
    }

    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        submit::bad(answer, out);
        self.remember_refusal(answer, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(session) = event.session else { return };
        let turn = event.param("turnId").and_then(|it| it.id());
        if let Some(turn) = turn {
            self.shapes(event, session, turn, out);
        }
        if !event.is_live() {
            if let Some(turn) = turn {
                self.in_a_page(event, session, turn, out);
            }
            return;
        }
        if event.sight != Sight::New {
            return;
        }
        self.session(event.at.conn, session, event.epoch);
        match (event.method, turn) {
            ("turn/started", Some(turn)) => self.starts(event, session, turn, out),
            ("turn/completed", Some(turn)) => self.ends(event, session, turn, out),
            ("turn/unqueued", Some(turn)) => self.leaves_the_queue(event, session, turn, out),
            ("turn/retracted", Some(turn)) => self.retracted(event, session, turn, out),
            ("turn/foregroundCompleted", Some(turn)) => life::foreground(event, turn, out),
            ("session/goalChanged", _) => {
                let active = event.param("goal").and_then(|goal| goal.get("status")).is_some_and(|it| it.is("active"));
                self.session(event.at.conn, session, event.epoch).stirred |= active;
            }
            ("session/reasoningEffortChanged", _) => self.effort(event, session, out),
            _ => {}
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        self.item_of_turn(sighting, out);
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.sessions.forget(session);
        self.ended.forget(session);
        self.started.forget(session);
        self.commands.forget(session);
    }
}

impl Turns {
    /// What is known of a session in this stretch.
    fn session(&mut self, conn: u32, session: Id, epoch: Epoch) -> &mut Session {
        let state = self.sessions.entry((conn, session)).or_default();
        if state.epoch != epoch {
            *state = Session { epoch, ..Session::default() };
        }
        state
    }

    /// Whether no turn of a session is open or about to start, for certain.
    fn is_idle(&self, conn: u32, session: Id, turn: Turn) -> bool {
        turn == Turn::Idle
            && self.sessions.get(&(conn, session)).is_some_and(|state| {
                state.queue.is_empty() && state.awaited.is_empty() && !state.stirred && state.in_flight == 0
            })
    }

    /// TURN-26: what was refused leaves no trace.
    fn remember_refusal(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if let (Some(-32602), Some(command)) = (answer.code(), answer.request.command) {
            out.exercised(TURN_26);
            self.refused.insert(command, answer.request.line);
        }
    }
}
