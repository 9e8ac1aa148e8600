//! Approval modes (APPR-24 to 26): what a change is answered with, the ceiling, and what a mode does to prompts.

use crate::facts::{Answer, Event, Id, ItemPath, Map, Request, Set, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! { APPR_24 = "APPR-24", APPR_25 = "APPR-25", APPR_26 = "APPR-26" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["session/setApprovalMode", "approval/request"]),
        answers: Methods::These(&[
            "session/setApprovalMode",
            "session/start",
            "session/resume",
            "session/fork",
            "session/sideChat",
        ]),
        events: Methods::These(&[
            "session/approvalModeChanged",
            "approval/requested",
            "approval/resolved",
            "turn/completed",
        ]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Modes>::default(),
};

#[derive(Default)]
struct Modes {
    /// The mode in force, by connection and session, with the line that told.
    now: Map<(u32, Id), Mode>,
    /// Mode commands that wait for their answer, by session.
    in_flight: Map<Id, u32>,
    /// Commands whose `session/approvalModeChanged` was seen, with its line and mode.
    changed: Map<Id, (u64, Id)>,
    /// An acked change whose event is to come, by connection and session.
    awaited: Map<(u32, Id), Awaited>,
    commands: Set<Id>,
    /// What a host said of a mode: allowed or not, and the line.
    verdicts: Map<(u32, Id), (bool, u64)>,
    /// Mode that a session started with, by host and session.
    startup: Map<(u32, Id), Id>,
    /// Open tool calls with the mode under which they opened.
    calls: Map<Id, (Id, u64)>,
    /// Approvals of calls under `denyUnmatched`, with the line of their opening.
    denied: Map<Id, u64>,
}

#[derive(Clone, Copy)]
struct Mode {
    name: Id,
    line: u64,
    /// Changes of this connection's view of the session since: nothing until the first look.
    epoch: Option<crate::facts::Epoch>,
}

struct Awaited {
    command: Id,
    mode: Id,
    line: u64,
    epoch: crate::facts::Epoch,
}

fn word(text: &str) -> Id {
    Id::of(text.as_bytes())
}

impl Monitor for Modes {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let Some(session) = request.session else { return };
        if request.at.method == "approval/request" {
            let id = request.param("approvalId").and_then(|it| it.id());
            if let Some(line) = id.and_then(|id| self.denied.get(&id).copied()) {
                out.violated(APPR_26, request, "")
                    .expected("no prompt under denyUnmatched")
                    .actual("an approval/request")
                    .contradicts(line)
                    .done();
            }
            return;
        }
        *self.in_flight.entry(session).or_default() += 1;
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        if answer.at.method != "session/setApprovalMode" {
            self.told(answer, session, out);
            return;
        }
        if let Some(flying) = self.in_flight.get_mut(&session) {
            *flying = flying.saturating_sub(1);
        }
        let (Some(mode), Some(command)) = (answer.param("mode").and_then(|it| it.id()), answer.request.command) else {
            return;
        };
        if !self.commands.insert(command) {
            return;
        }
        self.ceiling(answer, session, mode, command, out);
        if let Some(result) = answer.result() {
            self.acked(answer, result, (session, mode, command), out);
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(session) = event.session else { return };
        if event.method == "session/approvalModeChanged" {
            self.change(event, session, out);
        } else if event.is_live() {
            self.is_late(event, session, out);
        }
        let id = event.param("approvalId").and_then(|it| it.id());
        match (event.method, id) {
            ("approval/requested", Some(id)) if event.is_live() => self.prompted(event, id, out),
            ("approval/resolved", Some(id)) => {
                if let Some(line) = self.denied.remove(&id) {
                    let is_policy = event.param("resolvedBy").is_some_and(|it| it.is("policy"));
                    let denies = event.param("policyResult").is_some_and(|it| it.is("deny"));
                    if !is_policy || !denies {
                        out.violated(APPR_26, event, if denies { "/resolvedBy" } else { "/policyResult" })
                            .expected("a denial by policy, under denyUnmatched")
                            .actual("another end")
                            .contradicts(line)
                            .done();
                    }
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(event), "toolCall") = (sighting.session, sighting.live(), sighting.kind) else {
            return;
        };
        match sighting.path {
            ItemPath::Started(_) if self.in_flight.get(&session).is_none_or(|flying| *flying == 0) => {
                if let Some(mode) = self.in_force(event.at.conn, session, out) {
                    if mode.name == word("allowAll") || mode.name == word("denyUnmatched") {
                        out.exercised(APPR_26);
                        self.calls.insert(sighting.id, (mode.name, mode.line));
                    }
                }
            }
            ItemPath::Completed(_) => drop(self.calls.remove(&sighting.id)),
            _ => {}
        }
    }

    fn closed(&mut self, conn: u32, session: Id) {
        self.now.remove(&(conn, session));
        self.awaited.remove(&(conn, session));
        self.in_flight.remove(&session);
        self.startup.retain(|(_, owner), _| *owner != session);
    }
}

impl Modes {
    /// The mode in force, where nothing was missed since it was told.
    fn in_force(&mut self, conn: u32, session: Id, out: &Out<'_>) -> Option<Mode> {
        let epoch = out.core().known(conn, session).epoch;
        let mode = self.now.get_mut(&(conn, session))?;
        (*mode.epoch.get_or_insert(epoch) == epoch).then_some(*mode)
    }

    /// The session object of a birth or a resume says which mode is in force.
    fn told(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let host = out.core().connection(answer.at.conn).host;
        let asked = answer.param("approvalMode").and_then(|it| it.id());
        if let (Some(mode), "session/start") = (asked, answer.at.method) {
            let is_refused =
                answer.code() == Some(-32030) && answer.data("reason").is_some_and(|it| it.is("approval_mode_ceiling"));
            if is_refused || answer.result().is_some() {
                self.verdict(answer, (host, mode), !is_refused, out);
            }
        }
        let Some(state) = answer.result().and_then(|it| it.path(&["session", "approvalMode"])) else { return };
        let Some(mode) = state.id_of("mode") else { return };
        self.now.insert((answer.at.conn, session), Mode { name: mode, line: answer.at.line, epoch: None });
        if state.get("source").is_some_and(|it| it.is("startup")) {
            self.startup.entry((host, session)).or_insert(mode);
        }
    }

    /// APPR-25: a mode is always let through or never, and that of the start always.
    fn ceiling(&mut self, answer: &Answer<'_>, session: Id, mode: Id, command: Id, out: &mut Out<'_>) {
        let host = out.core().connection(answer.at.conn).host;
        let is_refused = answer.code() == Some(-32030);
        if answer.is_of_ledger() || (!is_refused && answer.result().is_none()) {
            return;
        }
        out.exercised(APPR_25);
        if is_refused {
            let reason = answer.data("reason");
            if !reason.is_some_and(|it| it.is("approval_mode_ceiling")) {
                out.violated(APPR_25, answer, "/data/reason")
                    .expected("\"approval_mode_ceiling\"")
                    .actual(reason.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                    .contradicts(answer.request.line)
                    .done();
                return;
            }
            if let Some((line, _)) = self.changed.get(&command) {
                out.violated(APPR_25, answer, "")
                    .expected("no change, as the mode is refused")
                    .actual("session/approvalModeChanged")
                    .contradicts(*line)
                    .done();
            }
            if self.startup.get(&(host, session)) == Some(&mode) {
                out.violated(APPR_25, answer, "/code")
                    .expected("the mode of the start, which is never beyond the ceiling")
                    .actual("-32030")
                    .contradicts(answer.request.line)
                    .done();
                return;
            }
        }
        self.verdict(answer, (host, mode), !is_refused, out);
    }

    fn verdict(&mut self, answer: &Answer<'_>, key: (u32, Id), allows: bool, out: &mut Out<'_>) {
        let (before, line) = *self.verdicts.entry(key).or_insert((allows, answer.at.line));
        if before != allows {
            out.violated(APPR_25, answer, if allows { "" } else { "/code" })
                .expected("the same verdict as before, as the ceiling is sealed")
                .actual(if allows { "a result" } else { "-32030" })
                .contradicts(line)
                .contradicts(answer.request.line)
                .done();
        }
    }

    /// APPR-24: what an ack says, and what follows.
    fn acked(&mut self, answer: &Answer<'_>, result: Value<'_>, of: (Id, Id, Id), out: &mut Out<'_>) {
        let (session, mode, command) = of;
        out.exercised(APPR_24);
        let effective = result.get("effectiveMode");
        let member = |name: &str| effective.and_then(|it| it.get(name));
        let is_noop = result.get("applyOutcome").is_some_and(|it| it.is("noop"));
        let mut wrong = |below: &str, expected: String, actual: Option<Value<'_>>, warn: bool| {
            let violation = out
                .violated(APPR_24, answer, below)
                .expected(expected)
                .actual(actual.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                .contradicts(answer.request.line);
            let violation = if warn { violation.warn() } else { violation };
            violation.done();
        };
        if member("mode").and_then(|it| it.id()) != Some(mode) {
            let sent = answer.param("mode").map_or_else(String::new, |it| it.shown());
            return wrong("/effectiveMode/mode", sent, member("mode"), false);
        }
        let is_set = member("source").is_some_and(|it| it.is("approvalReconfigure"));
        if !is_noop && !is_set {
            return wrong("/effectiveMode/source", "\"approvalReconfigure\"".to_owned(), member("source"), false);
        }
        let last = member("lastCommandId");
        if !is_noop && last.and_then(|it| it.id()) != Some(command) {
            return wrong("/effectiveMode/lastCommandId", "the command itself".to_owned(), last, false);
        }
        let event = self.changed.remove(&command);
        if let (true, Some((line, _))) = (is_noop, event) {
            out.violated(APPR_24, answer, "/applyOutcome")
                .expected("completed, as the mode was changed")
                .actual("\"noop\"")
                .contradicts(line)
                .done();
            return;
        }
        let key = (answer.at.conn, session);
        if event.is_none() {
            if let Some(before) = self.in_force(answer.at.conn, session, out).filter(|it| (it.name == mode) != is_noop)
            {
                out.violated(APPR_24, answer, "/applyOutcome")
                    .expected(if is_noop {
                        "completed, as another mode was in force"
                    } else {
                        "noop, as that mode was in force"
                    })
                    .actual(result.get("applyOutcome").map_or_else(String::new, |it| it.shown()))
                    .contradicts(before.line)
                    .done();
                return;
            }
        }
        let epoch = out.known(session).epoch;
        if !is_noop && event.is_none() && answer.state.subscribed == Some(true) {
            self.awaited.insert(key, Awaited { command, mode, line: answer.at.line, epoch });
        }
    }

    fn change(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let Some(mode) = event.param("mode").and_then(|it| it.id()) else { return };
        let command = event.param("commandId").and_then(|it| it.id());
        if event.is_live() {
            let epoch = Some(event.epoch);
            self.now.insert((event.at.conn, session), Mode { name: mode, line: event.at.line, epoch });
        }
        let Some(command) = command else { return };
        let key = (event.at.conn, session);
        // Whose command it names is another rule (CMD-20).
        let is_it = |it: &Awaited| it.command == command || it.mode == mode;
        match self.awaited.get(&key).filter(|it| is_it(it)) {
            Some(awaited) => {
                if awaited.mode != mode {
                    out.violated(APPR_24, event, "/mode")
                        .expected("the mode of the command")
                        .actual(event.param("mode").map_or_else(String::new, |it| it.shown()))
                        .contradicts(awaited.line)
                        .done();
                }
                self.awaited.remove(&key);
            }
            None => drop(self.changed.insert(command, (event.at.line, mode))),
        }
    }

    /// The next event of the session is there, and the change that was acked is not.
    fn is_late(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let Some(awaited) = self.awaited.remove(&(event.at.conn, session)) else { return };
        if awaited.epoch == event.epoch && !out.core().connection(event.at.conn).may_lack("session/approvalModeChanged")
        {
            out.violated(APPR_24, event, "")
                .expected("session/approvalModeChanged for the change that was acked")
                .actual(event.method)
                .contradicts(awaited.line)
                .after_next_event(session)
                .done();
        }
    }

    /// APPR-26: nobody is asked under `allowAll`, and under `denyUnmatched` the denial follows.
    fn prompted(&mut self, event: &Event<'_>, id: Id, out: &mut Out<'_>) {
        let item = event.param("itemId").and_then(|it| it.id());
        if event.param("subagentOrigin").is_some() {
            return;
        }
        let Some((mode, line)) = item.and_then(|item| self.calls.get(&item).copied()) else { return };
        if mode == word("allowAll") {
            out.violated(APPR_26, event, "")
                .expected("no prompt under allowAll")
                .actual("one")
                .contradicts(line)
                .done();
        } else {
            self.denied.insert(id, line);
        }
    }
}
