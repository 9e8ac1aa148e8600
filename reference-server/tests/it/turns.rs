//! The life of turns and the provider.

use msp_reference_server::Config;
use msp_reference_server::provider::Script;
use serde_json::json;

use crate::peer::{Peer, names};

#[tokio::test(start_paused = true)]
async fn a_prompt_is_echoed_as_a_stream() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let ack = peer.prompt(&session, "hello big world").await.unwrap();
    assert_eq!((&ack["disposition"], &ack["startedNewTurn"]), (&json!("started"), &json!(true)));
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        [
            "turn/started",
            "item/completed userMessage completed r1",
            "item/started agentMessage inProgress r1",
            "item/delta",
            "item/completed agentMessage completed r2",
            "turn/completed completed",
        ]
    );
    let deltas: String = frames.iter().filter_map(|frame| frame["params"]["delta"].as_str()).collect();
    assert_eq!(deltas, "hello big world");
    assert!(frames.iter().all(|frame| frame["method"].is_null() || frame["emittedAtMs"].is_i64()));
    let tail = peer.finish().await;
    assert!(
        tail.iter().any(|frame| frame["method"] == "session/closed" && frame["params"]["reason"] == "hostShutdown")
    );
}

#[tokio::test(start_paused = true)]
async fn submits_queue_steer_and_are_taken_back() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let first =
        peer.prompt(&session, "@script\nhold {\"steers\":1}\nsay {\"text\":\"go\",\"stream\":false}").await.unwrap();
    let second = peer.prompt(&session, "second").await.unwrap();
    let third = peer.prompt(&session, "third").await.unwrap();
    assert_eq!((&second["disposition"], &third["disposition"]), (&json!("queued"), &json!("queued")));
    let turn = |ack: &serde_json::Value| json!({ "sessionId": session, "turnId": ack["turnId"] });
    peer.command("turn/unqueue", turn(&second)).await.unwrap();
    let reasons = [
        peer.command("turn/unqueue", turn(&second)).await,
        peer.command("turn/unqueue", turn(&first)).await,
        peer.command("turn/unqueue", json!({ "sessionId": session, "turnId": "0198f0ab-0000-7000-8000-00000000dead" }))
            .await,
    ]
    .map(|answer| answer.unwrap_err()["data"]["reason"].as_str().unwrap().to_owned());
    assert_eq!(reasons, ["already_applied", "run_active", "missing_run"]);
    let steer = json!({ "sessionId": session, "expectedTurnId": first["turnId"], "input": [{ "type": "text", "text": "now" }] });
    peer.command("turn/steer", steer.clone()).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(
        names(&frames),
        [
            "turn/started",
            "item/completed userMessage completed r1",
            "turn/unqueued",
            "item/completed userMessage completed r1",
            "item/completed agentMessage completed r1",
            "turn/completed completed",
            "turn/started",
            "item/completed userMessage completed r1",
            "item/started agentMessage inProgress r1",
            "item/delta",
            "item/completed agentMessage completed r2",
            "turn/completed completed",
        ]
    );
    let steered = frames.iter().find(|frame| frame["params"]["item"]["steered"] == true).unwrap();
    assert_eq!(steered["params"]["item"]["turnId"], first["turnId"]);
    assert_eq!(peer.command("turn/steer", steer).await.unwrap_err()["code"], -32030);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn interrupts_end_items_before_the_turn_and_let_the_queue_go_on() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let interrupt = json!({ "sessionId": session });
    assert_eq!(peer.command("turn/interrupt", interrupt.clone()).await.unwrap_err()["data"]["reason"], "missing_run");
    let held = peer.prompt(&session, "@script\nitem {\"kind\":\"toolCall\",\"members\":{\"tool\":\"shell\",\"callId\":\"c\",\"args\":\"{}\"}}\nhold").await.unwrap();
    peer.prompt(&session, "@script\nhold").await.unwrap();
    peer.quiet().await;
    peer.command("turn/interrupt", json!({ "sessionId": session, "retract": true })).await.unwrap();
    assert_eq!(
        names(&peer.quiet().await),
        [
            "item/completed toolCall cancelled r2",
            "turn/retracted",
            "item/updated userMessage completed r2",
            "turn/completed cancelled",
            "turn/started",
            "item/completed userMessage completed r1",
        ]
    );
    let cancel = json!({ "sessionId": session, "turnId": held["turnId"] });
    assert_eq!(peer.command("turn/cancel", cancel).await.unwrap_err()["data"]["reason"], "already_terminal");
    let mut replace =
        json!({ "sessionId": session, "ifBusy": "replace", "input": [{ "type": "text", "text": "new" }] });
    let ack = peer.command("turn/start", replace.clone()).await.unwrap();
    assert_eq!(ack["disposition"], "started");
    let frames = names(&peer.quiet().await);
    assert_eq!(frames[..2], ["turn/completed cancelled", "turn/started"]);
    assert_eq!(frames.last().unwrap(), "turn/completed completed");
    replace["ifBusy"] = "bogus".into();
    assert_eq!(peer.command("turn/start", replace).await.unwrap_err()["code"], -32602);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn scripts_play_turn_by_turn_and_say_what_is_wrong_with_them() {
    let script = "turn\nthink {\"summary\":[\"a b\",\"c\"],\"chunks\":2}\ntool {\"tool\":\"read\",\"size\":70000,\"chunks\":3}\nretry\n\
                  usage {\"inputTokens\":3,\"outputTokens\":4}\nsay {\"text\":\"x\",\"phase\":\"finalAnswer\"}\nturn\nfail {\"message\":\"503\"}\nturn\nsing {}";
    let mut peer = Peer::open(Config { script: Script::parse(script).unwrap(), ..Config::in_memory() }).await;
    let session = peer.start().await;
    peer.prompt(&session, "1").await.unwrap();
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames)[2..],
        [
            "item/started reasoning inProgress r1",
            "item/delta",
            "item/completed reasoning completed r2",
            "item/started toolCall inProgress r1",
            "item/delta",
            "item/completed toolCall completed r2",
            "turn/retryScheduled",
            "session/tokenUsage",
            "item/started agentMessage inProgress r1",
            "item/delta",
            "item/completed agentMessage completed r2",
            "turn/completed completed",
        ]
    );
    let tool = frames.iter().find(|frame| frame["params"]["item"]["truncated"] == true).unwrap();
    let item = &tool["params"]["item"];
    let ask = json!({
        "sessionId": session, "itemId": item["itemId"], "outputRef": item["outputRef"]["id"], "offsetBytes": 65536,
    });
    let page = peer.call("item/readOutput", ask).await.unwrap();
    assert_eq!((&page["byteLen"], &page["eof"]), (&json!(70000 - 65536), &json!(true)));
    for kind in ["modelError", "configError"] {
        peer.prompt(&session, "2").await.unwrap();
        let frames = peer.until("turn/completed").await;
        assert_eq!(frames.last().unwrap()["params"]["error"]["kind"], kind);
    }
    peer.prompt(&session, "still usable").await.unwrap();
    assert_eq!(names(&peer.until("turn/completed").await).last().unwrap(), "turn/completed completed");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_has_no_start_and_changes_its_replay() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    peer.prompt(&session, "@script\nhold {\"steers\":1}").await.unwrap();
    let command_id = peer.command_id();
    let submit = json!({
        "commandId": command_id, "sessionId": session, "input": [{ "type": "text", "text": "@script\nrefuseLaunch" }],
    });
    assert_eq!(peer.call("turn/start", submit.clone()).await.unwrap()["disposition"], "queued");
    assert_eq!(peer.call("turn/start", submit.clone()).await.unwrap()["disposition"], "queued");
    let steer = json!({ "sessionId": session, "ifBusy": "steer", "input": [{ "type": "text", "text": "now" }] });
    assert_eq!(peer.command("turn/start", steer).await.unwrap()["disposition"], "steered");
    let frames = names(&peer.quiet().await);
    assert_eq!(frames[frames.len() - 2..], ["turn/completed completed", "turn/completed failed"]);
    let error = peer.call("turn/start", submit).await.unwrap_err();
    assert_eq!(
        (&error["data"]["reason"], &error["data"]["commandId"]),
        (&json!("deferred_start_failed"), &json!(command_id))
    );
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_seed_repeats_every_byte() {
    let run = || async {
        let mut peer = Peer::open(Config { seed: Some(42), ..Config::in_memory() }).await;
        let session = peer.start().await;
        peer.prompt(&session, "@script\nsay {\"text\":\"a b c\",\"delayMs\":20}\ntool {\"output\":\"x\"}")
            .await
            .unwrap();
        peer.until("turn/completed").await;
        peer.prompt(&session, "again").await.unwrap();
        peer.until("turn/completed").await;
        peer.quiet().await;
        peer.transcript.clone()
    };
    assert_eq!(run().await, run().await);
}
