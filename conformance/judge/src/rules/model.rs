//! Models and reasoning effort (MODEL).

use crate::facts::{Answer, Epoch, Event, Id, Map, Request, Set, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::Out;

family! { MODEL_1 = "MODEL-1", MODEL_2 = "MODEL-2", MODEL_3 = "MODEL-3", MODEL_4 = "MODEL-4" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["session/setModel", "session/setReasoningEffort"]),
        answers: Methods::These(&["model/list", "session/setModel", "session/setReasoningEffort"]),
        events: Methods::All,
        ..Watches::NOTHING
    },
    monitor: || Box::<Models>::default(),
};

#[derive(Default)]
struct Models {
    commands: Set<Id>,
    /// Values as events told them before the answer came, by session and what they are of, with the line.
    told: Map<(u32, Id, What), (Choice, u64)>,
    /// Commands that wait for their answers, and whether several did at once: which event is whose is not known then.
    open: Map<(u32, Id, What), (u32, bool)>,
    /// Acked changes whose event is to come.
    awaited: Map<(u32, Id, What), Awaited>,
}

/// A model id with its provider, or an effort.
type Choice = (Id, Option<Id>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Model,
    Effort,
}

#[derive(Clone, Copy)]
struct Awaited {
    value: Choice,
    line: u64,
    epoch: Epoch,
}

impl Monitor for Models {
    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        let Some(session) = request.session else { return };
        let (open, crossing) = self.open.entry((request.at.conn, session, What::of(request.at.method))).or_default();
        *open += 1;
        *crossing |= *open > 1;
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.method == "model/list" {
            catalogue(answer, out);
            return;
        }
        let (Some(session), Some(command)) = (answer.session, answer.request.command) else { return };
        if self.crosses(answer, session) || !self.commands.insert(command) {
            return;
        }
        if answer.at.method == "session/setModel" {
            self.set_model(answer, session, out);
        } else if let Some(effort) = answer.param("reasoningEffort").and_then(|it| it.id()) {
            self.acked(answer, session, What::Effort, (effort, None), out);
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), true) = (event.session, event.is_live() && event.class.is_view()) else { return };
        let id = |name: &str| event.param(name).and_then(|it| it.id());
        let told = match event.method {
            "session/modelChanged" => id("modelId").map(|it| (What::Model, (it, id("providerId")))),
            "session/reasoningEffortChanged" => id("reasoningEffort").map(|it| (What::Effort, (it, None))),
            _ => None,
        };
        if told.is_none() && self.awaited.is_empty() {
            return;
        }
        for what in [What::Model, What::Effort] {
            let key = (event.at.conn, session, what);
            if let Some((_, value)) = told.filter(|(of, _)| *of == what) {
                if let Some(awaited) = self.awaited.remove(&key).filter(|it| it.epoch == event.epoch) {
                    fits(event, what, value, awaited, out);
                }
                self.told.insert(key, (value, event.at.line));
            } else {
                self.is_late(event, session, what, out);
            }
        }
    }

    fn closed(&mut self, conn: u32, session: Id) {
        for what in [What::Model, What::Effort] {
            self.told.remove(&(conn, session, what));
            self.awaited.remove(&(conn, session, what));
            self.open.remove(&(conn, session, what));
        }
    }
}

impl What {
    fn of(method: &str) -> Self {
        if method == "session/setModel" { Self::Model } else { Self::Effort }
    }

    const fn rule(self) -> Watched {
        match self {
            Self::Model => MODEL_2,
            Self::Effort => MODEL_3,
        }
    }
}

impl Models {
    /// Whether other commands of the kind wait for their answers beside this one, or did since it was sent; or whether the event of one
    /// before it is still to come.
    fn crosses(&mut self, answer: &Answer<'_>, session: Id) -> bool {
        let key = (answer.at.conn, session, What::of(answer.at.method));
        let Some((open, crossing)) = self.open.get_mut(&key) else { return false };
        *open = open.saturating_sub(1);
        let was_crossing = *crossing;
        *crossing &= *open > 0;
        let is_late = answer.result().is_some() && self.awaited.contains_key(&key);
        if was_crossing || is_late {
            self.awaited.remove(&key);
        }
        was_crossing || is_late
    }

    /// The next event of the session is there, and the change that was acked is not.
    fn is_late(&mut self, event: &Event<'_>, session: Id, what: What, out: &mut Out<'_>) {
        let key = (event.at.conn, session, what);
        let Some(awaited) = self.awaited.remove(&key).filter(|it| it.epoch == event.epoch) else { return };
        // What was in force at the start is not known, and need not be told again.
        let Some((before, _)) = self.told.get(&key) else { return };
        if before.0 != awaited.value.0 && !event.protected {
            out.violated(what.rule(), event, "")
                .expected("the event of the change that was acked")
                .actual(event.method)
                .contradicts(awaited.line)
                .after_next_event(session)
                .done();
        }
    }

