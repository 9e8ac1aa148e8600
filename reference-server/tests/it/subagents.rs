//! `subagent/…`: the life of children, what a command does to them, refusals.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

fn of(session: &str) -> Value {
    json!({ "sessionId": session, "subagentId": "sub-1" })
}

fn with(mut params: Value, member: &str, value: &str) -> Value {
    params[member] = value.into();
    params
}

/// States of the child on the parent's item, in order.
fn states(frames: &[Value]) -> Vec<String> {
    let items = frames.iter().map(|frame| &frame["params"]["item"]).filter(|item| item["kind"] == "subagent");
    items
        .map(|item| format!("{} {}", item["controlStatus"].as_str().unwrap(), item["status"].as_str().unwrap()))
        .collect()
}

async fn child(peer: &mut Peer, session: &str, rest: &str) -> (Value, Vec<Value>) {
    let script =
        format!("@script\nsubagent {{\"name\":\"a\",\"subagentId\":\"sub-1\",\"objective\":\"survey\"}}\n{rest}");
    peer.prompt(session, &script).await.unwrap();
    let frames = peer.quiet().await;
    let id = frames.iter().map(|frame| &frame["params"]["item"]["childSessionId"]).find(|id| id.is_string());
    (id.unwrap().clone(), frames)
}

#[tokio::test(start_paused = true)]
async fn a_child_lives_beside_the_turn_and_is_closed_by_its_owner() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut peer = Peer::open(Config::durable(dir.path().to_owned())).await;
    let session = peer.start().await;
    let (child, frames) = child(&mut peer, &session, "subagentUsage {\"name\":\"a\",\"inputTokens\":5}").await;
    assert_eq!(
        states(&frames),
        ["accepted inProgress", "starting inProgress", "running inProgress", "running inProgress"]
    );
    assert_eq!(names(&frames).last().unwrap(), "turn/completed completed");
    let read = peer.call("session/read", json!({ "sessionId": child })).await.unwrap();
    assert_eq!((&read["session"]["kind"], &read["session"]["parentSessionId"]), (&json!("subagent"), &json!(session)));
    for method in ["subagent/close", "subagent/resume", "subagent/reopen"] {
        let error = peer.command(method, of(&session)).await.unwrap_err();
        assert_eq!(error["data"]["reason"], "subagent_state_ineligible", "{method}");
    }
    let early = peer.command("subagent/readResult", of(&session)).await.unwrap_err();
    assert_eq!((&early["code"], &early["data"]["reason"]), (&json!(-32030), &json!("not_ready")));
    let stop = with(of(&session), "reason", "no use");
    assert_eq!(peer.command("subagent/stop", stop).await.unwrap()["status"], "accepted");
    assert_eq!(states(&peer.quiet().await), ["closed cancelled"]);
    peer.command("subagent/reopen", of(&session)).await.unwrap();
    assert_eq!(states(&peer.quiet().await), ["running cancelled"]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn results_are_read_once_and_then_the_child_is_closed() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let (_, frames) = child(&mut peer, &session, "subagentResult {\"name\":\"a\",\"summary\":\"two\"}").await;
    assert_eq!(states(&frames).last().unwrap(), "resultReady inProgress");
    peer.command("subagent/readResult", of(&session)).await.unwrap();
    let frames = peer.quiet().await;
    let result = &frames.last().unwrap()["params"]["item"]["result"];
    assert_eq!((&result["drained"], &result["summary"]), (&json!(true), &json!("two")));
    assert_eq!(
        peer.command("subagent/readResult", of(&session)).await.unwrap_err()["data"]["reason"],
        "subagent_state_ineligible"
    );
    peer.command("subagent/close", of(&session)).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(states(&frames), ["closed completed"]);
    assert_eq!(frames.last().unwrap()["params"]["item"]["result"]["drained"], true);
    child_that_fails(&mut peer, &session).await;
    peer.finish().await;
}

/// The failure of a child is on its own item; the parent's turn completes (AGENT-7).
async fn child_that_fails(peer: &mut Peer, session: &str) {
    let script = "@script\nsubagent {\"name\":\"b\",\"objective\":\"x\"}\nsubagentResult {\"name\":\"b\",\"errorKind\":\"provider_error\",\"close\":true}";
    peer.prompt(session, script).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(states(&frames)[3..], ["resultReady inProgress", "closed failed"]);
    assert_eq!(names(&frames).last().unwrap(), "turn/completed completed");
}

#[tokio::test(start_paused = true)]
async fn notes_and_tasks_show_in_the_view_of_the_child_only_and_once() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let (child, _) = child(&mut peer, &session, "").await;
    let mut note = with(of(&session), "body", "\u{2003} look  here\n");
    note["commandId"] = peer.command_id().into();
    let ack = peer.call("subagent/sendMessage", note.clone()).await.unwrap();
    assert_eq!(ack, json!({ "commandId": note["commandId"], "status": "accepted" }));
    assert_eq!(peer.call("subagent/sendMessage", note).await.unwrap(), ack);
    peer.command("subagent/followupTask", with(of(&session), "body", "then this")).await.unwrap();
    assert!(states(&peer.quiet().await).is_empty());
    let child = child.as_str().unwrap().to_owned();
    let texts = |events: &[Value]| -> Vec<String> {
        let items = events.iter().map(|event| &event["params"]["item"]).filter(|item| item["kind"] == "userMessage");
        items.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&peer.pages(&child).await), ["survey", "look  here"]);
    peer.command("subagent/interrupt", of(&session)).await.unwrap();
    assert_eq!(states(&peer.quiet().await), ["manualReconciliation inProgress"]);
    assert_eq!(texts(&peer.pages(&child).await), ["survey", "look  here", "then this"]);
    let body = with(of(&session), "body", "late");
    assert_eq!(
        peer.command("subagent/sendMessage", body).await.unwrap_err()["data"]["reason"],
        "subagent_state_ineligible"
    );
    peer.command("subagent/resume", of(&session)).await.unwrap();
    assert_eq!(states(&peer.quiet().await), ["running inProgress"]);
    for (method, params) in [
        ("subagent/sendMessage", with(of(&session), "body", " \u{2003}")),
        ("subagent/followupTask", with(of(&session), "body", "")),
        ("subagent/sendMessage", json!({ "sessionId": session, "subagentId": "", "body": "x" })),
        ("subagent/stop", json!({ "sessionId": session, "subagentId": "" })),
        ("subagent/readResult", json!({ "sessionId": session })),
    ] {
        assert_eq!(peer.command(method, params).await.unwrap_err()["code"], -32602, "{method}");
    }
    peer.finish().await;
}
