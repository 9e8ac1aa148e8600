//! The checker against histories that nobody saw: one that is right, and one wrong in each way that it knows.

use serde_json::{Value, json};

use super::check::{Clause, check};
use super::history::{Answer, Command, Event, Found, History, Life};

const SESSION: &str = "s";
const CUT_OFF: &str = "resume_reconcile:orphaned_by_process_loss";

fn event(method: &str, cursor: &str, mut params: Value) -> Event {
    params["sessionId"] = SESSION.into();
    params["viewCursor"] = cursor.into();
    if method != "item/delta" {
        params["sourceRange"] = json!({ "first": cursor });
    }
    Event { method: method.to_owned(), params }
}

fn command(id: &str, method: &'static str, mut params: Value, answers: &[(usize, Answer)]) -> Command {
    params["commandId"] = id.into();
    if method != "session/start" {
        params["sessionId"] = SESSION.into();
    }
    Command { id: id.to_owned(), method, params, answers: answers.to_vec() }
}

fn both(result: Value) -> Vec<(usize, Answer)> {
    vec![(0, Answer::Result(result.clone())), (1, Answer::Result(result))]
}

fn rejected(reason: &str) -> Answer {
    Answer::Error(json!({ "code": -32030, "data": { "reason": reason } }))
}

/// Turn `a` ended, `b` was running when the host died, `c` waited, `d` was taken back, `x` was never submitted.
fn right() -> History {
    let ack =
        |turn: &str, disposition: &str| json!({ "turnId": turn, "disposition": disposition, "status": "accepted" });
    let cut = vec![(0, Answer::Result(ack("b", "started"))), (1, rejected("abandoned"))];
    let refused = vec![(0, rejected("missing_run")), (1, rejected("missing_run"))];
    let commands = vec![
        command("start", "session/start", json!({}), &both(json!({ "session": { "sessionId": SESSION } }))),
        command("a", "turn/start", json!({}), &both(ack("a", "started"))),
        command("name", "session/rename", json!({ "name": "n" }), &both(json!({ "name": "n" }))),
        command("b", "turn/start", json!({}), &cut),
        command("c", "turn/start", json!({}), &both(ack("c", "queued"))),
        command("e", "turn/start", json!({}), &both(ack("e", "queued"))),
        command("steer", "turn/steer", json!({}), &both(json!({ "turnId": "b" }))),
        command("no", "turn/interrupt", json!({ "turnId": "x" }), &refused),
        command("bad", "turn/steer", json!({}), &[(0, Answer::Error(json!({ "code": -32602 })))]),
        command("lost", "session/rename", json!({ "name": "m" }), &[(1, Answer::Result(json!({ "name": "m" })))]),
    ];
    let message = json!({ "item": { "kind": "userMessage", "commandId": "steer" } });
    let shown = vec![
        event("turn/started", "1", json!({ "turnId": "a" })),
        event("item/delta", "1.1", json!({ "delta": "w" })),
        event("turn/completed", "2", json!({ "turnId": "a", "terminal": "completed" })),
        event("session/nameChanged", "3", json!({ "name": "n" })),
        event("turn/started", "4", json!({ "turnId": "b" })),
        event("item/completed", "5", message),
    ];
    let mut pages: Vec<Event> = shown.iter().filter(|event| event.is_durable()).cloned().collect();
    pages.push(event("turn/completed", "6", json!({ "turnId": "b", "terminal": "cancelled", "reason": CUT_OFF })));
    pages.push(event("turn/started", "7", json!({ "turnId": "c" })));
    let live = vec![
        event("item/delta", "7.1", json!({ "delta": "v" })),
        event("session/nameChanged", "8", json!({ "name": "m" })),
    ];
    let there = |pages: &[Event]| Found::There { pages: pages.to_vec(), queued: vec!["e".to_owned()] };
    let found = [(SESSION.to_owned(), there(&pages))].into();
    let mut again = pages.clone();
    again.push(live[1].clone());
    again.push(event("turn/completed", "9", json!({ "turnId": "c", "terminal": "cancelled", "reason": CUT_OFF })));
    let last = Life { found: [(SESSION.to_owned(), there(&again))].into(), live: Vec::new() };
    History { commands, lives: vec![Life { found: [].into(), live: shown }, Life { found, live }, last] }
}

fn pages(history: &mut History, life: usize) -> &mut Vec<Event> {
    match history.lives[life].found.get_mut(SESSION) {
        Some(Found::There { pages, .. }) => pages,
        _ => panic!("no pages"),
    }
}

fn answers<'a>(history: &'a mut History, id: &str) -> &'a mut Vec<(usize, Answer)> {
    &mut history.commands.iter_mut().find(|command| command.id == id).unwrap().answers
}

fn everywhere(history: &mut History, change: impl Fn(&mut Vec<Event>)) {
    for life in [1, 2] {
        change(pages(history, life));
    }
}

type Break = fn(&mut History);

