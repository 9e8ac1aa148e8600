//! Goals (GOAL): what the verbs are answered with, and what they wake.

use crate::facts::{Answer, Epoch, Event, Id, Map, Request, Set, Sight, Turn, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! {
    GOAL_1 = "GOAL-1",
    GOAL_2 = "GOAL-2",
    GOAL_3 = "GOAL-3",
    GOAL_4 = "GOAL-4",
    GOAL_5 = "GOAL-5",
    GOAL_6 = "GOAL-6",
    GOAL_7 = "GOAL-7",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["goal/*", "turn/interrupt", "turn/cancel"]),
        answers: Methods::These(&["goal/*", "turn/interrupt", "session/start", "session/resume"]),
        bad: Methods::These(&["goal/*"]),
        events: Methods::These(&["session/goalChanged", "turn/started", "turn/completed"]),
        ..Watches::NOTHING
    },
    monitor: || Box::<Goals>::default(),
};

#[derive(Default)]
struct Goals {
    /// The goal in force, by connection and session.
    now: Map<(u32, Id), Goal>,
    commands: Set<Id>,
    /// First answers: what the result was, with the line.
    acks: Map<Id, (u64, u64)>,
    in_flight: Map<(u32, Id), u32>,
    /// Acked commands whose `session/goalChanged` is to come.
    awaited: Map<(u32, Id), Awaited>,
    /// Turns that a goal command woke, and lines of interrupts of them.
    driving: Map<Id, Option<u64>>,
    woken: Map<Id, u64>,
}

#[derive(Clone, Copy)]
struct Goal {
    /// Status; none where there is no goal.
    status: Option<Id>,
    line: u64,
    epoch: Option<Epoch>,
}

struct Awaited {
    verb: Verb,
    command: Option<Id>,
    objective: Option<String>,
    line: u64,
    epoch: Epoch,
}

#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Set,
    Clear,
    Other,
}

fn word(text: &str) -> Id {
    Id::of(text.as_bytes())
}

impl Monitor for Goals {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        let Some(session) = request.session else { return };
        if request.at.method.starts_with("goal/") {
            *self.in_flight.entry((request.at.conn, session)).or_default() += 1;
        } else if let Turn::Open(turn) = request.state.turn {
            if let (Some(interrupted), "turn/interrupt") = (self.driving.get_mut(&turn), request.at.method) {
                interrupted.get_or_insert(request.at.line);
            }
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        let key = (answer.at.conn, session);
        match answer.at.method {
            "session/start" if answer.result().is_some() => {
                self.now.insert(key, Goal { status: None, line: answer.at.line, epoch: None });
            }
            "session/resume" => drop(self.now.remove(&key)),
            method if method.starts_with("goal/") => self.answered(answer, session, out),
            _ => {}
        }
    }

    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let is_objective = answer.request.faults.iter().all(|fault| fault.pointer.starts_with("/params/objective"));
        if is_objective && answer.code().is_some() {
            out.exercised(GOAL_1);
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), true) = (event.session, event.is_live()) else { return };
        let turn = event.param("turnId").and_then(|it| it.id());
        match event.method {
            "session/goalChanged" => self.changed(event, session, out),
            "turn/started" => self.starts(event, session, turn, out),
            _ => {
                let Some(Some(line)) = turn.and_then(|turn| self.driving.remove(&turn)) else { return };
                self.pauses(event, session, line, out);
            }
        }
    }

    fn closed(&mut self, conn: u32, session: Id) {
        self.now.remove(&(conn, session));
        self.awaited.remove(&(conn, session));
        self.in_flight.remove(&(conn, session));
    }
}

impl Goals {
    fn known(&mut self, conn: u32, session: Id, out: &Out<'_>) -> Option<Goal> {
        let epoch = out.core().known(conn, session).epoch;
        let goal = self.now.get_mut(&(conn, session))?;
        (*goal.epoch.get_or_insert(epoch) == epoch).then_some(*goal)
    }

