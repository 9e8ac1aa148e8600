//! What an item of one kind says by itself.

use super::members::is_snake_case;
use super::{
    ITEM_11, ITEM_14, ITEM_27, ITEM_28, ITEM_29, ITEM_31, ITEM_32, ITEM_37, ITEM_38, ITEM_46, ITEM_61, ITEM_66,
    ITEM_68, ITEM_70, ITEM_71, fail,
};
use crate::facts::{ItemPath, Sighting};
use crate::rules::monitor::Watched;
use crate::rules::out::Out;

/// Looks at an item by its kind.
pub(super) fn check(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    match sighting.kind {
        "agentMessage" => message(sighting, out),
        "reasoning" => reasoning(sighting, out),
        "toolCall" => background(sighting, out),
        "webSearch" => search(sighting, out),
        "workflow" => workflow(sighting, out),
        "hookRun" => hook(sighting, out),
        "compaction" => compaction(sighting, out),
        "monitorFeed" => {
            single(ITEM_66, sighting, out);
            expected(ITEM_66, sighting, &["monitorId", "monitorDescription", "text"], out);
        }
        "scheduledFire" => {
            single(ITEM_68, sighting, out);
            expected(ITEM_68, sighting, &["jobId", "scheduledFireAtMs"], out);
        }
        "overdueNotice" => {
            single(ITEM_11, sighting, out);
            out.exercised(ITEM_70);
            if sighting.item.get("text").and_then(|it| it.text()).is_none() {
                fail(ITEM_70, sighting, "", "a `text`", "none", out);
            }
        }
        // Without the opt-in nobody says what becomes of the item (ITEM-71).
        "skillRead" if out.core().connection(sighting.at.conn).experimental() == Some(true) => {
            single(ITEM_71, sighting, out);
        }
        _ => {}
    }
}

/// A kind that is there at once and never changes.
fn single(rule: Watched, sighting: &Sighting<'_>, out: &mut Out<'_>) {
    out.exercised(rule);
    let actual = match sighting.path {
        ItemPath::Started(_) => "item/started",
        ItemPath::Updated(_) => "item/updated",
        _ => "",
    };
    if !actual.is_empty() {
        fail(rule, sighting, "", "item/completed, since it is complete at once", actual, out);
    } else if sighting.status != "completed" {
        fail(rule, sighting, "/status", "completed", sighting.status, out);
    } else if sighting.revision != 1 {
        fail(rule, sighting, "/revision", "1", sighting.revision.to_string(), out);
    }
}

/// Members that every such item is expected to have, though no text makes them compulsory.
fn expected(rule: Watched, sighting: &Sighting<'_>, names: &[&str], out: &mut Out<'_>) {
    for name in names {
        if sighting.item.get(name).is_none() {
            out.violated(rule, sighting, "").expected(format!("a `{name}`")).actual("none").warn().done();
        }
    }
}

/// ITEM-14: a message that was completed has its text.
fn message(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    if matches!(sighting.path, ItemPath::Completed(_)) && sighting.status == "completed" {
        out.exercised(ITEM_14);
        if sighting.item.get("text").and_then(|it| it.text()).is_none() {
            fail(ITEM_14, sighting, "", "a `text`", "none", out);
        }
    }
}

/// ITEM-61: reasoning belongs to a turn, and its raw text comes at the end.
fn reasoning(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    out.exercised(ITEM_61);
    if let Some(text) = sighting.item.text_of("text").filter(|text| !text.is_empty() && !sighting.is_terminal()) {
        fail(ITEM_61, sighting, "/text", "no text while the item is open", format!("{} bytes", text.len()), out);
    }
}

/// ITEM-46: a call goes to the background by an update.
fn background(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    for name in ["background", "backgroundStatus"] {
        let Some(value) = sighting.item.get(name).filter(|_| sighting.event.is_some()) else { continue };
        out.exercised(ITEM_46);
        if matches!(sighting.path, ItemPath::Started(_)) {
            fail(ITEM_46, sighting, &format!("/{name}"), "nothing on a start", value.shown(), out);
        }
    }
}

