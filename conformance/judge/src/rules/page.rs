//! Pages of the view (PAGE): what one page holds, and how pages make walks.

use crate::facts::{Answer, Class, Epoch, Event, Id, Map, Request, Set, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::Out;
use std::cmp::Ordering;

family! {
    PAGE_1 = "PAGE-1",
    PAGE_2 = "PAGE-2",
    PAGE_3 = "PAGE-3",
    PAGE_4 = "PAGE-4",
    PAGE_5 = "PAGE-5",
    PAGE_6 = "PAGE-6",
    PAGE_7 = "PAGE-7",
    PAGE_8 = "PAGE-8",
    PAGE_9 = "PAGE-9",
    PAGE_10 = "PAGE-10",
    PAGE_11 = "PAGE-11",
    PAGE_12 = "PAGE-12",
    PAGE_13 = "PAGE-13",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::All,
        answers: Methods::These(&[
            "view/page",
            "session/start",
            "session/resume",
            "session/fork",
            "session/sideChat",
            "session/list",
            "session/read",
        ]),
        bad: Methods::These(&["view/page"]),
        events: Methods::All,
        ..Watches::NOTHING
    },
    monitor: || Box::<Pages>::default(),
};

#[derive(Default)]
struct Pages {
    /// Sessions that a host has shown to have, with the line.
    shown: Map<(u32, Id), u64>,
    /// Sessions that some frame named, by their id alone.
    named: Set<Id>,
    walks: Map<(u32, Id, bool), Walk>,
    /// The newest complete walk of a session.
    complete: Map<(u32, Id), Complete>,
    /// Events, commands and loads of a session so far.
    activity: Map<Id, u64>,
    /// First event of a page from the beginning, and newest of one from the head, of a session.
    first: Map<Id, (Id, u64)>,
    latest: Map<Id, (Id, u64)>,
}

/// A walk that began without a cursor.
struct Walk {
    next: Option<Id>,
    sum: u64,
    count: u64,
    stands: Stands,
    met: Set<Id>,
}

#[derive(Clone, Copy)]
struct Complete {
    sum: u64,
    count: u64,
    stands: Stands,
    line: u64,
}

/// How far a session has come, as its connection has seen: the same twice, and nothing happened between. Nothing where things happen
/// that the connection is not told of.
type Stands = Option<(u64, Epoch)>;

/// A page, read.
struct Page<'f> {
    session: Id,
    cursor: Option<Id>,
    is_forward: bool,
    is_anchored: bool,
    next: Option<Value<'f>>,
    /// Cursor of each element, and whether it stands in the durable view.
    elements: Vec<(Option<Id>, bool)>,
}

impl Page<'_> {
    /// The durable elements, by place.
    fn durable(&self) -> impl DoubleEndedIterator<Item = (usize, Id)> + '_ {
        let elements = self.elements.iter().enumerate();
        elements.filter_map(|(at, (cursor, is_durable))| cursor.filter(|_| *is_durable).map(|cursor| (at, cursor)))
    }

    fn is_end(&self) -> bool {
        self.next.is_some_and(|it| it.is_null())
    }
}

impl Monitor for Pages {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        if let (Some(session), Some(_)) = (request.session, request.command) {
            *self.activity.entry(session).or_default() += 1;
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let host = out.core().connection(answer.at.conn).host;
        if answer.at.method == "view/page" {
            self.page(answer, host, out);
        }
        let Some(result) = answer.result() else { return };
        if answer.at.method == "session/list" {
            for id in
                result.get("sessions").into_iter().flat_map(|it| it.items()).filter_map(|it| it.id_of("sessionId"))
            {
                self.shows(host, id, answer.at.line);
            }
        } else if let Some(session) = answer.session {
            self.shows(host, session, answer.at.line);
            if answer.at.method != "view/page" {
                *self.activity.entry(session).or_default() += 1;
            }
        }
    }

