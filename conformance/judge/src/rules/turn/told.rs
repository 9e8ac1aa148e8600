//! What answers tell of turns: the queue and the open turn in sessions and snapshots.

use super::{TURN_20, TURN_25, Turns};
use crate::facts::{Answer, Id, Turn, Value};
use crate::rules::out::Out;

impl Turns {
    /// The answer to `session/resume` or `session/read`.
    pub(super) fn told(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let Some(result) = answer.result() else { return };
        let whole = result.get("session");
        let snapshot = result.path(&["history", "snapshot", "state"]).filter(Value::is_object);
        let active = whole.and_then(|it| it.get("activeTurnId"));
        let status = whole.and_then(|it| it.text_of("status")).unwrap_or_default();
        if let Some(active) = active.filter(|_| status != "notLoaded") {
            out.exercised(TURN_25);
            if !active.is_null() && status == "idle" {
                out.violated(TURN_25, answer, "/session/activeTurnId")
                    .expected("null of a session that is idle")
                    .actual(active.shown())
                    .done();
            }
            if let Some(in_snapshot) = snapshot.and_then(|state| state.get("activeTurn")) {
                let turn = in_snapshot.get("turnId").and_then(|it| it.id());
                if turn != active.id() {
                    out.violated(TURN_25, answer, "/history/snapshot/state/activeTurn")
                        .expected(format!("the turn of `activeTurnId`: {}", active.shown()))
                        .actual(in_snapshot.shown())
                        .done();
                }
            }
            Self::active(answer, active, out);
        }
        if let Some(state) = snapshot {
            self.queue(answer, session, state, out);
        }
    }

    /// TURN-25: the turn that is open at the head, where nothing has moved since it was asked.
    fn active(answer: &Answer<'_>, active: Value<'_>, out: &mut Out<'_>) {
        let (asked, now) = (answer.request.state, answer.state);
        let head = answer.result().and_then(|result| result.id_of("viewCursor"));
        if asked.turn != now.turn || head.is_none() || head != now.head {
            return;
        }
        let expected = match now.turn {
            Turn::Open(turn) => Some(turn),
            Turn::Idle => None,
            Turn::Unknown => return,
        };
        if active.id() != expected {
            let words = if expected.is_some() { "the turn that is open" } else { "null, since no turn is open" };
            out.violated(TURN_25, answer, "/session/activeTurnId").expected(words).actual(active.shown()).done();
        }
    }

    /// TURN-20: the queue, in the order of the acks.
    fn queue(&mut self, answer: &Answer<'_>, session: Id, state: Value<'_>, out: &mut Out<'_>) {
        let epoch = out.core().epoch(answer.at.conn, Some(session));
        let known = self.session(answer.at.conn, session, epoch);
        if known.in_flight > 0 || known.queue.is_empty() || known.queue.iter().any(|queued| queued.unqueued.is_some()) {
            return;
        }
        out.exercised(TURN_20);
        let Some(listed) = state.get("queuedTurns") else { return };
        let turns: Vec<Option<Id>> = listed.items().map(|turn| turn.id_of("turnId")).collect();
        let expected: Vec<Option<Id>> = known.queue.iter().map(|queued| Some(queued.turn)).collect();
        if turns != expected {
            let mut violation = out
                .violated(TURN_20, answer, "/history/snapshot/state/queuedTurns")
                .expected(format!("the {} turns that are queued, in the order of their acks", expected.len()))
                .actual(listed.shown());
            for queued in &known.queue {
                violation = violation.contradicts(queued.line);
            }
            violation.done();
        }
    }
}
