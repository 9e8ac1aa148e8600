//! The log under damage and loss of power.

use std::sync::Arc;

use msp_reference_server::log::layer::{Layer, Memory};
use msp_reference_server::provider::Script;
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use serde_json::json;

use crate::peer::Peer;

#[tokio::test(start_paused = true)]
async fn a_torn_tail_is_cut_and_what_was_told_is_there() {
    let layer = Arc::new(Memory::default());
    let host = |layer: &Arc<Memory>| {
        let layer: Arc<dyn Layer> = Arc::clone(layer) as _;
        Host::with(Config::durable("root".into()), layer, Box::new(Honest))
    };
    let mut peer = Peer::over(host(&layer), 1 << 20).shake(json!({})).await;
    let session = peer.start().await;
    let turn = json!({ "commandId": peer.command_id(), "sessionId": session, "input": [{ "type": "text", "text": "@script\nhold" }] });
    let ack = peer.call("turn/start", turn.clone()).await.unwrap();
    peer.quiet().await;
    let before = peer.pages(&session).await;
    peer.vanish();
    let path = before_path(&layer);
    layer.append(&path, b"{\"v\":1,\"seq\":99,\"id\":\"to").unwrap();
    layer.lose_power(10);

    let mut other = Peer::over(host(&layer), 1 << 20).shake(json!({})).await.number(1);
    other.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    let after = other.pages(&session).await;
    assert_eq!(after[..before.len()], before);
    assert_eq!(other.call("turn/start", turn).await.unwrap_err()["data"]["reason"], "abandoned");
    assert_eq!(ack["turnId"], after.last().unwrap()["params"]["turnId"]);
    other.finish().await;
}

fn before_path(layer: &Memory) -> std::path::PathBuf {
    let mut path = std::path::PathBuf::from("root");
    while let Some(name) =
        layer.list(&path).unwrap().into_iter().find(|name| !name.contains("index") && !name.contains("checkpoint"))
    {
        path.push(name);
        if path.ends_with("session.jsonl") {
            break;
        }
    }
    path
}

#[tokio::test(start_paused = true)]
async fn damage_is_shown_where_it_is_and_nothing_is_mended() {
    let layer = Arc::new(Memory::default());
    let host = |layer: &Arc<Memory>| {
        let layer: Arc<dyn Layer> = Arc::clone(layer) as _;
        Host::with(Config::durable("root".into()), layer, Box::new(Honest))
    };
    let mut peer = Peer::over(host(&layer), 1 << 20).shake(json!({})).await;
    let session = peer.start().await;
    let mut turns = Vec::new();
    for text in ["one", "two", "three"] {
        turns.push(peer.prompt(&session, text).await.unwrap()["turnId"].clone());
        peer.until("turn/completed").await;
    }
    let whole = peer.pages(&session).await;
    peer.finish().await;
    let path = before_path(&layer);
    let length = layer.length(&path).unwrap().unwrap();
    let text = String::from_utf8(layer.read(&path, 0, usize::try_from(length).unwrap()).unwrap()).unwrap();
    // The user message of the second turn becomes unreadable, its reply is gone.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.contains("\"two\"") && line.contains("userMessage")).unwrap();
    lines[at] = "{\"v\":1,\"seq\":".to_owned() + &"x".repeat(20);
    lines.remove(at + 1);
    layer.replace(&path, (lines.join("\n") + "\n").as_bytes()).unwrap();

    let mut other = Peer::over(host(&layer), 1 << 20).shake(json!({})).await.number(1);
    let resumed = other.command("session/resume", json!({ "sessionId": session, "history": "inline" })).await.unwrap();
    let pages = other.pages(&session).await;
    let shown = pages.iter().position(|event| event["params"]["item"]["kind"] == "damagedRange").unwrap();
    let item = &pages[shown]["params"]["item"];
    assert_eq!(
        (&item["damagedRange"]["unreadableLines"], &item["damagedRange"]["missingRecords"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(item["damagedRange"]["lastGoodTurnId"], turns[0]);
    assert!(resumed["history"]["items"].as_array().unwrap().contains(item));
    let mut rest = pages.clone();
    rest.remove(shown);
    assert!(rest.iter().all(|event| whole.contains(event)) && rest.len() == whole.len() - 2);
    for limit in [1, 3] {
        let (mut backward, mut params) =
            (Vec::new(), json!({ "sessionId": session, "limit": limit, "direction": "backward" }));
        loop {
            let page = other.call("view/page", params.clone()).await.unwrap();
            backward = page["events"].as_array().unwrap().iter().cloned().chain(backward).collect();
            if page["nextCursor"].is_null() {
                break;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
        assert_eq!(backward, pages, "limit {limit}");
        let mut forward = Vec::new();
        let mut params = json!({ "sessionId": session, "limit": limit });
        loop {
            let page = other.call("view/page", params.clone()).await.unwrap();
            forward.extend(page["events"].as_array().unwrap().iter().cloned());
            if page["nextCursor"].is_null() {
                break;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
        assert_eq!(forward, pages, "limit {limit}");
    }
    assert!(frames_of(&other.finish().await).is_empty());
}

fn frames_of(frames: &[serde_json::Value]) -> Vec<&serde_json::Value> {
    frames.iter().filter(|frame| frame["params"]["item"]["kind"] == "damagedRange").collect()
}

#[tokio::test(start_paused = true)]
async fn a_load_reads_little_of_a_long_log_and_derived_files_may_go() {
    let layer = Arc::new(Memory::default());
    let host = |layer: &Arc<Memory>| {
        let layer: Arc<dyn Layer> = Arc::clone(layer) as _;
        let event = |branch: &str| {
            let params = json!({ "branch": branch, "workspaceRoot": "/w" });
            format!("event {}\n", json!({ "method": "session/branchChanged", "params": params }))
        };
        let script = Script::parse(&(event("a") + &event("b")).repeat(3000)).unwrap();
        Host::with(Config { script, ..Config::durable("root".into()) }, layer, Box::new(Honest))
    };
    let capabilities = json!({ "optOutNotificationMethods": ["session/branchChanged"] });
    let mut peer = Peer::over(host(&layer), 1 << 20).shake(capabilities).await;
    let session = peer.start().await;
    peer.prompt(&session, "go").await.unwrap();
    peer.until("turn/completed").await;
    peer.finish().await;
    let path = before_path(&layer);
    assert!(layer.length(&path).unwrap().unwrap() > 3 << 19);
    let load = async |layer: &Arc<Memory>, number| {
        let mut peer = Peer::over(host(layer), 1 << 20).shake(json!({})).await.number(number);
        let before = layer.bytes_read();
        let resumed =
            peer.command("session/resume", json!({ "sessionId": session, "history": "snapshot" })).await.unwrap();
        let read = layer.bytes_read() - before;
        let page = peer.call("view/page", json!({ "sessionId": session, "limit": 100 })).await.unwrap();
        assert!(layer.bytes_read() - before - read < 1 << 20);
        peer.finish().await;
        (resumed["history"].clone(), page, read)
    };
    let (history, page, read) = load(&layer, 1).await;
    assert!(read < 1 << 19, "{read} bytes");
    for name in ["session.index", "session.checkpoint"] {
        layer.replace(&path.with_file_name(name), b"no sense").unwrap();
    }
    let (again, page_again, _) = load(&layer, 2).await;
    assert_eq!((history, page), (again, page_again));
}