    /// PAGE-12: a direction that is none.
    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let is_direction = |pointer: &str| pointer == "/params/direction";
        if answer.request.faults.iter().all(|fault| is_direction(&fault.pointer)) {
            out.exercised(PAGE_12);
            if !matches!(answer.code(), Some(-32602 | -32600 | -32001)) {
                wrong(PAGE_12, answer, "", ("error -32602 for a direction that is none", code(answer)), &[], out);
            }
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(session) = event.session else { return };
        if event.is_live() {
            self.named.insert(session);
            if event.class.is_view() {
                *self.activity.entry(session).or_default() += 1;
            }
            return;
        }
        out.exercised(PAGE_6);
        let is_marked = ["damagedRange", "earlierHistory"]
            .iter()
            .any(|kind| event.params.and_then(|it| it.path(&["item", "kind"])).is_some_and(|it| it.is(kind)));
        let is_paged = matches!(event.class, Class::View | Class::Ephemeral) && event.method != "item/delta";
        if is_paged && !event.durable && !is_marked {
            out.violated(PAGE_6, event, "")
                .expected("an event of the durable view, with its source range")
                .actual("one without")
                .done();
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.walks.retain(|(_, of, _), _| *of != session);
        *self.activity.entry(session).or_default() += 1;
    }
}

impl Pages {
    fn shows(&mut self, host: u32, session: Id, line: u64) {
        self.named.insert(session);
        self.shown.entry((host, session)).or_insert(line);
    }

    fn page(&mut self, answer: &Answer<'_>, host: u32, out: &mut Out<'_>) {
        let (Some(session), Some(params)) = (answer.session, answer.params) else { return };
        if let Some(code) = answer.code() {
            self.refused(answer, session, host, code, out);
            return;
        }
        let Some(result) = answer.result() else { return };
        let elements = result.get("events").into_iter().flat_map(|it| it.items()).map(|element| {
            let params = element.get("params");
            let is_durable = params.is_some_and(|it| it.some("sourceRange").is_some());
            (params.and_then(|it| it.id_of("viewCursor")), is_durable)
        });
        let page = Page {
            session,
            cursor: params.id_of("cursor"),
            is_forward: params.get("direction").is_none_or(|it| it.is("forward")),
            is_anchored: params.some("anchor").is_some(),
            next: result.get("nextCursor"),
            elements: elements.collect(),
        };
        if self.shown.contains_key(&(host, session)) {
            out.exercised(PAGE_1);
        } else if !self.named.contains(&session) && out.core().connection(answer.at.conn).from_start {
            Self::unknown(answer, &page, out);
        }
        size(answer, params, &page, out);
        shape(answer, result, &page, out);
        self.bounds(answer, &page, out);
        order(answer, &page, out);
        self.progress(answer, &page, out);
        anchor(answer, result, &page, out);
        begins(answer, &page, out);
        reaches_head(answer, &page, out);
    }

    /// PAGE-12: a session that nobody has.
    fn unknown(answer: &Answer<'_>, page: &Page<'_>, out: &mut Out<'_>) {
        // A session that the store had before would have a view.
        if page.elements.is_empty() && page.is_end() && page.cursor.is_none() {
            out.exercised(PAGE_12);
            wrong(PAGE_12, answer, "", ("error -32020 for a session that is not there", "a page".to_owned()), &[], out);
        }
    }

