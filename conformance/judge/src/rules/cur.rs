//! Cursors (CUR): each names one event for good, and they are opaque: equal or not, never sorted (CUR-2).

use crate::facts::{Answer, BySession, Class, Event, Id, Map, Request, Sight, Value, Within};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! {
    CUR_1 = "CUR-1",
    CUR_6 = "CUR-6",
    CUR_7 = "CUR-7",
    CUR_8 = "CUR-8",
    CUR_11 = "CUR-11",
    CUR_12 = "CUR-12",
    CUR_13 = "CUR-13",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&ATTACHES),
        answers: Methods::These(&[
            "session/start",
            "session/resume",
            "session/fork",
            "session/sideChat",
            "session/read",
            "session/list",
            "view/page",
            "view/subscribe",
        ]),
        events: Methods::All,
        ..Watches::NOTHING
    },
    monitor: || Box::<Cursors>::default(),
};

/// What attaches a connection to a session, so that events may be delivered again.
const ATTACHES: [&str; 2] = ["session/resume", "view/subscribe"];

/// Notifications that replace a state, and so come only when it changes (CUR-13).
const STATES: [&str; 6] = [
    "session/modelChanged",
    "session/approvalModeChanged",
    "session/nameChanged",
    "session/branchChanged",
    "session/todoListChanged",
    "session/goalChanged",
];

/// Members of a state that say when and by whom, not what.
const BESIDES: [&str; 4] = ["viewCursor", "sourceRange", "commandId", "clientName"];

#[derive(Default)]
struct Cursors {
    /// Line of the last request that attached a connection to a session.
    attached: BySession<(u32, Id), u64>,
    /// The newest unprotected event that was delivered live, and where.
    last: BySession<(u32, Id), (Id, u64)>,
    /// Positions of a session that answers and gaps gave, with the line that did.
    given: Map<Id, Map<Id, u64>>,
    /// Anchors that compactions of a session showed, with the line that did; a page and a resume take them too (CUR-6).
    anchors: Map<(Id, Id), u64>,
    /// Value of a state, by session and method: its hash, its line, and the stretch or page in which it was seen.
    states: BySession<(u32, Id, Id), Stated>,
    /// Cursors of another family: of lists, and of forks (`cutCursor`).
    others: Map<Id, u64>,
}

#[derive(Clone, Copy, PartialEq)]
struct Stated {
    value: u64,
    line: u64,
    within: Within,
}

