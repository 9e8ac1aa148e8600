//! What the script language says of places: before the first turn, in streams of other kinds, among the usual choices.

use msp_reference_server::Config;
use msp_reference_server::provider::Script;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

fn playing(script: &str) -> Config {
    Config { script: Script::parse(script).unwrap(), ..Config::in_memory() }
}

#[tokio::test(start_paused = true)]
async fn a_start_shows_events_behind_its_answer() {
    let script = "start\nevent {\"method\":\"session/branchChanged\",\"params\":{\"branch\":\"main\",\"vcs\":\"git\",\"workspaceRoot\":\"/w\"}}\n\
                  turn\nsay {\"text\":\"a\",\"stream\":false}";
    let mut peer = Peer::open(playing(script)).await;
    let session = peer.start().await;
    let frames = peer.quiet().await;
    assert_eq!(names(&frames), ["session/branchChanged"]);
    assert_eq!(peer.transcript.iter().rev().find(|(_, text)| text.contains("branchChanged")), peer.transcript.last());
    peer.prompt(&session, "x").await.unwrap();
    assert!(names(&peer.quiet().await).contains(&"item/completed agentMessage completed r1".to_owned()));
    assert_eq!(peer.pages(&session).await[0]["method"], "session/branchChanged");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn steps_that_take_time_have_no_place_at_a_start() {
    let mut peer = Peer::open(playing("start\nwait {\"ms\":1}\nturn\nsay {\"text\":\"a\"}")).await;
    let session = peer.start().await;
    assert_eq!(names(&peer.quiet().await), Vec::<String>::new());
    peer.prompt(&session, "x").await.unwrap();
    peer.until("turn/completed").await;
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_item_can_be_in_a_stream_of_another_kind() {
    let item = "item {\"kind\":\"agentMessage\",\"single\":true,\"members\":{\"text\":\"a\"},\"stream\":";
    let script = format!("turn\n{item}\"session\"}}\n{item}\"run\"}}\n{item}{{\"kind\":\"task\",\"id\":\"v\"}}}}");
    let mut peer = Peer::open(playing(&script)).await;
    let session = peer.start().await;
    let ack = peer.prompt(&session, "x").await.unwrap();
    let frames = peer.until("turn/completed").await;
    let of_agent = |frame: &&Value| frame["params"]["item"]["kind"] == "agentMessage";
    let streams: Vec<_> =
        frames.iter().filter(of_agent).map(|frame| frame["params"]["sourceRange"]["stream"].clone()).collect();
    let stream = |kind: &str, id: &Value| json!({ "kind": kind, "id": id });
    assert_eq!(
        streams,
        [stream("session", &json!(session)), stream("run", &ack["turnId"]), stream("task", &json!("v"))]
    );
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn some_of_the_usual_choices_are_offered_by_name_and_a_review_has_an_id_of_its_own() {
    let tool = "tool {\"tool\":\"write\",\"approval\":{\"choices\":[\"abort\",\"allow_once\"]}}";
    let mut peer = Peer::open(playing(&format!("turn\n{tool}"))).await;
    let session = peer.start().await;
    peer.prompt(&session, "x").await.unwrap();
    let frames = peer.until("approval/request").await;
    let params = &frames.last().unwrap()["params"];
    let ids: Vec<_> = params["availableChoices"].as_array().unwrap().iter().map(|choice| &choice["choiceId"]).collect();
    assert_eq!(ids, ["allow_once", "abort"], "in the usual order");
    let stream = &params["sourceRange"]["stream"];
    assert_eq!(stream["kind"], "approval.review");
    assert_ne!(stream["id"], params["approvalId"]);
    let decide = json!({
        "sessionId": session, "approvalId": params["approvalId"], "requirementId": params["currentRequirementId"],
        "choiceId": "abort",
    });
    peer.command("approval/decide", decide).await.unwrap();
    let frames = peer.until("turn/completed").await;
    let resolved = frames.iter().find(|frame| frame["method"] == "approval/resolved").unwrap();
    assert_eq!(resolved["params"]["sourceRange"]["stream"], *stream);
    let rejected = frames.iter().find(|frame| frame["method"] == "item/completed").unwrap();
    assert_eq!(rejected["params"]["item"]["visibleOutput"], "tool denied: approval aborted");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_capability_can_be_withheld_from_everybody() {
    let config = Config { withheld: ["userShell".to_owned()].into(), ..Config::in_memory() };
    let mut peer = Peer::raw(config);
    let params = json!({
        "clientInfo": { "name": "tests", "version": "1" },
        "capabilities": { "requestedCapabilities": ["userShell", "sessionListStream"] },
    });
    let result = peer.call("initialize", params).await.unwrap();
    assert_eq!(result["grantedCapabilities"], json!(["sessionListStream"]));
    peer.finish().await;
}
