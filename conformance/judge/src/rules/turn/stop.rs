//! What ends a turn early, or takes it out of the queue.

use super::{Retract, Stop, TURN_16, TURN_17, TURN_19, TURN_21, Turns};
use crate::facts::{Answer, Event, Id, Turn};
use crate::rules::out::Out;

impl Turns {
    /// The answer to `turn/interrupt` and `turn/cancel`.
    pub(super) fn stopped(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let conn = answer.at.conn;
        let epoch = out.core().epoch(conn, Some(session));
        let named = answer.param("turnId").and_then(|it| it.id());
        let asked_in = answer.request.state.turn;
        let retract = answer.param("retract").and_then(|it| it.bool()) == Some(true);
        if retract && answer.at.method == "turn/cancel" {
            return not_paired(answer, out);
        }
        let ended = named.and_then(|named| self.ended.get(&(session, named))).copied();
        let ended = ended.filter(|ended| ended.line < answer.request.line);
        let idle = named.is_none() && asked_in == answer.state.turn && self.is_idle(conn, session, asked_in);
        if idle || ended.is_some() {
            if answer.request.command.is_some_and(|it| self.submitted.get(&it) != Some(&answer.request.line)) {
                return; // sent once more: its first answer (CMD-6)
            }
            return nothing_to_stop(answer, idle, ended.map(|ended| ended.line), out);
        }
        let (Some(result), Turn::Open(open)) = (answer.result(), asked_in) else { return };
        if asked_in != answer.state.turn {
            return;
        }
        let Some(turn) = result.id_of("turnId") else { return };
        out.exercised(TURN_16);
        if turn != named.unwrap_or(open) {
            out.violated(TURN_16, answer, "/turnId")
                .expected(if named.is_some() { "the turn that was named" } else { "the turn that is open" })
                .actual(result.get("turnId").map_or_else(String::new, |it| it.shown()))
                .contradicts(answer.request.line)
                .done();
            return;
        }
        let line = answer.at.line;
        let state = self.session(conn, session, epoch);
        state.stop = Some(Stop { turn, line, cancelled: None });
        if retract {
            state.retract = Some(Retract { turn, line });
        }
    }

    /// TURN-21: what was taken back names the submit, and a turn that was asked to.
    pub(super) fn retracted(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        let commands = self.commands.get(&(session, turn)).copied();
        let state = self.session(event.at.conn, session, event.epoch);
        out.exercised(TURN_21);
        let retract = state.retract.take_if(|retract| retract.turn == turn);
        let command = event.param("commandId").and_then(|it| it.id());
        if let Some((_, line)) = commands.filter(|(submit, _)| command != Some(*submit)) {
            let mut violation = out
                .violated(TURN_21, event, "/commandId")
                .expected("the command of the submit")
                .actual(event.param("commandId").map_or_else(String::new, |it| it.shown()))
                .contradicts(line);
            if let Some(retract) = retract {
                violation = violation.contradicts(retract.line);
            }
            violation.done();
        }
    }

    /// The answer to `turn/unqueue`.
    pub(super) fn unqueued(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let Some(turn) = answer.param("turnId").and_then(|it| it.id()) else { return };
        let started = self.started.get(&(session, turn)).copied().filter(|line| *line < answer.request.line);
        let ended = self.ended.contains_key(&(session, turn));
        let epoch = out.core().epoch(answer.at.conn, Some(session));
        let line = answer.at.line;
        let state = self.session(answer.at.conn, session, epoch);
        match answer.code() {
            None => {
                out.exercised(TURN_19);
                if let Some(started) = started {
                    out.violated(TURN_19, answer, "")
                        .expected("error -32030, since the turn has started")
                        .actual("a result")
                        .contradicts(started)
                        .contradicts(answer.request.line)
                        .done();
                } else if let Some(queued) = state.queue.iter_mut().find(|queued| queued.turn == turn) {
                    queued.unqueued = Some(line);
                }
            }
            Some(-32030) if started.is_some() && !ended => {
                out.exercised(TURN_19);
                if !answer.data("reason").is_some_and(|it| it.is("run_active")) {
                    out.violated(TURN_19, answer, "/data/reason")
                        .expected("\"run_active\", since the turn has started")
                        .actual(answer.data("reason").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                        .contradicts(answer.request.line)
                        .done();
                }
            }
            Some(_) => {}
        }
    }

    /// TURN-19: what leaves the queue names the submit that put it there, and starts no more.
    pub(super) fn leaves_the_queue(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        out.exercised(TURN_19);
        let stream = event.params.and_then(|params| params.path(&["sourceRange", "stream", "kind"]));
        if let Some(stream) = stream.filter(|stream| !stream.is("session")) {
            out.violated(TURN_19, event, "/sourceRange/stream/kind")
                .expected("\"session\"")
                .actual(stream.shown())
                .done();
        }
        if let Some(started) = self.started.get(&(session, turn)) {
            out.violated(TURN_19, event, "/turnId")
                .expected("a turn that has not started")
                .actual("one that has")
                .contradicts(*started)
                .done();
        }
        let state = self.session(event.at.conn, session, event.epoch);
        let Some(place) = state.queue.iter().position(|queued| queued.turn == turn) else { return };
        let queued = state.queue.remove(place);
        let command = event.param("commandId").and_then(|it| it.id());
        if queued.command.is_some() && command != queued.command {
            out.violated(TURN_19, event, "/commandId")
                .expected("the command of the submit that queued it")
                .actual(event.param("commandId").map_or_else(String::new, |it| it.shown()))
                .contradicts(queued.line)
                .done();
        }
    }
}

/// TURN-17: nothing to stop is a refusal.
fn nothing_to_stop(answer: &Answer<'_>, idle: bool, ended: Option<u64>, out: &mut Out<'_>) {
    if answer.is_of_ledger() || matches!(answer.code(), Some(-32001 | -32031 | -32024 | -32600 | -32602)) {
        return;
    }
    out.exercised(TURN_17);
    let missing_run = answer.data("reason").is_some_and(|it| it.is("missing_run"));
    if answer.code() == Some(-32030) && (missing_run || !idle) {
        return;
    }
    let (below, expected, actual) = match answer.code() {
        Some(-32030) => (
            "/data/reason",
            "\"missing_run\", since no turn is open",
            answer.data("reason").map_or_else(|| "nothing".to_owned(), |it| it.shown()),
        ),
        Some(code) => ("/code", "-32030, since there is nothing to stop", code.to_string()),
        None => ("", "error -32030, since there is nothing to stop", "a result".to_owned()),
    };
    let violation = out.violated(TURN_17, answer, below).expected(expected).actual(actual);
    let violation = violation.contradicts(answer.request.line);
    if let Some(line) = ended { violation.contradicts(line).done() } else { violation.done() }
}

/// TURN-21: only an interrupt takes a submit back.
fn not_paired(answer: &Answer<'_>, out: &mut Out<'_>) {
    if matches!(answer.code(), Some(-32001 | -32031 | -32024 | -32600 | -32602)) {
        return;
    }
    out.exercised(TURN_21);
    if answer.data("reason").is_some_and(|it| it.is("not_paired_interrupt")) && answer.code() == Some(-32030) {
        return;
    }
    let actual = match answer.code() {
        None => "a result".to_owned(),
        Some(code) => code.to_string(),
    };
    out.violated(TURN_21, answer, "")
        .expected("error -32030 with reason `not_paired_interrupt`")
        .actual(actual)
        .contradicts(answer.request.line)
        .done();
}
