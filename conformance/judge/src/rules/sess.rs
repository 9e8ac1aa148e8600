//! Sessions: how they are born, named, left and closed (SESS).

use crate::facts::{Answer, Event, Happened, Id, Map, Placed, Request, Set, Turn, Value};
use crate::rules::instant::instant;
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::transcript::Side;

family! {
    SESS_2 = "SESS-2",
    SESS_3 = "SESS-3",
    SESS_5 = "SESS-5",
    SESS_7 = "SESS-7",
    SESS_8 = "SESS-8",
    SESS_9 = "SESS-9",
    SESS_10 = "SESS-10",
    SESS_11 = "SESS-11",
    SESS_12 = "SESS-12",
    SESS_17 = "SESS-17",
    SESS_18 = "SESS-18",
}

const BIRTHS: [&str; 3] = ["session/start", "session/fork", "session/sideChat"];

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&[
            "session/start",
            "session/fork",
            "session/sideChat",
            "session/resume",
            "session/leave",
        ]),
        answers: Methods::These(&[
            "session/start",
            "session/fork",
            "session/sideChat",
            "session/resume",
            "session/read",
            "session/list",
            "view/subscribe",
        ]),
        events: Methods::All,
        processes: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Sessions>::default(),
};

#[derive(Default)]
struct Sessions {
    /// Births that wait for their answer, by connection.
    in_flight: Map<u32, u32>,
    births: Map<(u32, Id), Birth>,
    /// Starts by their command id: what they asked, and the session that they gave.
    starts: Map<Id, Start>,
    /// A start that is sent again and not answered yet, by connection.
    again: Map<u32, Again>,
    leaves: Map<(u32, Id), Leave>,
    /// Sessions that were closed and not loaded since, with the line.
    closed: Map<(u32, Id), u64>,
    /// Sessions that a command loaded.
    loaded: Set<(u32, Id)>,
    /// Rows of sessions whose birth nothing showed, with the line.
    rows: Map<(u32, Id), u64>,
    ends: Map<u32, End>,
}

#[derive(Default)]
struct Birth {
    answered: u32,
    started: u32,
    started_at: u64,
    /// Line of the first request to resume it.
    resumed_at: Option<u64>,
}

struct Start {
    asked: u64,
    line: u64,
    session: Option<Id>,
    mode: Option<Id>,
}

#[derive(Clone, Copy)]
struct Again {
    session: Id,
    line: u64,
}

#[derive(Default)]
struct Leave {
    sent: u32,
    done: u32,
    first: Option<(u64, u64)>,
}

#[derive(Default, Clone, Copy)]
struct End {
    client: bool,
    server: bool,
    clean: bool,
}

