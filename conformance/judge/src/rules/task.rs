//! Background work (TASK).

use crate::facts::{Answer, BySession, Event, Id, ItemPath, Map, Request, Set, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::{Out, wrong};

family! { TASK_1 = "TASK-1", TASK_2 = "TASK-2", TASK_3 = "TASK-3", TASK_4 = "TASK-4", TASK_5 = "TASK-5", TASK_6 = "TASK-6" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&[
            "approval/request",
            "turn/interrupt",
            "turn/cancel",
            "task/stop",
            "task/stopAll",
            "session/leave",
        ]),
        answers: Methods::These(&["task/*", "approval/listPending", "turn/interrupt", "turn/cancel"]),
        events: Methods::These(&["approval/requested", "turn/completed"]),
        items: true,
        processes: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Tasks>::default(),
};

#[derive(Default)]
struct Tasks {
    commands: Set<Id>,
    /// What ties a task to an item, by session, with the line; both ways.
    item_of: BySession<(Id, Id), (Id, u64)>,
    task_of: BySession<(Id, Id), (Id, u64)>,
    /// Tool calls of sessions.
    calls: BySession<(Id, Id), Call>,
    /// Lines of acked stops of turns, by session; and of what may end background work.
    stopped: Map<Id, u64>,
    ended_work: u64,
}

#[derive(Clone, Copy)]
struct Call {
    is_background: bool,
    has_ended: Option<u64>,
    since: u64,
}

impl Monitor for Tasks {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        match request.at.method {
            "approval/request" => {
                if let (Some(session), Some(params)) = (request.session, request.params) {
                    self.tie(request, "", session, params, out);
                }
            }
            "task/stop" | "task/stopAll" | "session/leave" => self.ended_work = request.at.line,
            _ => {
                if let Some(session) = request.session {
                    self.stopped.insert(session, request.at.line);
                }
            }
        }
    }

    fn happened(&mut self, happened: &crate::facts::Happened<'_>, _: &mut Out<'_>) {
        self.ended_work = happened.at.line;
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(params)) = (event.session, event.params) else { return };
        if event.method == "approval/requested" {
            self.tie(event, "", session, params, out);
        } else {
            self.stopped.remove(&session);
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), "toolCall") = (sighting.session, sighting.kind) else { return };
        let is_background = sighting.item.get("background").and_then(|it| it.bool()) == Some(true);
        let key = (session, sighting.id);
        let call = self.calls.entry(key).or_insert(Call { is_background, has_ended: None, since: sighting.at.line });
        call.is_background |= is_background;
        if !sighting.is_terminal() {
            return;
        }
        let stop = self.stopped.get(&session).copied().filter(|line| *line > call.since && call.is_background);
        if let (Some(line), Some(_), None) = (stop, sighting.live(), call.has_ended) {
            out.exercised(TASK_6);
            if sighting.status == "cancelled"
                && self.ended_work < line
                && matches!(sighting.path, ItemPath::Completed(_))
            {
                out.violated(TASK_6, sighting, "/status")
                    .expected("background work that a stop of the turn leaves alone")
                    .actual("\"cancelled\"")
                    .contradicts(line)
                    .done();
            }
        }
        call.has_ended.get_or_insert(sighting.at.line);
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        if answer.at.method == "approval/listPending" {
            let rows = answer.result().and_then(|it| it.get("approvals"));
            for (at, row) in rows.into_iter().flat_map(|it| it.items()).enumerate() {
                self.tie(answer, &format!("/approvals/{at}"), session, row, out);
            }
            return;
        }
        if matches!(answer.code(), Some(-32001 | -32031 | -32600 | -32601 | -32602)) {
            return;
        }
        if answer.at.method == "task/list" {
            self.list(answer, session, out);
            return;
        }
        if answer.request.command.is_none_or(|command| !self.commands.insert(command)) {
            return;
        }
        match answer.at.method {
            "task/background" => self.named(answer, session, TASK_1, out),
            "task/stop" => self.named(answer, session, TASK_2, out),
            "task/stopAll" => {
                out.exercised(TASK_3);
                let reason = answer.data("reason");
                let is_owed = reason.is_none_or(|it| !it.is("command_id_conflict") && !it.is("abandoned"));
                if answer.code() == Some(-32030) && is_owed {
                    wrong(TASK_3, answer, "/code", ("an ack, whether there is work or not", shown(answer)), None, out);
                }
                if let Some(tasks) = answer.result().and_then(|it| it.get("tasks")) {
                    wrong(TASK_3, answer, "/tasks", ("no list", tasks.shown()), None, out);
                }
            }
            _ => {}
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.item_of.forget(session);
        self.task_of.forget(session);
        self.calls.forget(session);
    }
}

