//! The same command id again.

use super::ack::shown;
use super::{
    CMD_5, CMD_6, CMD_7, CMD_8, CMD_9, CMD_10, CMD_11, CMD_12, CMD_14, CMD_17, Command, Commands, First, Sent, word,
};
use crate::facts::document::hash_of_members;
use crate::facts::{Answer, Id, Request, Value};
use crate::rules::monitor::Watched;
use crate::rules::out::Out;

/// What births and loads answer may move on by itself.
const MOVES_ON: [&str; 4] = ["session/start", "session/resume", "session/fork", "session/sideChat"];

/// Verbs that a host may forget when it ends (CMD-13).
const FORGOTTEN: [&str; 4] = ["turn/interrupt", "turn/cancel", "task/stop", "task/stopAll"];

/// How a command differs from the one of that id before.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Same {
    /// The bytes of its params are the same.
    Bytes,
    /// As JSON it is the same, or only its `trace` is another.
    Params,
    /// A member has another value, or it is another method.
    Not,
    /// Another member is there, or one is missing: that says nothing.
    Unclear,
}

/// A command that was sent before.
#[derive(Clone, Copy)]
pub(super) struct Again {
    same: Same,
    /// The answer that was there when it was sent.
    first: First,
    is_same_session: bool,
    later_process: bool,
    /// Whether it had been named by the view before.
    was_named: bool,
}

fn members(params: Option<Value<'_>>) -> Box<[(Id, u64)]> {
    let members = params.into_iter().flat_map(|it| it.members());
    members.map(|(name, value)| (Id::of(name.text().as_bytes()), value.hash())).collect()
}

impl Commands {
    pub(super) fn sent(&mut self, request: &Request<'_>, command: Id, out: &mut Out<'_>) {
        let method = Id::of(request.at.method.as_bytes());
        let host = out.core().connection(request.at.conn).host;
        let bytes =
            (Id::of(request.params.map_or(&[][..], |it| it.raw())), request.root.get("trace").map(|it| it.hash()));
        let members = members(request.params);
        // Each value is hashed once, for itself and for the whole.
        let whole = || hash_of_members(members.iter().map(|(name, value)| (name.get(), *value)));
        let params = request.params.map_or(0, |_| whole());
        let mut again = None;
        if let Some(first) = self.known.get_mut(&command) {
            self.refused.remove(&command);
            let differs = |(name, value): &(Id, u64)| first.members.iter().any(|(it, was)| it == name && was != value);
            let same = if first.method != method || members.iter().any(differs) {
                Same::Not
            } else if first.bytes == bytes {
                Same::Bytes
            } else if first.params == params {
                Same::Params
            } else {
                Same::Unclear
            };
            let is_open = matches!(first.answer, First::Open);
            first.crossed |= is_open;
            let later_process = first.host != host;
            if later_process && first.named.is_none() && matches!(first.answer, First::Result { .. }) {
                first.replayed_unnamed = Some(request.at.line);
            }
            again = Some(Again {
                same,
                first: first.answer,
                is_same_session: first.session == request.session,
                later_process,
                was_named: first.named.is_some(),
            });
            if out.is_client_run() && self.strange.contains(&command) {
                out.violated(CMD_17, request, "/commandId")
                    .expected("no repetition of a command that was rejected for a reason that is not known")
                    .actual("the same command again")
                    .contradicts(first.line)
                    .done();
            }
            if matches!(first.answer, First::Refused(_)) && same != Same::Bytes {
                // A corrected command is a first try.
                (first.method, first.params, first.bytes, first.members) = (method, params, bytes, members);
            }
        } else {
            let first = Command {
                method,
                session: request.session,
                host,
                line: request.at.line,
                bytes,
                params,
                members,
                answer: First::Open,
                crossed: false,
                named: None,
                turn: None,
                is_queued: false,
                replayed_unnamed: None,
            };
            self.known.insert(command, Box::new(first));
        }
        self.open.insert((request.at.conn, request.at.line), Sent { command, again });
    }

    pub(super) fn answered(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(sent) = self.open.remove(&(answer.at.conn, answer.request.line)) else { return };
        let Some(command) = self.known.get(&sent.command) else { return };
        let is_admitted = !matches!(answer.code(), Some(-32001 | -32031));
        if let (Some(again), true) = (sent.again, is_admitted) {
            self.again(command, again, answer, out);
        }
        let is_conflict = answer.data("reason").is_some_and(|it| it.is("command_id_conflict"));
        let Some(command) = self.known.get_mut(&sent.command) else { return };
        let is_settled = matches!(command.answer, First::Result { .. } | First::Rejected { .. });
        if is_settled || is_conflict {
            return;
        }
        command.answer = match answer.code() {
            None => First::Result {
                hash: answer.result().map_or(0, |it| it.hash()),
                line: answer.at.line,
                born: answer.result().and_then(|it| it.path(&["session", "sessionId"])?.id()),
            },
            Some(-32030) => {
                let reason = answer.data("reason").and_then(|it| it.id()).unwrap_or_else(|| word(""));
                First::Rejected { reason, line: answer.at.line }
            }
            Some(_) => First::Refused(answer.at.line),
        };
        // Its session may be that of a birth.
        command.session = command.session.or(answer.session);
        if let Some(result) = answer.result() {
            command.turn = result.id_of("turnId");
            command.is_queued = result.get("disposition").is_some_and(|it| it.is("queued"));
        }
    }

