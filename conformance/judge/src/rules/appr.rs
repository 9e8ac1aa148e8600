//! Approvals (APPR): what a host asks, how it is decided, and that no approval is forgotten or settled by itself.
//!
//! | file | rules |
//! |---|---|
//! | [`payload`] | what one prompt looks like (APPR-5, 6, 22, 27) |
//! | [`decide`] | commands and their answers (APPR-8 to 13, 15, 22) |
//! | [`life`] | order, words and end of each approval (APPR-1 to 4, 7, 12, 14, 16, 18, 19, 21, 23) |
//! | [`pending`] | the list of what is open (APPR-20) |
//! | [`modes`] | approval modes (APPR-24 to 26) |

mod decide;
mod life;
pub(crate) mod modes;
mod payload;
pub(crate) mod pending;

use crate::facts::{Answer, BySession, Epoch, Event, Happened, Id, Map, Request, Set, Sighting, Value, Within};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::rules::stops::{Stops, stopping};

family! {
    APPR_1 = "APPR-1",
    APPR_2 = "APPR-2",
    APPR_3 = "APPR-3",
    APPR_4 = "APPR-4",
    APPR_5 = "APPR-5",
    APPR_6 = "APPR-6",
    APPR_7 = "APPR-7",
    APPR_8 = "APPR-8",
    APPR_9 = "APPR-9",
    APPR_10 = "APPR-10",
    APPR_11 = "APPR-11",
    APPR_12 = "APPR-12",
    APPR_13 = "APPR-13",
    APPR_14 = "APPR-14",
    APPR_15 = "APPR-15",
    APPR_16 = "APPR-16",
    APPR_18 = "APPR-18",
    APPR_19 = "APPR-19",
    APPR_21 = "APPR-21",
    APPR_22 = "APPR-22",
    APPR_23 = "APPR-23",
    APPR_27 = "APPR-27",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(stopping!("approval/request", "approval/decide")),
        answers: Methods::These(&["approval/request", "approval/decide", "approval/listPending"]),
        events: Methods::These(&["approval/*", "turn/completed"]),
        items: true,
        processes: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Approvals>::default(),
};

/// Something that was seen.
#[derive(Clone, Copy)]
struct Seen {
    line: u64,
    within: Within,
}

#[derive(Default)]
struct Approvals {
    known: BySession<(Id, Id), Approval>,
    /// Decides that wait for their answer, by connection and line.
    open: Map<(u32, u64), Decide>,
    /// Command ids of decides so far.
    commands: Set<Id>,
    stops: Stops,
    /// Approvals by the turn that waits for them, until it ends.
    waiting: Map<Id, Vec<(Id, Id)>>,
}

/// What is remembered of an approval.
#[derive(Default)]
struct Approval {
    opened: Option<Opened>,
    /// Line of the first host request.
    asked: Option<u64>,
    /// Line of an event that changed what it asks.
    updated: Option<u64>,
    now: Option<Asks>,
    /// The tool call that waits, as it started and as it ended.
    started: Option<Seen>,
    ended: Option<(Seen, bool)>,
    resolved: Option<Resolved>,
    /// Line in which it was shown again after it was resolved.
    shown_again: Option<u64>,
    /// Line of the ack that was the last.
    last_word: Option<u64>,
    /// An acked stage whose `approval/updated` is to come.
    stage: Option<Stage>,
    /// The newest resolved stage.
    met: Option<Stage>,
    race: Option<Race>,
    /// Texts for the model alone.
    feedback: Vec<Id>,
}

struct Opened {
    seen: Seen,
    conn: u32,
    host: u32,
    /// Stands for the params of the event.
    params: u64,
    cursor: Option<Id>,
    turn: Option<Id>,
    subject: Id,
    is_child: bool,
    at_ms: Option<u64>,
}

/// What an approval asks at a moment.
#[derive(Clone, PartialEq)]
struct Asks {
    requirement: (Id, i64),
    choices: Vec<Choice>,
    is_protected: bool,
}