    /// PAGE-1, 9, 10, 11 and 12: what a refusal may be.
    fn refused(&self, answer: &Answer<'_>, session: Id, host: u32, code: i64, out: &mut Out<'_>) {
        let shown = self.shown.get(&(host, session)).copied().filter(|line| *line < answer.request.line);
        match code {
            -32024 | -32021 | -32020 => {
                let is_ephemeral = out.core().connection(answer.at.conn).ephemeral() != Some(false);
                if let (Some(line), false) = (shown, is_ephemeral && code != -32021) {
                    out.exercised(PAGE_1);
                    wrong(
                        PAGE_1,
                        answer,
                        "/code",
                        ("a page, whether the session is loaded or not", code.to_string()),
                        &[line],
                        out,
                    );
                } else if code == -32020 && shown.is_none() {
                    out.exercised(PAGE_12);
                }
            }
            -32042 => {
                out.exercised(PAGE_9);
                for name in ["anchor", "latestBoundaryCursor"] {
                    if answer.data("kind").is_some_and(|it| it.is("noBoundary")) && answer.data(name).is_none() {
                        wrong(
                            PAGE_9,
                            answer,
                            "/data",
                            ("both members, null where nothing is", format!("no `{name}`")),
                            &[],
                            out,
                        );
                    }
                }
            }
            -32040 => {
                out.exercised(PAGE_10);
                if answer.data("earliestCursor").is_none() {
                    wrong(
                        PAGE_10,
                        answer,
                        "/data",
                        ("`earliestCursor`, null where nothing can be served", "none".to_owned()),
                        &[],
                        out,
                    );
                }
            }
            -32603 if answer.data("kind").is_some_and(|it| it.is("pageEventTooLarge")) => {
                out.exercised(PAGE_11);
                let named = answer.data("viewCursor").and_then(|it| it.id());
                let asked = answer.param("cursor").and_then(|it| it.id());
                if named.is_none() || named == asked {
                    let actual = answer.data("viewCursor").map_or_else(|| "nothing".to_owned(), |it| it.shown());
                    wrong(
                        PAGE_11,
                        answer,
                        "/data/viewCursor",
                        ("the cursor of the event that is too large", actual),
                        &[],
                        out,
                    );
                }
            }
            -32602 if answer.param("anchor").is_some() && answer.param("cursor").is_some() => out.exercised(PAGE_9),
            _ => {}
        }
    }

    /// PAGE-3: a cursor is exclusive, and without one the page begins at an end.
    fn bounds(&mut self, answer: &Answer<'_>, page: &Page<'_>, out: &mut Out<'_>) {
        if page.is_anchored {
            return;
        }
        out.exercised(PAGE_3);
        let beyond = if page.is_forward { Ordering::Greater } else { Ordering::Less };
        if let Some(cursor) = page.cursor {
            for (at, element) in page.durable() {
                let order = out.core().compare(page.session, cursor, element);
                if element == cursor || order == Some(beyond) {
                    let expected =
                        if page.is_forward { "an event after the cursor" } else { "an event before the cursor" };
                    let actual = if element == cursor { "the event itself" } else { "one on the other side" };
                    wrong(PAGE_3, answer, &format!("/events/{at}"), (expected, actual.to_owned()), &[], out);
                    return;
                }
            }
            return;
        }
        let (ends, element) = if page.is_forward {
            (&mut self.first, page.durable().next())
        } else {
            (&mut self.latest, page.durable().next_back())
        };
        let Some((at, element)) = element else { return };
        let (known, line) = *ends.entry(page.session).or_insert((element, answer.at.line));
        let order = out.core().compare(page.session, element, known);
        if order == Some(beyond) {
            let expected = if page.is_forward { "the first event of the view" } else { "the newest event of the view" };
            wrong(PAGE_3, answer, &format!("/events/{at}"), (expected, "another".to_owned()), &[line], out);
        } else if order.is_some() && known != element {
            ends.insert(page.session, (element, answer.at.line));
        }
    }

