//! The checker: whether a history keeps the promise that nothing acked, and no durable event that was shown, is lost. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::effect::{self, Effect};
use super::history::{Answer, Command, Event, Found, History, Life};

/// What a host can do wrong. A violation of one clause is none of another's, as far as one fault can be told from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clause {
    /// A session whose start was answered cannot be resumed.
    SessionLost,
    /// A durable event that was shown is not in the pages of a later life.
    EventLost,
    /// It is, with other content.
    EventDiffers,
    /// Pages have events in another order than they were shown in.
    OrderDiffers,
    /// What pages showed in one life is not the beginning of what they show in the next.
    PagesRewritten,
    /// Two events have one cursor.
    CursorRepeated,
    /// The answer of a command is another than before, and nothing allows that.
    AnswerChanged,
    /// Work that the host's death cut off is still acked.
    StaleAck,
    /// An acked command left no trace.
    EffectLost,
    /// A command was applied more than once.
    AppliedTwice,
    /// A turn that a dead host had begun has no end, or more than one.
    TurnNotEndedOnce,
}

impl Clause {
    /// All of them.
    pub(crate) const ALL: [Self; 11] = [
        Self::SessionLost,
        Self::EventLost,
        Self::EventDiffers,
        Self::OrderDiffers,
        Self::PagesRewritten,
        Self::CursorRepeated,
        Self::AnswerChanged,
        Self::StaleAck,
        Self::EffectLost,
        Self::AppliedTwice,
        Self::TurnNotEndedOnce,
    ];
}

/// A violation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Violation {
    pub(crate) clause: Clause,
    /// Where, for people.
    pub(crate) at: String,
}

/// Commands whose work may go on after their ack, so that a death of the host can cut it off (CMD-12).
const GOES_ON: [&str; 2] = ["turn/start", "session/compact"];
/// Reason of the terminals that a load writes for what it found open.
const CUT_OFF: &str = "resume_reconcile:orphaned_by_process_loss";

/// All violations.
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut put = |clause, at: String| found.push(Violation { clause, at });
    sessions(history, &mut put);
    events(history, &mut put);
    cursors(history, &mut put);
    turns(history, &mut put);
    for command in &history.commands {
        answers(history, command, &mut put);
        effects(history, command, &mut put);
    }
    found
}

type Put<'a> = &'a mut dyn FnMut(Clause, String);

fn sessions(history: &History, put: Put<'_>) {
    for (number, life) in history.lives.iter().enumerate() {
        for (session, found) in &life.found {
            if let Found::Refused(error) = found {
                put(Clause::SessionLost, format!("life {number}, session {session}: {error}"));
            }
        }
    }
}

/// What was shown is in all later pages, the same and in the same order; pages only grow.
fn events(history: &History, put: Put<'_>) {
    for (number, life) in history.lives.iter().enumerate() {
        for (session, pages) in life.pages() {
            let at = |what: &Event| format!("life {number}, session {session}: {} at {}", what.method, what.cursor());
            let places: BTreeMap<&str, usize> =
                pages.iter().enumerate().map(|(n, event)| (event.cursor(), n)).collect();
            for earlier in &history.lives[..number] {
                let shown = earlier.live.iter().filter(|event| event.session() == session && event.is_durable());
                let mut last = None;
                for event in shown {
                    let Some(&place) = places.get(event.cursor()) else {
                        put(Clause::EventLost, at(event));
                        continue;
                    };
                    if pages[place] != *event {
                        put(Clause::EventDiffers, at(event));
                    }
                    if last.is_some_and(|last| last >= place) {
                        put(Clause::OrderDiffers, at(event));
                    }
                    last = Some(place);
                }
                let before = earlier.pages().find(|(name, _)| *name == session).map(|(_, pages)| pages);
                if before.is_some_and(|before| !pages.starts_with(before)) {
                    put(Clause::PagesRewritten, format!("life {number}, session {session}"));
                }
            }
        }
    }
}

/// A cursor names one event, whenever and wherever it is seen.
fn cursors(history: &History, put: Put<'_>) {
    // A cursor of an ephemeral event belongs to the life that showed it.
    let mut named: BTreeMap<(&str, &str), (&Event, Option<usize>)> = BTreeMap::new();
    for (number, life) in history.lives.iter().enumerate() {
        for (session, pages) in life.pages() {
            let distinct: BTreeSet<&str> = pages.iter().map(Event::cursor).collect();
            if distinct.len() < pages.len() {
                put(Clause::CursorRepeated, format!("life {number}, session {session}: within its pages"));
            }
        }
        let mut once = BTreeSet::new();
        let live = life.live.iter().map(|event| (event, true));
        let paged = life.pages().flat_map(|(_, pages)| pages.iter().map(|event| (event, false)));
        for (event, is_live) in live.chain(paged) {
            let key = (event.session(), event.cursor());
            let owner = (!event.is_durable()).then_some(number);
            let (first, of) = *named.entry(key).or_insert((event, owner));
            // Where only the content differs, it is the event that does.
            let same = first.method == event.method && of == owner && first.is_durable() == event.is_durable();
            if !same || (is_live && !once.insert(key)) {
                put(
                    Clause::CursorRepeated,
                    format!("life {number}: {} and {} at {}", first.method, event.method, key.1),
                );
            }
        }
    }
}

