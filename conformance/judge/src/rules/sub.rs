//! Subscriptions (SUB): who gets the events of a session, from where on, and until when.

use crate::facts::{Answer, Epoch, Event, Id, Map, Request, Set, Sight};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::transcript::Side;
use std::cmp::Ordering;

family! {
    SUB_1 = "SUB-1",
    SUB_2 = "SUB-2",
    SUB_3 = "SUB-3",
    SUB_4 = "SUB-4",
    SUB_5 = "SUB-5",
    SUB_6 = "SUB-6",
    SUB_7 = "SUB-7",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches { requests: Methods::All, answers: Methods::All, events: Methods::All, ..Watches::NOTHING },
    monitor: || Box::<Subscriptions>::default(),
};

/// What gives birth to a session and subscribes its caller.
const BIRTHS: [&str; 3] = ["session/start", "session/fork", "session/sideChat"];

/// Notifications that open a prompt or end it.
const PROMPTS: [&str; 4] = ["approval/requested", "userInput/requested", "approval/resolved", "userInput/settled"];

#[derive(Default)]
struct Subscriptions {
    /// Sessions to which a connection was ever attached, by host.
    attached: Set<(u32, u32, Id)>,
    /// Sessions that were attached on any host, with the host.
    somewhere: Map<Id, u32>,
    /// Births that wait for their answer, by connection.
    births: Map<u32, u32>,
    /// Attaches that wait for their answer.
    attaching: Map<(u32, Id), u32>,
    /// Where the events of a subscription begin, until the first has come.
    begins: Map<(u32, Id), Begin>,
    /// Line of the answer after which a connection is not subscribed.
    left: Map<(u32, Id), u64>,
    /// Prompts that are open, by session, with the line in which each was asked last, by connection.
    prompts: Map<Id, Vec<Id>>,
    asked: Map<(u32, Id), u64>,
    /// Answers to a subscribe while prompts were open: the prompt, the line of the request.
    owed: Map<(u32, Id), u64>,
}

#[derive(Clone, Copy)]
struct Begin {
    after: Option<Id>,
    /// Of the result, once it is there.
    head: Option<Id>,
    line: u64,
    epoch: Option<Epoch>,
}

impl Monitor for Subscriptions {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let conn = request.at.conn;
        if request.at.side == Side::Server {
            let prompt = request.param("approvalId").or_else(|| request.param("userInputId")).and_then(|it| it.id());
            if let Some(prompt) = prompt {
                self.asked.insert((conn, prompt), request.at.line);
                self.owed.remove(&(conn, prompt));
            }
            return;
        }
        if BIRTHS.contains(&request.at.method) {
            *self.births.entry(conn).or_default() += 1;
        }
        let (Some(session), "session/resume" | "view/subscribe") = (request.session, request.at.method) else { return };
        let host = out.core().connection(conn).host;
        self.attached.insert((host, conn, session));
        self.somewhere.entry(session).or_insert(host);
        *self.attaching.entry((conn, session)).or_default() += 1;
        if request.at.method == "view/subscribe" {
            let after = request.param("after").and_then(|it| it.id());
            self.begins.insert((conn, session), Begin { after, head: None, line: request.at.line, epoch: None });
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.side != Side::Server {
            return;
        }
        let conn = answer.at.conn;
        if BIRTHS.contains(&answer.at.method) {
            if let Some(births) = self.births.get_mut(&conn) {
                *births = births.saturating_sub(1);
            }
            if let (Some(session), Some(_)) = (answer.session, answer.result()) {
                let host = out.core().connection(conn).host;
                self.attached.insert((host, conn, session));
                self.somewhere.entry(session).or_insert(host);
            }
            return;
        }
        let Some(session) = answer.session else { return };
        match answer.at.method {
            "session/resume" => self.is_attached(conn, session, answer),
            "view/subscribe" => {
                self.is_attached(conn, session, answer);
                self.subscribed(answer, session, out);
            }
            "view/unsubscribe" => self.unsubscribed(answer, session, out),
            _ => works_unsubscribed(answer, out),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), true) = (event.session, event.is_live()) else { return };
        self.prompt(event, session, out);
        if event.method == "view/gap" {
            self.begins.remove(&(event.at.conn, session));
        }
        if !event.class.is_view() {
            return;
        }
        self.is_wanted(event, session, out);
        self.begins_right(event, session, out);
    }

    fn closed(&mut self, conn: u32, session: Id) {
        self.begins.remove(&(conn, session));
        self.left.remove(&(conn, session));
        self.prompts.remove(&session);
    }
}

