//! `workflow/…`: cancel, pause, resume, children.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

const BEGIN: &str = "@script\nworkflow {\"name\":\"w\",\"workflowRunId\":\"wfr-1\",\"tokenBudget\":9}\n\
                     workflowChild {\"name\":\"w\",\"childId\":\"c1\"}\n\
                     workflowChild {\"name\":\"w\",\"childId\":\"c1\",\"status\":\"started\",\"label\":\"one\"}";

async fn begin(peer: &mut Peer) -> String {
    let session = peer.start().await;
    peer.prompt(&session, BEGIN).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(
        names(&frames)[2..],
        [
            "item/started workflow inProgress r1",
            "item/updated workflow inProgress r2",
            "item/updated workflow inProgress r3",
            "turn/completed completed",
        ]
    );
    let row = json!([{ "childId": "c1", "attempt": 1, "status": "started", "label": "one" }]);
    assert_eq!(workflow(&frames)["children"], row);
    session
}

fn workflow(frames: &[Value]) -> &Value {
    let mut items = frames.iter().map(|frame| &frame["params"]["item"]);
    items.rfind(|item| item["kind"] == "workflow").unwrap()
}

async fn reason(peer: &mut Peer, method: &str, params: Value) -> String {
    let error = peer.command(method, params).await.unwrap_err();
    assert_eq!(error["code"], -32030, "{error}");
    error["data"]["reason"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_as_long_as_it_lives() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = begin(&mut peer).await;
    let run = json!({ "sessionId": session, "workflowRunId": "wfr-1" });
    peer.command("workflow/cancel", run.clone()).await.unwrap();
    peer.command("workflow/cancel", run.clone()).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(names(&frames), ["item/updated workflow inProgress r4", "item/completed workflow cancelled r5"]);
    let item = workflow(&frames);
    assert_eq!((&item["stopAvailable"], &item["children"][0]["terminal"]), (&json!(false), &json!("cancelled")));
    for method in ["workflow/cancel", "workflow/pause", "workflow/resume"] {
        assert_eq!(reason(&mut peer, method, run.clone()).await, "already_terminal", "{method}");
        let unknown = json!({ "sessionId": session, "workflowRunId": "wfr-2" });
        assert_eq!(reason(&mut peer, method, unknown).await, "missing_run", "{method}");
        let empty = json!({ "sessionId": session, "workflowRunId": "" });
        assert_eq!(peer.command(method, empty).await.unwrap_err()["code"], -32602, "{method}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_run_goes_on_as_a_new_item() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = begin(&mut peer).await;
    let run = json!({ "sessionId": session, "workflowRunId": "wfr-1" });
    assert_eq!(reason(&mut peer, "workflow/resume", run.clone()).await, "invalid_target");
    peer.command("workflow/pause", run.clone()).await.unwrap();
    assert_eq!(workflow(&peer.quiet().await)["paused"], true);
    assert_eq!(reason(&mut peer, "workflow/pause", run.clone()).await, "invalid_target");
    let ack = peer.command("workflow/resume", run).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(
        names(&frames)[..3],
        ["turn/started", "item/completed workflow cancelled r5", "item/started workflow inProgress r1"]
    );
    assert_eq!(
        frames.iter().find(|frame| frame["method"] == "turn/started").unwrap()["params"]["turnId"],
        ack["turnId"]
    );
    let item = workflow(&frames);
    assert_eq!((&item["resumeFromRunId"], &item["tokenBudget"]), (&json!("wfr-1"), &json!({ "total": 9 })));
    let again = json!({ "sessionId": session, "workflowRunId": item["workflowRunId"] });
    let held = peer.prompt(&session, "@script\nhold {\"steers\":1}").await.unwrap();
    peer.command("workflow/pause", again.clone()).await.unwrap();
    assert_eq!(peer.command("workflow/resume", again).await.unwrap()["turnId"], held["turnId"]);
    assert_eq!(names(&peer.quiet().await).last().unwrap(), "turn/completed completed");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn children_are_retried_and_skipped_by_their_current_attempt() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = begin(&mut peer).await;
    let of = |attempt: i64, action: &str| {
        json!({
            "sessionId": session, "workflowRunId": "wfr-1", "childId": "c1", "attempt": attempt, "action": action,
        })
    };
    let method = "workflow/childControl";
    assert_eq!(reason(&mut peer, method, of(5, "skip")).await, "stale_attempt");
    for bad in [of(0, "skip"), of(1, "stop")] {
        assert_eq!(peer.command(method, bad).await.unwrap_err()["code"], -32602);
    }
    peer.command(method, of(1, "retry")).await.unwrap();
    let frames = peer.quiet().await;
    let rows = json!([
        { "childId": "c1", "attempt": 1, "status": "cancelled", "terminal": "cancelled", "label": "one" },
        { "childId": "c1", "attempt": 2, "status": "scheduled", "label": "one" },
    ]);
    assert_eq!(workflow(&frames)["children"], rows);
    assert_eq!(reason(&mut peer, method, of(1, "skip")).await, "stale_attempt");
    peer.command(method, of(2, "skip")).await.unwrap();
    assert_eq!(workflow(&peer.quiet().await)["children"][1]["terminal"], "cancelled");
    assert_eq!(reason(&mut peer, method, of(2, "skip")).await, "already_terminal");
    peer.finish().await;
}
