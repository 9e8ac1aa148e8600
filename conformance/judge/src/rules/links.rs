//! What items say of other things (ITEM): of submits, of other items, of sessions, of stored output.

mod queries;
mod submits;

use crate::facts::{Answer, Event, Id, ItemPath, Map, Path, Request, Set, Sight, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::Out;

family! {
    ITEM_12 = "ITEM-12",
    ITEM_23 = "ITEM-23",
    ITEM_26 = "ITEM-26",
    ITEM_30 = "ITEM-30",
    ITEM_36 = "ITEM-36",
    ITEM_39 = "ITEM-39",
    ITEM_43 = "ITEM-43",
    ITEM_53 = "ITEM-53",
    ITEM_56 = "ITEM-56",
    ITEM_57 = "ITEM-57",
    ITEM_62 = "ITEM-62",
    ITEM_67 = "ITEM-67",
    ITEM_69 = "ITEM-69",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["turn/start", "turn/steer"]),
        answers: Methods::These(&[
            "turn/start",
            "turn/steer",
            "item/readOutput",
            "session/read",
            "view/page",
            "skill/list",
            "skill/setActivation",
            "skill/import",
        ]),
        events: Methods::These(&[
            "turn/completed",
            "turn/foregroundCompleted",
            "session/tokenUsage",
            "skill/changed",
            "turn/retracted",
        ]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Links>::default(),
};

/// Bytes of a provider's frame that an item holds.
const MOST_RAW: usize = 65_536;

#[derive(Default)]
struct Links {
    sessions: Map<Id, Session>,
    /// Sessions that items name, ready to be read, with the line that says so.
    named: Map<Id, u64>,
}

/// What the items of a session say.
#[derive(Default)]
struct Session {
    items: Set<Id>,
    tools: Set<Id>,
    /// Call ids of calls that went to the background.
    background: Set<Id>,
    /// Stored outputs of a kind of their own, with that kind and the line.
    refs: Map<Id, (Stored, u64)>,
    /// Items that others name and that were not seen yet, with line and place; judged when the turn ends.
    awaited: Vec<(Id, u64, String)>,
    /// Checks of a turn: agent, whether it is blocking and open.
    agents: Map<(Id, Id), bool>,
    /// Runs that were paused.
    paused: Map<Id, u64>,
    /// Whether a run's item had `resumeFromRunId` at its first sight.
    resumed: Map<Id, (Option<u64>, u64, i64)>,
    /// Hits of a search, by item and revision.
    hits: Map<(Id, u64), (usize, u64)>,
    /// Rows of the last `skill/list`.
    skills: Option<Set<Id>>,
    submits: Map<Id, submits::Submit>,
    used: Option<(crate::facts::Epoch, [i64; 3], u64)>,
    /// Turns that ended, as far as a page goes.
    page: (u64, Option<Id>),
}

/// What is stored.
#[derive(Clone, Copy, PartialEq)]
enum Stored {
    Patch,
    Prompt,
}

impl Monitor for Links {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        self.submitted(request);
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        match answer.at.method {
            "turn/start" | "turn/steer" => self.acked(answer),
            "item/readOutput" => self.read_output(answer, out),
            "session/read" | "view/page" => self.read_session(answer, out),
            _ => self.skills(answer),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(session) = event.session else { return };
        let turn = event.param("turnId").and_then(|it| it.id());
        match event.method {
            "skill/changed" => {
                if let Some(state) = self.sessions.get_mut(&session) {
                    state.skills = None;
                }
            }
            "session/tokenUsage" => self.token_usage(event, session, out),
            "turn/retracted" => self.taken_back(event, session),
            "turn/foregroundCompleted" if event.is_live() && event.sight == Sight::New => {
                self.foreground(event, session, turn, out);
            }
            "turn/completed" => {
                if let Path::Page { request, .. } = event.path {
                    self.sessions.entry(session).or_default().page = (request, turn);
                } else if event.sight == Sight::New {
                    self.turn_ends(event, session, turn, out);
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let Some(session) = sighting.session else { return };
        let whole = out.known(session).whole;
        let state = self.sessions.entry(session).or_default();
        state.items.insert(sighting.id);
        match sighting.kind {
            "toolCall" => state.tool(sighting, out),
            "userMessage" => state.message(sighting, out),
            "workflow" => state.workflow(sighting, whole, out),
            "webSearch" => state.search(sighting, out),
            "skillRead" => state.skill_read(sighting, out),
            "monitorFeed" if whole => {
                let monitor = sighting.item.get("monitorId");
                if let Some(id) = monitor.and_then(|it| it.id()) {
                    out.exercised(ITEM_56);
                    if !state.tools.contains(&id) {
                        fail(ITEM_56, sighting, "/monitorId", "the itemId of a toolCall", monitor, out);
                    }
                }
            }
            "backgroundTerminalCompletion" => state.completion(sighting, whole, out),
            "damagedRange" => state.damaged(sighting, out),
            "reminderChild" => {
                if let (Some(turn), Some(agent)) = (sighting.turn, sighting.item.id_of("reminderAgentId")) {
                    let blocking = sighting.item.get("blocking").and_then(|it| it.bool()) == Some(true);
                    state.agents.insert((turn, agent), blocking && !sighting.is_terminal());
                }
            }
            _ => {}
        }
        let child = sighting.item.id_of("childSessionId").filter(|_| sighting.is_terminal());
        for id in [child, sighting.item.id_of("sideSessionId")].into_iter().flatten() {
            self.named.entry(id).or_insert(sighting.at.line);
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.sessions.remove(&session);
    }
}

impl Links {
    /// ITEM-62: who holds a turn open is a check of that turn.
    fn foreground(&mut self, event: &Event<'_>, session: Id, turn: Option<Id>, out: &mut Out<'_>) {
        let (Some(turn), true) = (turn, out.known(session).whole) else { return };
        let Some(state) = self.sessions.get(&session) else { return };
        for (index, agent) in event.param("blockingAgents").iter().flat_map(Value::items).enumerate() {
            out.exercised(ITEM_62);
            let is_open = agent.id().and_then(|agent| state.agents.get(&(turn, agent))).copied();
            if is_open != Some(true) {
                out.violated(ITEM_62, event, &format!("/blockingAgents/{index}"))
                    .expected("the reminderAgentId of an open, blocking check of the turn")
                    .actual(agent.shown())
                    .after_next_event(session)
                    .done();
            }
        }
    }

    /// ITEM-57: what an item named is there by the end of the turn.
    fn turn_ends(&mut self, event: &Event<'_>, session: Id, turn: Option<Id>, out: &mut Out<'_>) {
        let whole = out.known(session).whole;
        let Some(state) = self.sessions.get_mut(&session) else { return };
        for (item, line, pointer) in std::mem::take(&mut state.awaited) {
            if whole && !state.items.contains(&item) {
                out.violated(ITEM_57, event, "")
                    .elsewhere(line, "item/completed", &pointer)
                    .expected("an item of the session")
                    .actual("none that was seen")
                    .done();
            }
        }
        if let Some(turn) = turn {
            state.agents.retain(|(owner, _), _| *owner != turn);
        }
    }

    /// ITEM-43: the sum of a session grows by its own calls.
    fn token_usage(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        if !event.is_live() || event.sight != Sight::New {
            return;
        }
        let Some(params) = event.params else { return };
        let number = |path: &[&str]| params.path(path).and_then(|it| it.int()).unwrap_or_default();
        let names = ["promptTokens", "totalTokens", "outputTokens"];
        let sums = names.map(|name| number(&["cumulative", name]));
        let own = [number(&["promptTokens"]), number(&["totalTokens"]), number(&["usage", "outputTokens"])];
        let state = self.sessions.entry(session).or_default();
        let before = state.used.replace((event.epoch, sums, event.at.line));
        let Some((_, before, line)) = before.filter(|(epoch, ..)| *epoch == event.epoch) else { return };
        out.exercised(ITEM_43);
        for ((name, now), (before, own)) in names.iter().zip(sums).zip(before.into_iter().zip(own)) {
            if now - before > own {
                out.violated(ITEM_43, event, &format!("/cumulative/{name}"))
                    .expected(format!("at most {}, the sum before and the call's own {own}", before + own))
                    .actual(now.to_string())
                    .contradicts(line)
                    .after_next_event(session)
                    .done();
            }
        }
    }
}

impl Session {
    /// ITEM-23, ITEM-57, and what other rules want to know of a call.
    fn tool(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (item, line) = (sighting.item, sighting.at.line);
        self.tools.insert(sighting.id);
        if item.get("background").and_then(|it| it.bool()) == Some(true) {
            self.background.extend(item.id_of("callId"));
        }
        if let Some(patch) = item.some("patchRef") {
            out.exercised(ITEM_23);
            let kind = patch.get("kind");
            if !kind.is_some_and(|kind| kind.is("tool_patch")) {
                fail(ITEM_23, sighting, "/patchRef/kind", "\"tool_patch\"", kind, out);
            }
            match patch.get("mediaType") {
                Some(media) if !media.is("application/json") => {
                    fail(ITEM_23, sighting, "/patchRef/mediaType", "\"application/json\"", Some(media), out);
                }
                Some(_) => {}
                None => out
                    .violated(ITEM_23, sighting, "/patchRef")
                    .expected("the mediaType application/json")
                    .actual("none")
                    .warn()
                    .done(),
            }
            self.refs.extend(patch.id_of("id").map(|id| (id, (Stored::Patch, line))));
        }
        let hint = item.get("replayHint");
        for word in hint.and_then(|hint| hint.get("rowKinds")).iter().flat_map(Value::items) {
            out.exercised(ITEM_57);
            if word.text().is_some_and(|word| word.chars().any(char::is_uppercase)) {
                fail(ITEM_57, sighting, "/replayHint/rowKinds", "words without capital letters", Some(word), out);
            }
        }
        let after = [
            ("/replayHint/afterItemId", hint.and_then(|hint| hint.id_of("afterItemId"))),
            ("/terminalRowAfterItemId", item.id_of("terminalRowAfterItemId")),
        ];
        for (below, named) in after {
            let Some(named) = named else { continue };
            out.exercised(ITEM_57);
            if !self.items.contains(&named) && sighting.live().is_some() {
                self.awaited.push((named, line, format!("/params/item{below}")));
            }
        }
    }

    /// ITEM-26, ITEM-36: what a run was spawned with, and from which run it goes on.
    fn workflow(&mut self, sighting: &Sighting<'_>, whole: bool, out: &mut Out<'_>) {
        let (item, line) = (sighting.item, sighting.at.line);
        for (index, prompt) in item.get("childPromptRefs").iter().flat_map(Value::items).enumerate() {
            out.exercised(ITEM_26);
            let kind = prompt.get("kind");
            if !kind.is_some_and(|kind| kind.is("workflow_child_prompt")) {
                let below = format!("/childPromptRefs/{index}/kind");
                fail(ITEM_26, sighting, &below, "\"workflow_child_prompt\"", kind, out);
            }
            self.refs.extend(prompt.id_of("id").map(|id| (id, (Stored::Prompt, line))));
        }
        let run = item.id_of("workflowRunId");
        if item.get("paused").and_then(|it| it.bool()) == Some(true) {
            self.paused.extend(run.map(|run| (run, line)));
        }
        let from = item.id_of("resumeFromRunId");
        let hash = from.map(Id::get);
        let is_first = !self.resumed.contains_key(&sighting.id);
        let of_first = *self.resumed.entry(sighting.id).or_insert((hash, line, sighting.revision));
        let (first, first_line, first_revision) = of_first;
        if from.is_some() && first != hash && first_revision == 1 {
            out.exercised(ITEM_36);
            out.violated(ITEM_36, sighting, "/resumeFromRunId")
                .expected("a new item for a run that is resumed")
                .actual("an item that was there before")
                .contradicts(first_line)
                .done();
        } else if let Some(from) = from.filter(|_| is_first) {
            out.exercised(ITEM_36);
            let paused = self.paused.contains_key(&from);
            if whole && !paused || run == Some(from) {
                let named = item.get("resumeFromRunId");
                fail(ITEM_36, sighting, "/resumeFromRunId", "an earlier run that was paused", named, out);
            }
        }
    }

    /// ITEM-30: all hits, and a frame that is cut only at its bound.
    fn search(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        if let Some(raw) = sighting.item.text_of("rawItem") {
            out.exercised(ITEM_30);
            if raw.len() > MOST_RAW {
                out.violated(ITEM_30, sighting, "/rawItem")
                    .expected("at most 65536 bytes")
                    .actual(format!("{} bytes", raw.len()))
                    .done();
            } else if sighting.item.some("outputRef").is_none()
                && serde_json::from_str::<serde::de::IgnoredAny>(&raw).is_err()
            {
                out.violated(ITEM_30, sighting, "")
                    .expected("an `outputRef`, since the frame is cut")
                    .actual("none")
                    .done();
            }
        }
        let Some(results) = sighting.item.get("results") else { return };
        let (count, line) = (results.items().count(), sighting.at.line);
        let key = (sighting.id, u64::try_from(sighting.revision).unwrap_or_default());
        let (before, first) = *self.hits.entry(key).or_insert((count, line));
        out.exercised(ITEM_30);
        if before != count {
            out.violated(ITEM_30, sighting, "/results")
                .expected(format!("the {before} hits that this revision has elsewhere"))
                .actual(count.to_string())
                .contradicts(first)
                .done();
        }
    }

    /// ITEM-69: the end of a command names the call that went to the background.
    fn completion(&mut self, sighting: &Sighting<'_>, whole: bool, out: &mut Out<'_>) {
        out.exercised(ITEM_69);
        let told = sighting.item.get("backgroundTerminalCompletion");
        if !matches!(sighting.path, ItemPath::Completed(_) | ItemPath::Inline(_) | ItemPath::Snapshot(_)) {
            fail(ITEM_69, sighting, "", "item/completed, since it is complete at once", None, out);
        } else if sighting.status != "completed" {
            fail(ITEM_69, sighting, "/status", "completed", sighting.item.get("status"), out);
        } else if sighting.revision != 1 {
            fail(ITEM_69, sighting, "/revision", "1", sighting.item.get("revision"), out);
        }
        let Some(told) = told.filter(Value::is_object) else {
            fail(ITEM_69, sighting, "", "a `backgroundTerminalCompletion`", None, out);
            return;
        };
        let at = |name: &str| format!("/backgroundTerminalCompletion/{name}");
        let status = told.get("terminalStatus");
        if status.is_some_and(|status| status.is("inProgress")) {
            fail(ITEM_69, sighting, &at("terminalStatus"), "an end", status, out);
        }
        let call = told.get("toolCallId");
        if whole && call.and_then(|call| call.id()).is_some_and(|call| !self.background.contains(&call)) {
            let expected = "the callId of a call that went to the background";
            fail(ITEM_69, sighting, &at("toolCallId"), expected, call, out);
        }
    }

    /// ITEM-67: what of the log cannot be read.
    fn damaged(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        out.exercised(ITEM_67);
        if sighting.live().is_some_and(|event| event.sight == Sight::New) {
            fail(ITEM_67, sighting, "", "no such item in an event of its own", None, out);
        }
        if sighting.status != "completed" {
            fail(ITEM_67, sighting, "/status", "completed", sighting.item.get("status"), out);
        }
        if sighting.revision != 1 {
            fail(ITEM_67, sighting, "/revision", "1", sighting.item.get("revision"), out);
        }
        let Some(range) = sighting.item.get("damagedRange").filter(Value::is_object) else {
            fail(ITEM_67, sighting, "", "a `damagedRange`", None, out);
            return;
        };
        let (ItemPath::Completed(Path::Page { request, .. }), Some(named)) =
            (sighting.path, range.get("lastGoodTurnId"))
        else {
            return;
        };
        let ended = self.page.1.filter(|_| self.page.0 == request);
        if ended.is_some() && named.id() != ended {
            let below = "/damagedRange/lastGoodTurnId";
            fail(ITEM_67, sighting, below, "the turn that ended before it", Some(named), out);
        }
    }
}

/// A finding in an item: what is there instead of what was expected.
fn fail(
    rule: Watched,
    sighting: &Sighting<'_>,
    below: &str,
    expected: &str,
    actual: Option<Value<'_>>,
    out: &mut Out<'_>,
) {
    let actual = actual.map_or_else(|| "none".to_owned(), |value| value.shown());
    out.violated(rule, sighting, below).expected(expected).actual(actual).done();
}