impl Monitor for Sessions {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        let conn = request.at.conn;
        match (request.at.method, request.session, request.command) {
            ("session/resume", Some(session), _) => {
                let birth = self.births.entry((conn, session)).or_default();
                birth.resumed_at.get_or_insert(request.at.line);
            }
            ("session/leave", _, Some(command)) => self.leaves.entry((conn, command)).or_default().sent += 1,
            (method, ..) if BIRTHS.contains(&method) => self.birth(request),
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let (conn, method) = (answer.at.conn, answer.at.method);
        let is_birth = BIRTHS.contains(&method);
        if is_birth {
            let waiting = self.in_flight.entry(conn).or_default();
            *waiting = waiting.saturating_sub(1);
            self.again.remove(&conn);
        }
        if method == "session/start" {
            self.started(answer, out);
        }
        let Some(result) = answer.result() else { return };
        if method == "session/list" {
            for (at, row) in result.get("sessions").into_iter().flat_map(|it| it.items()).enumerate() {
                described(answer, &format!("/sessions/{at}"), row, true, out);
                if let Some(session) = row.id_of("sessionId") {
                    self.births.entry((conn, session)).or_default();
                }
            }
            return;
        }
        if let Some(session) = result.get("session") {
            described(answer, "/session", session, false, out);
        }
        let Some(session) = answer.session.filter(|_| method != "session/read") else { return };
        self.closed.remove(&(conn, session));
        self.loaded.insert((conn, session));
        let may_lack = out.core().connection(conn).may_lack("session/started");
        if is_birth {
            self.births.entry((conn, session)).or_default().answered += 1;
            if !may_lack {
                out.exercised(SESS_2);
            }
        } else if method == "session/resume" && !may_lack {
            out.exercised(SESS_2);
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), true) = (event.session, event.is_live()) else { return };
        let key = (event.at.conn, session);
        match event.method {
            "session/started" => self.announced(event, session, out),
            "session/statusChanged" => status(event, out),
            "session/leaveCompleted" => self.left(event, out),
            "session/closed" => self.end(event, session, out),
            "session/viewHealthChanged" => out.exercised(SESS_17),
            "session/listChanged" => self.row(event, session, out),
            "session/approvalModeChanged" => self.mode(event, session, out),
            _ => {}
        }
        if event.class.is_view() {
            self.closed.remove(&key);
        }
    }

    fn happened(&mut self, happened: &Happened<'_>, out: &mut Out<'_>) {
        let conn = happened.at.conn;
        if happened.what == "spawn" {
            self.ends.remove(&conn);
            self.in_flight.remove(&conn);
            self.births.retain(|(owner, _), _| *owner != conn);
            self.closed.retain(|(owner, _), _| *owner != conn);
            self.loaded.retain(|(owner, _)| *owner != conn);
            self.rows.retain(|(owner, _), _| *owner != conn);
            return;
        }
        let end = self.ends.entry(conn).or_default();
        match happened.what {
            "eof" if happened.at.side == Side::Client => end.client = true,
            "eof" => end.server = true,
            "exit" => end.clean = happened.line.get("code").and_then(|it| it.int()) == Some(0),
            _ => return,
        }
        if !(end.client && end.server && end.clean) || out.core().connection(conn).may_lack("session/closed") {
            return;
        }
        let mut open = self.loaded.iter().filter(|(owner, _)| *owner == conn).count();
        if open > 0 {
            out.exercised(SESS_11);
        }
        self.loaded.retain(|(owner, session)| {
            let is_closed = *owner == conn && self.closed.contains_key(&(conn, *session));
            open -= usize::from(is_closed);
            *owner != conn
        });
        if open > 0 {
            out.violated(SESS_11, happened, "")
                .expected("`session/closed` of each loaded session before the exit")
                .actual(format!("{open} without"))
                .done();
        }
    }
}

impl Sessions {
    fn birth(&mut self, request: &Request<'_>) {
        let conn = request.at.conn;
        let waiting = self.in_flight.entry(conn).or_default();
        *waiting += 1;
        let Some(command) = request.command.filter(|_| request.at.method == "session/start") else { return };
        let asked = request.params.map_or(0, |it| it.hash());
        let start = self.starts.entry(command).or_insert_with(|| Start {
            asked,
            line: request.at.line,
            session: None,
            mode: request.param("approvalMode").and_then(|it| it.id()),
        });
        if let (Some(session), true, 1) = (start.session, start.asked == asked, *waiting) {
            self.again.insert(conn, Again { session, line: request.at.line });
        }
    }