#[derive(Clone, Copy, PartialEq)]
struct Choice {
    id: Id,
    decision: Id,
    accepts_feedback: bool,
    approves: bool,
}

struct Resolved {
    line: u64,
    cursor: Option<Id>,
    decision: Id,
    by: Id,
    command: Option<Id>,
    allows: bool,
    host: u32,
    stopped: bool,
}

/// A stage that was decided.
#[derive(Clone, Copy)]
struct Stage {
    line: u64,
    requirement: (Id, i64),
    choice: Id,
    decision: Option<Id>,
    within: Within,
}

/// Decides that cross.
#[derive(Default)]
struct Race {
    open: u32,
    sent: u32,
    all_valid: bool,
    acks: u32,
    first: u64,
}

/// A decide that waits for its answer.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the moment in which it was sent")]
struct Decide {
    approval: (Id, Id),
    asks: Option<Asks>,
    is_repeated: bool,
    races: bool,
    was_resolved: bool,
    epoch: Epoch,
    is_unsubscribed: bool,
}

fn word(text: &str) -> Id {
    Id::of(text.as_bytes())
}

fn requirement(value: Option<Value<'_>>) -> Option<(Id, i64)> {
    let value = value?;
    Some((value.id_of("approvalId")?, value.get("sourceIndex")?.int()?))
}

impl Asks {
    fn of(params: Value<'_>, is_protected: bool) -> Option<Self> {
        let choices = params.get("availableChoices")?.items().filter_map(|choice| {
            let decision = choice.get("decision")?;
            Some(Choice {
                id: choice.id_of("choiceId")?,
                decision: decision.id()?,
                accepts_feedback: choice.get("acceptsFeedback").and_then(|it| it.bool()) == Some(true),
                approves: decision.text().is_some_and(|it| it.starts_with("approved")),
            })
        });
        let choices = choices.collect();
        Some(Self { requirement: requirement(params.get("currentRequirementId"))?, choices, is_protected })
    }

    fn choice(&self, id: Option<Id>) -> Option<Choice> {
        self.choices.iter().copied().find(|choice| Some(choice.id) == id)
    }
}

impl Monitor for Approvals {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        match request.at.method {
            "approval/request" => self.host_asks(request, out),
            "approval/decide" => self.decides(request, out),
            _ => self.stops.sent(request),
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        match answer.at.method {
            "approval/request" => receipt(answer, out),
            "approval/decide" => self.decided(answer, out),
            _ => rows(answer, out),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event.method {
            "approval/requested" => self.requested(event, out),
            "approval/updated" => self.updated(event, out),
            "approval/reviewing" => {
                out.exercised(APPR_21);
                if let Some(params) = event.params {
                    payload::check(event, "", params, out);
                }
            }
            "approval/resolved" => self.resolved(event, out),
            _ => self.turn_ends(event, out),
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        if sighting.kind == "toolCall" {
            self.tool_call(sighting, out);
        }
    }

    fn happened(&mut self, happened: &Happened<'_>, _: &mut Out<'_>) {
        self.stops.happened(happened);
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.known.forget(session);
        self.open.retain(|_, decide| decide.approval.0 != session);
    }
}

/// APPR-3: a receipt says nothing.
fn receipt(answer: &Answer<'_>, out: &mut Out<'_>) {
    out.exercised(APPR_3);
    let said = answer.result().and_then(|result| result.members().next());
    if let Some((name, value)) = said {
        out.violated(APPR_3, answer, &format!("/{}", name.text()))
            .expected("a receipt without members")
            .actual(value.shown())
            .contradicts(answer.request.line)
            .done();
    }
}

/// Each row of a list of what is pending is a prompt too.
fn rows(answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(rows) = answer.result().and_then(|result| result.get("approvals")) else { return };
    for (index, row) in rows.items().enumerate() {
        payload::check(answer, &format!("/approvals/{index}"), row, out);
    }
}
