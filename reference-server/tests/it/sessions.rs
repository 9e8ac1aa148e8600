//! Start, list, read, resume, fork, leave, the ledger.

use msp_reference_server::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peer::{Peer, names};

fn durable(dir: &TempDir) -> Config {
    Config::durable(dir.path().to_owned())
}

#[tokio::test(start_paused = true)]
async fn commands_repeat_their_answer_and_conflicts_are_told() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let command_id = peer.command_id();
    let start = json!({ "commandId": command_id, "workspaceRoot": "/somewhere" });
    let first = peer.call("session/start", start.clone()).await.unwrap();
    assert_eq!(peer.call("session/start", start.clone()).await.unwrap(), first);
    let other = peer.call("session/start", json!({ "commandId": command_id })).await.unwrap_err();
    assert_eq!(other["data"]["reason"], "command_id_conflict");
    let session = first["session"]["sessionId"].clone();
    let mode = json!({ "commandId": peer.command_id(), "sessionId": session, "mode": "denyUnmatched" });
    let ack = peer.call("session/setApprovalMode", mode.clone()).await.unwrap();
    assert_eq!(ack["applyOutcome"], "completed");
    assert_eq!(peer.call("session/setApprovalMode", mode.clone()).await.unwrap(), ack);
    let mut other = mode.clone();
    other["mode"] = "promptUnmatched".into();
    let conflict = peer.call("session/setApprovalMode", other).await.unwrap_err();
    assert_eq!(conflict["data"]["reason"], "command_id_conflict");
    let noop = peer
        .command("session/setApprovalMode", json!({ "sessionId": session, "mode": "denyUnmatched" }))
        .await
        .unwrap();
    assert_eq!((&noop["applyOutcome"], &noop["effectiveMode"]), (&json!("noop"), &ack["effectiveMode"]));
    let ceiling =
        peer.command("session/setApprovalMode", json!({ "sessionId": session, "mode": "allowAll" })).await.unwrap_err();
    assert_eq!(ceiling["data"]["reason"], "approval_mode_ceiling");
    for bad in [json!({}), json!({ "commandId": "0198f0aa-1111-4000-8000-0000000000aa" }), json!({ "commandId": "" })] {
        assert_eq!(peer.call("session/start", bad).await.unwrap_err()["code"], -32602);
    }
    assert_eq!(names(&peer.quiet().await), ["session/approvalModeChanged"]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_stored_session_is_read_and_resumed_by_another_host() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(durable(&dir)).await;
    let session = peer.start().await;
    peer.prompt(&session, "hello").await.unwrap();
    peer.until("turn/completed").await;
    let turn =
        json!({ "commandId": peer.command_id(), "sessionId": session, "input": [{ "type": "text", "text": "two" }] });
    let ack = peer.call("turn/start", turn.clone()).await.unwrap();
    peer.until("turn/completed").await;
    let pages = peer.pages(&session).await;

    let mut other = Peer::open(durable(&dir)).await.number(1);
    let resume = json!({ "sessionId": session, "history": "inline" });
    let error = other.command("session/resume", resume.clone()).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["sessionId"]), (&json!(-32021), &json!(session)));
    assert_eq!(other.pages(&session).await, pages, "reading needs no lease");
    assert_eq!(other.call("turn/start", turn.clone()).await.unwrap_err()["code"], -32024);
    assert_eq!(
        other.call("session/read", json!({ "sessionId": "0198f0ab-0000-7000-8000-00000000dead" })).await.unwrap_err()["code"],
        -32020
    );
    peer.finish().await;

    let resumed = other.command("session/resume", resume).await.unwrap();
    assert_eq!(resumed["history"]["items"].as_array().unwrap().len(), 4);
    assert_eq!((&resumed["session"]["turnCount"], &resumed["lastTurn"]["turnId"]), (&json!(2), &ack["turnId"]));
    assert_eq!(other.call("turn/start", turn).await.unwrap(), ack, "the ledger outlives the host");
    assert_eq!(other.pages(&session).await, pages, "nothing was added, cursors are the same");
    let rows = other.call("session/list", json!({})).await.unwrap();
    assert_eq!((&rows["sessions"][0]["sessionId"], &rows["sessions"][0]["status"]), (&json!(session), &json!("idle")));
    other.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_host_left_is_brought_to_rest_once() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(durable(&dir)).await;
    let session = peer.start().await;
    let held =
        "@script\nitem {\"kind\":\"toolCall\",\"members\":{\"tool\":\"shell\",\"callId\":\"c\",\"args\":\"{}\"}}\nhold";
    let turn =
        json!({ "commandId": peer.command_id(), "sessionId": session, "input": [{ "type": "text", "text": held }] });
    peer.call("turn/start", turn.clone()).await.unwrap();
    let queued =
        json!({ "commandId": peer.command_id(), "sessionId": session, "input": [{ "type": "text", "text": "later" }] });
    let queued_ack = peer.call("turn/start", queued.clone()).await.unwrap();
    peer.quiet().await;
    let stored: Vec<u8> = copy_of_log(&dir);
    peer.vanish();

    let crashed = TempDir::new().unwrap();
    put_log(&crashed, &session, &stored);
    let mut other = Peer::open(durable(&crashed)).await.number(1);
    let read = other.call("session/read", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(read["queuedInputs"][0]["text"], "later");
    let resumed = other.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(resumed["lastTurn"]["reason"], "resume_reconcile:orphaned_by_process_loss");
    other.until("turn/completed").await;
    let events = other.pages(&session).await;
    let frames: Vec<Value> =
        events.iter().map(|event| json!({ "method": event["method"], "params": event["params"] })).collect();
    assert_eq!(
        names(&frames),
        [
            "turn/started",
            "item/completed userMessage completed r1",
            "item/started toolCall inProgress r1",
            "item/completed toolCall cancelled r2",
            "turn/completed cancelled",
            "turn/started",
            "item/completed userMessage completed r1",
            "item/completed agentMessage completed r2",
            "turn/completed completed",
        ]
    );
    assert_eq!(other.call("turn/start", turn).await.unwrap_err()["data"]["reason"], "abandoned");
    assert_eq!(other.call("turn/start", queued).await.unwrap(), queued_ack, "a queued submit survives");
    other.finish().await;
    let mut third = Peer::open(durable(&crashed)).await.number(2);
    third.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(third.pages(&session).await, events, "a second load adds nothing");
    third.finish().await;
}