/// ITEM-27 to ITEM-29: what a search tells, and when.
fn search(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    let item = sighting.item;
    let action = item.text_of("action");
    if let Some(action) = &action {
        out.exercised(ITEM_27);
        if !sighting.is_terminal() {
            fail(ITEM_27, sighting, "/action", "nothing while the item is open", format!("\"{action}\""), out);
        }
    }
    if let Some(action @ ("search" | "openPage" | "findInPage")) = action.as_deref().filter(|_| sighting.is_terminal())
    {
        out.exercised(ITEM_28);
        let has = |name: &str| item.get(name).is_some();
        let wanted = [
            ("url", action != "search", action != "search"),
            ("pattern", action == "findInPage", action == "findInPage"),
            ("query", false, action == "search"),
        ];
        for (name, always, allowed) in wanted {
            if has(name) && !allowed {
                fail(ITEM_28, sighting, &format!("/{name}"), format!("nothing for {action}"), "something", out);
            } else if always && !has(name) {
                fail(ITEM_28, sighting, "", format!("a `{name}` for {action}"), "none", out);
            }
        }
    }
    let gated = ["action", "pattern", "providerStatus", "query", "rawItem", "results", "url"];
    let shown = gated.iter().any(|name| item.get(name).is_some());
    let opted_in = out.core().connection(sighting.at.conn).experimental().unwrap_or(shown);
    if opted_in && sighting.status == "completed" {
        out.exercised(ITEM_29);
        if item.get("providerStatus").and_then(|it| it.text()).is_none() {
            fail(ITEM_29, sighting, "", "a `providerStatus`", "none", out);
        }
    }
}

/// ITEM-31, ITEM-32: whether a run can be stopped, and how long it took.
fn workflow(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    let known =
        matches!(sighting.status, "inProgress" | "completed" | "failed" | "cancelled" | "rejected" | "timedOut");
    if let Some(can) = sighting.item.get("stopAvailable").and_then(|it| it.bool()).filter(|_| known) {
        out.exercised(ITEM_31);
        let open = !sighting.is_terminal();
        if can != open {
            fail(ITEM_31, sighting, "/stopAvailable", open.to_string(), can.to_string(), out);
        }
    } else if known {
        out.violated(ITEM_31, sighting, "").expected("a `stopAvailable`").actual("none").warn().done();
    }
    if !sighting.is_terminal() {
        out.exercised(ITEM_32);
        if let Some(duration) = sighting.item.get("durationMs") {
            fail(ITEM_32, sighting, "/durationMs", "nothing while the run is open", duration.shown(), out);
        }
    }
}

/// ITEM-37: what is blocked was rejected, and the other way round.
fn hook(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    let Some(run) = sighting.item.text_of("runStatus") else { return };
    let known_run = matches!(&*run, "completed" | "blocked" | "failed" | "timedOut" | "cancelled");
    let known_status =
        matches!(sighting.status, "inProgress" | "completed" | "failed" | "cancelled" | "rejected" | "timedOut");
    let (blocked, rejected) = (run == "blocked", sighting.status == "rejected");
    if (blocked || rejected) && known_run && known_status {
        out.exercised(ITEM_37);
        if blocked != rejected {
            let expected = "`blocked` and `rejected` together";
            fail(ITEM_37, sighting, "/runStatus", expected, format!("{run} and {}", sighting.status), out);
        }
    }
}

/// ITEM-38: what a compaction tells hangs on its outcome.
fn compaction(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    let outcome = sighting.item.text_of("outcome");
    let known = outcome.as_deref().is_none_or(|it| matches!(it, "compacted" | "noop" | "failed" | "cancelled"));
    let installed = outcome.as_deref() == Some("compacted");
    if let Some(strategy) = sighting.item.get("strategyId").filter(|_| known) {
        out.exercised(ITEM_38);
        if !installed {
            fail(ITEM_38, sighting, "/strategyId", "nothing, since no summary was installed", strategy.shown(), out);
        }
    }
    if let Some(reason) = sighting.item.get("reason").filter(|_| known) {
        out.exercised(ITEM_38);
        if installed || outcome.is_none() {
            fail(ITEM_38, sighting, "/reason", "nothing, since nothing failed", reason.shown(), out);
        } else if !reason.text().is_some_and(|text| is_snake_case(&text)) {
            fail(ITEM_38, sighting, "/reason", "a word such as `no_history`", reason.shown(), out);
        }
    }
}