impl Tasks {
    /// TASK-5: a task and its item belong to each other alone.
    fn tie(
        &mut self,
        fact: &impl crate::facts::Placed,
        below: &str,
        session: Id,
        params: Value<'_>,
        out: &mut Out<'_>,
    ) {
        let (Some(task), Some(item)) = (params.id_of("taskId"), params.id_of("itemId")) else { return };
        if params.get("subagentOrigin").is_some() {
            return;
        }
        out.exercised(TASK_5);
        let line = fact.at().line;
        let (known_item, first) = *self.item_of.entry((session, task)).or_insert((item, line));
        let (known_task, other) = *self.task_of.entry((session, item)).or_insert((task, line));
        let clash = (known_item != item).then_some(first).or_else(|| (known_task != task).then_some(other));
        if let Some(clash) = clash {
            out.violated(TASK_5, fact, &format!("{below}/taskId"))
                .expected("one task for each item, and one item for each task")
                .actual(params.get("taskId").map_or_else(String::new, |it| it.shown()))
                .contradicts(clash)
                .done();
        }
    }

    fn call(&self, session: Id, task: Id) -> Option<Call> {
        let item = self.item_of.get(&(session, task)).map_or(task, |(item, _)| *item);
        self.calls.get(&(session, item)).copied()
    }

    /// TASK-1 and 2: a task by its name.
    fn named(&self, answer: &Answer<'_>, session: Id, rule: Watched, out: &mut Out<'_>) {
        let Some(sent) = answer.param("taskId") else { return };
        if let Some(result) = answer.result() {
            out.exercised(rule);
            if result.get("taskId").map(|it| it.hash()) != Some(sent.hash()) {
                let actual = result.get("taskId").map_or_else(|| "nothing".to_owned(), |it| it.shown());
                wrong(rule, answer, "/taskId", (&sent.shown(), actual), None, out);
                return;
            }
        }
        let Some(call) = sent.id().and_then(|task| self.call(session, task)) else { return };
        let Some(ended) = call.has_ended.filter(|line| *line < answer.request.line) else { return };
        out.exercised(rule);
        if answer.result().is_some() {
            wrong(rule, answer, "", ("error -32030, as its work has ended", "an ack".to_owned()), Some(ended), out);
        }
    }

    /// TASK-4: the rows of what is live, oldest first.
    fn list(&self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        if answer.code().is_none() && answer.request.state.loaded == Some(false) {
            out.exercised(TASK_4);
            wrong(TASK_4, answer, "", ("error -32024 for a session that is not loaded", "rows".to_owned()), None, out);
            return;
        }
        let Some(tasks) = answer.result().and_then(|it| it.get("tasks")) else { return };
        out.exercised(TASK_4);
        let mut before = None;
        for (at, row) in tasks.items().enumerate() {
            if let Some(started) = row.text_of("startedAt").filter(|it| it.ends_with('Z')) {
                if before.as_ref().is_some_and(|before: &String| before.len() == started.len() && **before > *started) {
                    wrong(
                        TASK_4,
                        answer,
                        &format!("/tasks/{at}/startedAt"),
                        ("the oldest first", format!("\"{started}\"")),
                        None,
                        out,
                    );
                }
                before = Some(started.into_owned());
            }
            let call = row.id_of("taskId").and_then(|task| self.call(session, task));
            if let Some(ended) = call.and_then(|it| it.has_ended).filter(|line| *line < answer.request.line) {
                wrong(
                    TASK_4,
                    answer,
                    &format!("/tasks/{at}"),
                    ("only what is live", "a task that has ended".to_owned()),
                    Some(ended),
                    out,
                );
            }
        }
    }
}

fn shown(answer: &Answer<'_>) -> String {
    answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string())
}
