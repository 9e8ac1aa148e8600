//! Streamed text (DELTA): deltas are appended to a field of an open item, and together are what the item ends with.
//!
//! Two rules of other families are about the same joined text and are judged here: GAP-7 (what is missing is bracketed
//! by a gap) and ITEM-51 (parts of a summary).

use std::cmp::Ordering;

use crate::facts::{Answer, Epoch, Event, Id, ItemPath, Map, Path, Set, Sight, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::Out;

family! {
    DELTA_1 = "DELTA-1",
    DELTA_2 = "DELTA-2",
    DELTA_3 = "DELTA-3",
    DELTA_5 = "DELTA-5",
    DELTA_6 = "DELTA-6",
    DELTA_8 = "DELTA-8",
    GAP_7 = "GAP-7",
    ITEM_51 = "ITEM-51",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        answers: Methods::These(&["view/page"]),
        events: Methods::These(&["item/delta", "turn/completed"]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Deltas>::default(),
};

/// Bytes of one field that are joined; a longer stream is not compared.
const MOST_JOINED: usize = 4 << 20;

#[derive(Default)]
struct Deltas {
    /// Items that are open, by connection and item.
    open: Map<(u32, Id), Open>,
    /// Items that ended, of the turn that is open and of the one before, with the line of their end.
    ended: Map<(u32, Id), u64>,
    older: Set<(u32, Id)>,
}

struct Open {
    session: Id,
    kind: StreamKind,
    /// The stretch in which it was opened live; nothing where it was only listed, so that its start is not known.
    opened: Option<Epoch>,
    streams: Vec<Stream>,
}

/// Kinds of items, as far as streaming goes.
#[derive(Clone, Copy, PartialEq)]
enum StreamKind {
    Message,
    Output,
    Reasoning,
    /// A known kind that streams nothing.
    Silent,
    Unknown,
}

/// A field of an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Text,
    Output,
    Summary(u32),
}

struct Stream {
    field: Field,
    /// Line of the first delta.
    line: u64,
    joined: String,
    /// Where each chunk ends.
    ends: Vec<usize>,
    too_long: bool,
}

impl Monitor for Deltas {
    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.result().is_some() {
            out.exercised(DELTA_3);
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        if event.method == "turn/completed" {
            if event.is_live() && event.sight == Sight::New {
                self.turn_ends(event.at.conn);
            }
            return;
        }
        if let Path::Page { .. } = event.path {
            out.violated(DELTA_3, event, "").expected("no delta in a page").actual("item/delta").done();
            return;
        }
        let Some(item) = event.param("itemId").and_then(|it| it.id()) else { return };
        let key = (event.at.conn, item);
        if let Some(revision) = event.param("revision") {
            out.exercised(DELTA_2);
            out.violated(DELTA_2, event, "/revision").expected("no revision").actual(revision.shown()).done();
        }
        if let Some(line) = self.ended.get(&key) {
            out.exercised(DELTA_5);
            out.violated(DELTA_5, event, "")
                .expected("no delta for an item that has ended")
                .actual("one more")
                .contradicts(*line)
                .done();
            return;
        }
        let Some(open) = self.open.get_mut(&key) else { return };
        let field = event.param("field").and_then(|it| it.text());
        let is_text = field.as_deref().is_none_or(|field| field == "text");
        match target(open.kind, field.as_deref()) {
            _ if open.kind == StreamKind::Unknown => {}
            Ok(field) => {
                out.exercised(if open.kind == StreamKind::Reasoning { DELTA_8 } else { DELTA_1 });
                if open.kind == StreamKind::Reasoning {
                    out.exercised(DELTA_1);
                }
                open.append(field, event);
            }
            Err(expected) => {
                let rule = if open.kind == StreamKind::Reasoning && is_text { DELTA_8 } else { DELTA_1 };
                out.exercised(rule);
                let (below, actual) = match &field {
                    Some(field) => ("/field", format!("\"{field}\"")),
                    None => ("", "no field, which means text".to_owned()),
                };
                out.violated(rule, event, below).expected(expected).actual(actual).done();
            }
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let Some(session) = sighting.session else { return };
        let key = (sighting.at.conn, sighting.id);
        let is_new = sighting.live().is_some_and(|event| event.sight == Sight::New);
        match sighting.path {
            ItemPath::Completed(Path::Live) => {
                if let Some(open) = self.open.remove(&key) {
                    open.compare(sighting, out);
                }
                if is_new {
                    self.ended.insert(key, sighting.at.line);
                    self.older.remove(&key);
                }
            }
            _ if sighting.is_terminal() => {}
            path => {
                let opened = (path == ItemPath::Started(Path::Live) && is_new).then_some(sighting.epoch);
                let kind = kind(sighting.kind);
                if opened.is_some() {
                    // Whether its id was free is another rule's matter (ITEM-2, ITEM-5).
                    self.ended.remove(&key);
                    self.open.remove(&key);
                }
                let open = self.open.entry(key).or_insert(Open { session, kind, opened, streams: Vec::new() });
                if let (Some(text), true) =
                    (sighting.item.text_of("text").filter(|it| !it.is_empty()), opened.is_some())
                {
                    let (joined, ends) = (text.into_owned(), Vec::new());
                    let line = sighting.at.line;
                    open.streams.push(Stream { field: Field::Text, line, joined, ends, too_long: false });
                }
            }
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.open.retain(|_, open| open.session != session);
    }
}

impl Deltas {
    /// What ended in the turn before this one is forgotten: no delta of it is under way any more.
    fn turn_ends(&mut self, conn: u32) {
        let older = std::mem::take(&mut self.older);
        self.ended.retain(|key, _| !older.contains(key));
        self.older = self.ended.keys().copied().collect();
        // What was only listed is forgotten too; what was opened live may outlive its turn.
        self.open.retain(|(owner, _), open| *owner != conn || open.opened.is_some());
    }
}

fn kind(kind: &str) -> StreamKind {
    match kind {
        "agentMessage" => StreamKind::Message,
        "toolCall" | "userShell" => StreamKind::Output,
        "reasoning" => StreamKind::Reasoning,
        known if KNOWN.contains(&known) => StreamKind::Silent,
        _ => StreamKind::Unknown,
    }
}

/// Kinds of items that stream nothing.
const KNOWN: [&str; 14] = [
    "userMessage",
    "subagent",
    "workflow",
    "hookRun",
    "compaction",
    "reminderChild",
    "sideChat",
    "webSearch",
    "monitorFeed",
    "damagedRange",
    "scheduledFire",
    "backgroundTerminalCompletion",
    "overdueNotice",
    "skillRead",
];

/// The field that a delta names, where an item of that kind has it; else what was expected.
fn target(kind: StreamKind, field: Option<&str>) -> Result<Field, &'static str> {
    let summary = field.and_then(|field| field.strip_prefix("summary."));
    let number = summary.filter(|number| number.bytes().all(|it| it.is_ascii_digit())).and_then(|it| it.parse().ok());
    match (kind, field, number) {
        (StreamKind::Message, None | Some("text"), _) => Ok(Field::Text),
        (StreamKind::Message, ..) => Err("no field, or \"text\", for an agentMessage"),
        (StreamKind::Output, Some("output"), _) => Ok(Field::Output),
        (StreamKind::Output, ..) => Err("the field \"output\" for a toolCall or userShell"),
        (StreamKind::Reasoning, _, Some(number)) => Ok(Field::Summary(number)),
        (StreamKind::Reasoning, ..) => Err("a field such as \"summary.0\" for a reasoning item"),
        (StreamKind::Silent, ..) => Err("no delta for an item of this kind"),
        (StreamKind::Unknown, ..) => Err("anything"),
    }
}

impl Open {
    fn append(&mut self, field: Field, event: &Event<'_>) {
        if self.opened.is_none() {
            return;
        }
        let Some(delta) = event.param("delta").and_then(|it| it.text()) else { return };
        let index = self.streams.iter().position(|stream| stream.field == field).unwrap_or_else(|| {
            let line = event.at.line;
            self.streams.push(Stream { field, line, joined: String::new(), ends: Vec::new(), too_long: false });
            self.streams.len() - 1
        });
        let stream = &mut self.streams[index];
        if stream.joined.len() + delta.len() > MOST_JOINED {
            stream.too_long = true;
        } else if !stream.too_long {
            stream.joined.push_str(&delta);
            stream.ends.push(stream.joined.len());
        }
    }

    /// What the item ends with, against what was streamed.
    fn compare(mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        // Something may be missing: a gap, an attach, a fault.
        if self.opened != Some(sighting.epoch) || self.streams.iter().any(|stream| stream.too_long) {
            return;
        }
        self.streams.retain(|stream| !stream.ends.is_empty());
        if self.streams.is_empty() {
            return;
        }
        out.exercised(DELTA_5);
        if self.kind == StreamKind::Reasoning {
            return self.summary(sighting, out);
        }
        let truncated = sighting.item.get("truncated").and_then(|it| it.bool()) == Some(true);
        for stream in &self.streams {
            let name = if stream.field == Field::Text { "text" } else { "visibleOutput" };
            // An end without the field is another rule's matter (DELTA-6, ITEM-14).
            let Some(end) = sighting.item.text_of(name) else { continue };
            out.exercised(DELTA_2);
            out.exercised(GAP_7);
            if truncated {
                out.exercised(DELTA_6);
            }
            if let Some((rule, expected)) = stream.against(&end, truncated) {
                out.violated(rule, sighting, &format!("/{name}"))
                    .expected(expected)
                    .actual(differs(&stream.joined, &end))
                    .contradicts(stream.line)
                    .after_next_event(self.session)
                    .done();
            }
        }
    }

    /// ITEM-51: as many entries as parts were streamed, each with its text.
    fn summary(mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        self.streams.sort_by_key(|stream| stream.field);
        out.exercised(ITEM_51);
        let entries: Vec<Value<'_>> = sighting.item.get("summary").iter().flat_map(Value::items).collect();
        let truncated = sighting.item.get("truncated").and_then(|it| it.bool()) == Some(true);
        let first = self.streams.iter().map(|stream| stream.line).min().unwrap_or_default();
        match entries.len().cmp(&self.streams.len()) {
            Ordering::Less => out
                .violated(ITEM_51, sighting, "/summary")
                .expected(format!("{} entries, as many as were streamed", self.streams.len()))
                .actual(format!("{}", entries.len()))
                .contradicts(first)
                .after_next_event(self.session)
                .done(),
            Ordering::Equal => {
                for (index, (stream, entry)) in self.streams.iter().zip(entries).enumerate() {
                    let text = entry.text().unwrap_or_default();
                    let is_cut = truncated && (text.starts_with(&stream.joined) || stream.joined.starts_with(&*text));
                    if *text != stream.joined && !is_cut && !stream.joined.contains('\u{fffd}') {
                        out.violated(ITEM_51, sighting, &format!("/summary/{index}"))
                            .expected("what was streamed for it")
                            .actual(differs(&stream.joined, &text))
                            .contradicts(stream.line)
                            .after_next_event(self.session)
                            .done();
                    }
                }
            }
            // Parts that never streamed.
            Ordering::Greater => {}
        }
    }
}

impl Stream {
    /// The rule that the end of the field breaks, if any, and what was expected.
    fn against(&self, end: &str, truncated: bool) -> Option<(Watched, &'static str)> {
        let joined = &*self.joined;
        // Half a character on both sides of a cut shows as a replacement on each: nothing to compare.
        if joined == end || joined.contains('\u{fffd}') || truncated && end.starts_with(joined) {
            return None;
        }
        if truncated && joined.starts_with(end) {
            return Some((DELTA_6, "no delta past the point where the text is cut"));
        }
        if self.fits_with_holes(end) {
            return Some((GAP_7, "a gap for the deltas that are missing, or the text as it was streamed"));
        }
        Some((DELTA_2, "the text that the deltas make"))
    }

    /// Whether each chunk stands in the text, in order.
    fn fits_with_holes(&self, end: &str) -> bool {
        let (mut at, mut start) = (0, 0);
        self.ends.iter().all(|&stop| {
            let chunk = &self.joined[start..stop];
            start = stop;
            match end[at..].find(chunk) {
                Some(found) => {
                    at += found + chunk.len();
                    true
                }
                None => false,
            }
        })
    }
}

/// Where two texts part, in a few words.
fn differs(streamed: &str, end: &str) -> String {
    let common = streamed.bytes().zip(end.bytes()).take_while(|(one, other)| one == other).count();
    format!("{} bytes where {} were streamed, alike for the first {common}", end.len(), streamed.len())
}