    /// SESS-3 and SESS-7: which session a start gives.
    fn started(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(start) = answer.request.command.and_then(|command| self.starts.get_mut(&command)) else { return };
        let is_first = start.line == answer.request.line;
        let given = answer.param("sessionId").filter(|it| !it.is_null());
        let line = answer.request.line;
        if is_first && given.is_some() && answer.request.state.loaded == Some(true) && !answer.is_of_ledger() {
            let is_refused = matches!(answer.code(), Some(-32020 | -32021 | -32030)) || answer.result().is_some();
            let is_right =
                answer.code() == Some(-32030) && answer.data("reason").is_some_and(|it| it.is("session_id_conflict"));
            if is_refused {
                out.exercised(SESS_3);
            }
            if is_refused && !is_right {
                let actual = answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string());
                let below = if answer.code() == Some(-32030) { "/data/reason" } else { "" };
                out.violated(SESS_3, answer, below)
                    .expected("error -32030 session_id_conflict for the id of a session that is there")
                    .actual(actual)
                    .contradicts(line)
                    .done();
            }
            return;
        }
        let Some(session) = answer.result().and_then(|it| it.path(&["session", "sessionId"])) else { return };
        if !is_first {
            out.exercised(SESS_7);
            return;
        }
        start.session = session.id();
        out.exercised(SESS_3);
        let is_wrong = given.is_some_and(|given| given.id() != session.id());
        if is_wrong || session.text().is_none_or(|id| !is_version_seven(&id)) {
            let expected = if is_wrong { "the id that the start gave" } else { "a UUID of version 7" };
            out.violated(SESS_3, answer, "/session/sessionId")
                .expected(expected)
                .actual(session.shown())
                .contradicts(line)
                .done();
        }
    }

    /// SESS-2, 7 and 18: `session/started`.
    fn announced(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let conn = event.at.conn;
        let waiting = self.in_flight.get(&conn).copied().unwrap_or_default();
        if let Some(row) = event.param("session") {
            described(event, "/session", row, false, out);
        }
        self.closed.remove(&(conn, session));
        if let Some(again) = self.again.get(&conn).filter(|again| again.session != session) {
            // Children are no births of a command.
            let is_child = event.params.and_then(|it| it.path(&["session", "kind"])).is_some_and(|it| !it.is("root"));
            if !is_child && waiting == 1 {
                out.exercised(SESS_7);
                out.violated(SESS_7, event, "/session/sessionId")
                    .expected("no second session for a start that is sent again")
                    .actual("a session that no command asked for")
                    .contradicts(again.line)
                    .done();
            }
        }
        if let Some(line) = self.rows.remove(&(conn, session)) {
            out.violated(SESS_18, event, "")
                .expected("the birth of a session before its first row")
                .actual("a row before")
                .contradicts(line)
                .done();
        }
        let birth = self.births.entry((conn, session)).or_default();
        birth.started += 1;
        let (first, is_more) = (birth.started_at, birth.started > (birth.answered + waiting).max(1));
        let resumed = birth.resumed_at.filter(|_| birth.answered + waiting == 0 && birth.started == 1);
        birth.started_at = event.at.line;
        let of_resume = resumed.filter(|_| out.core().connection(conn).from_start);
        if let Some(line) = of_resume.or(is_more.then_some(first)) {
            out.violated(SESS_2, event, "")
                .expected("`session/started` once for each birth, and never for a resume")
                .actual("one without a birth")
                .contradicts(line)
                .done();
        }
    }

    /// SESS-10: the end of a leave.
    fn left(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(command), Some(params)) = (event.param("commandId").and_then(|it| it.id()), event.params) else {
            return;
        };
        out.exercised(SESS_10);
        let is = |outcome: &str| params.get("outcome").is_some_and(|it| it.is(outcome));
        let has = |name: &str| params.some(name).is_some();
        let wrong = if is("released") && !has("viewCursor") {
            Some(("", "a `viewCursor`, as the session was released", "none"))
        } else if is("released") && has("reason") {
            Some(("/reason", "no reason for a release", "one"))
        } else if is("failed") && !has("reason") {
            Some(("", "a `reason`, as it failed", "none"))
        } else {
            None
        };
        if let Some((below, expected, actual)) = wrong {
            out.violated(SESS_10, event, below).expected(expected).actual(actual).done();
        }
        let leave = self.leaves.entry((event.at.conn, command)).or_default();
        leave.done += 1;
        let content = params.hash();
        let (first, line) = *leave.first.get_or_insert((content, event.at.line));
        if leave.sent > 0 && leave.done > leave.sent {
            out.violated(SESS_10, event, "")
                .expected("one end for each time that the leave was sent")
                .actual("one more")
                .contradicts(line)
                .done();
        } else if first != content {
            out.violated(SESS_10, event, "")
                .expected("the end that was recorded")
                .actual("another")
                .contradicts(line)
                .done();
        }
    }

    /// SESS-11 and 12: `session/closed`.
    fn end(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let conn = event.at.conn;
        out.exercised(SESS_11);
        if let Some(line) = self.closed.insert((conn, session), event.at.line) {
            out.violated(SESS_11, event, "")
                .expected("one `session/closed` for each load")
                .actual("another one")
                .contradicts(line)
                .done();
        }
        if let (Some(cursor), Some(head)) = (event.cursor, event.state.head) {
            if out.core().compare(session, cursor, head) == Some(std::cmp::Ordering::Less) {
                let line = out.core().seen(session, head).unwrap_or(event.at.line);
                out.violated(SESS_11, event, "/viewCursor")
                    .expected("the last cursor of the view")
                    .actual("an earlier one")
                    .contradicts(line)
                    .done();
            }
        }
        if event.param("reason").is_some_and(|it| it.is("idle")) {
            let state = event.state;
            if state.subscribed.is_some() {
                out.exercised(SESS_12);
            }
            let why = match (state.subscribed, state.turn) {
                (Some(true), _) => Some("one to which the connection is subscribed"),
                (_, Turn::Open(_)) => Some("one with an open turn"),
                _ => None,
            };
            if let Some(why) = why {
                out.violated(SESS_12, event, "/reason").expected("a session that is idle").actual(why).done();
            }
        }
    }

    /// SESS-18: a row of a session that lives.
    fn row(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let key = (event.at.conn, session);
        out.exercised(SESS_18);
        if !self.births.contains_key(&key) {
            self.rows.insert(key, event.at.line);
        }
        let is_loaded =
            event.params.and_then(|it| it.path(&["session", "status"])).is_some_and(|it| !it.is("notLoaded"));
        if let Some(line) = self.closed.get(&key).filter(|_| is_loaded) {
            out.violated(SESS_18, event, "/session/status")
                .expected("no row of a loaded session after it was closed")
                .actual("one")
                .contradicts(*line)
                .done();
        }
    }

    /// SESS-5: the mode that a start asked for.
    fn mode(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let command = event.param("commandId").and_then(|it| it.id());
        let Some(start) = command.and_then(|command| self.starts.get(&command)) else { return };
        if start.session.is_some_and(|of| of != session) {
            return;
        }
        out.exercised(SESS_5);
        let source = event.param("source");
        let wrong = if start.mode.is_some() && event.param("mode").and_then(|it| it.id()) != start.mode {
            Some(("/mode", "the mode that the start asked for", event.param("mode")))
        } else if source.is_some_and(|it| !it.is("approvalReconfigure")) {
            Some(("/source", "\"approvalReconfigure\"", source))
        } else {
            None
        };
        if let Some((below, expected, actual)) = wrong {
            let actual = actual.map_or_else(|| "none".to_owned(), |it| it.shown());
            out.violated(SESS_5, event, below).expected(expected).actual(actual).contradicts(start.line).done();
        }
    }
}

