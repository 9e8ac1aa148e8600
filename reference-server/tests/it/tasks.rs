//! `task/…` and what goes on in the background: monitors, scheduled jobs, reminder agents.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

fn items<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().map(|frame| &frame["params"]["item"]).filter(|item| item["kind"] == kind).collect()
}

async fn script(peer: &mut Peer, session: &str, steps: &str) -> Vec<Value> {
    peer.prompt(session, &format!("@script\n{steps}")).await.unwrap();
    peer.quiet().await
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_to_the_background_and_is_stopped_there() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let list = json!({ "sessionId": session });
    assert_eq!(peer.call("task/list", list.clone()).await.unwrap(), json!({ "tasks": [] }));
    peer.command("task/stopAll", list.clone()).await.unwrap();
    peer.prompt(&session, "@script\ntask {\"command\":\"sleep 9\"}").await.unwrap();
    let frames = peer.until("item/started").await;
    let id = items(&frames, "toolCall")[0]["itemId"].clone();
    let row = peer.call("task/list", list.clone()).await.unwrap()["tasks"][0].clone();
    assert_eq!(
        (&row["taskId"], &row["executionMode"], &row["command"], &row["tool"]),
        (&id, &json!("foreground"), &json!("sleep 9"), &json!("shell"))
    );
    assert!(row["startedAt"].is_string());
    let of = json!({ "sessionId": session, "taskId": id });
    assert_eq!(peer.command("task/stop", of.clone()).await.unwrap_err()["data"]["reason"], "invalid_target");
    peer.command("task/stopAll", list.clone()).await.unwrap();
    assert_eq!(peer.command("task/background", of.clone()).await.unwrap()["taskId"], id);
    let frames = peer.quiet().await;
    assert_eq!(names(&frames), ["item/updated toolCall inProgress r2", "turn/completed completed"]);
    let item = items(&frames, "toolCall")[0];
    assert_eq!((&item["background"], &item["backgroundInitiator"]), (&json!(true), &json!("user")));
    assert_eq!(peer.call("task/list", list).await.unwrap()["tasks"][0]["executionMode"], "background");
    assert_eq!(peer.command("task/background", of.clone()).await.unwrap_err()["data"]["reason"], "invalid_target");
    peer.command("task/stop", of.clone()).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(
        names(&frames),
        ["item/completed toolCall cancelled r3", "item/completed backgroundTerminalCompletion completed r1"]
    );
    assert_eq!(peer.command("task/stop", of).await.unwrap_err()["data"]["reason"], "already_terminal");
    let unknown = json!({ "sessionId": session, "taskId": "nothing" });
    for method in ["task/stop", "task/background"] {
        let error = peer.command(method, unknown.clone()).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32030), &json!("invalid_target")));
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_runs_out_and_the_end_is_told_after_the_turn() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let steps = "task {\"command\":\"make\",\"ms\":300,\"backgroundAfterMs\":50,\"status\":\"failed\",\"failureReason\":\"exit 2\",\"output\":\"no rule\"}";
    let frames = script(&mut peer, &session, steps).await;
    assert_eq!(
        names(&frames)[2..],
        [
            "item/started toolCall inProgress r1",
            "item/updated toolCall inProgress r2",
            "turn/completed completed",
            "item/completed toolCall failed r3",
            "item/completed backgroundTerminalCompletion completed r1",
        ]
    );
    assert_eq!(items(&frames, "toolCall")[1]["backgroundInitiator"], "timeout");
    let notice = &items(&frames, "backgroundTerminalCompletion")[0]["backgroundTerminalCompletion"];
    let call = items(&frames, "toolCall")[0]["callId"].clone();
    assert_eq!(
        *notice,
        json!({ "toolCallId": call, "command": "make", "terminalStatus": "failed", "output": "no rule", "outputTruncated": false })
    );
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn monitors_feed_the_view_and_an_inbox_and_stop_with_all() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let steps = "monitor {\"name\":\"m\",\"description\":\"ci\"}\nmonitorLine {\"name\":\"m\",\"text\":\"one\"}\nmonitorDrain {\"name\":\"m\"}\n\
                 monitorLine {\"name\":\"m\",\"text\":\"two\"}\nmonitorVoid {\"name\":\"m\"}\nmonitorDrain {\"name\":\"m\"}";
    let frames = script(&mut peer, &session, steps).await;
    assert_eq!(
        names(&frames)[2..],
        [
            "item/started toolCall inProgress r1",
            "item/updated toolCall inProgress r2",
            "item/completed monitorFeed completed r1",
            "monitor/inboxItemAdmitted",
            "monitor/inboxItemDrained",
            "item/completed monitorFeed completed r1",
            "monitor/inboxItemAdmitted",
            "monitor/inboxItemVoided",
            "turn/completed completed",
        ]
    );
    let monitor = items(&frames, "toolCall")[0]["itemId"].clone();
    assert!(items(&frames, "monitorFeed").iter().all(|item| item["monitorId"] == monitor && item["turnId"].is_null()));
    let of = |method: &str| -> Vec<&Value> {
        frames.iter().filter(|frame| frame["method"] == method).map(|frame| &frame["params"]).collect()
    };
    let admitted = of("monitor/inboxItemAdmitted");
    assert_eq!((&admitted[0]["eventIndex"], &admitted[1]["eventIndex"]), (&json!(0), &json!(1)));
    assert_eq!(of("monitor/inboxItemDrained")[0]["itemId"], admitted[0]["itemId"]);
    assert_eq!(of("monitor/inboxItemVoided")[0]["itemId"], admitted[1]["itemId"]);
    peer.command("task/stopAll", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(names(&peer.quiet().await), ["item/completed toolCall cancelled r3"]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_takes_what_waits_and_hears_what_is_overdue() {
    let mut peer = Peer::open(Config { seed: Some(1), ..Config::in_memory() }).await;
    let session = peer.start().await;
    let steps = "task {\"command\":\"make\",\"backgroundAfterMs\":1,\"dueMs\":400}\ntask {\"command\":\"true\",\"ms\":1,\"dueMs\":0}\n\
                 monitor {\"name\":\"m\",\"description\":\"ci\"}\nmonitorLine {\"name\":\"m\",\"text\":\"one\"}\n\
                 monitorLine {\"name\":\"m\",\"text\":\"two\"}";
    let frames = script(&mut peer, &session, steps).await;
    let admitted: Vec<_> = frames
        .iter()
        .filter(|frame| frame["method"] == "monitor/inboxItemAdmitted")
        .map(|frame| frame["params"]["itemId"].clone())
        .collect();
    assert_eq!(admitted.len(), 2);
    peer.prompt(&session, "@script\nwait {\"ms\":450}").await.unwrap();
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames)[2..],
        ["monitor/inboxItemDrained", "monitor/inboxItemDrained", "turn/completed completed"]
    );
    let turn = frames.iter().find(|frame| frame["method"] == "turn/started").unwrap()["params"]["turnId"].clone();
    let drained: Vec<_> = frames.iter().filter(|frame| frame["method"] == "monitor/inboxItemDrained").collect();
    let ids: Vec<_> = drained.iter().map(|frame| frame["params"]["itemId"].clone()).collect();
    assert_eq!(ids, admitted);
    assert!(
        drained.iter().all(|frame| frame["params"]["drainTargetRunStream"] == json!({ "kind": "run", "id": turn }))
    );
    // By now the first task is late. It is told once, and the other one is over.
    let frames = script(&mut peer, &session, "hold").await;
    assert_eq!(names(&frames)[2..], ["item/completed overdueNotice completed r1"]);
    let notice = items(&frames, "overdueNotice")[0].clone();
    assert!(notice["text"].as_str().unwrap().starts_with("`make` was due"), "{notice}");
    let turn = frames.iter().find(|frame| frame["method"] == "turn/started").unwrap()["params"]["turnId"].clone();
    assert_eq!(notice["turnId"], turn);
    peer.command("turn/interrupt", json!({ "sessionId": session, "retract": true })).await.unwrap();
    assert!(
        names(&peer.quiet().await).contains(&"item/updated userMessage completed r2".to_owned()),
        "a notice is no reply"
    );
    let frames = script(&mut peer, &session, "say {\"text\":\"x\",\"stream\":false}").await;
    assert_eq!(names(&frames)[2..], ["item/completed agentMessage completed r1", "turn/completed completed"]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn reminders_hold_a_turn_whose_work_is_done() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let steps = "foregroundCompleted\nreminder {\"reminderAgentId\":\"r1\",\"blocking\":true}\nscheduledFire {\"jobId\":\"j\",\"deliveryNumber\":2}\n\
                 foregroundCompleted {\"ms\":100}";
    let frames = script(&mut peer, &session, steps).await;
    assert_eq!(
        names(&frames)[2..],
        [
            "item/started reminderChild inProgress r1",
            "item/completed scheduledFire completed r1",
            "turn/foregroundCompleted",
            "item/completed reminderChild completed r2",
            "turn/completed completed",
        ]
    );
    let held = frames.iter().find(|frame| frame["method"] == "turn/foregroundCompleted").unwrap();
    assert_eq!(held["params"]["blockingAgents"], json!(["r1"]));
    assert_eq!(items(&frames, "scheduledFire")[0]["jobId"], "j");
    peer.command("session/sideChat", json!({ "sessionId": session })).await.unwrap();
    let frames = script(&mut peer, &session, "sideChatEnd {\"status\":\"rejected\"}").await;
    assert_eq!(items(&frames, "sideChat").last().unwrap()["status"], "rejected");
    peer.finish().await;
}
