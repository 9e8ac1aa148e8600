//! Turns: streamed, queued, steered, cancelled.

use muse_code_sdk::msp::{IfBusy, TurnTerminal};
use muse_code_sdk::session::{SendUserTurnOptions, Session};
use muse_code_sdk::turn::TurnOutcome;
use serde_json::{Value, json};

use crate::host::{Host, prompt, until, within};

const HELD: &str =
    "@script\nsay {\"text\":\"working on it\"}\nhold {\"steers\":1}\nsay {\"text\":\"three little words\"}";

/// The word of a turn's end; `unqueued` where it never began.
#[track_caller]
pub(crate) fn terminal(outcome: &TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed { params, .. } => match params.terminal {
            TurnTerminal::Completed => "completed",
            TurnTerminal::Failed => "failed",
            TurnTerminal::Cancelled => "cancelled",
            _ => panic!("{outcome:?}"),
        },
        TurnOutcome::Unqueued(_) => "unqueued",
        _ => panic!("{outcome:?}"),
    }
}

/// Items of a kind, as the SDK's fold has them.
pub(crate) fn items(session: &Session, kind: &str) -> Vec<Value> {
    let fold = session.fold();
    let all = fold.item_ids().into_iter().filter_map(|id| fold.item(&id));
    all.filter(|item| item["kind"] == kind).collect()
}

fn steering(text: &str) -> SendUserTurnOptions {
    SendUserTurnOptions { if_busy: Some(IfBusy::Steer), ..prompt(text) }
}

/// Everything is told, and nothing is left open.
#[track_caller]
fn settled(session: &Session) {
    assert_eq!(session.pending(), [], "submissions without an outcome");
    assert_eq!(session.fold().active_turn_id(), None);
    assert!(session.fold().is_current() && !session.fold().is_stopped());
}

#[tokio::test]
async fn a_turn_streams_to_its_outcome() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path()).await;
        let session = host.start(folder.path()).await;
        let turn = session.send_user_turn(prompt(HELD)).await.unwrap();
        let (mut items_of, mut deltas_of) = (turn.items(), turn.deltas()); // deltas come live only, so the turn waits for us
        let steered = session.send_user_turn(steering("go on")).await.unwrap();
        assert_eq!(steered.turn_id(), turn.turn_id());
        let (mut seen, mut streamed) = (Vec::new(), String::new());
        while let Some(item) = items_of.recv().await.unwrap() {
            seen.push(item);
        }
        while let Some(delta) = deltas_of.recv().await.unwrap() {
            streamed.push_str(&delta.delta);
        }
        let outcome = turn.completed().await.unwrap();
        assert_eq!(terminal(&outcome), "completed");
        assert!(matches!(outcome, TurnOutcome::Completed { observed_start: true, .. }));
        assert!(streamed.ends_with("three little words"), "{streamed:?}");
        assert_eq!(seen.last().unwrap().text.as_deref(), Some("three little words"));
        let messages = items(&session, "agentMessage");
        assert_eq!(
            messages.iter().map(|item| &item["text"]).collect::<Vec<_>>(),
            ["working on it", "three little words"]
        );
        assert!(messages.iter().all(|item| item["status"] == "completed" && item["revision"] == 2));
        let asked = items(&session, "userMessage");
        assert_eq!(asked.iter().map(|item| item["steered"] == true).collect::<Vec<_>>(), [false, true]);
        settled(&session);
        host.close().await;
    })
    .await;
}

#[tokio::test]
async fn of_two_queued_turns_one_is_taken_back() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path()).await;
        let session = host.start(folder.path()).await;
        let running = session.send_user_turn(prompt(HELD)).await.unwrap();
        let second = session.send_user_turn(prompt("the second")).await.unwrap();
        let third = session.send_user_turn(prompt("the third")).await.unwrap();
        session.unqueue_turn(second.turn_id()).await.unwrap();
        assert_eq!(terminal(&second.completed().await.unwrap()), "unqueued");
        assert!(session.unqueue_turn(running.turn_id()).await.is_err(), "a running turn is no queued one");
        session.send_user_turn(steering("go on")).await.unwrap();
        assert_eq!(terminal(&running.completed().await.unwrap()), "completed");
        assert_eq!(terminal(&third.completed().await.unwrap()), "completed");
        let said: Vec<_> = items(&session, "agentMessage").into_iter().map(|item| item["text"].clone()).collect();
        assert_eq!(said, ["working on it", "three little words", "the third"]);
        settled(&session);
        host.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_turn_is_cancelled_past_the_sdk() {
    for method in ["turn/cancel", "turn/interrupt"] {
        within(async {
            let folder = tempfile::tempdir().unwrap();
            let host = Host::open(folder.path()).await;
            let session = host.start(folder.path()).await;
            let turn = session.send_user_turn(prompt(HELD)).await.unwrap();
            until(|| items(&session, "agentMessage").iter().any(|item| item["text"] == "working on it")).await;
            host.line.command(&session, method, json!({})).await;
            assert_eq!(terminal(&turn.completed().await.unwrap()), "cancelled");
            settled(&session);
            host.close().await;
        })
        .await;
    }
}
