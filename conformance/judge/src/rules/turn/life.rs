//! A turn on the view: one start, one end, one at a time, in the order of the queue.

use super::{
    Ended, Session, TURN_3, TURN_5, TURN_7, TURN_8, TURN_9, TURN_10, TURN_11, TURN_12, TURN_14, TURN_16, TURN_22,
    TURN_23, TURN_26, Turns,
};
use crate::facts::{Event, Id, ItemPath, Path, Sight, Sighting, Turn};
use crate::rules::out::Out;

impl Turns {
    /// What one event of a turn says by itself, and what one may come only once.
    pub(super) fn shapes(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        match event.method {
            "turn/completed" => {
                self.one_end(event, session, turn, out);
                end_fits(event, out);
            }
            "turn/retryScheduled" | "turn/modelRetryScheduled" => retry(event, out),
            "turn/foregroundCompleted" => {
                out.exercised(TURN_23);
                let agents = event.param("blockingAgents").map_or(0, |it| it.items().count());
                if agents == 0 {
                    out.violated(TURN_23, event, "/blockingAgents")
                        .expected("one agent at least")
                        .actual("none")
                        .done();
                }
            }
            _ => {}
        }
        let command = event.param("commandId").and_then(|it| it.id());
        if let Some(line) = command.and_then(|command| self.refused.get(&command)) {
            if matches!(event.method, "turn/started" | "turn/completed") {
                out.exercised(TURN_26);
                out.violated(TURN_26, event, "/commandId")
                    .expected("no trace of a submit that was refused")
                    .actual(event.method)
                    .contradicts(*line)
                    .done();
            }
        }
    }

    /// TURN-11: one end for each turn.
    fn one_end(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        out.exercised(TURN_11);
        let ended = Ended { cursor: event.cursor, line: event.at.line };
        let before = *self.ended.entry((session, turn)).or_insert(ended);
        if before.cursor != event.cursor {
            out.violated(TURN_11, event, "/turnId")
                .expected("one end for each turn")
                .actual("a second turn/completed")
                .contradicts(before.line)
                .done();
        }
    }

    /// TURN-7, TURN-11 in a page, where its elements say it.
    pub(super) fn in_a_page(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        let Path::Page { request, .. } = event.path else { return };
        if self.page.0 != request {
            self.page = (request, None);
        }
        match event.method {
            "turn/started" => {
                self.started.entry((session, turn)).or_insert(event.at.line);
                out.exercised(TURN_7);
                if let Some((_, line)) = self.page.1.filter(|(open, _)| *open != turn) {
                    out.violated(TURN_7, event, "/turnId")
                        .expected("no start while another turn is open")
                        .actual("one")
                        .contradicts(line)
                        .done();
                }
                self.page.1 = Some((turn, event.at.line));
            }
            "turn/completed" => self.page.1 = None,
            _ => {}
        }
    }

    /// A turn starts.
    pub(super) fn starts(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        let (conn, line) = (event.at.conn, event.at.line);
        if event.state.turn != Turn::Unknown {
            out.exercised(TURN_7);
        }
        if let Turn::Open(open) = event.state.turn {
            let mut violation =
                out.violated(TURN_7, event, "/turnId").expected("no start while another turn is open").actual("one");
            if let Some(before) = self.started.get(&(session, open)) {
                violation = violation.contradicts(*before);
            }
            violation.after_next_event(session).done();
        }
        self.started.insert((session, turn), line);
        let state = self.session(conn, session, event.epoch);
        state.awaited.retain(|awaited| *awaited != turn);
        state.failed = None;
        if let Some(place) = state.queue.iter().position(|queued| queued.turn == turn) {
            out.exercised(TURN_8);
            if let Some(earlier) = state.queue[..place].iter().find(|queued| queued.unqueued.is_none()) {
                out.violated(TURN_8, event, "/turnId")
                    .expected("the turn that was queued first")
                    .actual("one that was queued later")
                    .contradicts(earlier.line)
                    .after_next_event(session)
                    .done();
            }
            state.queue.remove(place);
        }
        let command = event.param("commandId").and_then(|it| it.id());
        if let Some((_, ack)) = command.and_then(|command| state.steers.get(&command)) {
            out.violated(TURN_9, event, "/commandId")
                .expected("no turn of its own for a steer")
                .actual("turn/started")
                .contradicts(*ack)
                .done();
        }
    }