fn copy_of_log(dir: &TempDir) -> Vec<u8> {
    std::fs::read(find_log(dir.path()).unwrap()).unwrap()
}

fn find_log(path: &std::path::Path) -> Option<std::path::PathBuf> {
    std::fs::read_dir(path).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.ends_with("session.jsonl") { Some(path) } else { find_log(&path) }
    })
}

fn put_log(dir: &TempDir, session: &str, bytes: &[u8]) {
    let folder = dir.path().join("2026/01/01").join(session);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("session.jsonl"), bytes).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_fork_goes_its_own_way_from_the_cut() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(durable(&dir)).await;
    let session = peer.start().await;
    let first = peer.prompt(&session, "one").await.unwrap();
    peer.until("turn/completed").await;
    let held = peer.prompt(&session, "@script\nhold").await.unwrap();
    let cut = |turn: &Value| json!({ "sessionId": session, "cutPoint": { "lastTurnId": turn["turnId"] } });
    let error = peer.command("session/fork", cut(&held)).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["lastTurnId"]), (&json!(-32023), &held["turnId"]));
    let fork = peer.command("session/fork", cut(&first)).await.unwrap();
    let new = fork["session"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(fork["session"]["forkedFrom"]["cutExplicit"], true);
    assert_eq!(fork["history"]["items"].as_array().unwrap().len(), 2);
    peer.quiet().await;
    peer.prompt(&new, "mine").await.unwrap();
    let frames = peer.until("turn/completed").await;
    assert!(
        frames
            .iter()
            .filter(|frame| frame["params"]["item"].is_object())
            .all(|frame| frame["params"]["sessionId"] == new.as_str())
    );
    assert_eq!(peer.pages(&session).await.len(), 6);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn leaving_waits_for_work_or_stops_it() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(durable(&dir)).await;
    let session = peer.start().await;
    peer.prompt(&session, "@script\nhold").await.unwrap();
    let leave = json!({ "commandId": peer.command_id(), "sessionId": session });
    peer.call("session/leave", leave.clone()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    let frames = peer.until("session/leaveCompleted").await;
    assert_eq!(frames.last().unwrap()["params"]["reason"], "timeout");
    peer.call("session/leave", leave).await.unwrap();
    assert_eq!(peer.until("session/leaveCompleted").await.last().unwrap()["params"], frames.last().unwrap()["params"]);
    peer.command("session/leave", json!({ "sessionId": session, "stop": true })).await.unwrap();
    let frames = peer.until("session/leaveCompleted").await;
    assert_eq!(names(&frames), ["turn/completed cancelled", "session/leaveCompleted"]);
    assert_eq!(peer.command("turn/interrupt", json!({ "sessionId": session })).await.unwrap_err()["code"], -32024);
    peer.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_needs_is_let_go() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(Config { idle_ms: 1000, ..durable(&dir) }).await;
    let session = peer.start().await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(peer.quiet().await.iter().all(|frame| frame["method"] != "session/closed"), "somebody is subscribed");
    peer.call("view/unsubscribe", json!({ "sessionId": session })).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let closed = peer.until("session/closed").await;
    assert_eq!(closed.last().unwrap()["params"]["reason"], "idle");
    assert_eq!(peer.prompt(&session, "x").await.unwrap_err()["code"], -32024);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn lists_page_in_order_and_filters_are_told_canonically() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(durable(&dir)).await;
    let mut all = Vec::new();
    for name in ["Checkout flow", "other", "check again"] {
        let session = peer.start().await;
        let ack = peer
            .command("session/rename", json!({ "sessionId": session, "name": format!("  {name} ") }))
            .await
            .unwrap();
        assert_eq!(ack["name"], name);
        all.push(session);
    }
    let mut seen = Vec::new();
    let mut params = json!({ "limit": 1 });
    loop {
        let page = peer.call("session/list", params.clone()).await.unwrap();
        seen.extend(
            page["sessions"].as_array().unwrap().iter().map(|row| row["sessionId"].as_str().unwrap().to_owned()),
        );
        if page["nextCursor"].is_null() {
            break;
        }
        params["cursor"] = page["nextCursor"].clone();
    }
    let sorted: std::collections::BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(seen.iter().cloned().collect::<std::collections::BTreeSet<_>>(), sorted);
    let filter = json!({ "filter": { "text": { "fields": ["name"], "anyOf": [" CHECK ", "check"] } } });
    let found = peer.call("session/list", filter).await.unwrap();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(found["appliedFilter"], json!({ "text": { "fields": ["name"], "anyOf": ["check"] } }));
    for bad in [
        json!({ "limit": 0 }),
        json!({ "limit": 201 }),
        json!({ "cursor": "x" }),
        json!({ "updatedAfter": "x" }),
        json!({ "filter": { "branch": { "anyOf": [] } } }),
        json!({ "filter": { "branch": { "anyOf": vec!["b"; 33] } } }),
    ] {
        assert_eq!(peer.call("session/list", bad.clone()).await.unwrap_err()["code"], -32602, "{bad}");
    }
    peer.finish().await;
}
