//! One command and its answer.

use super::{CMD_1, CMD_2, CMD_3, CMD_15, CMD_16, CMD_18, Commands};
use crate::facts::{Answer, Request, Value};
use crate::rules::out::Out;

/// Reasons that belong to certain methods.
const OWNERS: [(&str, &[&str]); 9] = [
    ("missing_goal", &["goal/*"]),
    ("invalid_goal_state", &["goal/*"]),
    ("session_id_conflict", &["session/start"]),
    ("run_active", &["turn/unqueue"]),
    ("already_applied", &["turn/unqueue"]),
    ("not_paired_interrupt", &["turn/cancel"]),
    ("deferred_start_failed", &["turn/start"]),
    ("stale_attempt", &["workflow/childControl"]),
    ("invalid_model", &["session/setModel"]),
];

/// Commands that need a loaded session, beyond doubt.
const LOADED: [&str; 12] = [
    "turn/start",
    "turn/steer",
    "turn/interrupt",
    "turn/cancel",
    "turn/unqueue",
    "goal/set",
    "goal/clear",
    "session/compact",
    "session/setModel",
    "session/setReasoningEffort",
    "session/setApprovalMode",
    "approval/decide",
];

/// Whether a text is a UUID of version 7.
fn is_v7(text: &str) -> bool {
    let bytes = text.as_bytes();
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| if dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
        && bytes[14] == b'7'
        && matches!(bytes[19].to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b')
}

/// CMD-1: a client under test mints ids of the right form.
pub(super) fn id_of_client(request: &Request<'_>, out: &mut Out<'_>) {
    let Some(id) = request.param("commandId").filter(|_| out.is_client_run()) else { return };
    out.exercised(CMD_1);
    if !id.text().is_some_and(|text| is_v7(&text)) {
        out.violated(CMD_1, request, "/commandId").expected("a UUID of version 7").actual(id.shown()).done();
    }
}

/// CMD-2: an id of another form is refused. Tells whether the form is right.
pub(super) fn form_of_id(answer: &Answer<'_>, out: &mut Out<'_>) -> bool {
    let Some(id) = answer.param("commandId").and_then(|it| it.text()) else { return true };
    if is_v7(&id) {
        return true;
    }
    if !matches!(answer.code(), Some(-32600 | -32601 | -32010 | -32001 | -32031 | -32024 | -32020)) {
        refused_form(answer, out);
    }
    false
}

/// CMD-2: a command without an id is refused.
pub(super) fn lacks_id(answer: &Answer<'_>, out: &mut Out<'_>) {
    let faults = &answer.request.faults;
    let is_alone = faults.len() == 1
        && faults[0].keyword.as_deref() == Some("required")
        && faults[0].pointer == "/params"
        && faults[0].expected.contains("`commandId`");
    if is_alone && !matches!(answer.code(), Some(-32600 | -32601 | -32010 | -32001 | -32031 | -32024 | -32020)) {
        refused_form(answer, out);
    }
}

fn refused_form(answer: &Answer<'_>, out: &mut Out<'_>) {
    out.exercised(CMD_2);
    if answer.code() != Some(-32602) {
        out.violated(CMD_2, answer, if answer.code().is_some() { "/code" } else { "" })
            .expected("error -32602 for a commandId that is no UUID of version 7")
            .actual(shown(answer))
            .contradicts(answer.request.line)
            .done();
    }
}

/// CMD-3: the ack names the command. Another status is a word outside an open enum, which is told as such.
pub(super) fn echo(answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(result) = answer.result() else { return };
    let Some(said) = result.get("commandId") else { return };
    out.exercised(CMD_3);
    let sent = answer.param("commandId");
    if sent.is_some_and(|sent| sent.hash() != said.hash()) {
        out.violated(CMD_3, answer, "/commandId")
            .expected(sent.map_or_else(String::new, |it| it.shown()))
            .actual(said.shown())
            .contradicts(answer.request.line)
            .done();
    }
}

/// CMD-16 and CMD-18: what a rejection says.
pub(super) fn rejection(answer: &Answer<'_>, out: &mut Out<'_>) {
    if answer.code() != Some(-32030) {
        return;
    }
    out.exercised(CMD_16);
    let (said, sent) = (answer.data("commandId"), answer.param("commandId"));
    if said.map(|it| it.hash()) != sent.map(|it| it.hash()) {
        let sent = sent.map_or_else(String::new, |it| it.shown());
        return wrong(answer, "/data/commandId", sent, said, out);
    }
    let reason = answer.data("reason");
    let text = reason.and_then(|it| it.text()).unwrap_or_default();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if text.is_empty() || !text.bytes().all(is_word) {
        return wrong(answer, "/data/reason", "a word in lower case".to_owned(), reason, out);
    }
    let retryable = answer.data("retryable").filter(|it| it.bool() == Some(true));
    if retryable.is_some() {
        return wrong(answer, "/data/retryable", "false, or nothing".to_owned(), retryable, out);
    }
    let Some((_, owners)) = OWNERS.iter().find(|(reason, _)| *reason == &*text) else { return };
    out.exercised(CMD_18);
    let fits = owners.iter().any(|owner| match owner.strip_suffix('*') {
        Some(start) => answer.at.method.starts_with(start),
        None => *owner == answer.at.method,
    });
    if !fits {
        out.violated(CMD_18, answer, "/data/reason")
            .expected(format!("a reason of {}", answer.at.method))
            .actual(format!("\"{text}\", which is of {}", owners.join(" or ")))
            .contradicts(answer.request.line)
            .done();
    }
}

fn wrong(answer: &Answer<'_>, below: &str, expected: String, actual: Option<Value<'_>>, out: &mut Out<'_>) {
    out.violated(CMD_16, answer, below)
        .expected(expected)
        .actual(actual.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
        .contradicts(answer.request.line)
        .done();
}

impl Commands {
    /// What a host says of the sessions that it has.
    pub(super) fn learn(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let host = out.core().connection(answer.at.conn).host;
        if let ("session/read", Some(session), Some(-32020)) = (answer.at.method, answer.session, answer.code()) {
            self.missing.insert((host, session), answer.at.line);
        }
        let Some(result) = answer.result() else { return };
        match answer.at.method {
            "session/list" => {
                let rows = result.get("sessions").into_iter().flat_map(|it| it.items());
                let ids = rows.filter_map(|row| row.id_of("sessionId"));
                self.listed.extend(ids.map(|session| ((host, session), answer.at.line)));
            }
            "session/read" => {
                self.listed.extend(answer.session.map(|session| ((host, session), answer.at.line)));
            }
            "session/start" | "session/fork" | "session/sideChat" | "session/resume" => {
                if let Some(session) = answer.session {
                    self.missing.remove(&(host, session));
                }
            }
            _ => {}
        }
    }

    /// CMD-15: not loaded and not there are told apart.
    pub(super) fn loaded(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session.filter(|_| LOADED.contains(&answer.at.method)) else { return };
        if matches!(answer.code(), Some(-32600 | -32601 | -32010 | -32001 | -32031)) {
            return;
        }
        let host = out.core().connection(answer.at.conn).host;
        let key = (host, session);
        let (wanted, line) = match (self.missing.get(&key), self.listed.get(&key)) {
            (Some(line), _) if *line < answer.request.line => (-32020, *line),
            (_, Some(line)) if *line < answer.request.line && answer.request.state.loaded == Some(false) => {
                (-32024, *line)
            }
            _ => return,
        };
        out.exercised(CMD_15);
        if answer.code() != Some(wanted) {
            out.violated(CMD_15, answer, if answer.code().is_some() { "/code" } else { "" })
                .expected(format!("error {wanted}, as the host itself said"))
                .actual(shown(answer))
                .contradicts(line)
                .contradicts(answer.request.line)
                .done();
        }
    }
}

pub(super) fn shown(answer: &Answer<'_>) -> String {
    answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string())
}