    /// A turn ends.
    pub(super) fn ends(&mut self, event: &Event<'_>, session: Id, turn: Id, out: &mut Out<'_>) {
        let (conn, line) = (event.at.conn, event.at.line);
        let started = self.started.get(&(session, turn)).copied();
        let state = self.session(conn, session, event.epoch);
        let terminal = event.param("terminal");
        let is = |word: &str| terminal.is_some_and(|it| it.is(word));
        state.certain(event, turn, out);
        if let Some(place) = state.queue.iter().position(|queued| queued.turn == turn) {
            if started.is_none() {
                launch_failed(event, state.queue[place].line, out);
            }
            state.queue.remove(place);
        }
        state.awaited.retain(|awaited| *awaited != turn);
        if event.param("error").and_then(|error| error.get("kind")).is_some_and(|kind| kind.is("launchError")) {
            out.exercised(TURN_14);
            if let Some(started) = started {
                out.violated(TURN_14, event, "/error/kind")
                    .expected("no turn/started of a turn that could not launch")
                    .actual("one")
                    .contradicts(started)
                    .done();
            }
        }
        if let Some(stop) = state.stop.take_if(|stop| stop.turn == turn) {
            out.exercised(TURN_16);
            if let Some(item) = stop.cancelled.filter(|_| !is("cancelled")) {
                out.violated(TURN_16, event, "/terminal")
                    .expected("cancelled, as its items were")
                    .actual(terminal.map_or_else(String::new, |it| it.shown()))
                    .contradicts(stop.line)
                    .contradicts(item)
                    .done();
            }
        }
        (state.effort, state.effort_set) = (None, false);
        state.failed = is("failed").then_some(line);
        state.steers.retain(|_, (owner, _)| *owner != turn);
    }

    /// Items of turns: submits that come before their turn, steers, and ends behind a stop.
    pub(super) fn item_of_turn(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(event)) = (sighting.session, sighting.event) else { return };
        let command = sighting.item.id_of("commandId");
        if sighting.kind == "userMessage" {
            if let Some(line) = command.and_then(|command| self.refused.get(&command)) {
                out.exercised(TURN_26);
                out.violated(TURN_26, sighting, "/commandId")
                    .expected("no trace of a submit that was refused")
                    .actual("its message")
                    .contradicts(*line)
                    .done();
                return;
            }
        }
        if !event.is_live() || event.sight != Sight::New {
            return;
        }
        let (conn, line) = (sighting.at.conn, sighting.at.line);
        let state = self.session(conn, session, sighting.epoch);
        if let Some(turn) = sighting.turn {
            if event.state.turn == Turn::Open(turn) {
                state.acks_certain(event, turn, out);
            }
            if let Some(stop) = state.stop.as_mut().filter(|stop| stop.turn == turn) {
                let ended = matches!(sighting.path, ItemPath::Completed(_)) && sighting.status == "cancelled";
                stop.cancelled = stop.cancelled.or(ended.then_some(line));
            }
        }
        if sighting.kind != "userMessage" || !matches!(sighting.path, ItemPath::Completed(_)) {
            return;
        }
        if let Some((turn, ack)) = command.and_then(|command| state.steers.remove(&command)) {
            out.exercised(TURN_9);
            if sighting.turn != Some(turn) {
                out.violated(TURN_9, sighting, "/turnId")
                    .expected("the turn that the ack named")
                    .actual(sighting.item.get("turnId").map_or_else(String::new, |it| it.shown()))
                    .contradicts(ack)
                    .done();
            } else if sighting.item.get("steered").and_then(|it| it.bool()) != Some(true) {
                out.violated(TURN_9, sighting, "").expected("`steered` true").actual("none").contradicts(ack).done();
            }
            return;
        }
        if let (Some(turn), Turn::Idle) = (sighting.turn, event.state.turn) {
            if state.awaited.contains(&turn) {
                out.exercised(TURN_5);
                out.violated(TURN_5, sighting, "/turnId")
                    .expected("turn/started before the first item of the turn")
                    .actual("an item before it")
                    .after_next_event(session)
                    .done();
            }
        }
    }

    /// TURN-3: an effort for one turn stays with that turn.
    pub(super) fn effort(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let state = self.session(event.at.conn, session, event.epoch);
        let (Some((effort, line)), Some(now)) =
            (state.effort, event.param("reasoningEffort").and_then(|effort| effort.id()))
        else {
            return;
        };
        let of_host = event.param("source").is_some_and(|source| source.is("default") || source.is("policy"));
        if now == effort && !state.effort_set && !of_host {
            out.violated(TURN_3, event, "/reasoningEffort")
                .expected("the default of the session as it was, since the effort was asked for one turn")
                .actual(event.param("reasoningEffort").map_or_else(String::new, |it| it.shown()))
                .contradicts(line)
                .done();
        }
    }
}