const BROKEN: &[(&str, Clause, Break)] = &[
    ("the session is gone", Clause::SessionLost, |history| {
        history.lives[2].found.insert(SESSION.to_owned(), Found::Refused(json!({ "code": -32020 })));
    }),
    ("an event is gone", Clause::EventLost, |history| {
        everywhere(history, |pages| pages.retain(|event| event.params["terminal"] != "completed"));
        // A turn without its end would be told as well.
        everywhere(history, |pages| pages.insert(1, event("turn/completed", "2b", json!({ "turnId": "a" }))));
    }),
    ("an event of the second life is gone", Clause::EventLost, |history| {
        answers(history, "lost").clear();
        pages(history, 2).retain(|event| event.params["name"] != "m");
    }),
    ("an event has other content", Clause::EventDiffers, |history| {
        everywhere(history, |pages| pages[1].params["durationMs"] = 5.into());
    }),
    ("an event became another, at the same cursor", Clause::EventDiffers, |history| {
        everywhere(history, |pages| pages[4].params["item"]["text"] = "other words".into());
    }),
    ("events changed places", Clause::OrderDiffers, |history| {
        everywhere(history, |pages| pages.swap(1, 2));
    }),
    ("pages lost what they had", Clause::PagesRewritten, |history| {
        // Nobody saw this one live.
        pages(history, 1).push(event("session/branchChanged", "7b", json!({})));
    }),
    ("pages have a cursor twice", Clause::CursorRepeated, |history| {
        for life in [1, 2] {
            let twin = event("session/todoListChanged", "6", json!({}));
            pages(history, life).insert(7, twin);
        }
    }),
    ("an ephemeral cursor comes again after a restart", Clause::CursorRepeated, |history| {
        history.lives[1].live[0] = event("item/delta", "1.1", json!({ "delta": "v" }));
    }),
    ("an event of the new life has the cursor of a delta", Clause::CursorRepeated, |history| {
        history.lives[1].live[1] = event("session/nameChanged", "1.1", json!({ "name": "m" }));
        let named = pages(history, 2).iter_mut().find(|event| event.params["name"] == "m").unwrap();
        *named = event("session/nameChanged", "1.1", json!({ "name": "m" }));
    }),
    ("an event is told twice", Clause::CursorRepeated, |history| {
        let twin = history.lives[0].live[1].clone();
        history.lives[0].live.insert(2, twin);
    }),
    ("an ack changed", Clause::AnswerChanged, |history| {
        answers(history, "name")[1] = (1, Answer::Result(json!({ "name": "other" })));
    }),
    ("a rejection changed", Clause::AnswerChanged, |history| answers(history, "no")[1] = (1, rejected("abandoned"))),
    ("a rejection became an ack", Clause::AnswerChanged, |history| {
        answers(history, "no")[1] = (1, Answer::Result(json!({ "turnId": "b" })));
        // Its effect is there, so that only the answer is wrong.
        everywhere(history, |pages| {
            pages.iter_mut().filter(|event| event.params["terminal"] == "cancelled").for_each(|event| {
                event.params["reason"] = CUT_OFF.into();
            });
        });
    }),
    ("what was over is abandoned", Clause::AnswerChanged, |history| {
        answers(history, "a")[1] = (1, rejected("abandoned"));
    }),
    ("what was over at once is abandoned", Clause::AnswerChanged, |history| {
        answers(history, "name")[1] = (1, rejected("abandoned"));
    }),
    ("unfinished work is still acked", Clause::StaleAck, |history| {
        let first = answers(history, "b")[0].1.clone();
        answers(history, "b")[1] = (1, first);
    }),
    ("a steer left nothing", Clause::EffectLost, |history| {
        history.lives[0].live.pop();
        everywhere(history, |pages| drop(pages.remove(4)));
    }),
    ("a queued turn is neither waiting nor begun", Clause::EffectLost, |history| {
        if let Some(Found::There { queued, .. }) = history.lives[2].found.get_mut(SESSION) {
            queued.clear();
        }
    }),
    ("a command of the second life left nothing", Clause::EffectLost, |history| {
        history.lives[1].live.pop();
        pages(history, 2).retain(|event| event.params["name"] != "m");
    }),
    ("a name was given twice", Clause::AppliedTwice, |history| {
        everywhere(history, |pages| pages.insert(7, event("session/nameChanged", "6b", json!({ "name": "n" }))));
    }),
    ("a turn began twice", Clause::AppliedTwice, |history| {
        everywhere(history, |pages| pages.insert(3, event("turn/started", "3b", json!({ "turnId": "a" }))));
    }),
    ("a turn is left open", Clause::TurnNotEndedOnce, |history| {
        answers(history, "b").pop();
        everywhere(history, |pages| drop(pages.remove(5)));
    }),
    ("a turn that nobody saw begin is left open", Clause::TurnNotEndedOnce, |history| {
        pages(history, 2).pop();
    }),
    ("a turn ended twice", Clause::TurnNotEndedOnce, |history| {
        everywhere(history, |pages| pages.insert(3, event("turn/completed", "3b", json!({ "turnId": "a" }))));
    }),
];

#[test]
fn a_history_that_is_right_passes() {
    assert_eq!(check(&right()), []);
}

#[test]
fn each_clause_fails_where_it_is_broken_and_nowhere_else() {
    let mut broken = std::collections::BTreeSet::new();
    for (name, clause, wrong) in BROKEN {
        let mut history = right();
        wrong(&mut history);
        let found: Vec<_> = check(&history).into_iter().map(|violation| violation.clause).collect();
        assert!(!found.is_empty(), "{name}: nothing was found");
        assert!(found.iter().all(|found| found == clause), "{name}: {found:?}");
        broken.insert(*clause);
    }
    assert_eq!(broken.len(), Clause::ALL.len(), "a clause that no history breaks: {broken:?}");
}
