//! Workflows and their children (WF).

use crate::facts::{Answer, BySession, Id, ItemPath, Map, Set, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::{Out, wrong};

family! { WF_1 = "WF-1", WF_2 = "WF-2", WF_3 = "WF-3", WF_4 = "WF-4", WF_5 = "WF-5" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches { answers: Methods::These(&["workflow/*"]), items: true, ..Watches::NOTHING },
    monitor: || Box::<Workflows>::default(),
};

#[derive(Default)]
struct Workflows {
    runs: BySession<(Id, Id), Run>,
    commands: Set<Id>,
}

#[derive(Default)]
struct Run {
    revision: i64,
    line: u64,
    has_ended: Option<u64>,
    /// Line of an accepted cancel, and of the newest update behind it.
    cancelled: Option<u64>,
    updated: u64,
    /// Attempts of each child: the highest, with the line; and those that have ended.
    attempts: Map<Id, (i64, u64)>,
    rows: Map<(Id, i64), (bool, u64)>,
    /// Retries that are to bring a new row: child, attempt, line.
    retried: Option<(Id, i64, u64)>,
}

impl Monitor for Workflows {
    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), "workflow") = (sighting.session, sighting.kind) else { return };
        let Some(id) = sighting.item.get("workflowRunId").and_then(|it| it.id()) else { return };
        let run = self.runs.entry((session, id)).or_default();
        if sighting.revision <= run.revision && run.line != 0 {
            return;
        }
        children(run, sighting, out);
        (run.revision, run.line) = (sighting.revision, sighting.at.line);
        if sighting.is_terminal() {
            ends(run, sighting, out);
            run.has_ended.get_or_insert(sighting.at.line);
        } else {
            run.updated = sighting.at.line;
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(id)) = (answer.session, answer.param("workflowRunId").and_then(|it| it.id())) else {
            return;
        };
        if answer.request.command.is_some_and(|command| !self.commands.insert(command)) || answer.is_of_ledger() {
            return;
        }
        if matches!(answer.code(), Some(-32001 | -32031 | -32024 | -32020)) || !names(answer, out) {
            return;
        }
        if let (Some(result), "workflow/resume") = (answer.result(), answer.at.method) {
            out.exercised(WF_1);
            if result.get("turnId").is_none_or(|it| it.is("")) {
                wrong(WF_1, answer, "/turnId", ("the turn that goes on", "\"\"".to_owned()), None, out);
            }
        }
        let is_whole = out.known(session).whole;
        match answer.at.method {
            "workflow/cancel" => self.cancel(answer, (session, id), is_whole, out),
            "workflow/childControl" => {
                if let Some(run) = self.runs.get_mut(&(session, id)) {
                    control(run, answer, out);
                }
            }
            _ => {}
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.runs.forget(session);
    }
}

impl Workflows {
    /// WF-2: what becomes of a cancel.
    fn cancel(&mut self, answer: &Answer<'_>, key: (Id, Id), is_whole: bool, out: &mut Out<'_>) {
        let reason = |text: &str| answer.code() == Some(-32030) && answer.data("reason").is_some_and(|it| it.is(text));
        let Some(run) = self.runs.get_mut(&key) else {
            if is_whole && answer.code() != Some(-32602) {
                out.exercised(WF_2);
                if !reason("missing_run") {
                    wrong(WF_2, answer, "", ("error -32030 missing_run", shown(answer)), None, out);
                }
            }
            return;
        };
        out.exercised(WF_2);
        match run.has_ended {
            Some(line) if line < answer.request.line => {
                if !reason("already_terminal") {
                    wrong(WF_2, answer, "", ("error -32030 already_terminal", shown(answer)), Some(line), out);
                }
            }
            Some(_) => {}
            None => {
                if answer.code() == Some(-32030) {
                    wrong(
                        WF_2,
                        answer,
                        "/data/reason",
                        ("a run that can be cancelled, as it is open", shown(answer)),
                        Some(run.line),
                        out,
                    );
                } else if answer.result().is_some() {
                    run.cancelled.get_or_insert(answer.request.line);
                }
            }
        }
    }
}

/// WF-1: ids are not empty. Tells whether they are not.
fn names(answer: &Answer<'_>, out: &mut Out<'_>) -> bool {
    let is_empty = ["workflowRunId", "childId"].iter().any(|name| answer.param(name).is_some_and(|it| it.is("")));
    let is_low = answer.param("attempt").and_then(|it| it.int()).is_some_and(|it| it < 1);
    if !is_empty && !is_low {
        return true;
    }
    out.exercised(WF_1);
    if answer.code() != Some(-32602) {
        wrong(WF_1, answer, "", ("error -32602 for an empty id, or an attempt below 1", shown(answer)), None, out);
    }
    false
}

