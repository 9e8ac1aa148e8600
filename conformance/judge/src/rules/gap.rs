//! Gaps (GAP): what was not delivered is bracketed, once, and can be paged.

use crate::facts::{Answer, Event, Id, Map, Request, Set};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! { GAP_1 = "GAP-1", GAP_2 = "GAP-2", GAP_4 = "GAP-4", GAP_5 = "GAP-5", GAP_6 = "GAP-6" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["view/page", "session/resume", "view/subscribe"]),
        answers: Methods::These(&[
            "view/page",
            "view/subscribe",
            "session/start",
            "session/resume",
            "session/fork",
            "session/sideChat",
        ]),
        events: Methods::All,
        ..Watches::NOTHING
    },
    monitor: || Box::<Gaps>::default(),
};

#[derive(Default)]
struct Gaps {
    streams: Map<(u32, Id), Stream>,
}

/// What one subscription delivered.
#[derive(Default)]
struct Stream {
    /// Whether the transcript has its beginning.
    is_whole: bool,
    /// Where it began.
    began: Set<Id>,
    /// Cursors that were delivered, ephemeral ones too: 8 bytes an event.
    delivered: Set<Id>,
    gaps: Vec<Gap>,
    /// Gaps that a client has yet to look into.
    unfilled: Vec<Gap>,
    /// Where a client that fills a gap goes on.
    next: Option<Id>,
}

#[derive(Clone, Copy)]
struct Gap {
    after: Id,
    next: Id,
    line: u64,
}

impl Monitor for Gaps {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let Some(session) = request.session else { return };
        let key = (request.at.conn, session);
        if request.at.method != "view/page" {
            let after = request.param("after").or_else(|| request.param("cursor")).and_then(|it| it.id());
            let mut stream = Stream { is_whole: true, ..Stream::default() };
            stream.began.extend(after);
            self.streams.insert(key, stream);
            return;
        }
        if let Some(stream) = self.streams.get_mut(&key).filter(|_| out.is_client_run()) {
            fills(stream, request, out);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        let (key, Some(result)) = ((answer.at.conn, session), answer.result()) else { return };
        if answer.at.method == "view/page" {
            if let Some(stream) = self.streams.get_mut(&key) {
                stream.next = result.id_of("nextCursor");
                paged(stream, answer, session, out);
            }
            return;
        }
        let stream = self.streams.entry(key).or_default();
        stream.is_whole |= matches!(answer.at.method, "session/start" | "session/fork" | "session/sideChat");
        stream.began.extend(result.id_of("viewCursor"));
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), true) = (event.session, event.is_live()) else { return };
        let stream = self.streams.entry((event.at.conn, session)).or_default();
        if event.method == "view/gap" {
            gap(stream, event, session, out);
        } else if event.class.is_view() {
            stream.delivered.extend(event.cursor);
        }
    }

    fn closed(&mut self, conn: u32, session: Id) {
        self.streams.remove(&(conn, session));
    }
}

/// GAP-2 and 4: the bounds of a gap.
fn gap(stream: &mut Stream, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
    out.exercised(GAP_4);
    if let Some(cursor) = event.param("viewCursor") {
        out.violated(GAP_4, event, "/viewCursor").expected("no cursor of its own").actual(cursor.shown()).done();
    }
    let bound = |name: &str| event.param(name).and_then(|it| it.id());
    let (Some(after), Some(next)) = (bound("after"), bound("next")) else { return };
    out.exercised(GAP_2);
    if let Some(first) = stream.gaps.iter().find(|gap| gap.after == after) {
        out.violated(GAP_2, event, "/after")
            .expected("one gap for drops that follow each other")
            .actual("another with the same bound")
            .contradicts(first.line)
            .done();
    } else if stream.is_whole && !stream.delivered.contains(&after) && !stream.began.contains(&after) {
        out.violated(GAP_2, event, "/after")
            .expected("a cursor that was delivered, or with which the subscription began")
            .actual(event.param("after").map_or_else(String::new, |it| it.shown()))
            .after_next_event(session)
            .done();
    }
    let gap = Gap { after, next, line: event.at.line };
    stream.gaps.push(gap);
    stream.unfilled.push(gap);
}

