//! State of a session that replaces itself (STATE): what each notification says, and that it says something new.

use crate::facts::{Answer, BySession, Event, Id, Map, Value, Within};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! { STATE_1 = "STATE-1", STATE_2 = "STATE-2", STATE_3 = "STATE-3", STATE_4 = "STATE-4", STATE_5 = "STATE-5" }

const EVENTS: [&str; 10] = [
    "session/modelChanged",
    "session/approvalModeChanged",
    "session/reasoningEffortChanged",
    "session/nameChanged",
    "session/branchChanged",
    "session/todoListChanged",
    "session/goalChanged",
    "session/tokenUsage",
    "session/contextUsage",
    "session/modelRouteUnserved",
];

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        answers: Methods::These(&["session/resume", "session/read"]),
        events: Methods::These(&EVENTS),
        ..Watches::NOTHING
    },
    monitor: || Box::<States>::default(),
};

/// Counters that never fall.
const COUNTERS: [&str; 5] = ["promptTokens", "outputTokens", "totalTokens", "cacheReadTokens", "cacheWriteTokens"];

#[derive(Default)]
struct States {
    /// Counters of a session as they were last seen, with the line; live and paged apart.
    counters: BySession<(Id, Option<u64>), ([i64; 5], u64)>,
    usage: Map<(u32, Id), (u64, u64, Within)>,
    /// Newest goal and name of a session, live.
    newest: BySession<(u32, Id, &'static str), (u64, u64)>,
}

impl Monitor for States {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(params)) = (event.session, event.params) else { return };
        out.exercised(STATE_1);
        match event.method {
            "session/goalChanged" => {
                out.exercised(STATE_5);
                self.keep(event, session, "goal", params.get("goal"));
            }
            "session/nameChanged" => self.keep(event, session, "name", params.get("name")),
            "session/todoListChanged" => self.keep(event, session, "todoList", params.get("items")),
            "session/tokenUsage" => self.never_falls(event, session, params, out),
            "session/contextUsage" => self.changes(event, session, params, out),
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        let state = answer.result().and_then(|it| it.path(&["history", "snapshot", "state"]));
        let Some(state) = state.filter(|_| out.known(session).whole) else { return };
        for (name, path) in [("goal", &["goal"][..]), ("name", &["name"]), ("todoList", &["todoList", "items"])] {
            let Some((wanted, line)) = self.newest.get(&(answer.at.conn, session, name)).copied() else { continue };
            let Some(value) = state.path(path) else { continue };
            out.exercised(STATE_4);
            if value.hash() != wanted {
                out.violated(STATE_4, answer, &format!("/history/snapshot/state/{}", path.join("/")))
                    .expected("what the newest event of that kind said")
                    .actual(value.shown())
                    .contradicts(line)
                    .done();
            }
        }
    }

    fn closed(&mut self, conn: u32, session: Id) {
        self.usage.remove(&(conn, session));
        self.counters.forget(session);
        self.newest.forget(session);
    }
}

impl States {
    fn keep(&mut self, event: &Event<'_>, session: Id, name: &'static str, value: Option<Value<'_>>) {
        if let (Some(value), true) = (value, event.is_live()) {
            self.newest.insert((event.at.conn, session, name), (value.hash(), event.at.line));
        }
    }

    /// STATE-2: what a session has used only grows.
    fn never_falls(&mut self, event: &Event<'_>, session: Id, params: Value<'_>, out: &mut Out<'_>) {
        let Some(cumulative) = params.get("cumulative") else { return };
        let now = COUNTERS.map(|name| cumulative.get(name).and_then(|it| it.int()).unwrap_or_default());
        let page = match event.within() {
            Within::Stretch(_) => None,
            Within::Page(request) => Some(request),
        };
        let Some((before, line)) = self.counters.insert((session, page), (now, event.at.line)) else { return };
        out.exercised(STATE_2);
        for (at, name) in COUNTERS.iter().enumerate().filter(|(at, _)| now[*at] < before[*at]) {
            out.violated(STATE_2, event, &format!("/cumulative/{name}"))
                .expected(format!("at least {}", before[at]))
                .actual(now[at].to_string())
                .contradicts(line)
                .done();
        }
    }

    /// STATE-3: the use of the context is told when it changes.
    fn changes(&mut self, event: &Event<'_>, session: Id, params: Value<'_>, out: &mut Out<'_>) {
        let value = ["usedTokens", "pressure", "windowTokens"]
            .iter()
            .fold(0_u64, |all, name| all.rotate_left(9) ^ params.get(name).map_or(1, |it| it.hash()));
        let within = event.within();
        let before = self.usage.insert((event.at.conn, session), (value, event.at.line, within));
        let Some((before, line, _)) = before.filter(|(_, line, of)| *of == within && *line != event.at.line) else {
            return;
        };
        out.exercised(STATE_3);
        if before == value {
            let violation = out
                .violated(STATE_3, event, "")
                .expected("another value than before")
                .actual("the same")
                .contradicts(line);
            if event.is_live() { violation.after_next_event(session).done() } else { violation.done() }
        }
    }
}