    /// PAGE-5 and 8: each page gets on, and two walks of a quiet session are the same.
    fn progress(&mut self, answer: &Answer<'_>, page: &Page<'_>, out: &mut Out<'_>) {
        let Some(next) = page.next else { return };
        out.exercised(PAGE_5);
        let edge = if page.is_forward { page.elements.last() } else { page.elements.first() };
        let edge = edge.and_then(|(cursor, _)| *cursor);
        if !next.is_null() && (edge.is_none() || next.id() != edge || next.id() == page.cursor) {
            let expected = if page.is_forward {
                "the cursor of the last event, or null"
            } else {
                "the cursor of the first event, or null"
            };
            wrong(PAGE_5, answer, "/nextCursor", (expected, next.shown()), &[], out);
            return;
        }
        if page.is_anchored {
            return;
        }
        let key = (answer.at.conn, page.session, page.is_forward);
        let known = out.known(page.session);
        let is_told = match known.subscribed {
            Some(subscribed) => subscribed,
            None => !out.core().connection(answer.at.conn).from_start,
        };
        let activity = self.activity.get(&page.session).copied().unwrap_or_default();
        let stands = is_told.then_some((activity, known.epoch));
        let mut walk = match self.walks.remove(&key) {
            Some(walk) if page.cursor.is_some() && walk.next == page.cursor => walk,
            _ if page.cursor.is_none() => Walk { next: None, sum: 0, count: 0, stands, met: Set::default() },
            _ => return,
        };
        for (_, cursor) in page.durable() {
            walk.sum = walk.sum.wrapping_add(cursor.get());
            walk.count += 1;
        }
        if let Some(next) = next.id() {
            if !walk.met.insert(next) {
                wrong(
                    PAGE_5,
                    answer,
                    "/nextCursor",
                    ("a cursor that the walk has not met", "one that it has".to_owned()),
                    &[],
                    out,
                );
                return;
            }
            walk.next = Some(next);
            self.walks.insert(key, walk);
            return;
        }
        let of = (answer.at.conn, page.session);
        let now = Complete { sum: walk.sum, count: walk.count, stands, line: answer.at.line };
        let is_same = |it: &Complete| stands.is_some() && it.stands == stands && walk.stands == stands;
        let before = self.complete.insert(of, now).filter(is_same);
        let Some(before) = before else { return };
        out.exercised(PAGE_8);
        if (before.sum, before.count) != (now.sum, now.count) {
            let actual = if before.count == now.count {
                "others".to_owned()
            } else {
                format!("{} events, {} before", now.count, before.count)
            };
            wrong(PAGE_8, answer, "/events", ("the events of the walk before", actual), &[before.line], out);
        }
    }
}

/// PAGE-2: no more than was asked for.
fn size(answer: &Answer<'_>, params: Value<'_>, page: &Page<'_>, out: &mut Out<'_>) {
    let limit = params.get("limit").and_then(|it| it.int()).and_then(|it| usize::try_from(it).ok());
    let Some(limit) = limit else { return };
    out.exercised(PAGE_2);
    let count = page.elements.len();
    if count > limit {
        wrong(PAGE_2, answer, "/events", (&format!("at most {limit} events"), count.to_string()), &[], out);
    }
}

/// PAGE-7: what an element is.
fn shape(answer: &Answer<'_>, result: Value<'_>, page: &Page<'_>, out: &mut Out<'_>) {
    for (at, element) in result.get("events").into_iter().flat_map(|it| it.items()).enumerate() {
        out.exercised(PAGE_7);
        for name in ["jsonrpc", "id"] {
            if let Some(value) = element.get(name) {
                wrong(
                    PAGE_7,
                    answer,
                    &format!("/events/{at}/{name}"),
                    ("an element without it", value.shown()),
                    &[],
                    out,
                );
            }
        }
        let session = element.path(&["params", "sessionId"]);
        if session.and_then(|it| it.id()).is_some_and(|it| it != page.session) {
            let actual = session.map_or_else(String::new, |it| it.shown());
            wrong(
                PAGE_7,
                answer,
                &format!("/events/{at}/params/sessionId"),
                ("the session that was asked for", actual),
                &[],
                out,
            );
        }
    }
}

/// PAGE-4: ascending, and nothing left out between.
fn order(answer: &Answer<'_>, page: &Page<'_>, out: &mut Out<'_>) {
    let elements: Vec<(usize, Id)> = page.durable().collect();
    for pair in elements.windows(2) {
        let ((_, one), (at, other)) = (pair[0], pair[1]);
        out.exercised(PAGE_4);
        let compare = |one, other| out.core().compare(page.session, one, other);
        let is_late = compare(one, other) == Some(Ordering::Greater);
        let between = out.core().successor(page.session, one).filter(|it| *it != other);
        let skips = between.filter(|it| compare(*it, other) == Some(Ordering::Less));
        if is_late || skips.is_some() {
            let actual = if is_late { "the other order" } else { "an event left out before it" };
            let lines: Vec<u64> =
                skips.or(Some(other)).and_then(|it| out.core().seen(page.session, it)).into_iter().collect();
            wrong(
                PAGE_4,
                answer,
                &format!("/events/{at}"),
                ("the order of the view, without a hole", actual.to_owned()),
                &lines,
                out,
            );
            return;
        }
    }
}

/// PAGE-9: an anchor and what it was resolved to.
fn anchor(answer: &Answer<'_>, result: Value<'_>, page: &Page<'_>, out: &mut Out<'_>) {
    let resolved = result.some("resolvedAnchor");
    if page.is_anchored || resolved.is_some() {
        out.exercised(PAGE_9);
    }
    if page.is_anchored && page.cursor.is_some() {
        wrong(PAGE_9, answer, "", ("error -32602 for an anchor beside a cursor", "a page".to_owned()), &[], out);
    } else if page.is_anchored != resolved.is_some() {
        let (expected, actual) =
            if page.is_anchored { ("`resolvedAnchor`", "none") } else { ("no `resolvedAnchor`", "one") };
        wrong(
            PAGE_9,
            answer,
            if page.is_anchored { "" } else { "/resolvedAnchor" },
            (expected, actual.to_owned()),
            &[],
            out,
        );
    }
    let Some(boundary) = resolved.and_then(|it| it.id_of("boundaryCursor")) else { return };
    let is_before =
        |it: &(usize, Id)| it.1 == boundary || out.core().compare(page.session, it.1, boundary) == Some(Ordering::Less);
    let early = page.durable().find(is_before);
    if let Some((at, _)) = early.filter(|_| page.is_forward) {
        wrong(
            PAGE_9,
            answer,
            &format!("/events/{at}"),
            ("events after the boundary", "one before".to_owned()),
            &[],
            out,
        );
    }
}

/// PAGE-10: what follows the cursor comes first.
fn begins(answer: &Answer<'_>, page: &Page<'_>, out: &mut Out<'_>) {
    let (Some(cursor), true) = (page.cursor, page.is_forward) else { return };
    let Some(successor) = out.core().successor(page.session, cursor) else { return };
    out.exercised(PAGE_10);
    let Some((at, first)) = page.durable().next() else { return };
    if out.core().compare(page.session, successor, first) == Some(Ordering::Less) {
        let lines: Vec<u64> = out.core().seen(page.session, successor).into_iter().collect();
        wrong(
            PAGE_10,
            answer,
            &format!("/events/{at}"),
            ("the event behind the cursor, or error -32040", "a later one".to_owned()),
            &lines,
            out,
        );
    }
}

/// PAGE-13: what was delivered live is there.
fn reaches_head(answer: &Answer<'_>, page: &Page<'_>, out: &mut Out<'_>) {
    let reaches = if page.is_forward { page.is_end() } else { page.cursor.is_none() };
    let Some(head) = answer.request.state.head.filter(|_| reaches && !page.is_anchored) else { return };
    let Some(line) = out.core().seen(page.session, head) else { return };
    out.exercised(PAGE_13);
    if page.durable().any(|(_, cursor)| cursor == head) || page.cursor == Some(head) {
        return;
    }
    let compare = |one| out.core().compare(page.session, one, head);
    let ends_before = match page.durable().next_back() {
        Some((_, last)) => compare(last) != Some(Ordering::Greater),
        None => page.cursor.is_none_or(|cursor| compare(cursor) == Some(Ordering::Less)),
    };
    if ends_before {
        wrong(
            PAGE_13,
            answer,
            "/events",
            ("the newest event that was delivered", "a page that ends before it".to_owned()),
            &[line],
            out,
        );
    }
}

fn code(answer: &Answer<'_>) -> String {
    answer.code().map_or_else(|| "a page".to_owned(), |code| code.to_string())
}

fn wrong(
    rule: Watched,
    answer: &Answer<'_>,
    below: &str,
    (expected, actual): (&str, String),
    lines: &[u64],
    out: &mut Out<'_>,
) {
    let mut violation =
        out.violated(rule, answer, below).expected(expected).actual(actual).contradicts(answer.request.line);
    for line in lines {
        violation = violation.contradicts(*line);
    }
    violation.done();
}
