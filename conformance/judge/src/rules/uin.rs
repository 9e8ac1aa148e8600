//! Questions to the user (UIN): what a host may ask, how it is settled, and by whom.
//!
//! | file | rules |
//! |---|---|
//! | [`prompt`] | what one prompt looks like (UIN-2), and which answers fit it (UIN-4) |
//! | [`settle`] | commands and their answers (UIN-3, 4, 5, 8, 12) |
//! | [`life`] | order, words and end of each prompt (UIN-1, 6, 7, 10, 11) |

mod life;
mod prompt;
mod settle;

use crate::facts::{Answer, BySession, Epoch, Event, Happened, Id, Map, Request, Set, Sighting, Within};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::rules::stops::{Stops, stopping};

family! {
    UIN_1 = "UIN-1",
    UIN_2 = "UIN-2",
    UIN_3 = "UIN-3",
    UIN_4 = "UIN-4",
    UIN_5 = "UIN-5",
    UIN_6 = "UIN-6",
    UIN_7 = "UIN-7",
    UIN_8 = "UIN-8",
    UIN_9 = "UIN-9",
    UIN_10 = "UIN-10",
    UIN_11 = "UIN-11",
    UIN_12 = "UIN-12",
    UIN_13 = "UIN-13",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(stopping!("userInput/*")),
        answers: Methods::These(&["userInput/*", "approval/listPending", "session/resume"]),
        events: Methods::These(&["userInput/*", "turn/completed"]),
        items: true,
        processes: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Prompts>::default(),
};

#[derive(Clone, Copy)]
struct Seen {
    line: u64,
    within: Within,
}

#[derive(Default)]
struct Prompts {
    known: BySession<(Id, Id), Prompt>,
    /// Prompt of an item that asks, until the item has ended.
    of_item: BySession<(Id, Id), Id>,
    /// Prompts by the turn that waits for them, until it ends.
    waiting: Map<Id, Vec<(Id, Id)>>,
    /// Commands that wait for their answer, by connection and line.
    open: Map<(u32, u64), Settling>,
    commands: Set<Id>,
    stops: Stops,
}

/// What is remembered of a prompt.
#[derive(Default)]
struct Prompt {
    opened: Option<Opened>,
    /// Line of the first host request.
    asked: Option<u64>,
    /// Line in which it was asked again after a resume.
    asked_again: Option<u64>,
    questions: Vec<prompt::Question>,
    settled: Option<Settled>,
    ended: Option<Seen>,
    engaged: Option<(u64, Option<u64>)>,
    race: Option<Race>,
    /// Acked `userInput/interrupt`.
    interrupted: bool,
    acked: Set<Id>,
}

struct Opened {
    seen: Seen,
    conn: u32,
    cursor: Option<Id>,
    item: Option<Id>,
    turn: Option<Id>,
    /// Stands for the questions.
    questions: u64,
    /// Milliseconds until it settles by itself.
    countdown: Option<u64>,
    at_ms: Option<u64>,
    emitted_at: Option<i64>,
}

struct Settled {
    line: u64,
    cursor: Option<Id>,
    outcome: Id,
    reason: Option<Id>,
    command: Option<Id>,
    host: u32,
    stopped: bool,
}

/// Commands that cross.
#[derive(Default)]
struct Race {
    open: u32,
    sent: u32,
    all_valid: bool,
    acks: u32,
    first: u64,
}

/// A command that waits for its answer.
struct Settling {
    prompt: (Id, Id),
    is_repeated: bool,
    was_settled: bool,
    races: bool,
    epoch: Epoch,
    fits: prompt::Fit,
}

fn word(text: &str) -> Id {
    Id::of(text.as_bytes())
}

impl Monitor for Prompts {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        match request.at.method {
            "userInput/request" => self.host_asks(request, out),
            method if method.starts_with("userInput/") => self.settles(request),
            _ => self.stops.sent(request),
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        match answer.at.method {
            "userInput/request" => receipt(answer, out),
            "approval/listPending" => {
                let rows = answer.result().and_then(|result| result.get("userInputs"));
                for (index, row) in rows.into_iter().flat_map(|it| it.items()).enumerate() {
                    prompt::check(answer, &format!("/userInputs/{index}"), row, out);
                }
            }
            "session/resume" => {}
            _ => self.answered(answer, out),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event.method {
            "userInput/requested" => self.requested(event, out),
            "userInput/settled" => self.settled(event, out),
            "userInput/engaged" => self.engaged(event, out),
            "turn/completed" => self.turn_ends(event, out),
            _ => {}
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
        self.of_item.forget(session);
        self.open.retain(|_, settling| settling.prompt.0 != session);
    }
}

/// UIN-13: a receipt says nothing.
fn receipt(answer: &Answer<'_>, out: &mut Out<'_>) {
    out.exercised(UIN_13);
    let said = answer.result().and_then(|result| result.members().next());
    if let Some((name, value)) = said {
        out.violated(UIN_13, answer, &format!("/{}", name.text()))
            .expected("a receipt without members")
            .actual(value.shown())
            .contradicts(answer.request.line)
            .done();
    }
}
