//! Subagents (AGENT): what the verbs are answered with, and what shows of a child at its parent.

use crate::facts::{Answer, BySession, Event, Id, ItemPath, Map, Sighting};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::{Out, wrong};

family! {
    AGENT_1 = "AGENT-1",
    AGENT_2 = "AGENT-2",
    AGENT_3 = "AGENT-3",
    AGENT_4 = "AGENT-4",
    AGENT_5 = "AGENT-5",
    AGENT_6 = "AGENT-6",
    AGENT_7 = "AGENT-7",
    AGENT_8 = "AGENT-8",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        answers: Methods::These(&["subagent/*", "session/read", "session/list"]),
        events: Methods::These(&["approval/requested", "turn/completed"]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Agents>::default(),
};

/// How long a host may take until the item of a child shows what was done to it, in milliseconds.
const PATIENCE: u64 = 10_000;

#[derive(Default)]
struct Agents {
    children: BySession<(Id, Id), Child>,
    /// Item of a child, and child of an item.
    item_of: BySession<(Id, Id), (Id, u64)>,
    child_of: BySession<(Id, Id), (Id, u64)>,
    /// First answers of commands, with the line.
    acks: Map<Id, (u64, u64)>,
    /// Sessions of children, with the line.
    sessions: Map<Id, u64>,
    /// Acked commands that are to show, by child.
    owed: BySession<(Id, Id), Owed>,
}

struct Child {
    line: u64,
    revision: i64,
    has_result: bool,
    has_ended: bool,
    is_closed: Option<u64>,
}

struct Owed {
    line: u64,
    ms: Option<u64>,
    is_close: bool,
}

impl Monitor for Agents {
    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), "subagent") = (sighting.session, sighting.kind) else { return };
        let Some(id) = sighting.item.get("subagentId").and_then(|it| it.id()) else { return };
        self.is_one(sighting, session, id, out);
        if let Some(child) = sighting.item.some("childSessionId").and_then(|it| it.id()) {
            self.sessions.entry(child).or_insert(sighting.at.line);
        }
        let line = sighting.at.line;
        let child = self.children.entry((session, id)).or_insert(Child {
            line,
            revision: 0,
            has_result: false,
            has_ended: false,
            is_closed: None,
        });
        if sighting.revision <= child.revision {
            return;
        }
        (child.line, child.revision) = (line, sighting.revision);
        // Ready, or there already: either may be read.
        let is_ready = sighting.item.get("controlStatus").is_some_and(|it| it.is("resultReady"));
        child.has_result |= is_ready || sighting.item.some("result").is_some();
        child.has_ended |= sighting.is_terminal();
        let is_update = matches!(sighting.path, ItemPath::Updated(_));
        let is_closed = sighting.item.get("controlStatus").is_some_and(|it| it.is("closed"));
        if is_update && is_closed && !sighting.is_terminal() {
            child.is_closed.get_or_insert(line);
        }
        if let Some(owed) = self.owed.remove(&(session, id)) {
            out.exercised(AGENT_3);
            if owed.is_close && sighting.is_terminal() {
                out.exercised(AGENT_6);
            } else if owed.is_close {
                self.owed.insert((session, id), owed);
            }
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(session) = event.session else { return };
        if event.method == "approval/requested" {
            Self::origin(event, session, out);
            return;
        }
        if !event.is_live() {
            return;
        }
        for ((_, id), owed) in self.owed.of(session) {
            let Some(child) = self.children.get(&(session, *id)) else { continue };
            if let Some(closed) = child.is_closed.filter(|_| owed.is_close && !child.has_ended) {
                out.exercised(AGENT_6);
                out.violated(AGENT_6, event, "")
                    .expected("the end of the child that was closed, as item/completed")
                    .actual("an item that is open")
                    .contradicts(owed.line)
                    .contradicts(closed)
                    .after_next_event(session)
                    .done();
            } else if let Some(passed) = event.at.ms.zip(owed.ms).map(|(now, then)| now.saturating_sub(then)) {
                if passed >= PATIENCE && child.line < owed.line {
                    out.exercised(AGENT_3);
                    out.violated(AGENT_3, event, "")
                        .expected("the item of the child sent again after the ack")
                        .actual("nothing of it")
                        .contradicts(owed.line)
                        .contradicts(child.line)
                        .done();
                }
            }
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if let "session/read" | "session/list" = answer.at.method {
            self.kinds(answer, out);
            return;
        }
        let Some(session) = answer.session else { return };
        if matches!(answer.code(), Some(-32001 | -32031 | -32020 | -32024)) || !says_something(answer, out) {
            return;
        }
        if self.is_repeated(answer, out) {
            return;
        }
        let verb = &answer.at.method["subagent/".len()..];
        let key = answer.param("subagentId").and_then(|it| it.id()).map(|id| (session, id));
        let child = key.and_then(|key| self.children.get(&key));
        if let ("readResult", Some(child)) = (verb, child.filter(|it| !it.has_result && !it.has_ended)) {
            too_early(answer, child.line, out);
        }
        let Some(result) = answer.result() else { return };
        out.exercised(AGENT_1);
        for (name, value) in result.members().filter(|(name, _)| !name.is("commandId") && !name.is("status")) {
            wrong(
                AGENT_1,
                answer,
                &format!("/{}", name.text()),
                ("nothing beside commandId and status", value.shown()),
                None,
                out,
            );
        }
        let is_owed = matches!(verb, "stop" | "close" | "readResult");
        if let (true, Some(key), Some(child)) = (is_owed, key, child.filter(|it| !it.has_ended)) {
            // The event may have come before the ack.
            if child.line < answer.request.line {
                let is_close = verb == "close" && child.has_result;
                self.owed.insert(key, Owed { line: answer.at.line, ms: answer.at.ms, is_close });
            }
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.children.forget(session);
        self.item_of.forget(session);
        self.child_of.forget(session);
        self.owed.forget(session);
    }
}

impl Agents {
    /// AGENT-7: each child has an item of its own.
    fn is_one(&mut self, sighting: &Sighting<'_>, session: Id, id: Id, out: &mut Out<'_>) {
        let line = sighting.at.line;
        let (child, first) = *self.child_of.entry((session, sighting.id)).or_insert((id, line));
        let (item, other) = *self.item_of.entry((session, id)).or_insert((sighting.id, line));
        out.exercised(AGENT_7);
        let clash = (child != id).then_some(first).or_else(|| (item != sighting.id).then_some(other));
        if let Some(clash) = clash {
            out.violated(AGENT_7, sighting, "/subagentId")
                .expected("one item for each child, and one child for each item")
                .actual(sighting.item.get("subagentId").map_or_else(String::new, |it| it.shown()))
                .contradicts(clash)
                .done();
        }
    }

    /// AGENT-8: children are sessions of their kind.
    fn kinds(&self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(result) = answer.result() else { return };
        let rows: Vec<(String, _)> = if answer.at.method == "session/list" {
            let rows = result.get("sessions").into_iter().flat_map(|it| it.items()).enumerate();
            rows.map(|(at, row)| (format!("/sessions/{at}"), row)).collect()
        } else {
            result.get("session").map(|row| ("/session".to_owned(), row)).into_iter().collect()
        };
        for (place, row) in rows {
            let Some(line) = row.id_of("sessionId").and_then(|id| self.sessions.get(&id).copied()) else { continue };
            let Some(kind) = row.get("kind") else { continue };
            out.exercised(AGENT_8);
            if !kind.is("subagent") {
                let actual = kind.shown();
                wrong(AGENT_8, answer, &format!("{place}/kind"), ("\"subagent\"", actual), Some(line), out);
            }
        }
    }

    /// AGENT-8: an approval of a child names the child.
    fn origin(event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let Some(origin) = event.param("subagentOrigin") else { return };
        out.exercised(AGENT_8);
        if origin.id_of("childSessionId") == Some(session) {
            out.violated(AGENT_8, event, "/subagentOrigin/childSessionId")
                .expected("the session of the child")
                .actual("that of the event")
                .done();
        }
    }

    /// AGENT-5: a command that is sent again gets its first answer. Tells whether it is one.
    fn is_repeated(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) -> bool {
        let Some(command) = answer.request.command else { return false };
        let Some((first, line)) = self.acks.get(&command).copied() else {
            if let Some(result) = answer.result() {
                self.acks.insert(command, (result.hash(), answer.at.line));
            }
            return false;
        };
        if answer.code() != Some(-32030) {
            out.exercised(AGENT_5);
            if answer.result().map(|it| it.hash()) != Some(first) {
                wrong(AGENT_5, answer, "", ("the first answer again", shown(answer)), Some(line), out);
            }
        }
        true
    }
}

/// AGENT-2: a child is named, and something is said. Tells whether it is so.
fn says_something(answer: &Answer<'_>, out: &mut Out<'_>) -> bool {
    let is_unnamed = answer.param("subagentId").is_some_and(|it| it.is(""));
    let is_blank = answer.param("body").and_then(|it| it.text()).is_some_and(|it| it.trim().is_empty());
    let has_body = answer.param("body").is_some();
    if has_body || is_unnamed {
        out.exercised(AGENT_2);
    }
    if !is_unnamed && !is_blank {
        return true;
    }
    if answer.code() != Some(-32602) {
        wrong(AGENT_2, answer, "", ("error -32602 for a text or a name that is empty", shown(answer)), None, out);
    }
    false
}

/// AGENT-4: there is no result yet.
fn too_early(answer: &Answer<'_>, line: u64, out: &mut Out<'_>) {
    out.exercised(AGENT_4);
    let is_so = answer.code() == Some(-32030) && answer.data("reason").is_some_and(|it| it.is("not_ready"));
    let is_known = answer.code() == Some(-32030)
        && ["command_id_conflict", "abandoned"]
            .iter()
            .any(|it| answer.data("reason").is_some_and(|reason| reason.is(it)));
    if !is_so && !is_known {
        wrong(AGENT_4, answer, "", ("error -32030 not_ready", shown(answer)), Some(line), out);
    }
}

fn shown(answer: &Answer<'_>) -> String {
    let reason = answer.data("reason").map_or_else(String::new, |it| format!(" {}", it.shown()));
    answer.code().map_or_else(|| "a result".to_owned(), |code| format!("{code}{reason}"))
}
