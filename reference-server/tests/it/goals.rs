//! `goal/…`: states, wakes, refusals.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

fn goals(frames: &[Value]) -> Vec<&Value> {
    frames
        .iter()
        .filter(|frame| frame["method"] == "session/goalChanged")
        .map(|frame| &frame["params"]["goal"])
        .collect()
}

#[tokio::test(start_paused = true)]
async fn without_a_goal_only_set_works() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let bare = json!({ "sessionId": session });
    let worded = json!({ "sessionId": session, "objective": "x" });
    for (method, params) in
        [("goal/edit", &worded), ("goal/clear", &bare), ("goal/pause", &bare), ("goal/resume", &bare)]
    {
        let error = peer.command(method, params.clone()).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32030), &json!("missing_goal")), "{method}");
    }
    for method in ["goal/clear", "goal/pause", "goal/resume"] {
        assert_eq!(peer.command(method, worded.clone()).await.unwrap_err()["code"], -32602, "{method}");
    }
    for method in ["goal/set", "goal/edit"] {
        let blank = json!({ "sessionId": session, "objective": " \u{2003}\n" });
        assert_eq!(peer.command(method, blank).await.unwrap_err()["code"], -32602, "{method}");
        assert_eq!(peer.command(method, bare.clone()).await.unwrap_err()["code"], -32602, "{method}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_goal_wakes_an_idle_session_and_its_replay_repeats_the_ack() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut peer = Peer::open(Config::durable(dir.path().to_owned())).await;
    let session = peer.start().await;
    let command_id = peer.command_id();
    let set = json!({ "commandId": command_id, "sessionId": session, "objective": "  green\u{2003}tests " });
    let ack = peer.call("goal/set", set.clone()).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(
        names(&frames),
        [
            "session/goalChanged",
            "turn/started",
            "item/started agentMessage inProgress r1",
            "item/delta",
            "item/completed agentMessage completed r2",
            "turn/completed completed",
        ]
    );
    let started = frames.iter().find(|frame| frame["method"] == "turn/started").unwrap();
    assert_eq!((&started["params"]["commandId"], &started["params"]["turnId"]), (&json!(command_id), &ack["turnId"]));
    assert_ne!(ack["turnId"], json!(command_id));
    let goal = goals(&frames)[0].clone();
    assert_eq!((&goal["objective"], &goal["status"]), (&json!("green\u{2003}tests"), &json!("active")));
    assert_eq!(peer.call("goal/set", set).await.unwrap(), ack);
    assert!(names(&peer.quiet().await).is_empty());
    let resume = json!({ "sessionId": session, "history": "snapshot" });
    let resumed = peer.command("session/resume", resume).await.unwrap();
    assert_eq!(resumed["history"]["snapshot"]["state"]["goal"], goal);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn paused_goals_are_edited_without_a_turn_and_resumed_with_one() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let bare = json!({ "sessionId": session });
    peer.command("goal/set", json!({ "sessionId": session, "objective": "a" })).await.unwrap();
    peer.until("turn/completed").await;
    let error = peer.command("goal/resume", bare.clone()).await.unwrap_err();
    assert_eq!(error["data"]["reason"], "invalid_goal_state");
    assert!(peer.command("goal/pause", bare.clone()).await.unwrap().get("turnId").is_none());
    assert_eq!(peer.command("goal/pause", bare.clone()).await.unwrap_err()["data"]["reason"], "invalid_goal_state");
    let edit = peer.command("goal/edit", json!({ "sessionId": session, "objective": "b" })).await.unwrap();
    assert!(edit.get("turnId").is_none());
    let frames = peer.quiet().await;
    assert_eq!(names(&frames), ["session/goalChanged", "session/goalChanged"]);
    assert_eq!((&goals(&frames)[1]["objective"], &goals(&frames)[1]["status"]), (&json!("b"), &json!("paused")));
    assert!(peer.command("goal/resume", bare.clone()).await.unwrap()["turnId"].is_string());
    let frames = peer.quiet().await;
    assert_eq!(names(&frames)[..2], ["session/goalChanged", "turn/started"]);
    assert!(peer.command("goal/clear", bare).await.unwrap().get("turnId").is_none());
    assert_eq!(goals(&peer.quiet().await), [&Value::Null]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_pauses_the_goal_that_drives_the_turn_and_no_other() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let ack = peer.command("goal/set", json!({ "sessionId": session, "objective": "@script\nhold" })).await.unwrap();
    peer.quiet().await;
    peer.command("turn/interrupt", json!({ "sessionId": session, "turnId": ack["turnId"] })).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(names(&frames), ["session/goalChanged", "turn/completed cancelled"]);
    assert_eq!(goals(&frames)[0]["status"], "paused");
    let held = peer.prompt(&session, "@script\nhold").await.unwrap();
    let busy = peer.command("goal/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(busy["turnId"], held["turnId"]);
    peer.quiet().await;
    peer.command("turn/interrupt", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(names(&peer.quiet().await), ["turn/completed cancelled"]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_model_reports_on_the_goal_and_a_finished_one_wakes_nothing() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let script = "@script\ngoal {\"percentComplete\":40,\"currentWork\":\"reading\"}\ngoal {\"status\":\"completed\",\"percentComplete\":100}";
    peer.command("goal/set", json!({ "sessionId": session, "objective": script })).await.unwrap();
    let frames = peer.quiet().await;
    let percent: Vec<_> = goals(&frames).iter().map(|goal| goal["percentComplete"].as_i64().unwrap()).collect();
    assert_eq!(percent, [0, 40, 100]);
    let edit = peer.command("goal/edit", json!({ "sessionId": session, "objective": "more" })).await.unwrap();
    assert!(edit.get("turnId").is_none());
    peer.prompt(&session, "@script\ngoal {\"clear\":true}").await.unwrap();
    assert_eq!(goals(&peer.quiet().await).last().unwrap(), &&Value::Null);
    peer.finish().await;
}