    /// MODEL-2 and 4: what is refused, and how.
    fn set_model(&mut self, answer: &Answer<'_>, session: Id, out: &mut Out<'_>) {
        let Some(model) = answer.param("model") else { return };
        let is_empty = model.text_of("modelId").is_none_or(|it| it.is_empty());
        let reason = answer.data("reason");
        if let (Some(-32030), Some(reason)) = (answer.code(), reason) {
            out.exercised(MODEL_2);
            let is_known = ["invalid_target", "unsupported_route", "invalid_model", "command_id_conflict", "abandoned"]
                .iter()
                .any(|it| reason.is(it));
            if is_empty && !reason.is("invalid_target") {
                wrong(
                    MODEL_2,
                    answer,
                    "/data/reason",
                    ("\"invalid_target\" for a model without a name", reason.shown()),
                    out,
                );
            } else if !is_known {
                out.violated(MODEL_2, answer, "/data/reason")
                    .warn()
                    .expected("invalid_target, unsupported_route or invalid_model")
                    .actual(reason.shown())
                    .contradicts(answer.request.line)
                    .done();
            } else if model.text_of("providerId").is_some_and(|it| !it.is_empty()) {
                out.exercised(MODEL_4);
            }
            return;
        }
        if answer.result().is_none() {
            return;
        }
        if is_empty {
            out.exercised(MODEL_2);
            wrong(
                MODEL_2,
                answer,
                "",
                ("error -32030 invalid_target for a model without a name", "a result".to_owned()),
                out,
            );
            return;
        }
        let Some(id) = model.id_of("modelId") else { return };
        let provider = model.get("providerId").filter(|it| !it.is("")).and_then(|it| it.id());
        self.acked(answer, session, What::Model, (id, provider), out);
    }

    fn acked(&mut self, answer: &Answer<'_>, session: Id, what: What, value: Choice, out: &mut Out<'_>) {
        if answer.result().is_none() || answer.state.subscribed != Some(true) {
            return;
        }
        let key = (answer.at.conn, session, what);
        let told = self.told.get(&key).copied().filter(|(_, line)| *line > answer.request.line);
        if told.is_some_and(|(told, _)| told.0 == value.0) {
            out.exercised(what.rule());
            return;
        }
        let epoch = out.known(session).epoch;
        self.awaited.insert(key, Awaited { value, line: answer.at.line, epoch });
    }
}

fn fits(event: &Event<'_>, what: What, value: Choice, awaited: Awaited, out: &mut Out<'_>) {
    out.exercised(what.rule());
    let name = match what {
        What::Model => "modelId",
        What::Effort => "reasoningEffort",
    };
    let shown = |name: &str| event.param(name).map_or_else(String::new, |it| it.shown());
    if value.0 != awaited.value.0 {
        out.violated(what.rule(), event, &format!("/{name}"))
            .expected("what was asked for")
            .actual(shown(name))
            .contradicts(awaited.line)
            .done();
    } else if let (Some(asked), Some(is)) = (awaited.value.1, value.1) {
        out.exercised(MODEL_4);
        if asked != is {
            out.violated(MODEL_4, event, "/providerId")
                .expected("the provider that was asked for, or null")
                .actual(shown("providerId"))
                .contradicts(awaited.line)
                .done();
        }
    }
}

/// MODEL-1: newest first, and prices as decimal texts.
fn catalogue(answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(models) = answer.result().and_then(|it| it.get("models")) else { return };
    out.exercised(MODEL_1);
    let mut newest: Option<String> = None;
    for (at, model) in models.items().enumerate() {
        if let Some(date) = model.text_of("releaseDate").filter(|it| it.len() == 10) {
            if newest.as_deref().is_some_and(|newest| newest < &*date) {
                wrong(
                    MODEL_1,
                    answer,
                    &format!("/models/{at}/releaseDate"),
                    ("the newest first", format!("\"{date}\"")),
                    out,
                );
            }
            newest = Some(date.into_owned());
        }
        for name in ["input", "cached", "output"] {
            let Some(cost) = model.path(&["cost", name]).filter(|it| !it.is_null()) else { continue };
            if !is_decimal(cost) {
                wrong(
                    MODEL_1,
                    answer,
                    &format!("/models/{at}/cost/{name}"),
                    ("a decimal number as text", cost.shown()),
                    out,
                );
            }
        }
    }
}

fn is_decimal(cost: Value<'_>) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    cost.text().is_some_and(|text| match text.split_once('.') {
        Some((whole, part)) => is_digits(whole) && is_digits(part),
        None => is_digits(&text),
    })
}

fn wrong(rule: Watched, answer: &Answer<'_>, below: &str, (expected, actual): (&str, String), out: &mut Out<'_>) {
    out.violated(rule, answer, below).expected(expected).actual(actual).contradicts(answer.request.line).done();
}
