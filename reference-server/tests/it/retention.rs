//! A host that serves the newest events only.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::Peer;

fn keeping(dir: &tempfile::TempDir, records: u64) -> Config {
    Config { retained_records: Some(records), ..Config::durable(dir.path().to_owned()) }
}

fn cursor(event: &Value) -> Value {
    event["params"]["viewCursor"].clone()
}

/// Three turns of four events each, as they were seen.
async fn three_turns(peer: &mut Peer, session: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    for _ in 0..3 {
        peer.prompt(session, "@script\nsay {\"text\":\"a\",\"stream\":false}").await.unwrap();
        seen.extend(peer.until("turn/completed").await);
    }
    seen.retain(|frame| !frame["params"]["sourceRange"].is_null());
    assert_eq!(seen.len(), 12);
    seen
}

#[tokio::test(start_paused = true)]
async fn pages_begin_with_the_oldest_event_that_is_retained() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut peer = Peer::open(keeping(&dir, 9)).await;
    let session = peer.start().await;
    let seen = three_turns(&mut peer, &session).await;
    let retained: Vec<_> = peer.pages(&session).await.iter().map(cursor).collect();
    let first = seen.len() - retained.len();
    assert!((2..11).contains(&first), "{first} events are not retained");
    assert_eq!(retained, seen[first..].iter().map(cursor).collect::<Vec<_>>());

    let mut backward = Vec::new();
    let mut params = json!({ "sessionId": session, "limit": 2, "direction": "backward" });
    loop {
        let page = peer.call("view/page", params.clone()).await.unwrap();
        let cursors: Vec<_> = page["events"].as_array().unwrap().iter().map(cursor).collect();
        backward.splice(0..0, cursors);
        if page["nextCursor"].is_null() {
            break;
        }
        params["cursor"] = page["nextCursor"].clone();
    }
    assert_eq!(backward, retained);

    for (at, fits) in [(first - 2, false), (first, true), (11, true)] {
        let from = json!({ "sessionId": session, "limit": 100, "cursor": cursor(&seen[at]) });
        let page = peer.call("view/page", from).await;
        let subscribed = peer.call("view/subscribe", json!({ "sessionId": session, "after": cursor(&seen[at]) })).await;
        assert_eq!((page.is_ok(), subscribed.is_ok()), (fits, fits), "after event {at}");
        for error in [page.err(), subscribed.err()].into_iter().flatten() {
            let data = json!({ "kind": "viewTruncated", "sessionId": session, "earliestCursor": retained[0] });
            assert_eq!((&error["code"], &error["data"]), (&json!(-32040), &data));
        }
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_resume_from_before_gets_a_snapshot_or_is_refused_when_none_fits() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut peer = Peer::open(keeping(&dir, 9)).await;
    let session = peer.start().await;
    let seen = three_turns(&mut peer, &session).await;
    let from = |at: usize| json!({ "sessionId": session, "cursor": cursor(&seen[at]) });
    let resumed = peer.command("session/resume", from(0)).await.unwrap();
    assert_eq!(resumed["history"]["mode"], "snapshot");
    assert_eq!(resumed["history"]["snapshot"]["state"]["items"].as_array().unwrap().len(), 6);
    let resumed = peer.command("session/resume", from(11)).await.unwrap();
    assert_eq!(resumed["history"]["noneReason"], "cursorSuffix");
    peer.finish().await;

    // On a host whose frames hold no snapshot it is refused.
    let mut peer = Peer::open(Config { frame_limit: 64 * 1024, ..keeping(&dir, 9) }).await.number(1);
    let error = peer.command("session/resume", from(0)).await.unwrap_err();
    let first = cursor(&peer.pages(&session).await[0]);
    assert_eq!((&error["code"], &error["data"]["earliestCursor"]), (&json!(-32040), &first));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_boundary_before_what_is_retained_is_pruned() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut peer = Peer::open(keeping(&dir, 9)).await;
    let session = peer.start().await;
    peer.prompt(&session, "one").await.unwrap();
    peer.until("turn/completed").await;
    peer.command("session/compact", json!({ "sessionId": session })).await.unwrap();
    let frames = peer.until("item/completed").await;
    let anchor = frames.last().unwrap()["params"]["item"]["summarizedThrough"].clone();
    let latest = json!({ "sessionId": session, "limit": 9, "anchor": "latestCompaction" });
    assert!(peer.call("view/page", latest.clone()).await.is_ok());
    three_turns(&mut peer, &session).await;
    let error = peer.call("view/page", latest).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32042), &json!("boundaryPruned")));
    let by_anchor = json!({ "sessionId": session, "cursor": anchor });
    let error = peer.command("session/resume", by_anchor).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["anchor"]), (&json!(-32042), &anchor));
    peer.finish().await;
}
