//! A submit and its ack: what is refused, and what the ack says of the turn.

use super::{Ack, Queued, TURN_1, TURN_2, TURN_3, TURN_4, TURN_5, TURN_8, TURN_9, TURN_13, TURN_15, Turns};
use crate::facts::{Answer, Id, Turn, Value};
use crate::rules::monitor::Watched;
use crate::rules::out::Out;

/// Codes that may come before a submit is looked at, or in its place: nothing is decided by them.
const EARLIER: [i64; 8] = [-32600, -32601, -32001, -32031, -32010, -32024, -32013, -32014];

/// What is wrong with the input of a submit that the schema lets pass.
fn fault_of_input(answer: &Answer<'_>) -> Option<(&'static str, &'static [i64])> {
    let shell = answer.param("userShell");
    let parts: Vec<Value<'_>> = answer.param("input").iter().flat_map(Value::items).collect();
    let is = |part: &Value<'_>, word: &str| part.get("type").is_some_and(|it| it.is(word));
    let skills = parts.iter().filter(|part| is(part, "skill")).count();
    let texts = parts.iter().filter(|part| is(part, "text")).count();
    let bad_image = parts.iter().filter(|part| is(part, "image")).any(|part| {
        part.get("base64Data").is_none_or(|data| data.text().is_none_or(|text| text.is_empty() || !is_base64(&text)))
    });
    if shell.is_some() && texts + skills > 0 {
        return None;
    }
    // Of a skill on a steer the sources say either (DIS-32).
    let skill: &[i64] = if answer.at.method == "turn/steer" { &[-32602, -32032] } else { &[-32602] };
    if parts.is_empty() && shell.is_none() {
        Some(("an empty input", &[-32602]))
    } else if skills > 1 {
        Some(("two skills", skill))
    } else if skills == 1 && texts > 0 {
        Some(("a skill beside a text", skill))
    } else if bad_image {
        Some(("an image without good base 64", &[-32602]))
    } else {
        None
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len() % 4 == 0
        && text.len() - body.len() <= 2
        && body.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'+' || it == b'/')
}

fn refused_with(answer: &Answer<'_>, rule: Watched, what: &str, codes: &[i64], out: &mut Out<'_>) {
    match answer.code() {
        Some(code) if codes.contains(&code) || EARLIER.contains(&code) => out.exercised(rule),
        code => {
            out.exercised(rule);
            let words: Vec<String> = codes.iter().map(i64::to_string).collect();
            out.violated(rule, answer, if code.is_some() { "/code" } else { "" })
                .expected(format!("error {} for {what}", words.join(" or ")))
                .actual(code.map_or_else(|| "a result".to_owned(), |code| code.to_string()))
                .contradicts(answer.request.line)
                .done();
        }
    }
}

/// TURN-1, TURN-2: submits that the schema refuses.
pub(super) fn bad(answer: &Answer<'_>, out: &mut Out<'_>) {
    let has = |start: &str, keyword: &str| {
        let mut faults = answer.request.faults.iter();
        faults.any(|it| it.pointer.starts_with(start) && it.keyword.as_deref() == Some(keyword))
    };
    if has("/params/input/", "dependentRequired") {
        refused_with(answer, TURN_2, "an image with one dimension", &[-32602], out);
    }
    let connection = out.core().connection(answer.at.conn);
    if has("/params/userShell", "type") && connection.has("userShell") == Some(true) {
        refused_with(answer, TURN_1, "a `userShell` of null", &[-32602], out);
    }
}