impl Monitor for Cursors {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        if let Some(session) = request.session {
            self.attached.insert((request.at.conn, session), request.at.line);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        self.strange_cursor(answer, out);
        self.given_cursor(answer, out);
        if let Some(result) = answer.result() {
            let cut = result.path(&["session", "forkedFrom", "cutCursor"]);
            let listed = result.get("nextCursor").filter(|_| answer.at.method == "session/list");
            let others = [cut, listed].into_iter().filter_map(|cursor| cursor?.id());
            self.others.extend(others.map(|cursor| (cursor, answer.at.line)));
        }
        let (Some(session), Some(result)) = (answer.session, answer.result()) else { return };
        if answer.at.method == "view/page" {
            out.exercised(CUR_12);
        }
        let given = self.given.entry(session).or_default();
        for name in ["viewCursor", "nextCursor"] {
            given.extend(result.id_of(name).map(|cursor| (cursor, answer.at.line)));
        }
        let places = [&["resolvedAnchor", "boundaryCursor"][..], &["history", "snapshot", "anchor", "boundaryCursor"]];
        given.extend(places.iter().filter_map(|place| Some((result.path(place)?.id()?, answer.at.line))));
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        source_range(event, out);
        if let (false, Class::Broadcast | Class::Subscribers | Class::Requester) = (event.is_live(), event.class) {
            out.violated(CUR_12, event, "").expected("an event of the durable view").actual(event.method).done();
        }
        if let ("view/gap", Some(session)) = (event.method, event.session) {
            let given = self.given.entry(session).or_default();
            let bounds = ["after", "next"].into_iter().filter_map(|name| event.param(name)?.id());
            given.extend(bounds.map(|bound| (bound, event.at.line)));
        }
        let anchor = event.params.and_then(|params| params.path(&["item", "summarizedThrough"])?.id());
        if let (Some(session), Some(anchor)) = (event.session, anchor) {
            self.anchors.insert((session, anchor), event.at.line);
        }
        if event.class.is_view() {
            self.names_one_event(event, out);
            self.comes_in_order(event, out);
            self.changes(event, out);
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.attached.forget(session);
        self.last.forget(session);
        self.states.forget(session);
    }
}

impl Cursors {
    /// CUR-1: a cursor belongs to one event, and is delivered again only where a replay was asked for.
    fn names_one_event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(session) = event.session else { return };
        out.exercised(CUR_1);
        for name in ["sessionId", "viewCursor"] {
            if event.param(name).is_some_and(|it| it.is("")) {
                out.violated(CUR_1, event, &format!("/{name}"))
                    .expected("a text that is not empty")
                    .actual("\"\"")
                    .done();
            }
        }
        let Sight::Again(seen) = event.sight else { return };
        if seen.same == Some(false) {
            out.violated(CUR_1, event, "/viewCursor")
                .expected("a cursor of its own")
                .actual("that of another event of the session")
                .contradicts(seen.line)
                .done();
            return;
        }
        let attached = self.attached.get(&(event.at.conn, session)).copied().unwrap_or_default();
        let is_repeated = event.is_live() && seen.live && seen.conn == event.at.conn && attached < seen.line;
        // A page that the client asked for may come before the live event.
        if is_repeated && (event.durable || event.class == Class::Ephemeral) {
            out.violated(CUR_1, event, "/viewCursor")
                .expected("each event once, but for a replay that was asked for")
                .actual("the same event again")
                .contradicts(seen.line)
                .done();
        }
    }

    /// CUR-1: what a page showed in one order does not come live in the other. Protected events may overtake (GAP-3).
    fn comes_in_order(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(cursor), true) = (event.session, event.cursor, event.is_live()) else { return };
        if event.protected || !event.durable {
            return;
        }
        let key = (event.at.conn, session);
        let attached = self.attached.get(&key).copied().unwrap_or_default();
        if let Some((last, line)) = self.last.insert(key, (cursor, event.at.line)) {
            let order = out.core().compare(session, last, cursor);
            let is_first = matches!(event.sight, Sight::Again(seen) if !seen.live);
            if order == Some(std::cmp::Ordering::Greater) && line > attached && is_first {
                out.violated(CUR_1, event, "/viewCursor")
                    .expected("the order of the view, as a page showed it")
                    .actual("an event that stands before the last one")
                    .contradicts(line)
                    .done();
            }
        }
    }

    /// CUR-13: a state comes again only when it has changed.
    fn changes(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(params)) = (event.session, event.params) else { return };
        if !STATES.contains(&event.method) || event.is_live() && event.sight != Sight::New {
            return;
        }
        let within = event.within();
        let stated = Stated { value: params.hash_without(&BESIDES), line: event.at.line, within };
        let key = (event.at.conn, session, Id::of(event.method.as_bytes()));
        let Some(before) = self.states.insert(key, stated).filter(|before| before.within == within) else { return };
        out.exercised(CUR_13);
        if before.value == stated.value {
            let violation = out
                .violated(CUR_13, event, "")
                .expected("another value than before")
                .actual("the same value again")
                .contradicts(before.line);
            if event.is_live() { violation.after_next_event(session).done() } else { violation.done() }
        }
    }

    /// CUR-6 and CUR-7: a cursor of another family, or one that nobody gave for the session, is refused.
    fn strange_cursor(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let name = match answer.at.method {
            "view/page" | "session/resume" => "cursor",
            "view/subscribe" => "after",
            _ => return,
        };
        let (Some(session), Some(cursor)) = (answer.session, answer.param(name).and_then(|it| it.id())) else { return };
        let is_given = self.given.get(&session).is_some_and(|given| given.contains_key(&cursor))
            || out.core().may_have_seen(session, cursor);
        // Nothing was decided about the cursor: the method is not there, nothing was admitted, or an anchor stands beside it (PAGE-9).
        let undecided = matches!(answer.code(), Some(-32601 | -32001 | -32031)) || answer.param("anchor").is_some();
        // What a compaction showed may stand here too (CUR-6).
        if is_given || undecided || self.anchors.contains_key(&(session, cursor)) {
            return;
        }
        if let Some(line) = self.others.get(&cursor) {
            out.exercised(CUR_6);
            if !matches!(answer.code(), Some(-32011 | -32602)) {
                let actual = answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string());
                out.violated(CUR_6, answer, if answer.code().is_some() { "/code" } else { "" })
                    .expected("error -32011 or -32602 for a cursor of another family")
                    .actual(actual)
                    .contradicts(*line)
                    .contradicts(answer.request.line)
                    .done();
            }
        } else if out.known(session).whole && answer.at.method != "session/resume" {
            out.exercised(CUR_7);
            never_given(answer, out);
        }
    }

    /// CUR-11: a position that a result gave is taken back.
    fn given_cursor(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let name = match answer.at.method {
            "view/page" | "session/resume" => "cursor",
            "view/subscribe" => "after",
            _ => return,
        };
        let (Some(session), Some(cursor)) = (answer.request.session, answer.param(name).and_then(|it| it.id())) else {
            return;
        };
        let Some(given) = self.given.get(&session).and_then(|given| given.get(&cursor)).copied() else { return };
        if answer.param("anchor").is_some() {
            return; // PAGE-9 refuses both together, whatever they are
        }
        out.exercised(CUR_11);
        if let Some(code @ (-32011 | -32602)) = answer.code() {
            out.violated(CUR_11, answer, "/code")
                .expected("an answer from the position that a result gave")
                .actual(code.to_string())
                .contradicts(given)
                .contradicts(answer.request.line)
                .done();
        }
    }
}

