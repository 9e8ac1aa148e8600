//! What one item says by itself (ITEM): its members, by kind and status, on whatever path it is seen.

mod kinds;
mod members;

use crate::facts::{Id, ItemPath, Map, Path, Request, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::Out;

family! {
    ITEM_1 = "ITEM-1",
    ITEM_7 = "ITEM-7",
    ITEM_10 = "ITEM-10",
    ITEM_11 = "ITEM-11",
    ITEM_14 = "ITEM-14",
    ITEM_16 = "ITEM-16",
    ITEM_17 = "ITEM-17",
    ITEM_18 = "ITEM-18",
    ITEM_21 = "ITEM-21",
    ITEM_22 = "ITEM-22",
    ITEM_25 = "ITEM-25",
    ITEM_27 = "ITEM-27",
    ITEM_28 = "ITEM-28",
    ITEM_29 = "ITEM-29",
    ITEM_31 = "ITEM-31",
    ITEM_32 = "ITEM-32",
    ITEM_37 = "ITEM-37",
    ITEM_38 = "ITEM-38",
    ITEM_41 = "ITEM-41",
    ITEM_44 = "ITEM-44",
    ITEM_45 = "ITEM-45",
    ITEM_46 = "ITEM-46",
    ITEM_48 = "ITEM-48",
    ITEM_49 = "ITEM-49",
    ITEM_52 = "ITEM-52",
    ITEM_54 = "ITEM-54",
    ITEM_55 = "ITEM-55",
    ITEM_58 = "ITEM-58",
    ITEM_61 = "ITEM-61",
    ITEM_66 = "ITEM-66",
    ITEM_68 = "ITEM-68",
    ITEM_70 = "ITEM-70",
    ITEM_71 = "ITEM-71",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches { requests: Methods::These(&["turn/start", "turn/steer"]), items: true, ..Watches::NOTHING },
    monitor: || Box::<Items>::default(),
};

/// Kinds that no turn owns (ITEM-1).
const OUTSIDE: [&str; 5] = ["userShell", "monitorFeed", "sideChat", "damagedRange", "earlierHistory"];
/// Kinds of which nobody says who owns them.
const EITHER: [&str; 3] = ["hookRun", "scheduledFire", "backgroundTerminalCompletion"];
/// Items that come from no record of the log.
const UNRECORDED: [&str; 2] = ["damagedRange", "earlierHistory"];
/// Submitted images whose beginnings are remembered for each session.
const MOST_IMAGES: usize = 32;
/// Characters of base 64 that nobody takes for anything else.
const ENCODED: usize = 256;
/// Characters of a submitted image that are looked for.
const SAMPLE: usize = 64;

#[derive(Default)]
struct Items {
    /// Beginnings of the images that were submitted to a session.
    images: Map<Id, Vec<String>>,
}

impl Monitor for Items {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        let Some(session) = request.session else { return };
        for part in request.param("input").iter().flat_map(Value::items) {
            let Some(image) = part.text_of("base64Data").filter(|image| !image.is_empty()) else { continue };
            let images = self.images.entry(session).or_default();
            if images.len() == MOST_IMAGES {
                images.remove(0);
            }
            images.push(image.chars().take(SAMPLE).collect());
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let known = members::table().kind(sighting.kind);
        whole(sighting, known, out);
        recorded(sighting, out);
        let present = members::check(sighting, known, out);
        if present.has_any(members::METADATA) || present.has_any(members::TEXTS) {
            self.no_bytes(sighting, out);
        }
        kinds::check(sighting, out);
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.images.remove(&session);
    }
}

impl Items {
    /// ITEM-49: metadata of images, not the images.
    fn no_bytes(&self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        for name in ["attachments", "modelVisibleContent"] {
            let Some(list) = sighting.item.get(name) else { continue };
            out.exercised(ITEM_49);
            for (member, value) in list.everything() {
                let Some(text) = value.text().filter(|_| !member.is("path")) else { continue };
                if text.starts_with("data:") || encoded_run(&text) >= ENCODED {
                    out.violated(ITEM_49, sighting, &format!("/{name}"))
                        .expected("metadata without bytes")
                        .actual(format!("a text of {} bytes in `{}`", text.len(), member.text()))
                        .done();
                    return;
                }
            }
        }
        let Some(images) = sighting.session.and_then(|session| self.images.get(&session)) else { return };
        for (member, value) in sighting.item.everything() {
            if member.is("text") || member.is("displayText") {
                continue;
            }
            let Some(text) = value.text().filter(|text| text.len() >= SAMPLE.min(16)) else { continue };
            if images.iter().any(|image| text.contains(image.as_str())) {
                out.exercised(ITEM_49);
                out.violated(ITEM_49, sighting, "")
                    .expected("no bytes of the image that was submitted")
                    .actual(format!("they are in `{}`", member.text()))
                    .done();
                return;
            }
        }
    }
}

/// The longest run of characters of base 64.
fn encoded_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// ITEM-1, ITEM-7, ITEM-52, ITEM-55: what every item has.
fn whole(sighting: &Sighting<'_>, known: Option<usize>, out: &mut Out<'_>) {
    let kind = sighting.kind;
    out.exercised(ITEM_1);
    if sighting.revision < 1 {
        fail(ITEM_1, sighting, "/revision", "a revision of at least 1", sighting.revision.to_string(), out);
    }
    let turn = sighting.item.some("turnId");
    if OUTSIDE.contains(&kind) {
        if let Some(turn) = turn {
            fail(ITEM_1, sighting, "/turnId", "null, since no turn owns such an item", turn.shown(), out);
        }
    } else if known.is_some() && !EITHER.contains(&kind) && turn.is_none_or(|turn| turn.is("")) {
        let actual = turn.map_or("no turn", |_| "\"\"");
        fail(ITEM_1, sighting, "/turnId", "the turn that owns it", actual, out);
    }
    if sighting.is_terminal() {
        // Another word is told by the schema, under this rule's id.
        out.exercised(ITEM_7);
    }
    out.exercised(ITEM_52);
    let id = sighting.item.text_of("itemId").unwrap_or_default();
    if !is_uuid(&id, kind != "damagedRange") {
        fail(ITEM_52, sighting, "/itemId", "a UUID of version 7", format!("\"{id}\""), out);
    }
    let fallback = sighting.item.text_of("fallbackText");
    if fallback.is_some() || known.is_none() {
        out.exercised(ITEM_55);
    }
    match fallback {
        Some(text) if text.contains(['\n', '\r']) => {
            fail(ITEM_55, sighting, "/fallbackText", "one line", "several lines", out);
        }
        None if known.is_none() => {
            fail(ITEM_55, sighting, "", "a `fallbackText`, since not every client knows the kind", "none", out);
        }
        _ => {}
    }
}

/// ITEM-10: an item of a durable event says when it was recorded; one that an ephemeral event opened does not.
fn recorded(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    let Some(event) = sighting.event.filter(|_| !UNRECORDED.contains(&sighting.kind)) else { return };
    let recorded = sighting.item.get("recordedAt");
    out.exercised(ITEM_10);
    if event.durable && recorded.is_none_or(|it| it.text().is_none_or(|time| !is_time(&time))) {
        let actual = recorded.map_or_else(|| "nothing".to_owned(), |it| it.shown());
        fail(ITEM_10, sighting, "/recordedAt", "when it was recorded, as RFC 3339 has it", actual, out);
    }
    if let (ItemPath::Started(Path::Live), false, Some(recorded)) = (sighting.path, event.durable, recorded) {
        fail(ITEM_10, sighting, "/recordedAt", "nothing, since it is not recorded yet", recorded.shown(), out);
    }
}

/// A finding in an item.
fn fail(
    rule: Watched,
    sighting: &Sighting<'_>,
    below: &str,
    expected: impl Into<String>,
    actual: impl Into<String>,
    out: &mut Out<'_>,
) {
    out.violated(rule, sighting, below).expected(expected).actual(actual).done();
}

/// Whether a text is a UUID in its plain form; of version 7 where that is asked for.
fn is_uuid(text: &str, seven: bool) -> bool {
    let bytes = text.as_bytes();
    let plain =
        |at: usize| if matches!(at, 8 | 13 | 18 | 23) { bytes[at] == b'-' } else { bytes[at].is_ascii_hexdigit() };
    bytes.len() == 36
        && (0..36).all(plain)
        && (!seven || bytes[14] == b'7' && matches!(bytes[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B'))
}

/// Whether a text has the form of a time of RFC 3339.
fn is_time(text: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        other => byte == other,
    };
    let Some((head, rest)) = text.split_at_checked(pattern.len()) else { return false };
    let rest =
        rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    let zone =
        matches!(rest, "Z" | "z") || rest.len() == 6 && rest.starts_with(['+', '-']) && rest.as_bytes()[3] == b':';
    head.bytes().zip(pattern.bytes()).all(fits) && zone
}
