//! Hosts and sessions: fingerprints, crash and resume, paging, gaps.

use std::path::Path;

use muse_code_sdk::client::{MuseClient, StartSessionOptions};
use muse_code_sdk::errors::MuseError;
use muse_code_sdk::msp::GENERATED_FINGERPRINT;
use muse_code_sdk::session::SessionOpening;
use serde_json::{Value, json};

use crate::host::{Host, options, prompt, until, within};
use crate::turns::{items, terminal};

#[tokio::test]
async fn the_sdk_spawns_the_host_by_itself() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let opened = MuseClient::spawn(options(folder.path(), &[])).await.unwrap();
        let reported = opened.client.initialize_result().unwrap().schema.fingerprint.clone();
        let warning = opened.fingerprint_warning.expect("the host serves 1.4.13, the SDK expects 1.4.14");
        assert_eq!((warning.expected, &warning.actual), (GENERATED_FINGERPRINT, &reported));
        let session = opened.client.start_session(StartSessionOptions::default()).await.unwrap();
        let turn = session.send_user_turn(prompt("hello")).await.unwrap();
        assert_eq!(terminal(&turn.completed().await.unwrap()), "completed");
        opened.client.close().await;
        let exit = opened.client.exit().await.unwrap().unwrap();
        assert_eq!(exit.exit_code, Some(0), "{exit:?}");
    })
    .await;
}

#[tokio::test]
async fn a_host_that_reports_the_fingerprint_of_the_sdk_is_not_warned_of() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let told = options(folder.path(), &["--fingerprint", GENERATED_FINGERPRINT]);
        let opened = MuseClient::spawn(told).await.unwrap();
        assert_eq!(opened.fingerprint_warning, None);
        opened.client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_killed_host_leaves_a_session_that_another_one_resumes() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Host::open(folder.path()).await;
        let session = host.start(folder.path()).await;
        let done = session.send_user_turn(prompt("remember this")).await.unwrap();
        assert_eq!(terminal(&done.completed().await.unwrap()), "completed");
        let cut = session.send_user_turn(prompt("@script\nsay {\"text\":\"half\"}\nhold {}")).await.unwrap();
        let half = |item: &Value| item["text"] == "half" && item["status"] == "completed";
        until(|| items(&session, "agentMessage").iter().any(half)).await; // from then on it is in the log
        let shown: Vec<_> = ["userMessage", "agentMessage"].iter().flat_map(|kind| items(&session, kind)).collect();
        host.kill().await;
        assert!(cut.completed().await.is_err(), "a turn of a killed host came to an end");

        let carried = session.pending();
        assert_eq!(carried.iter().filter_map(|turn| turn.turn_id()).collect::<Vec<_>>(), [cut.turn_id()]);
        let host = Host::open(folder.path()).await;
        let resumed = host.resume(&session).await;
        let SessionOpening::Resume(opening) = resumed.opening() else { panic!("not resumed") };
        let opening = serde_json::to_value(opening.session.clone()).unwrap();
        assert_eq!(opening["status"], "idle");
        // Sent again under its old id, the cut off turn is told to be abandoned (CMD-12) and does not run again.
        let again = resumed.resolve_reconnect(carried).await.unwrap().remove(0).result;
        let Err(MuseError::Msp(refused)) = again else { panic!("the turn runs again") };
        assert_eq!(refused.data().reason.as_deref(), Some("abandoned"));
        let events = events(&host, resumed.session_id(), 3).await;
        for item in shown {
            let last =
                events.iter().rev().map(|event| &event["params"]["item"]).find(|held| held["itemId"] == item["itemId"]);
            assert_eq!(last, Some(&item), "an item that was shown before the crash");
        }
        let more = resumed.send_user_turn(prompt("go on")).await.unwrap();
        assert_eq!(terminal(&more.completed().await.unwrap()), "completed");
        host.close().await;
    })
    .await;
}

/// Every durable event of a session, so many a page.
async fn events(host: &Host, session_id: &str, limit: usize) -> Vec<Value> {
    let (mut events, mut params) = (Vec::new(), json!({ "sessionId": session_id, "limit": limit }));
    loop {
        let answer = host.line.ask("view/page", params.clone()).await;
        let page = answer["result"]["events"].as_array().unwrap();
        assert!(page.len() <= limit);
        events.extend(page.iter().cloned());
        params["cursor"] = answer["result"]["nextCursor"].clone();
        if params["cursor"].is_null() {
            return events;
        }
    }
}

#[tokio::test]
async fn lists_and_views_are_paged() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path()).await;
        let mut started = Vec::new();
        for _ in 0..5 {
            let session = host.start(folder.path()).await;
            let turn = session.send_user_turn(prompt("hello")).await.unwrap();
            turn.completed().await.unwrap();
            started.push(session.session_id().to_owned());
        }
        let (mut listed, mut params, mut sizes) = (Vec::new(), json!({ "limit": 2 }), Vec::new());
        loop {
            let answer = host.line.ask("session/list", params.clone()).await;
            let rows = answer["result"]["sessions"].as_array().unwrap();
            listed.extend(rows.iter().map(|row| row["sessionId"].as_str().unwrap().to_owned()));
            sizes.push(rows.len());
            params["cursor"] = answer["result"]["nextCursor"].clone();
            if params["cursor"].is_null() {
                break;
            }
        }
        listed.sort();
        started.sort();
        assert_eq!((listed, sizes), (started.clone(), vec![2, 2, 1]));
        let whole = events(&host, &started[0], 1000).await;
        assert_eq!(events(&host, &started[0], 1).await, whole);
        assert!(whole.iter().any(|event| event["method"] == "turn/completed"));
        host.close().await;
    })
    .await;
}

/// The log of the only session below a folder.
fn log(folder: &Path) -> String {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name == "session.jsonl") {
                return std::fs::read_to_string(path).unwrap();
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    String::new()
}

#[tokio::test]
async fn a_gap_before_a_slow_reader_is_filled() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path()).await;
        let session = host.start(folder.path()).await;
        let script = format!(
            "@script\nsay {{\"text\":\"begun\"}}\nhold {{\"steers\":1}}\nsay {{\"text\":\"{}\"}}\nsay {{\"text\":\"flooded\",\"stream\":false}}\n\
             hold {{\"steers\":2}}\nsay {{\"text\":\"end\"}}",
            "word ".repeat(8000)
        );
        let steer = json!({ "expectedTurnId": "", "input": [{ "type": "text", "text": "go on" }] });
        let turn = session.send_user_turn(prompt(&script)).await.unwrap();
        until(|| items(&session, "agentMessage").len() == 1).await;
        host.line.read(false);
        let mut params = steer.clone();
        params["expectedTurnId"] = turn.turn_id().into();
        let flood = host.line.command(&session, "turn/steer", params.clone());
        let (_, ()) = tokio::join!(flood, async {
            until(|| log(folder.path()).contains("\"text\":\"flooded\"")).await; // its events found no room by then
            host.line.read(true);
        });
        host.line.command(&session, "turn/steer", params).await; // a hole is told with the next event that finds room
        assert_eq!(terminal(&turn.completed().await.unwrap()), "completed");
        assert!(host.line.methods().iter().any(|method| method == "view/gap"), "no hole was told");
        until(|| session.fold().pending_gap().is_none()).await;
        let said: Vec<_> = items(&session, "agentMessage").into_iter().map(|item| item["text"].clone()).collect();
        assert_eq!(said, [json!("begun"), json!("word ".repeat(8000)), json!("flooded"), json!("end")]);
        assert!(session.fold().is_current() && !session.fold().is_stopped());
        host.close().await;
    })
    .await;
}