/// CUR-7: what the refusal of a cursor that nobody gave has to say.
fn never_given(answer: &Answer<'_>, out: &mut Out<'_>) {
    let says = |name: &str, value: &str| answer.data(name).is_some_and(|it| it.is(value));
    let asked = answer.param("sessionId").and_then(|it| it.text()).unwrap_or_default();
    let (below, expected, actual) = match answer.code() {
        None => ("", "error -32011".to_owned(), "a result".to_owned()),
        Some(-32011) if !says("reason", "missingAnchor") => {
            ("/data/reason", "\"missingAnchor\"".to_owned(), shown(answer.data("reason")))
        }
        Some(-32011) if !says("sessionId", &asked) => {
            ("/data/sessionId", format!("\"{asked}\""), shown(answer.data("sessionId")))
        }
        Some(-32011) => return,
        Some(code) => ("/code", "-32011".to_owned(), code.to_string()),
    };
    out.violated(CUR_7, answer, below).expected(expected).actual(actual).contradicts(answer.request.line).done();
}

/// CUR-8: a source range runs forward, and only events of the durable view have one.
fn source_range(event: &Event<'_>, out: &mut Out<'_>) {
    let Some(params) = event.params else { return };
    let range = params.some("sourceRange");
    let bare =
        matches!(event.class, Class::Broadcast | Class::Subscribers | Class::Requester) || event.method == "item/delta";
    if event.is_live() && bare {
        out.exercised(CUR_8);
        if let Some(range) = range {
            out.violated(CUR_8, event, "/sourceRange").expected("no source range").actual(range.shown()).done();
        }
        return;
    }
    let sequence = |end: &str| range.and_then(|range| range.path(&[end, "sequence"]))?.int();
    if let (Some(first), Some(last)) = (sequence("first"), sequence("last")) {
        out.exercised(CUR_8);
        if first > last {
            out.violated(CUR_8, event, "/sourceRange/first/sequence")
                .expected(format!("at most {last}"))
                .actual(first.to_string())
                .done();
        }
    }
}

fn shown(value: Option<Value<'_>>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.shown())
}