/// What a dead host had begun is over once a later one has loaded the session.
fn turns(history: &History, put: Put<'_>) {
    for (number, life) in history.lives.iter().enumerate() {
        for (session, pages) in life.pages() {
            let of = |method: &str| {
                let turns = pages.iter().filter(|event| event.method == method);
                turns.map(|event| event.params["turnId"].as_str().unwrap_or_default()).collect::<Vec<_>>()
            };
            let (started, ended) = (of("turn/started"), of("turn/completed"));
            let before = history.lives[..number].iter();
            let begun: BTreeSet<_> = before
                .flat_map(Life::seen)
                .filter(|event| event.method == "turn/started" && event.session() == session)
                .filter_map(|event| event.params["turnId"].as_str())
                .collect();
            for turn in started {
                let ends = ended.iter().filter(|ended| **ended == turn).count();
                if ends > 1 || (ends == 0 && begun.contains(turn)) {
                    put(
                        Clause::TurnNotEndedOnce,
                        format!("life {number}, session {session}: turn {turn} ended {ends} times"),
                    );
                }
            }
        }
    }
}

/// A command that is sent again is answered as before, or as abandoned where the host's death cut it off.
fn answers(history: &History, command: &Command, put: Put<'_>) {
    let settled: Vec<_> = command.answers.iter().filter(|(_, answer)| answer.settles()).collect();
    let at = |life: usize| format!("life {life}: {} {}", command.method, command.id);
    for pair in command.answers.windows(2) {
        let ((_, before), (life, after)) = (&pair[0], &pair[1]);
        let abandoned = matches!(before, Answer::Result(_)) && after.rejection() == Some("abandoned");
        let cut_off = abandoned && GOES_ON.contains(&command.method) && !was_over(history, command, before, *life);
        if before.settles() && before != after && !cut_off {
            put(Clause::AnswerChanged, format!("{}: {before:?}, then {after:?}", at(*life)));
        }
    }
    for (life, answer) in settled {
        if let Answer::Result(result) = answer
            && history.lives.get(*life).is_some_and(|of| ended_by_load(of, command, result))
        {
            put(Clause::StaleAck, at(*life));
        }
    }
}

/// Whether a client of an earlier life saw the end of a command.
fn was_over(history: &History, command: &Command, answer: &Answer, life: usize) -> bool {
    let Answer::Result(result) = answer else { return true };
    let mut seen = history.lives[..life].iter().flat_map(Life::seen);
    match command.method {
        "turn/start" if result["disposition"] == "steered" => true,
        "turn/start" => seen.any(|event| {
            ["turn/completed", "turn/unqueued"].contains(&event.method.as_str())
                && event.params["turnId"] == result["turnId"]
                && event.params["reason"] != CUT_OFF
        }),
        _ => result["status"] == "noop",
    }
}

/// Whether the life found that the turn of a command was ended by a load, before it answered.
fn ended_by_load(life: &Life, command: &Command, result: &Value) -> bool {
    let of_turn = command.method == "turn/start" && result["disposition"] != "steered";
    of_turn
        && life.pages().filter(|(session, _)| *session == command.session()).any(|(_, pages)| {
            pages.iter().any(|event| {
                event.method == "turn/completed"
                    && event.params["turnId"] == result["turnId"]
                    && event.params["reason"] == CUT_OFF
            })
        })
}

/// What was acked shows in the pages of every later life, and never twice.
fn effects(history: &History, command: &Command, put: Put<'_>) {
    let acks = command.answers.iter().filter_map(|(life, answer)| match answer {
        Answer::Result(result) => Some((*life, result)),
        Answer::Error(_) => None,
    });
    for (acked, result) in acks {
        for effect in effect::of(command, result) {
            for (number, life) in history.lives.iter().enumerate().skip(acked + 1) {
                let Some(Found::There { pages, queued }) = life.found.get(effect.session(command)) else { continue };
                let at = || format!("life {number}: {} {}: {result}", command.method, command.id);
                let traces = effect.traces(pages, queued);
                if traces == 0 {
                    put(Clause::EffectLost, at());
                } else if traces > 1 && !matches!(effect, Effect::Lasting(_)) {
                    put(Clause::AppliedTwice, at());
                }
            }
        }
    }
}