    fn answered(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let key = (answer.at.conn, session);
        let flying = self.in_flight.entry(key).or_default();
        let is_alone = *flying <= 1;
        *flying = flying.saturating_sub(1);
        let is_repeated = answer.request.command.is_some_and(|command| !self.commands.insert(command));
        if is_repeated {
            self.is_same(answer, out);
            return;
        }
        let verb = &answer.at.method["goal/".len()..];
        if let Some(text) = answer.param("objective").and_then(|it| it.text()) {
            let is_bare = matches!(verb, "clear" | "pause" | "resume");
            if is_bare || text.trim().is_empty() {
                out.exercised(GOAL_1);
                if !matches!(answer.code(), Some(-32602 | -32001 | -32031 | -32024 | -32020)) {
                    let expected = if is_bare {
                        "error -32602 for a verb that takes no objective"
                    } else {
                        "error -32602 for an objective that says nothing"
                    };
                    wrong(GOAL_1, answer, expected, None, out);
                }
                return;
            }
        }
        let known = self.known(answer.at.conn, session, out).filter(|it| is_alone && it.line < answer.request.line);
        if let Some(goal) = known {
            right_state(verb, goal, answer, out);
        }
        let Some(result) = answer.result() else { return };
        self.acked(answer, result, session, (verb, known), out);
    }

    /// GOAL-7: a command that is sent again gets its first answer.
    fn is_same(&self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let acked = answer.request.command.and_then(|command| self.acks.get(&command).copied());
        let Some((first, line)) = acked.filter(|_| !matches!(answer.code(), Some(-32030 | -32001 | -32031))) else {
            return;
        };
        out.exercised(GOAL_7);
        if answer.result().map(|it| it.hash()) != Some(first) {
            wrong(GOAL_7, answer, "the first answer again", Some(line), out);
        }
    }

