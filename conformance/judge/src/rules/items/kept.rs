//! What an item keeps over its revisions and on every path. Revisions are compared by their numbers, not by arrival: a
//! page or a history may bring an old one late.

use super::{ITEM_3, ITEM_13, ITEM_19, ITEM_20, ITEM_24, ITEM_33, ITEM_35, ITEM_40, ITEM_59, fail};
use crate::facts::{Id, ItemPath, Sighting, Value};
use crate::rules::monitor::Watched;
use crate::rules::out::Out;

/// Members that an item does not lose once it has them, as long as it is sent whole.
const LASTING: [&str; 5] = ["tool", "callId", "args", "commandText", "scriptId"];

/// What is remembered of one item beside its revision.
#[derive(Default)]
pub(super) struct Kept {
    silent: bool,
    more: Option<Box<More>>,
}

#[derive(Default)]
struct More {
    /// Hash of each of [`LASTING`], with the line that showed it first.
    lasting: [Option<(u64, u64)>; 5],
    receipt: Option<Seen<u64>>,
    refs: Option<Seen<[Option<Id>; 2]>>,
    truncated: Option<Seen<()>>,
    drained: Option<Seen<()>>,
    rare: Option<Box<Rare>>,
}

/// What only runs and replies that were cut off keep; apart, since there are many more calls of tools.
#[derive(Default)]
struct Rare {
    cut_off: Option<Seen<()>>,
    budget: Option<(Option<u64>, u64)>,
    children: Option<Seen<Vec<Id>>>,
}

/// Something at a revision, and its line.
struct Seen<T> {
    revision: i64,
    line: u64,
    what: T,
}

/// Kinds of the protocol; of others nobody can say when they end.
const KNOWN: [&str; 18] = [
    "userMessage",
    "agentMessage",
    "reasoning",
    "toolCall",
    "userShell",
    "subagent",
    "workflow",
    "reminderChild",
    "compaction",
    "hookRun",
    "sideChat",
    "webSearch",
    "monitorFeed",
    "damagedRange",
    "scheduledFire",
    "backgroundTerminalCompletion",
    "overdueNotice",
    "skillRead",
];

impl Kept {
    /// Whether the kind is one of the protocol's.
    pub(super) fn is_known_kind(&self) -> bool {
        self.silent
    }

    /// Takes a sighting in, and says what it contradicts.
    pub(super) fn take(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        self.silent = KNOWN.contains(&sighting.kind);
        if !matches!(sighting.kind, "toolCall" | "userShell" | "subagent" | "agentMessage" | "workflow") {
            return;
        }
        if sighting.kind == "agentMessage" && self.more.is_none() && sighting.item.get("cutOff").is_none() {
            return;
        }
        let more = self.more.get_or_insert_default();
        match sighting.kind {
            "toolCall" => {
                more.lasting(sighting, out);
                more.receipt(sighting, out);
                more.refs(sighting, out);
            }
            "userShell" => {
                more.lasting(sighting, out);
                more.refs(sighting, out);
            }
            "subagent" => more.subagent(sighting, out),
            "agentMessage" => more.cut_off(sighting, out),
            _ => more.workflow(sighting, out),
        }
    }
}

impl More {
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// ITEM-13 and the whole object of ITEM-3.
    fn lasting(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let line = sighting.at.line;
        for (place, name) in LASTING.iter().enumerate() {
            let value = sighting.item.get(name);
            match (value, self.lasting[place]) {
                (Some(value), Some((hash, first))) if place < 3 && sighting.kind == "toolCall" => {
                    out.exercised(ITEM_13);
                    if value.hash() != hash {
                        out.violated(ITEM_13, sighting, &format!("/{name}"))
                            .expected("what the item had before, byte for byte")
                            .actual(value.shown())
                            .contradicts(first)
                            .done();
                    }
                }
                (Some(value), None) => self.lasting[place] = Some((value.hash(), line)),
                // A snapshot may leave bodies out (ITEM-24).
                (None, Some((_, first))) if sighting.event.is_some() => {
                    out.violated(ITEM_3, sighting, "")
                        .expected(format!("the whole item, with its `{name}`"))
                        .actual("none")
                        .contradicts(first)
                        .done();
                }
                _ => {}
            }
        }
    }

    /// ITEM-40: one receipt a revision, wherever it is seen.
    fn receipt(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let Some(receipt) = sighting.item.get("toolReceipt") else { return };
        let hash = receipt.hash();
        match &self.receipt {
            Some(seen) if seen.revision == sighting.revision => {
                out.exercised(ITEM_40);
                if seen.what != hash {
                    out.violated(ITEM_40, sighting, "/toolReceipt")
                        .expected("the receipt that this revision had before")
                        .actual(receipt.shown())
                        .contradicts(seen.line)
                        .done();
                }
            }
            _ => self.receipt = Some(Seen { revision: sighting.revision, line: sighting.at.line, what: hash }),
        }
    }

