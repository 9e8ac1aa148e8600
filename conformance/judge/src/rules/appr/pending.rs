//! `approval/listPending`: all that is open, and nothing else (APPR-20).

use crate::facts::{Answer, BySession, Event, Id, Map, Sight, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

family! { APPR_20 = "APPR-20" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        answers: Methods::These(&["approval/listPending"]),
        events: Methods::These(&[
            "approval/requested",
            "approval/updated",
            "approval/resolved",
            "userInput/requested",
            "userInput/settled",
        ]),
        ..Watches::NOTHING
    },
    monitor: || Box::<Pending>::default(),
};

/// Prompts of each session that are open, in the order in which they were opened, and those that have ended.
#[derive(Default)]
struct Pending {
    open: Map<Id, Vec<Prompt>>,
    ended: BySession<(Id, Id), u64>,
}

struct Prompt {
    id: Id,
    of: Kind,
    line: u64,
    /// Stands for subject, choices and requirement, or for the questions.
    content: u64,
    changed: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Approval,
    UserInput,
}

impl Kind {
    const ALL: [(Self, &'static str, &'static str); 2] =
        [(Self::Approval, "approvals", "approvalId"), (Self::UserInput, "userInputs", "userInputId")];

    /// What of a prompt a row repeats.
    fn content(self, params: Value<'_>) -> u64 {
        let names: &[&str] = match self {
            Self::Approval => &["subject", "availableChoices", "currentRequirementId"],
            Self::UserInput => &["questions", "itemId"],
        };
        names.iter().filter_map(|name| params.get(name)).fold(0, |all, it| all.rotate_left(7) ^ it.hash())
    }
}

impl Monitor for Pending {
    fn event(&mut self, event: &Event<'_>, _: &mut Out<'_>) {
        let (Some(session), Some(params)) = (event.session, event.params) else { return };
        let of = if event.method.starts_with("approval/") { Kind::Approval } else { Kind::UserInput };
        let id = params.id_of("approvalId").or_else(|| params.id_of("userInputId"));
        let (Some(id), Sight::New) = (id, event.sight) else { return };
        let open = self.open.entry(session).or_default();
        match event.method {
            "approval/requested" | "userInput/requested" => {
                if !self.ended.contains_key(&(session, id)) && open.iter().all(|it| it.id != id) {
                    let line = event.at.line;
                    open.push(Prompt { id, of, line, content: of.content(params), changed: line });
                }
            }
            "approval/updated" => {
                if let Some(prompt) = open.iter_mut().find(|it| it.id == id) {
                    (prompt.content, prompt.changed) = (of.content(params), event.at.line);
                }
            }
            _ => {
                open.retain(|it| it.id != id);
                self.ended.insert((session, id), event.at.line);
            }
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(session) = answer.session else { return };
        out.exercised(APPR_20);
        if answer.code() == Some(-32024) {
            out.violated(APPR_20, answer, "/code")
                .expected("a list, whether the session is loaded or not")
                .actual("-32024")
                .contradicts(answer.request.line)
                .done();
        }
        let Some(result) = answer.result() else { return };
        for (of, list, name) in Kind::ALL {
            self.list(session, of, result.get(list), (list, name), answer, out);
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.open.remove(&session);
        self.ended.forget(session);
    }
}

impl Pending {
    fn list(
        &self,
        session: Id,
        of: Kind,
        rows: Option<Value<'_>>,
        (list, name): (&str, &str),
        answer: &Answer<'_>,
        out: &mut Out<'_>,
    ) {
        let Some(rows) = rows else { return };
        let open = self.open.get(&session).map_or(&[][..], Vec::as_slice);
        let open: Vec<&Prompt> = open.iter().filter(|it| it.of == of).collect();
        let asked = answer.request.line;
        let is_whole = out.known(session).whole;
        let mut previous: Option<&Prompt> = None;
        for (index, row) in rows.items().enumerate() {
            let Some(id) = row.id_of(name) else { continue };
            let place = format!("/{list}/{index}");
            let ended = self.ended.get(&(session, id)).copied();
            let Some(prompt) = open.iter().find(|it| it.id == id) else {
                if let Some(ended) = ended.filter(|ended| *ended < asked) {
                    out.violated(APPR_20, answer, &format!("{place}/{name}"))
                        .expected("only what is open")
                        .actual("one that has ended")
                        .contradicts(ended)
                        .done();
                }
                continue;
            };
            if previous.is_some_and(|it| it.line > prompt.line) {
                out.violated(APPR_20, answer, &place)
                    .expected("the order in which they were opened")
                    .actual("another")
                    .contradicts(prompt.line)
                    .contradicts(previous.map_or(0, |it| it.line))
                    .done();
            }
            if prompt.changed < asked && of.content(row) != prompt.content {
                out.violated(APPR_20, answer, &place)
                    .expected("the prompt as it was opened, or changed last")
                    .actual("another")
                    .contradicts(prompt.changed)
                    .done();
            }
            previous = Some(prompt);
        }
        let is_listed = |prompt: &Prompt| rows.items().any(|row| row.id_of(name) == Some(prompt.id));
        for prompt in open.iter().filter(|it| is_whole && it.line < asked && !is_listed(it)) {
            out.violated(APPR_20, answer, &format!("/{list}"))
                .expected("each prompt that is open")
                .actual("one is missing")
                .contradicts(prompt.line)
                .done();
        }
    }
}