impl Turns {
    /// The answer to `turn/start`.
    pub(super) fn started_by(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let (conn, line) = (answer.at.conn, answer.at.line);
        let epoch = out.core().epoch(conn, Some(session));
        let state = self.session(conn, session, epoch);
        state.in_flight = state.in_flight.saturating_sub(1);
        let failed = state.failed.take();
        let shell = answer.param("userShell").filter(Value::is_object);
        let granted = out.core().connection(conn).has("userShell") == Some(true);
        if let Some((what, codes)) = fault_of_input(answer) {
            return refused_with(answer, TURN_2, what, codes, out);
        }
        out.exercised(TURN_2);
        let word = |name: &str| answer.param(name).and_then(|it| it.text()).unwrap_or_default();
        let if_busy = word("ifBusy");
        if answer.param("workspaceRoots").is_some() && if_busy == "steer" {
            return refused_with(answer, TURN_4, "roots of a steer", &[-32602], out);
        }
        if answer.param("workspaceRoots").is_some() {
            out.exercised(TURN_4);
        }
        if shell.is_some() && granted {
            let mixed = answer
                .param("input")
                .iter()
                .flat_map(Value::items)
                .any(|part| part.get("type").is_some_and(|it| it.is("text") || it.is("skill")));
            if mixed {
                return refused_with(answer, TURN_1, "a `userShell` beside a text or a skill", &[-32602], out);
            }
            out.exercised(TURN_1);
            if answer.code() == Some(-32602) {
                out.violated(TURN_1, answer, "/code")
                    .expected("no refusal of a `userShell` without input")
                    .actual("-32602")
                    .contradicts(answer.request.line)
                    .done();
            }
        }
        let is_new =
            answer.request.command.is_some_and(|command| self.submitted.get(&command) == Some(&answer.request.line));
        if let Some(failed) = failed.filter(|_| is_new) {
            after_a_failure(answer, failed, out);
        }
        let Some(result) = answer.result() else { return };
        self.acked(answer, session, result, &if_busy, out);
        if let (Some(effort), Some(true)) = (
            answer.param("reasoningEffort").and_then(|it| it.id()),
            result.get("disposition").map(|it| it.is("started")),
        ) {
            let state = self.session(conn, session, epoch);
            (state.effort, state.effort_set) = (Some((effort, line)), false);
            out.exercised(TURN_3);
        }
    }

    /// What the ack of a submit says of the turn.
    fn acked(&mut self, answer: &Answer<'_>, session: Id, result: Value<'_>, if_busy: &str, out: &mut Out<'_>) {
        let (conn, line) = (answer.at.conn, answer.at.line);
        let epoch = out.core().epoch(conn, Some(session));
        let disposition = result.text_of("disposition").unwrap_or_default();
        let new = result.get("startedNewTurn").and_then(|it| it.bool()) == Some(true);
        let known = matches!(&*disposition, "started" | "queued" | "steered");
        if known {
            out.exercised(TURN_1);
            if new != (disposition == "started") {
                out.violated(TURN_1, answer, "/startedNewTurn")
                    .expected(format!("{} with disposition {disposition}", !new))
                    .actual(new.to_string())
                    .done();
            }
        }
        let Some(turn) = result.id_of("turnId") else { return };
        let asked_in = answer.request.state.turn;
        // What stood when it was asked stands still, as far as the connection has seen. One that was sent before is answered as then.
        let is_new = answer.request.command.is_none_or(|it| self.submitted.get(&it) == Some(&answer.request.line));
        let steady = is_new && asked_in == answer.state.turn;
        let was_idle = steady && self.is_idle(conn, session, asked_in);
        let seen = self.started.contains_key(&(session, turn)) || self.ended.contains_key(&(session, turn));
        let state = self.session(conn, session, epoch);
        if was_idle && !seen && known {
            let rule = if if_busy == "steer" { TURN_9 } else { TURN_5 };
            out.exercised(rule);
            if disposition != "started" {
                out.violated(rule, answer, "/disposition")
                    .expected("started, since no turn is open")
                    .actual(&*disposition)
                    .contradicts(answer.request.line)
                    .done();
            }
        }
        if let (true, Turn::Open(busy)) = (steady, asked_in) {
            match if_busy {
                "steer" => {
                    out.exercised(TURN_9);
                    if disposition == "steered" && turn != busy {
                        out.violated(TURN_9, answer, "/turnId")
                            .expected("the turn that is open")
                            .actual(result.get("turnId").map_or_else(String::new, |it| it.shown()))
                            .contradicts(answer.request.line)
                            .done();
                    }
                }
                "replace" => {
                    let fits = disposition != "steered";
                    state.acks.push(Ack { busy, line, disposition: "replace", fits });
                }
                _ => state.acks.push(Ack { busy, line, disposition: "queue", fits: disposition == "queued" && !new }),
            }
        }
        if let (Some(command), "started" | "queued") = (answer.request.command, &*disposition) {
            self.commands.insert((session, turn), (command, line));
        }
        let state = self.session(conn, session, epoch);
        match &*disposition {
            "started" if !seen => state.awaited.push(turn),
            "queued" if !seen => {
                if let Some(other) = state.queue.iter().find(|queued| queued.turn == turn) {
                    if other.command.is_some() && other.command == answer.request.command {
                        return; // the same submit, sent once more (CMD-6)
                    }
                    out.exercised(TURN_8);
                    out.violated(TURN_8, answer, "/turnId")
                        .expected("a turn that was not named before")
                        .actual(result.get("turnId").map_or_else(String::new, |it| it.shown()))
                        .contradicts(other.line)
                        .done();
                } else if if_busy != "replace" {
                    state.queue.push(Queued { turn, command: answer.request.command, line, unqueued: None });
                }
            }
            "steered" => {
                if let Some(command) = answer.request.command {
                    state.steers.insert(command, (turn, line));
                }
            }
            _ => {}
        }
    }