    /// GOAL-3 and what is to follow.
    fn acked(
        &mut self,
        answer: &Answer<'_>,
        result: Value<'_>,
        session: Id,
        (verb, known): (&str, Option<Goal>),
        out: &mut Out<'_>,
    ) {
        if let Some(command) = answer.request.command {
            self.acks.entry(command).or_insert((result.hash(), answer.at.line));
        }
        let turn = result.some("turnId");
        let wakes = matches!(verb, "set" | "edit" | "resume");
        let (sent, now) = (answer.request.state.turn, answer.state.turn);
        if !wakes {
            out.exercised(GOAL_3);
            if let Some(turn) = turn {
                out.violated(GOAL_3, answer, "/turnId")
                    .expected("no turn, as the verb wakes none")
                    .actual(turn.shown())
                    .contradicts(answer.request.line)
                    .done();
            }
        } else if let (Turn::Open(open), true) = (sent, sent == now) {
            out.exercised(GOAL_3);
            if turn.and_then(|it| it.id()) != Some(open) {
                out.violated(GOAL_3, answer, "/turnId")
                    .expected("the turn that is open")
                    .actual(turn.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                    .contradicts(answer.request.line)
                    .done();
            }
        } else if let (Turn::Idle, Some(turn)) = (sent, turn.and_then(|it| it.id())) {
            self.woken.insert(turn, answer.at.line);
        }
        let verb = match verb {
            "set" => Verb::Set,
            "clear" => Verb::Clear,
            _ => Verb::Other,
        };
        let objective = answer.param("objective").and_then(|it| it.text()).map(|it| it.trim().to_owned());
        let was_told =
            known.is_some_and(|it| self.now.get(&(answer.at.conn, session)).is_some_and(|now| now.line != it.line));
        let is_new = self.now.get(&(answer.at.conn, session)).is_none_or(|it| it.line < answer.request.line);
        if answer.state.subscribed == Some(true) && is_new && !was_told {
            let epoch = out.known(session).epoch;
            let command = answer.request.command;
            self.awaited
                .insert((answer.at.conn, session), Awaited { verb, command, objective, line: answer.at.line, epoch });
        }
    }

    fn changed(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let goal = event.params.and_then(|it| it.some("goal"));
        let key = (event.at.conn, session);
        let status = goal.map(|it| it.id_of("status").unwrap_or_else(|| word("")));
        self.now.insert(key, Goal { status, line: event.at.line, epoch: Some(event.epoch) });
        let Some(awaited) = self.awaited.remove(&key).filter(|it| it.epoch == event.epoch) else { return };
        out.exercised(GOAL_4);
        match (awaited.verb, goal) {
            (Verb::Clear, goal) => {
                out.exercised(GOAL_5);
                if let Some(goal) = goal {
                    out.violated(GOAL_5, event, "/goal")
                        .expected("null, as the goal was cleared")
                        .actual(goal.shown())
                        .contradicts(awaited.line)
                        .done();
                }
            }
            (_, Some(goal)) => {
                let Some(wanted) = awaited.objective else { return };
                out.exercised(GOAL_1);
                if goal.text_of("objective").is_some_and(|it| *it != *wanted) {
                    out.violated(GOAL_1, event, "/goal/objective")
                        .expected("the objective of the command, trimmed")
                        .actual(goal.get("objective").map_or_else(String::new, |it| it.shown()))
                        .contradicts(awaited.line)
                        .done();
                }
            }
            _ => {}
        }
    }

    /// GOAL-4: the change of the goal comes before the turn that it wakes.
    fn starts(&mut self, event: &Event<'_>, session: Id, turn: Option<Id>, out: &mut Out<'_>) {
        let Some(turn) = turn else { return };
        let command = event.param("commandId").and_then(|it| it.id());
        let awaited = self.awaited.get(&(event.at.conn, session)).filter(|it| it.epoch == event.epoch);
        if let Some(awaited) = awaited.filter(|it| it.command.is_some() && it.command == command) {
            out.exercised(GOAL_4);
            if event.sight == Sight::New && awaited.verb != Verb::Clear {
                out.violated(GOAL_4, event, "")
                    .expected("session/goalChanged before the turn that it wakes")
                    .actual("the turn first")
                    .contradicts(awaited.line)
                    .after_next_event(session)
                    .done();
            }
        }
        if self.woken.remove(&turn).is_some() || command.is_some_and(|it| self.commands.contains(&it)) {
            self.driving.insert(turn, None);
        }
    }

    /// GOAL-6: to interrupt the turn of a goal is to pause the goal.
    fn pauses(&mut self, event: &Event<'_>, session: Id, line: u64, out: &mut Out<'_>) {
        if !event.param("terminal").is_some_and(|it| it.is("cancelled")) {
            return;
        }
        let Some(goal) = self.known(event.at.conn, session, out).filter(|it| it.epoch == Some(event.epoch)) else {
            return;
        };
        out.exercised(GOAL_6);
        if goal.status == Some(word("active")) {
            out.violated(GOAL_6, event, "")
                .expected("the goal paused before the end of the turn")
                .actual("a goal that is active")
                .contradicts(line)
                .contradicts(goal.line)
                .after_next_event(session)
                .done();
        }
    }
}

/// GOAL-2: what a verb needs.
fn right_state(verb: &str, goal: Goal, answer: &Answer<'_>, out: &mut Out<'_>) {
    if answer.is_of_ledger() || matches!(answer.code(), Some(-32001 | -32031 | -32602 | -32024 | -32020)) {
        return;
    }
    let reason = |text: &str| answer.data("reason").is_some_and(|it| it.is(text));
    if verb == "set" {
        out.exercised(GOAL_2);
        if answer.code() == Some(-32030) && (reason("missing_goal") || reason("invalid_goal_state")) {
            wrong(GOAL_2, answer, "a goal, whatever was there before", Some(goal.line), out);
        }
        return;
    }
    let Some(status) = goal.status else {
        out.exercised(GOAL_2);
        if answer.code() != Some(-32030) || !reason("missing_goal") {
            wrong(GOAL_2, answer, "error -32030 missing_goal", Some(goal.line), out);
        }
        return;
    };
    if verb == "resume" && status == word("active") {
        out.exercised(GOAL_2);
        if answer.code() != Some(-32030) {
            wrong(GOAL_2, answer, "error -32030, as the goal is active", Some(goal.line), out);
        }
    }
}

fn wrong(
    rule: crate::rules::monitor::Watched,
    answer: &Answer<'_>,
    expected: &str,
    line: Option<u64>,
    out: &mut Out<'_>,
) {
    let reason = answer.data("reason").map_or_else(String::new, |it| format!(" {}", it.shown()));
    let actual = answer.code().map_or_else(|| "a result".to_owned(), |code| format!("{code}{reason}"));
    let mut violation = out
        .violated(rule, answer, if answer.code().is_some() { "/data/reason" } else { "" })
        .expected(expected)
        .actual(actual)
        .contradicts(answer.request.line);
    if let Some(line) = line {
        violation = violation.contradicts(line);
    }
    violation.done();
}