/// WF-3: how a run ends.
fn ends(run: &Run, sighting: &Sighting<'_>, out: &mut Out<'_>) {
    out.exercised(WF_3);
    if matches!(sighting.status, "rejected" | "timedOut") {
        out.violated(WF_3, sighting, "/status")
            .expected("completed, failed or cancelled")
            .actual(format!("\"{}\"", sighting.status))
            .done();
    }
    let is_live = sighting.live().is_some() && matches!(sighting.path, ItemPath::Completed(_));
    if let Some(cancelled) =
        run.cancelled.filter(|line| is_live && sighting.status == "cancelled" && run.updated < *line)
    {
        let violation = out
            .violated(WF_3, sighting, "")
            .expected("an item/updated between the cancel and the end")
            .actual("the end alone")
            .contradicts(cancelled);
        match sighting.session {
            Some(session) => violation.after_next_event(session).done(),
            None => violation.done(),
        }
    }
}

/// WF-5: rows of children stay, and do not open again.
fn children(run: &mut Run, sighting: &Sighting<'_>, out: &mut Out<'_>) {
    let Some(children) = sighting.item.get("children") else { return };
    let rows = children.items().filter_map(|row| Some((row, row.id_of("childId")?, row.get("attempt")?.int()?)));
    let mut now: Set<(Id, i64)> = Set::default();
    let mut present: Set<Id> = Set::default();
    for (at, (row, child, attempt)) in rows.enumerate() {
        out.exercised(WF_5);
        now.insert((child, attempt));
        present.insert(child);
        let has_ended = row.some("terminal").is_some();
        let highest = run.attempts.entry(child).or_insert((attempt, sighting.at.line));
        if attempt > highest.0 {
            *highest = (attempt, sighting.at.line);
        }
        if let Some((true, line)) =
            run.rows.insert((child, attempt), (has_ended, sighting.at.line)).filter(|_| !has_ended)
        {
            out.violated(WF_5, sighting, &format!("/children/{at}"))
                .expected("an attempt that stays ended")
                .actual("one that is open again")
                .contradicts(line)
                .done();
        }
        if run.retried.is_some_and(|(of, before, _)| of == child && attempt > before) {
            run.retried = None;
        }
    }
    let gone =
        run.rows.iter().find(|((child, attempt), _)| present.contains(child) && !now.contains(&(*child, *attempt)));
    if let Some((key, line)) = gone.map(|(key, (_, line))| (*key, *line)) {
        run.rows.remove(&key);
        out.violated(WF_5, sighting, "/children")
            .expected("each attempt that there was")
            .actual("one is missing")
            .contradicts(line)
            .done();
    }
    if let Some((_, _, line)) = run.retried.filter(|_| sighting.is_terminal() && sighting.status != "cancelled") {
        out.violated(WF_5, sighting, "/children")
            .expected("a new attempt of the child that was tried again")
            .actual("none")
            .contradicts(line)
            .done();
    }
}

/// WF-4: only the newest attempt can be steered.
fn control(run: &mut Run, answer: &Answer<'_>, out: &mut Out<'_>) {
    let (Some(child), Some(attempt)) =
        (answer.param("childId").and_then(|it| it.id()), answer.param("attempt").and_then(|it| it.int()))
    else {
        return;
    };
    let Some((highest, line)) = run.attempts.get(&child).copied() else { return };
    if run.has_ended.is_some() {
        return;
    }
    let is_stale = answer.code() == Some(-32030) && answer.data("reason").is_some_and(|it| it.is("stale_attempt"));
    let is_before = line < answer.request.line;
    if attempt > highest || attempt < highest && is_before {
        out.exercised(WF_4);
        if !is_stale {
            wrong(WF_4, answer, "", ("error -32030 stale_attempt", shown(answer)), Some(line), out);
        }
    } else if attempt == highest {
        out.exercised(WF_4);
        let is_open = run.rows.get(&(child, attempt)).is_some_and(|(has_ended, _)| !has_ended);
        if is_stale && is_open {
            wrong(
                WF_4,
                answer,
                "/data/reason",
                ("another answer for the newest attempt, which is open", shown(answer)),
                Some(line),
                out,
            );
        }
        if answer.result().is_some() && answer.param("action").is_some_and(|it| it.is("retry")) {
            run.retried = Some((child, attempt, answer.at.line));
        }
    }
}

fn shown(answer: &Answer<'_>) -> String {
    let reason = answer.data("reason").map_or_else(String::new, |it: Value<'_>| format!(" {}", it.shown()));
    answer.code().map_or_else(|| "a result".to_owned(), |code| format!("{code}{reason}"))
}