    /// The answer to `turn/steer`: TURN-2, TURN-9, TURN-15.
    pub(super) fn steered(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        if let Some((what, codes)) = fault_of_input(answer) {
            return refused_with(answer, TURN_2, what, codes, out);
        }
        if answer.request.command.is_some_and(|it| self.submitted.get(&it) != Some(&answer.request.line)) {
            return; // sent once more: its first answer (CMD-6)
        }
        let (conn, line) = (answer.at.conn, answer.at.line);
        let epoch = out.core().epoch(conn, Some(session));
        let Some(expected) = answer.param("expectedTurnId").and_then(|it| it.id()) else { return };
        let ended = self.ended.get(&(session, expected)).copied().filter(|ended| ended.line < answer.request.line);
        let Some(result) = answer.result() else {
            if let (Some(_), Some(code)) = (ended, answer.code()) {
                out.exercised(TURN_15);
                if code != -32030 && !EARLIER.contains(&code) {
                    out.violated(TURN_15, answer, "/code")
                        .expected("-32030 for a turn that has ended")
                        .actual(code.to_string())
                        .contradicts(answer.request.line)
                        .done();
                }
            }
            return;
        };
        out.exercised(TURN_15);
        if let Some(ended) = ended {
            out.violated(TURN_15, answer, "")
                .expected("error -32030, since the turn has ended")
                .actual("a result")
                .contradicts(ended.line)
                .contradicts(answer.request.line)
                .done();
            return;
        }
        let turn = result.id_of("turnId");
        if turn != Some(expected) {
            out.violated(TURN_15, answer, "/turnId")
                .expected("the turn that the steer named")
                .actual(result.get("turnId").map_or_else(|| "none".to_owned(), |it| it.shown()))
                .contradicts(answer.request.line)
                .done();
        }
        if let (Some(turn), Some(command)) = (turn, answer.request.command) {
            self.session(conn, session, epoch).steers.insert(command, (turn, line));
        }
    }
}

/// TURN-13: a turn that failed leaves a session that takes the next one.
fn after_a_failure(answer: &Answer<'_>, failed: u64, out: &mut Out<'_>) {
    let Some(code) = answer.code() else { return out.exercised(TURN_13) };
    let whole = answer.session.is_some_and(|session| out.known(session).whole);
    // A fault of its own, or a command that was used before.
    if matches!(code, -32602 | -32010 | -32032 | -32038 | -32001 | -32031 | -32600 | -32601 | -32013 | -32014)
        || code == -32030 && !whole
    {
        return;
    }
    out.exercised(TURN_13);
    out.violated(TURN_13, answer, "/code")
        .expected("an ack, though the last turn failed")
        .actual(code.to_string())
        .contradicts(failed)
        .contradicts(answer.request.line)
        .done();
}
