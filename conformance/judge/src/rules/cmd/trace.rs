//! What the view shows of commands.

use std::collections::hash_map::Entry;

use super::{CMD_4, CMD_5, CMD_17, CMD_20, CMD_21, Commands};
use crate::facts::{Answer, Event, Id, Sight, Sighting};
use crate::rules::out::Out;
use crate::transcript::Side;

/// What is known of a turn of an acked command.
pub(super) struct OfTurn {
    pub(super) command: Id,
    /// Line of the ack.
    line: u64,
    conn: u32,
    pub(super) started: bool,
    /// The host on which its end was seen first.
    pub(super) ended_on: Option<u32>,
    /// It did not come to its end by itself.
    pub(super) was_cut: bool,
    pub(super) failed_to_launch: bool,
}

impl Commands {
    /// Remembers what an ack promises.
    pub(super) fn acked(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let (Some(result), Some(command)) = (answer.result(), answer.request.command) else {
            self.refused_for_now(answer, out);
            return;
        };
        let line = answer.at.line;
        match answer.at.method {
            "turn/start" => {
                let is_own = result.get("disposition").is_some_and(|it| it.is("started") || it.is("queued"));
                let (Some(turn), Some(session), true) = (result.id_of("turnId"), answer.session, is_own) else {
                    return;
                };
                let of_turn = OfTurn {
                    command,
                    line,
                    conn: answer.at.conn,
                    started: false,
                    ended_on: None,
                    was_cut: false,
                    failed_to_launch: false,
                };
                if let Entry::Vacant(place) = self.turns.entry(turn) {
                    place.insert(of_turn);
                    self.untraced.entry(session).or_default().push(turn);
                }
            }
            "session/setApprovalMode" => {
                let mode = answer.param("mode").and_then(|it| it.id());
                let is_changed = result.get("applyOutcome").is_some_and(|it| it.is("completed"));
                if let (Some(session), Some(mode), true) = (answer.session, mode, is_changed) {
                    self.modes.insert(session, (mode, command, line));
                }
            }
            "approval/decide" if result.get("terminal").and_then(|it| it.bool()) == Some(true) => {
                self.decides(answer, "approvalId", command);
            }
            "userInput/answer" | "userInput/cancel" | "userInput/clarify" | "userInput/interrupt" => {
                self.decides(answer, "userInputId", command);
            }
            _ => {}
        }
    }

    fn decides(&mut self, answer: &Answer<'_>, name: &str, command: Id) {
        if let Some(prompt) = answer.param(name).and_then(|it| it.id()) {
            self.decided.entry(prompt).or_insert((command, answer.at.line));
        }
    }

    /// A refusal that settles nothing leaves no trace (CMD-21).
    fn refused_for_now(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(command) = answer.request.command else { return };
        let is_first = self.known.get(&command).is_some_and(|it| it.line == answer.request.line && it.named.is_none());
        let is_ruled = matches!(answer.at.method, "turn/start" | "turn/steer") && answer.code() == Some(-32602);
        match answer.code() {
            Some(-32030) => {
                let reason = answer.data("reason").and_then(|it| it.text()).unwrap_or_default();
                if !KNOWN.contains(&&*reason) && out.is_client_run() {
                    out.exercised_by(CMD_17, Side::Client);
                    self.strange.insert(command);
                }
            }
            Some(_) if is_first && !is_ruled => {
                out.exercised(CMD_21);
                self.refused.insert(command, (answer.at.line, answer.at.conn));
            }
            _ => {}
        }
    }

    pub(super) fn shown(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let host = out.core().connection(event.at.conn).host;
        let turn = event.param("turnId").and_then(|it| it.id());
        match event.method {
            "session/statusChanged" => self.status(event),
            "turn/started" | "turn/completed" | "turn/unqueued" => {
                if let (Some(session), Some(turn)) = (event.session, turn) {
                    if let Some(untraced) = self.untraced.get_mut(&session) {
                        untraced.retain(|it| *it != turn);
                    }
                }
                let Some(of_turn) = turn.and_then(|turn| self.turns.get_mut(&turn)) else {
                    self.names(event, event.param("commandId").and_then(|it| it.id()), out);
                    return;
                };
                if event.method == "turn/completed" {
                    let is_launch =
                        event.param("error").and_then(|it| it.get("kind")).is_some_and(|it| it.is("launchError"));
                    of_turn.failed_to_launch |= is_launch && !of_turn.started;
                    of_turn.ended_on.get_or_insert(host);
                    of_turn.was_cut |= !event.param("terminal").is_some_and(|it| it.is("completed"));
                }
                of_turn.started |= event.method == "turn/started";
                if event.method == "turn/started" {
                    let (command, line) = (of_turn.command, of_turn.line);
                    let id = event.param("commandId");
                    out.exercised(CMD_20);
                    if id.and_then(|it| it.id()) != Some(command) {
                        other(event, "/commandId", line, out);
                        return;
                    }
                }
                self.names(event, event.param("commandId").and_then(|it| it.id()), out);
            }
            "session/approvalModeChanged" => {
                let mode = event.param("mode").and_then(|it| it.id());
                let id = event.param("commandId").and_then(|it| it.id());
                if let (Some(session), true) = (event.session, event.is_live()) {
                    if let Some((_, command, line)) = self.modes.remove(&session).filter(|(of, ..)| Some(*of) == mode) {
                        out.exercised(CMD_20);
                        if id != Some(command) {
                            other(event, "/commandId", line, out);
                            return;
                        }
                    }
                }
                self.names(event, id, out);
            }
            _ => self.settled(event, out),
        }
    }

