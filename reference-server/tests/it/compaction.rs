//! `session/compact`: acks, items, boundaries.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

fn last_item(frames: &[Value]) -> Value {
    let frame = frames.iter().rev().find(|frame| frame["method"] == "item/completed").unwrap();
    frame["params"]["item"].clone()
}

#[tokio::test(start_paused = true)]
async fn without_a_run_it_is_refused_and_without_history_nothing_happens() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let bare = json!({ "sessionId": session });
    let error = peer.command("session/compact", bare.clone()).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32030), &json!("missing_run")));
    peer.prompt(&session, "@script\nhold").await.unwrap();
    let ack = peer.command("session/compact", bare).await.unwrap();
    assert_eq!((&ack["status"], &ack["reason"]), (&json!("noop"), &json!("no_compactable_history")));
    let of = |turn: &str| json!({ "sessionId": session, "turnId": turn });
    assert_eq!(peer.command("session/compact", of("no uuid")).await.unwrap_err()["code"], -32602);
    let unknown = peer.command("session/compact", of("0198f0ab-0000-7000-8000-00000000dead")).await.unwrap_err();
    assert_eq!(unknown["data"]["reason"], "missing_run");
    assert_eq!(names(&peer.quiet().await), ["turn/started", "item/completed userMessage completed r1"]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_installed_summary_leaves_a_boundary_to_begin_at() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut peer = Peer::open(Config::durable(dir.path().to_owned())).await;
    let session = peer.start().await;
    peer.prompt(&session, "one").await.unwrap();
    peer.until("turn/completed").await;
    let ack = peer.command("session/compact", json!({ "sessionId": session })).await.unwrap();
    assert_eq!((&ack["status"], ack.get("reason")), (&json!("accepted"), None));
    let frames = peer.quiet().await;
    assert_eq!(names(&frames), ["item/started compaction inProgress r1", "item/completed compaction completed r2"]);
    let ranges: Vec<_> =
        frames.iter().map(|frame| &frame["params"]["sourceRange"]).filter(|range| !range.is_null()).collect();
    let range = |at: usize| ranges[at];
    assert_eq!((&range(0)["first"], &range(0)["first"]), (&range(0)["last"], &range(1)["first"]));
    assert_ne!(range(1)["last"], range(1)["first"], "the end builds on what opened it");
    let item = last_item(&frames);
    assert_eq!((&item["outcome"], &item["trigger"]), (&json!("compacted"), &json!("manual")));
    let boundary = frames.last().unwrap()["params"]["viewCursor"].clone();
    assert_eq!(peer.command("session/compact", json!({ "sessionId": session })).await.unwrap()["status"], "noop");
    peer.prompt(&session, "two").await.unwrap();
    peer.until("turn/completed").await;
    let ask = json!({ "sessionId": session, "limit": 100, "anchor": "latestCompaction" });
    let page = peer.call("view/page", ask).await.unwrap();
    assert_eq!(page["resolvedAnchor"]["boundaryCursor"], boundary);
    assert_eq!(page["events"][0]["method"], "turn/started");
    let by_anchor = json!({ "sessionId": session, "limit": 100, "cursor": item["summarizedThrough"] });
    assert_eq!(peer.call("view/page", by_anchor).await.unwrap()["events"], page["events"]);
    let resumed = peer.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(resumed["history"]["mode"], "anchoredSnapshot");
    let anchor = json!({ "summarizedThrough": item["summarizedThrough"], "boundaryCursor": boundary });
    assert_eq!(resumed["history"]["snapshot"]["anchor"], anchor);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn failures_come_on_the_item_and_a_stop_ends_it() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let script = "@script\ncompact {\"outcome\":\"noop\"}\ncompact {\"tokensBefore\":9,\"tokensAfter\":3}\nsay {\"text\":\"x\"}\n\
                  nextCompaction {\"outcome\":\"failed\",\"reason\":\"install_rejected\",\"delayMs\":50}";
    peer.prompt(&session, script).await.unwrap();
    let frames = peer.until("turn/completed").await;
    let ends: Vec<_> = frames
        .iter()
        .map(|frame| &frame["params"]["item"])
        .filter(|item| item["kind"] == "compaction" && item["status"] == "completed")
        .map(|item| {
            (item["outcome"].as_str().unwrap(), item["trigger"].as_str().unwrap(), item["tokensAfter"].as_i64())
        })
        .collect();
    assert_eq!(ends, [("noop", "auto", None), ("compacted", "auto", Some(3))]);
    peer.command("session/compact", json!({ "sessionId": session })).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(names(&frames).last().unwrap(), "item/completed compaction failed r2");
    let item = last_item(&frames);
    assert_eq!((&item["outcome"], &item["reason"]), (&json!("failed"), &json!("install_rejected")));
    assert!(item.get("strategyId").is_none() && item.get("summarizedThrough").is_none());
    peer.prompt(&session, "@script\nsay {\"text\":\"y\"}\nnextCompaction {\"delayMs\":60000}\nhold").await.unwrap();
    peer.quiet().await;
    peer.command("session/compact", json!({ "sessionId": session })).await.unwrap();
    peer.command("turn/interrupt", json!({ "sessionId": session })).await.unwrap();
    let frames = peer.quiet().await;
    assert_eq!(
        names(&frames),
        ["item/started compaction inProgress r1", "item/completed compaction cancelled r2", "turn/completed cancelled"]
    );
    assert_eq!(last_item(&frames)["outcome"], "cancelled");
    peer.finish().await;
}
