//! Which member an item of a kind may carry, and what each member says by itself.

use std::sync::OnceLock;

use msp_schema::annotations::Annotations;
use msp_schema::published;

use super::{
    ITEM_16, ITEM_17, ITEM_18, ITEM_21, ITEM_22, ITEM_25, ITEM_41, ITEM_44, ITEM_45, ITEM_48, ITEM_54, ITEM_58, fail,
};
use crate::facts::{ItemPath, Sighting, Value};
use crate::rules::out::Out;
use crate::schema::program::Names;

/// The members of an item as the overlay has them.
pub(super) struct Table {
    members: Names,
    /// For each member, the kinds that may carry it, one bit each.
    allowed: Vec<u64>,
    kinds: Vec<String>,
}

impl Table {
    /// The number of a kind; nothing for one that the table does not know.
    pub(super) fn kind(&self, name: &str) -> Option<usize> {
        self.kinds.iter().position(|kind| kind == name)
    }
}

/// The table of the packaged overlay.
pub(super) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table { members: Names::default(), allowed: Vec::new(), kinds: Vec::new() };
        // A packaged overlay that cannot be read is an error of the library, which says so before anything is judged.
        let Ok(annotations) = Annotations::parse(published::ANNOTATIONS) else { return table };
        let members: Vec<_> = annotations
            .entries()
            .filter_map(|(pointer, entry)| Some((pointer.strip_prefix("/$defs/Item/properties/")?, &entry.item_kinds)))
            .collect();
        for kind in members.iter().flat_map(|(_, kinds)| kinds.keys()) {
            if kind != "*" && !table.kinds.contains(kind) {
                table.kinds.push(kind.clone());
            }
        }
        for (_, kinds) in &members {
            let bit = |kind: &String| table.kind(kind).map_or(u64::MAX, |index| 1 << index);
            table.allowed.push(kinds.keys().map(bit).fold(0, |mask, bit| mask | bit));
        }
        table.members = Names::new(members.iter().map(|(name, _)| *name));
        table
    })
}

/// Members that an item has, as far as other checks ask.
#[derive(Clone, Copy, Default)]
pub(super) struct Present(u8);

/// `attachments` or `modelVisibleContent`.
pub(super) const METADATA: u8 = 1;
/// Any text beside the usual ones, which may hold anything.
pub(super) const TEXTS: u8 = 2;

impl Present {
    pub(super) fn has_any(self, what: u8) -> bool {
        self.0 & what != 0
    }
}

/// Looks at each member once.
pub(super) fn check(sighting: &Sighting<'_>, known: Option<usize>, out: &mut Out<'_>) -> Present {
    let table = table();
    let mut present = Present::default();
    if known.is_some() {
        out.exercised(ITEM_16);
    }
    for (name, value) in sighting.item.members() {
        let text = name.text();
        if let (Some(index), Some(kind)) = (table.members.find(text.as_bytes()), known) {
            if table.allowed[index] & 1 << kind == 0 && text != "truncated" {
                foreign(sighting, &text, value, out);
            }
        }
        if matches!(&*text, "attachments" | "modelVisibleContent") {
            present.0 |= METADATA;
        }
        member(sighting, &text, value, known.is_some(), out);
    }
    if matches!(sighting.kind, "userMessage" | "toolCall") {
        present.0 |= TEXTS;
    }
    present
}

/// ITEM-16: a member of another kind.
fn foreign(sighting: &Sighting<'_>, name: &str, value: Value<'_>, out: &mut Out<'_>) {
    let violation = out
        .violated(ITEM_16, sighting, &format!("/{name}"))
        .expected(format!("no such member on an item of kind {}", sighting.kind))
        .actual(value.shown());
    // Newer than every known revision, and allowed there.
    if name == "durationMs" && sighting.kind == "toolCall" { violation.note().done() } else { violation.done() }
}