/// SESS-9: attention is a list of flags, or left out. Whether a status is another than the one before is left open: behind a
/// slow reader or a gap, a push may be lost.
fn status(event: &Event<'_>, out: &mut Out<'_>) {
    out.exercised(SESS_9);
    if event.param("attention").is_some_and(|it| it.items().next().is_none()) {
        out.violated(SESS_9, event, "/attention").expected("no member without a flag").actual("[]").done();
    }
}

/// SESS-8: what a session object says of itself.
fn described(fact: &impl Placed, below: &str, session: Value<'_>, is_row: bool, out: &mut Out<'_>) {
    out.exercised(SESS_8);
    let mut wrong = |name: &str, expected: &str, actual: String| {
        out.violated(SESS_8, fact, &format!("{below}{name}")).expected(expected).actual(actual).done();
    };
    let is_loaded = !session.get("status").is_some_and(|it| it.is("notLoaded"));
    if let Some(turn) = session.some("activeTurnId").filter(|_| !is_loaded) {
        wrong("/activeTurnId", "null, as the session is not loaded", turn.shown());
    }
    if let (Some(created), Some(updated)) = (session.text_of("createdAt"), session.text_of("updatedAt")) {
        if let (Some(first), Some(last)) = (instant(&created), instant(&updated)) {
            if first > last {
                wrong("/createdAt", "a time no later than `updatedAt`", format!("\"{created}\""));
            }
        }
    }
    if session.some("forkedFrom").is_some() && session.some("sideFrom").is_some() {
        wrong("/sideFrom", "one of `forkedFrom` and `sideFrom` at most", "both".to_owned());
    }
    if let Some(attention) = session.get("attention") {
        if attention.items().next().is_none() || !is_loaded {
            wrong("/attention", "no member without a flag, or when not loaded", attention.shown());
        }
    }
    let conn = fact.at().conn;
    let ephemeral = out.core().connection(conn).ephemeral();
    if let (Some(path), Some(ephemeral)) = (session.get("path"), ephemeral) {
        if path.is("") != ephemeral && !(is_row && ephemeral) {
            let expected = if ephemeral { "\"\", as the host keeps nothing" } else { "where the session lies" };
            out.violated(SESS_8, fact, &format!("{below}/path")).expected(expected).actual(path.shown()).done();
        }
    }
}

/// Whether a text is a UUID of version 7 in its plain form.
fn is_version_seven(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain =
        |at: usize| if matches!(at, 8 | 13 | 18 | 23) { bytes[at] == b'-' } else { bytes[at].is_ascii_hexdigit() };
    bytes.len() == 36
        && (0..36).all(plain)
        && bytes[14] == b'7'
        && matches!(bytes[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B')
}