    /// ITEM-24: a snapshot leaves bodies out, not what leads to them.
    fn refs(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let of = |name: &str| sighting.item.path(&[name, "id"]).and_then(|it| it.id());
        let refs = [of("patchRef"), of("outputRef")];
        match &self.refs {
            Some(seen) if seen.revision == sighting.revision && matches!(sighting.path, ItemPath::Snapshot(_)) => {
                for ((name, before), now) in ["patchRef", "outputRef"].iter().zip(seen.what).zip(refs) {
                    if before.is_none() {
                        continue;
                    }
                    out.exercised(ITEM_24);
                    if before != now {
                        let actual = now.map_or("none", |_| "another");
                        out.violated(ITEM_24, sighting, "")
                            .expected(format!("the `{name}` that this revision has elsewhere"))
                            .actual(actual)
                            .contradicts(seen.line)
                            .done();
                    }
                }
            }
            _ => self.refs = Some(Seen { revision: sighting.revision, line: sighting.at.line, what: refs }),
        }
    }

    /// ITEM-19, ITEM-59: marks of a child that are not taken back.
    fn subagent(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let truncated = sighting.item.get("truncated").and_then(|it| it.bool()) == Some(true);
        stays(&mut self.truncated, truncated, sighting, ITEM_19, "/truncated", out);
        let drained = sighting.item.path(&["result", "drained"]);
        if let Some(drained) = drained.filter(|drained| drained.bool() != Some(true)) {
            out.exercised(ITEM_59);
            fail(out, ITEM_59, sighting, "/result/drained", "true, or nothing", &drained.shown());
        }
        let drained = drained.is_some_and(|it| it.bool() == Some(true));
        stays(&mut self.drained, drained, sighting, ITEM_59, "/result", out);
    }

    /// ITEM-20: a reply that was cut off stays so.
    fn cut_off(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let value = sighting.item.get("cutOff");
        if let Some(value) = value.filter(|value| value.bool() != Some(true)) {
            out.exercised(ITEM_20);
            fail(out, ITEM_20, sighting, "/cutOff", "true, or nothing", &value.shown());
        }
        let is_cut = value.is_some_and(|it| it.bool() == Some(true));
        stays(&mut self.rare().cut_off, is_cut, sighting, ITEM_20, "", out);
    }

    /// ITEM-33, ITEM-35: the children of a run, and what it may use.
    fn workflow(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (line, is_snapshot) = (sighting.at.line, matches!(sighting.path, ItemPath::Snapshot(_)));
        let budget = sighting.item.get("tokenBudget").map(|it| it.hash());
        match self.rare().budget {
            Some((before, first)) if !(is_snapshot && budget.is_none()) => {
                out.exercised(ITEM_35);
                if before != budget {
                    let actual = sighting.item.get("tokenBudget").map_or_else(|| "none".to_owned(), |it| it.shown());
                    out.violated(ITEM_35, sighting, "/tokenBudget")
                        .expected("the budget that the run had before")
                        .actual(actual)
                        .contradicts(first)
                        .done();
                }
            }
            Some(_) => {}
            None => self.rare().budget = Some((budget, line)),
        }
        if let Some(children) = sighting.item.get("children") {
            self.children(sighting, children, is_snapshot, out);
        }
    }

    fn children(&mut self, sighting: &Sighting<'_>, children: Value<'_>, is_snapshot: bool, out: &mut Out<'_>) {
        out.exercised(ITEM_33);
        let mut pairs: Vec<(Id, i64)> = Vec::new();
        for child in children.items() {
            let (Some(id), Some(attempt)) = (child.id_of("childId"), child.get("attempt").and_then(|it| it.int()))
            else {
                continue;
            };
            if pairs.contains(&(id, attempt)) {
                fail(out, ITEM_33, sighting, "/children", "one row for each child and attempt", "two of one");
            }
            pairs.push((id, attempt));
        }
        if is_snapshot {
            return;
        }
        let ids: Vec<Id> = pairs.into_iter().map(|(id, _)| id).collect();
        let children = &mut self.rare().children;
        let Some(seen) = children else {
            *children = Some(Seen { revision: sighting.revision, line: sighting.at.line, what: ids });
            return;
        };
        let (lower, higher) = if sighting.revision > seen.revision { (&seen.what, &ids) } else { (&ids, &seen.what) };
        if sighting.revision != seen.revision && lower.iter().any(|id| !higher.contains(id)) {
            out.violated(ITEM_33, sighting, "/children")
                .expected("every child of an earlier revision")
                .actual("one is missing")
                .contradicts(seen.line)
                .done();
        }
        if sighting.revision > seen.revision {
            *children = Some(Seen { revision: sighting.revision, line: sighting.at.line, what: ids });
        }
    }
}

/// A mark that is there from some revision on, and on every higher one.
fn stays(
    first: &mut Option<Seen<()>>,
    has: bool,
    sighting: &Sighting<'_>,
    rule: Watched,
    below: &str,
    out: &mut Out<'_>,
) {
    match first {
        Some(seen) if sighting.revision > seen.revision => {
            out.exercised(rule);
            if !has {
                out.violated(rule, sighting, below)
                    .expected("the mark that an earlier revision had")
                    .actual("none")
                    .contradicts(seen.line)
                    .done();
            }
        }
        _ if has && first.as_ref().is_none_or(|seen| sighting.revision < seen.revision) => {
            *first = Some(Seen { revision: sighting.revision, line: sighting.at.line, what: () });
        }
        _ => {}
    }
}