    fn settled(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let prompt = event.param("approvalId").or_else(|| event.param("userInputId")).and_then(|it| it.id());
        let id = event.params.and_then(|it| it.some("decidedByCommandId")).and_then(|it| it.id());
        if let Some((command, line)) = prompt.and_then(|prompt| self.decided.get(&prompt).copied()) {
            let is_timed_out = event.param("outcome").is_some_and(|it| it.is("timedOut"));
            out.exercised(CMD_20);
            if id != Some(command) && !is_timed_out {
                other(event, "/decidedByCommandId", line, out);
                return;
            }
        }
        self.names(event, id, out);
    }

    /// A message of the user names the command that sent it.
    pub(super) fn message(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(event), Some(id)) = (sighting.event, sighting.item.get("commandId").and_then(|it| it.id())) else {
            return;
        };
        self.names(event, Some(id), out);
    }

    fn names(&mut self, event: &Event<'_>, id: Option<Id>, out: &mut Out<'_>) {
        let Some(id) = id else { return };
        if let Some((line, conn)) = self.refused.get(&id).copied() {
            if event.sight == Sight::New && conn == event.at.conn {
                out.exercised(CMD_21);
                out.violated(CMD_21, event, "")
                    .expected("nothing of a command that was refused")
                    .actual("what it did")
                    .contradicts(line)
                    .done();
                self.refused.remove(&id);
            }
        }
        let Some(command) = self.known.get_mut(&id) else { return };
        if let (None, Some(line), true) = (command.named, command.replayed_unnamed, event.sight == Sight::New) {
            if event.method == "turn/started"
                && event.is_live()
                && matches!(command.answer, super::First::Result { .. })
            {
                out.exercised(CMD_5);
                out.violated(CMD_5, event, "/commandId")
                    .expected("a command that the host knew, as it had acked it")
                    .actual("its work only after it was sent again")
                    .contradicts(command.line)
                    .contradicts(line)
                    .done();
            }
        }
        command.named.get_or_insert(event.at.line);
    }

    fn status(&mut self, event: &Event<'_>) {
        let (Some(session), true) = (event.session, event.is_live()) else { return };
        let key = (event.at.conn, session);
        if event.param("status").is_some_and(|it| it.is("idle")) {
            self.idle.insert(key, (event.at.line, event.epoch));
        } else {
            self.idle.remove(&key);
        }
    }

    /// CMD-4: the view was walked to its end while the session is idle, so each acked turn has been shown.
    pub(super) fn walked(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(result)) = (answer.session, answer.result()) else { return };
        let is_end = result.get("nextCursor").is_some_and(|it| it.is_null());
        let is_forward = answer.param("direction").is_none_or(|it| it.is("forward"));
        let Some((idle, epoch)) = self.idle.get(&(answer.at.conn, session)).copied() else { return };
        if !is_end || !is_forward || idle > answer.request.line || epoch != out.known(session).epoch {
            return;
        }
        // What stands in this page itself.
        let elements = || result.get("events").into_iter().flat_map(|it| it.items());
        let shows = |turn: Id| elements().any(|it| it.path(&["params", "turnId"]).and_then(|it| it.id()) == Some(turn));
        for turn in self.untraced.get(&session).into_iter().flatten() {
            let Some(of_turn) = self.turns.get(turn).filter(|it| it.line < idle && it.conn == answer.at.conn) else {
                continue;
            };
            if !shows(*turn) {
                out.exercised(CMD_4);
                out.violated(CMD_4, answer, "/events")
                    .expected("each turn that was acked")
                    .actual("one is missing")
                    .contradicts(of_turn.line)
                    .contradicts(idle)
                    .done();
            }
        }
        out.exercised(CMD_4);
    }
}

fn other(event: &Event<'_>, below: &str, line: u64, out: &mut Out<'_>) {
    let name = below.trim_start_matches('/');
    out.violated(CMD_20, event, below)
        .expected("the command that did it")
        .actual(event.param(name).map_or_else(|| "nothing".to_owned(), |it| it.shown()))
        .contradicts(line)
        .done();
}

/// Reasons that are known (CMD-18).
const KNOWN: [&str; 28] = [
    "command_id_conflict",
    "abandoned",
    "session_id_conflict",
    "missing_run",
    "run_active",
    "already_applied",
    "already_terminal",
    "invalid_target",
    "not_paired_interrupt",
    "deferred_start_failed",
    "missing_goal",
    "invalid_goal_state",
    "not_ready",
    "subagent_state_ineligible",
    "stale_attempt",
    "not_cancellable",
    "policy_rejected",
    "approval_mode_ceiling",
    "runtime_busy",
    "unsupported_route",
    "invalid_model",
    "permission_profile_unknown",
    "permission_profile_unavailable",
    "permission_profile_ephemeral_fixed",
    "cancelled_before_completion",
    "assistant_output_committed",
    "no_restorable_submission",
    "post_run_start_backlog_overflow",
];