impl Subscriptions {
    fn is_attached(&mut self, conn: u32, session: Id, answer: &Answer<'_>) {
        if let Some(attaching) = self.attaching.get_mut(&(conn, session)) {
            *attaching = attaching.saturating_sub(1);
        }
        if answer.result().is_some() {
            self.left.remove(&(conn, session));
        }
    }

    /// SUB-1, 4 and 6: events go to those who are subscribed.
    fn is_wanted(&self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let conn = event.at.conn;
        let connection = out.core().connection(conn);
        let (host, is_from_start) = (connection.host, connection.from_start);
        if self.attached.contains(&(host, conn, session)) {
            out.exercised(SUB_1);
            if self.somewhere.get(&session).is_some_and(|it| *it != host) {
                out.exercised(SUB_6);
            }
            let is_attaching = self.attaching.get(&(conn, session)).is_some_and(|attaching| *attaching > 0);
            if let Some(line) = self.left.get(&(conn, session)).copied().filter(|_| !is_attaching) {
                out.violated(SUB_4, event, "")
                    .expected("no event after the unsubscribe was answered")
                    .actual(event.method)
                    .contradicts(line)
                    .done();
            }
            return;
        }
        let is_being_born = self.births.get(&conn).is_some_and(|births| *births > 0);
        if !is_from_start || is_being_born {
            return;
        }
        let rule = if self.somewhere.get(&session).is_some_and(|it| *it != host) { SUB_6 } else { SUB_1 };
        out.exercised(rule);
        out.violated(rule, event, "/sessionId")
            .expected("events of sessions to which the connection is subscribed")
            .actual(event.param("sessionId").map_or_else(String::new, |it| it.shown()))
            .done();
    }

    /// SUB-2: a subscription begins where it was asked to.
    fn begins_right(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        let key = (event.at.conn, session);
        let (Some(begin), Some(cursor)) = (self.begins.get_mut(&key), event.cursor) else { return };
        if !event.durable || event.protected {
            return;
        }
        let begin = *begin;
        self.begins.remove(&key);
        let core = out.core();
        let compare = move |one, other| core.compare(session, one, other);
        let Some(after) = begin.after else {
            let Some(head) = begin.head else { return };
            out.exercised(SUB_2);
            let is_old = cursor == head || compare(cursor, head) == Some(Ordering::Less);
            if is_old && event.sight != Sight::New {
                out.violated(SUB_2, event, "/viewCursor")
                    .expected("events from now on")
                    .actual("one from before")
                    .contradicts(begin.line)
                    .done();
            }
            return;
        };
        let Some(first) = out.core().successor(session, after) else { return };
        out.exercised(SUB_2);
        if first != cursor && compare(first, cursor) == Some(Ordering::Less) {
            out.violated(SUB_2, event, "/viewCursor")
                .expected("the event behind `after`")
                .actual("a later one")
                .contradicts(begin.line)
                .after_next_event(session)
                .done();
        }
    }