/// What a member says by itself.
fn member(sighting: &Sighting<'_>, name: &str, value: Value<'_>, known: bool, out: &mut Out<'_>) {
    let (kind, open) = (sighting.kind, !sighting.is_terminal());
    let below = || format!("/{name}");
    match name {
        "finalSummary"
        | "declaredPhase"
        | "message"
        | "runStatus"
        | "reason"
        | "outcome"
        | "messagePhase"
        | "providerStatus"
        | "terminalRowAfterItemId"
            if EARLY.contains(&(kind, name)) =>
        {
            out.exercised(ITEM_17);
            if open {
                fail(ITEM_17, sighting, &below(), "nothing while the item is open", value.shown(), out);
            }
        }
        // Of a workflow the sources say both (DIS-28).
        "truncated" if known && kind != "workflow" => {
            out.exercised(ITEM_18);
            if !CUT.contains(&kind) {
                fail(ITEM_18, sighting, &below(), "no mark of a cut on an item of this kind", value.shown(), out);
            }
        }
        "paused" | "blocking" | "steered" if TRUE.contains(&(kind, name)) => {
            out.exercised(ITEM_21);
            if value.bool() != Some(true) {
                fail(ITEM_21, sighting, &below(), "true, or nothing", value.shown(), out);
            }
        }
        "patchSummary" if kind == "toolCall" => patch_summary(sighting, value, out),
        "toolReceipt" => receipt(sighting, value, out),
        "exitCode" | "exitSignal" if kind == "userShell" => {
            out.exercised(ITEM_44);
            if name == "exitSignal" && sighting.item.get("exitCode").is_some() {
                fail(ITEM_44, sighting, &below(), "either a code or a signal", "both", out);
            }
        }
        "failureReason" | "failureKind" if matches!(kind, "toolCall" | "subagent") => {
            failure(sighting, name, value, out);
        }
        "displayLabel" => {
            out.exercised(ITEM_48);
            for (label, text) in value.members() {
                if text.text().is_some_and(|it| it.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])) {
                    let at = format!("/displayLabel/{}", label.text());
                    fail(ITEM_48, sighting, &at, "one line of plain text", text.shown(), out);
                }
            }
        }
        "childSessionLogPath" => log_path(sighting, value, out),
        "workId" if kind == "toolCall" => {
            out.exercised(ITEM_58);
            if open {
                fail(ITEM_58, sighting, &below(), "nothing while the item is open", value.shown(), out);
            }
        }
        _ => {}
    }
}

/// Members that an open item of the kind does not have (ITEM-17).
const EARLY: [(&str, &str); 9] = [
    ("workflow", "finalSummary"),
    ("workflow", "declaredPhase"),
    ("workflow", "message"),
    ("hookRun", "runStatus"),
    ("hookRun", "reason"),
    ("compaction", "outcome"),
    ("agentMessage", "messagePhase"),
    ("webSearch", "providerStatus"),
    ("toolCall", "terminalRowAfterItemId"),
];

/// Kinds with a text that may be cut (ITEM-18).
const CUT: [&str; 6] = ["agentMessage", "reasoning", "toolCall", "userShell", "subagent", "monitorFeed"];

/// Members that are true or not there (ITEM-21).
const TRUE: [(&str, &str); 3] = [("workflow", "paused"), ("reminderChild", "blocking"), ("userMessage", "steered")];

/// ITEM-22, ITEM-25: a count of what is stored, with the reference to it.
fn patch_summary(sighting: &Sighting<'_>, summary: Value<'_>, out: &mut Out<'_>) {
    out.exercised(ITEM_22);
    if sighting.item.some("patchRef").is_none() {
        fail(ITEM_22, sighting, "", "a `patchRef` beside `patchSummary`", "none", out);
    }
    out.exercised(ITEM_25);
    let count = |name: &str| summary.get(name).and_then(|it| it.int()).unwrap_or_default();
    for name in ["files", "added", "removed"] {
        if count(name) < 0 {
            let at = format!("/patchSummary/{name}");
            fail(ITEM_25, sighting, &at, "a number of 0 or more", count(name).to_string(), out);
        }
    }
    if count("files") == 0 && (count("added") > 0 || count("removed") > 0) {
        fail(ITEM_25, sighting, "/patchSummary/files", "at least one file, since lines were changed", "0", out);
    }
}