    fn again(&self, command: &Command, again: Again, answer: &Answer<'_>, out: &mut Out<'_>) {
        let is_forgotten = again.later_process
            && (FORGOTTEN.contains(&answer.at.method)
                || out.core().connection(answer.at.conn).ephemeral() != Some(false));
        if command.crossed || is_forgotten {
            return;
        }
        let is_born = MOVES_ON.contains(&answer.at.method);
        match (again.first, again.same) {
            (First::Open, _) | (_, Same::Unclear) => {}
            (First::Refused(line), _) => {
                out.exercised(CMD_10);
                if answer.code() == Some(-32030) && answer.data("reason").is_some_and(|it| it.is("command_id_conflict"))
                {
                    wrong(
                        CMD_10,
                        answer,
                        "a first try, as the first was refused without being taken",
                        "/data/reason",
                        line,
                        out,
                    );
                }
            }
            (First::Result { line, .. } | First::Rejected { line, .. }, Same::Not) => {
                if again.is_same_session && !is_born && answer.code() != Some(-32602) {
                    out.exercised(CMD_7);
                    let is_conflict = answer.data("reason").is_some_and(|it| it.is("command_id_conflict"));
                    if !is_conflict {
                        wrong(CMD_7, answer, "error -32030 command_id_conflict for other params", "", line, out);
                    }
                }
            }
            (First::Rejected { reason, line }, same) => {
                let rule = if same == Same::Bytes { CMD_9 } else { CMD_8 };
                out.exercised(rule);
                let said = answer.data("reason").and_then(|it| it.id());
                if answer.code() != Some(-32030) || said != Some(reason) {
                    wrong(rule, answer, "the first refusal again", "", line, out);
                }
            }
            (First::Result { line, born, .. }, Same::Bytes | Same::Params) if is_born => {
                if again.later_process && answer.at.method == "session/start" && answer.code() != Some(-32021) {
                    out.exercised(CMD_14);
                    let now = answer.result().and_then(|it| it.path(&["session", "sessionId"])?.id());
                    if now != born {
                        wrong(CMD_14, answer, "the session that the command gave birth to", "", line, out);
                    }
                }
            }
            (First::Result { hash, line, .. }, same) => {
                self.same_answer(command, again, (hash, line, same), answer, out);
            }
        }
    }

    fn same_answer(
        &self,
        command: &Command,
        again: Again,
        (hash, line, same): (u64, u64, Same),
        answer: &Answer<'_>,
        out: &mut Out<'_>,
    ) {
        let turn = command.turn.and_then(|turn| self.turns.get(&turn));
        if turn.is_some_and(|turn| turn.failed_to_launch) {
            out.exercised(CMD_11);
            if answer.code() != Some(-32030) || !answer.data("reason").is_some_and(|it| it.is("deferred_start_failed"))
            {
                wrong(CMD_11, answer, "error -32030 deferred_start_failed", "", line, out);
            }
            return;
        }
        if again.later_process {
            self.after_restart(command, again, line, answer, out);
        }
        // Work that has no turn, such as a compaction, may have been cut off as well (CMD-12).
        let is_abandoned = answer.data("reason").is_some_and(|it| it.is("abandoned"));
        if again.later_process && is_abandoned && command.turn.is_none() {
            return;
        }
        // A turn that a dead host left, or one that nobody saw end: either answer may be right.
        let is_cut = again.later_process
            && command.turn.is_some()
            && turn.is_none_or(|turn| turn.ended_on != Some(command.host));
        if is_cut {
            return;
        }
        let rule = if same == Same::Bytes { CMD_6 } else { CMD_8 };
        // GOAL-7 and AGENT-5 say it for these.
        if ["goal/", "subagent/"].iter().any(|it| answer.at.method.starts_with(it)) {
            return;
        }
        out.exercised(rule);
        if answer.result().map(|it| it.hash()) != Some(hash) {
            wrong(rule, answer, "the first answer again", "", line, out);
        }
    }

    /// CMD-5 and CMD-12: a command that a dead host acked.
    fn after_restart(&self, command: &Command, again: Again, line: u64, answer: &Answer<'_>, out: &mut Out<'_>) {
        if again.was_named || matches!(answer.code(), Some(-32030)) {
            out.exercised(CMD_5);
        }
        let Some(turn) = command.turn.and_then(|turn| self.turns.get(&turn)).filter(|_| !command.is_queued) else {
            return;
        };
        // What only joined a turn is done, whatever became of the turn.
        if answer.request.command != Some(turn.command) {
            return;
        }
        let was_cut = turn.started && turn.ended_on.is_some_and(|host| host != command.host) && turn.was_cut;
        if was_cut {
            out.exercised(CMD_12);
            if answer.code() != Some(-32030) {
                wrong(CMD_12, answer, "error -32030, as the turn was cut off", "", line, out);
            }
        }
    }
}

fn wrong(rule: Watched, answer: &Answer<'_>, expected: &str, below: &str, line: u64, out: &mut Out<'_>) {
    let reason = answer.data("reason").map_or_else(String::new, |it| format!(" {}", it.shown()));
    out.violated(rule, answer, below)
        .expected(expected)
        .actual(format!("{}{reason}", shown(answer)))
        .contradicts(line)
        .contradicts(answer.request.line)
        .done();
}