    fn subscribed(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let key = (answer.at.conn, session);
        let was_subscribed = answer.request.state.subscribed == Some(true);
        out.exercised(SUB_7);
        if answer.code() == Some(-32601) {
            out.violated(SUB_7, answer, "/code")
                .expected("a method that is there")
                .actual("-32601")
                .contradicts(answer.request.line)
                .done();
            return;
        }
        let has_after = answer.param("after").is_some();
        if let (true, Some(code), false) = (was_subscribed, answer.code(), has_after) {
            if !matches!(code, -32001 | -32031 | -32600) {
                out.exercised(SUB_3);
                out.violated(SUB_3, answer, "/code")
                    .expected("a subscribe that is repeated")
                    .actual(code.to_string())
                    .contradicts(answer.request.line)
                    .done();
            }
        }
        let Some(result) = answer.result() else {
            self.begins.remove(&key);
            return;
        };
        if answer.request.state.loaded == Some(false) {
            out.exercised(SUB_2);
            out.violated(SUB_2, answer, "")
                .expected("error -32024, as subscribing loads nothing")
                .actual("a result")
                .contradicts(answer.request.line)
                .done();
        }
        if was_subscribed {
            out.exercised(SUB_3);
        }
        if let Some(begin) = self.begins.get_mut(&key) {
            begin.head = result.id_of("viewCursor");
            begin.epoch = None;
        }
        let withholds = out.core().connection(answer.at.conn).asked.as_ref().is_some_and(|it| !it.user_input_dialogs);
        for prompt in self.prompts.get(&session).into_iter().flatten() {
            let asked = self.asked.get(&(answer.at.conn, *prompt)).copied();
            if asked.is_some_and(|line| line < answer.request.line) && !withholds {
                self.owed.insert((answer.at.conn, *prompt), answer.request.line);
            }
        }
    }

    /// SUB-3: open prompts are asked again, before they end.
    fn prompt(&mut self, event: &Event<'_>, session: Id, out: &mut Out<'_>) {
        if !PROMPTS.contains(&event.method) {
            return;
        }
        let prompt = event.param("approvalId").or_else(|| event.param("userInputId")).and_then(|it| it.id());
        let Some(prompt) = prompt else { return };
        match event.method {
            "approval/requested" | "userInput/requested" => {
                let open = self.prompts.entry(session).or_default();
                if !open.contains(&prompt) {
                    open.push(prompt);
                }
            }
            "approval/resolved" | "userInput/settled" => {
                if let Some(open) = self.prompts.get_mut(&session) {
                    open.retain(|it| *it != prompt);
                }
                self.asked.remove(&(event.at.conn, prompt));
                if let Some(line) = self.owed.remove(&(event.at.conn, prompt)) {
                    out.exercised(SUB_3);
                    out.violated(SUB_3, event, "")
                        .expected("the prompt asked again after the subscribe")
                        .actual("its end")
                        .contradicts(line)
                        .done();
                }
            }
            _ => {}
        }
    }

    /// SUB-4: an unsubscribe is always good.
    fn unsubscribed(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        out.exercised(SUB_4);
        self.begins.remove(&(answer.at.conn, session));
        match answer.code() {
            None => drop(self.left.insert((answer.at.conn, session), answer.at.line)),
            Some(-32001 | -32031 | -32600) => {}
            Some(code) => out
                .violated(SUB_4, answer, "/code")
                .expected("a result, whether it was subscribed or not")
                .actual(code.to_string())
                .contradicts(answer.request.line)
                .done(),
        }
    }
}

/// SUB-5: commands need no subscription.
fn works_unsubscribed(answer: &Answer<'_>, out: &mut Out<'_>) {
    let state = answer.request.state;
    let is_left = state.subscribed == Some(false) && state.loaded == Some(true);
    if answer.request.command.is_none() || !is_left || answer.state.loaded != Some(true) {
        return;
    }
    out.exercised(SUB_5);
    if answer.code() == Some(-32024) {
        out.violated(SUB_5, answer, "/code")
            .expected("a command that works without a subscription")
            .actual("-32024")
            .contradicts(answer.request.line)
            .done();
    }
}