impl Session {
    /// TURN-8, TURN-10: with an event of the turn that was open, it is certain that it was open at the acks before.
    fn acks_certain(&mut self, event: &Event<'_>, open: Id, out: &mut Out<'_>) {
        for ack in self.acks.drain(..).filter(|ack| ack.busy == open) {
            let rule = if ack.disposition == "replace" { TURN_10 } else { TURN_8 };
            out.exercised(rule);
            if !ack.fits {
                let words = if rule == TURN_10 { "started or queued" } else { "queued, and no new turn" };
                out.violated(rule, event, "")
                    .elsewhere(ack.line, "turn/start", "/result/disposition")
                    .expected(format!("{words}, since a turn is open"))
                    .actual("another disposition")
                    .done();
            }
        }
    }

    fn certain(&mut self, event: &Event<'_>, turn: Id, out: &mut Out<'_>) {
        if event.state.turn == Turn::Open(turn) {
            self.acks_certain(event, turn, out);
        }
    }
}

/// TURN-14: a queued turn that ends without a start could not launch.
fn launch_failed(event: &Event<'_>, ack: u64, out: &mut Out<'_>) {
    let word = |path: &[&str]| event.params.and_then(|params| params.path(path)).and_then(|it| it.text());
    // After a restart a queued turn may be given up, without an error.
    if matches!(word(&["reason"]).as_deref(), Some("crash" | "crash_inferred" | "incomplete")) {
        return;
    }
    out.exercised(TURN_14);
    let kind = word(&["error", "kind"]);
    if word(&["terminal"]).as_deref() != Some("failed") {
        out.violated(TURN_14, event, "/terminal")
            .expected("failed, since the queued turn never started")
            .actual(event.param("terminal").map_or_else(String::new, |it| it.shown()))
            .contradicts(ack)
            .done();
    } else if kind.as_deref() != Some("launchError") {
        out.violated(TURN_14, event, "/error/kind")
            .expected("launchError, since the queued turn never started")
            .actual(kind.map_or_else(|| "nothing".to_owned(), |kind| format!("\"{kind}\"")))
            .contradicts(ack)
            .done();
    } else if event.params.and_then(|it| it.path(&["error", "retryable"])).and_then(|it| it.bool()) == Some(false) {
        out.violated(TURN_14, event, "/error/retryable").expected("true").actual("false").contradicts(ack).done();
    }
}

/// TURN-11, TURN-12: an error exactly where the turn failed.
fn end_fits(event: &Event<'_>, out: &mut Out<'_>) {
    let Some(terminal) = event.param("terminal").and_then(|it| it.text()) else { return };
    let error = event.param("error");
    if error.is_some() {
        out.exercised(TURN_12);
    }
    let reason = event.param("reason").and_then(|it| it.text());
    let given_up = matches!(reason.as_deref(), Some("crash" | "crash_inferred" | "incomplete"));
    match (&*terminal, error) {
        ("failed", None) if !given_up => {
            out.violated(TURN_11, event, "").expected("an `error`, since the turn failed").actual("none").done();
        }
        ("completed" | "cancelled", Some(error)) => {
            out.violated(TURN_11, event, "/error")
                .expected(format!("no error of a turn that was {terminal}"))
                .actual(error.shown())
                .done();
        }
        _ => {}
    }
}

/// TURN-23: while the turn is open.
pub(super) fn foreground(event: &Event<'_>, turn: Id, out: &mut Out<'_>) {
    let is_closed = match event.state.turn {
        Turn::Open(open) => open != turn,
        Turn::Idle => true,
        Turn::Unknown => false,
    };
    if is_closed {
        out.violated(TURN_23, event, "/turnId").expected("a turn that is open").actual("one that is not").done();
    }
}

/// TURN-22: a retry is a record of the session, and is told while its turn runs.
fn retry(event: &Event<'_>, out: &mut Out<'_>) {
    let Some(range) = event.param("sourceRange") else { return };
    out.exercised(TURN_22);
    let stream = range.path(&["stream", "kind"]);
    if stream.is_some_and(|kind| !kind.is("session")) {
        out.violated(TURN_22, event, "/sourceRange/stream/kind")
            .expected("\"session\"")
            .actual(stream.map_or_else(String::new, |it| it.shown()))
            .done();
    } else if range.get("first").map(|it| it.hash()) != range.get("last").map(|it| it.hash()) {
        out.violated(TURN_22, event, "/sourceRange").expected("one record").actual("several").done();
    }
    let turn = event.param("turnId").and_then(|it| it.id());
    let is_open = match event.state.turn {
        Turn::Open(open) => Some(open) == turn,
        Turn::Idle => false,
        Turn::Unknown => true,
    };
    if event.is_live() && event.sight == Sight::New && !is_open {
        out.violated(TURN_22, event, "/turnId").expected("a turn that is open").actual("one that is not").done();
    }
    if event.method == "turn/modelRetryScheduled" && event.param("reason").is_some() {
        out.violated(TURN_22, event, "/reason").expected("no reason").actual("one").warn().done();
    }
}