/// GAP-1 and 6: a page shows what was not delivered.
fn paged(stream: &Stream, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
    let Some(events) = answer.result().and_then(|it| it.get("events")) else { return };
    let connection = out.core().connection(answer.at.conn);
    let knows_opt_outs = connection.asked.is_some();
    let mut before: Option<Id> = None;
    let mut missing: Option<usize> = None;
    let (mut opted_out, mut any_opted_out) = (0_u32, false);
    let mut found = Vec::new();
    let mut needless = Vec::new();
    for (at, element) in events.items().enumerate() {
        let Some(cursor) = element.get("params").and_then(|it| it.id_of("viewCursor")) else { continue };
        if stream.delivered.contains(&cursor) {
            let gap =
                before.and_then(|before| stream.gaps.iter().find(|gap| gap.after == before || gap.next == cursor));
            match (before, missing, gap) {
                (Some(before), Some(at), None) if !has_stray_gap(stream, session, out) => {
                    found.push((at, before, cursor));
                }
                (Some(_), None, Some(gap)) if opted_out > 0 && gap.next == cursor => needless.push(gap.line),
                _ => {}
            }
            (before, missing, opted_out) = (Some(cursor), None, 0);
            continue;
        }
        let method = element.text_of("method").unwrap_or_default();
        if connection.opted_out(&method) {
            (opted_out, any_opted_out) = (opted_out + 1, true);
        } else if missing.is_none() {
            missing = Some(at);
        }
    }
    let may_drop_deltas = !connection.opted_out("item/delta");
    out.exercised(GAP_1);
    if !knows_opt_outs {
        return;
    }
    for (at, before, behind) in found {
        let seen = |cursor| out.core().seen(session, cursor).unwrap_or(answer.request.line);
        let (before, behind) = (seen(before), seen(behind));
        out.violated(GAP_1, answer, &format!("/events/{at}"))
            .expected("an event that was delivered, or a gap around it")
            .actual("neither")
            .contradicts(before)
            .contradicts(behind)
            .after_next_event(session)
            .done();
    }
    if any_opted_out {
        out.exercised(GAP_6);
    }
    for line in needless.into_iter().filter(|_| !may_drop_deltas) {
        out.violated(GAP_6, answer, "/events")
            .warn()
            .expected("no gap where all that is missing was opted out of")
            .actual("one")
            .contradicts(line)
            .done();
    }
}

/// A gap whose bounds no page has, such as ephemeral events, may cover anything.
fn has_stray_gap(stream: &Stream, session: Id, out: &Out<'_>) -> bool {
    let is_stray = |cursor| out.core().successor(session, cursor).is_none() && !stream.began.contains(&cursor);
    stream.gaps.iter().any(|gap| is_stray(gap.after) && is_stray(gap.next))
}

/// GAP-5: a client under test pages from where the gap begins.
fn fills(stream: &mut Stream, request: &Request<'_>, out: &mut Out<'_>) {
    let cursor = request.param("cursor").and_then(|it| it.id());
    let is_anchored = request.param("anchor").is_some();
    let Some(first) = stream.unfilled.first().copied() else { return };
    out.exercised(GAP_5);
    let is_filling = cursor.is_some_and(|cursor| stream.unfilled.iter().any(|gap| gap.after == cursor));
    if is_filling || is_anchored {
        stream.unfilled.clear();
    } else if cursor.is_none() || cursor != stream.next {
        out.violated(GAP_5, request, "/cursor")
            .expected("a page from where the gap begins")
            .actual(request.param("cursor").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .contradicts(first.line)
            .done();
    }
}