/// ITEM-41: the account of an operation, and where its spans lie.
fn receipt(sighting: &Sighting<'_>, receipt: Value<'_>, out: &mut Out<'_>) {
    out.exercised(ITEM_41);
    let Some(details) = receipt.get("details") else { return };
    if !details.is_object() || details.members().next().is_none() {
        fail(ITEM_41, sighting, "/toolReceipt/details", "an object with members, or nothing", details.shown(), out);
        return;
    }
    let Some(spans) = details.get("outputSpans").filter(|_| receipt.get("family").is_some_and(|it| it.is("codeMode")))
    else {
        return;
    };
    let at = "/toolReceipt/details/outputSpans";
    if spans.items().next().is_none() {
        fail(ITEM_41, sighting, at, "a span at least, or nothing", "[]", out);
    }
    let text = sighting.item.text_of("visibleOutput");
    let cut = sighting.item.get("truncated").and_then(|it| it.bool()) == Some(true)
        || matches!(sighting.path, ItemPath::Snapshot(_));
    let mut end = 0;
    for (index, span) in spans.items().enumerate() {
        let number = |name: &str| span.get(name).and_then(|it| it.int()).and_then(|it| usize::try_from(it).ok());
        let (Some(offset), Some(length)) = (number("offsetBytes"), number("lengthBytes")) else { continue };
        let here = format!("{at}/{index}");
        if offset < end {
            fail(ITEM_41, sighting, &here, format!("a span from byte {end} on"), format!("one from {offset}"), out);
        }
        end = offset.saturating_add(length);
        let Some(text) = &text else { continue };
        let is_whole = text.is_char_boundary(offset) && text.is_char_boundary(end);
        let is_cut_off = cut && end > text.len();
        if !is_whole && !is_cut_off {
            let actual = format!("one from byte {offset} to byte {end} of {}", text.len());
            fail(ITEM_41, sighting, &here, "a span of whole characters of `visibleOutput`", actual, out);
        }
    }
}

/// ITEM-45: why an item failed stands on an item that failed.
fn failure(sighting: &Sighting<'_>, name: &str, value: Value<'_>, out: &mut Out<'_>) {
    out.exercised(ITEM_45);
    let below = format!("/{name}");
    let failed = matches!(sighting.status, "failed" | "rejected" | "cancelled");
    let known = matches!(sighting.status, "inProgress" | "completed");
    if name == "failureKind" {
        let text = value.text().unwrap_or_default();
        if !is_snake_case(&text) {
            fail(ITEM_45, sighting, &below, "a word such as `not_found`", value.shown(), out);
        } else if known {
            out.violated(ITEM_45, sighting, &below)
                .expected("nothing on an item that did not fail")
                .actual(value.shown())
                .warn()
                .done();
        }
        return;
    }
    if !failed {
        let violation = out
            .violated(ITEM_45, sighting, &below)
            .expected("nothing on an item that did not fail")
            .actual(format!("it is {}", sighting.status));
        // Of timeouts and of words that nobody knows the text does not speak.
        if known { violation.done() } else { violation.note().done() }
    }
}

/// Whether a text is a word such as `not_found`.
pub(super) fn is_snake_case(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
}

/// ITEM-54: a path below the session, and none where there are no files.
fn log_path(sighting: &Sighting<'_>, path: Value<'_>, out: &mut Out<'_>) {
    out.exercised(ITEM_54);
    let text = path.text().unwrap_or_default();
    let drive = text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && text.as_bytes().get(1) == Some(&b':');
    if text.starts_with(['/', '\\']) || drive {
        fail(ITEM_54, sighting, "/childSessionLogPath", "a relative path", path.shown(), out);
    } else if out.core().connection(sighting.at.conn).ephemeral() == Some(true) {
        fail(ITEM_54, sighting, "/childSessionLogPath", "nothing on a host without files", path.shown(), out);
    }
}
