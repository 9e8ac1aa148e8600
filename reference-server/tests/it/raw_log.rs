//! The raw log: streams, pages, subscriptions to records and lines, projections.

use std::path::PathBuf;
use std::sync::Arc;

use msp_reference_server::log::layer::{Layer, Memory};
use msp_reference_server::provider::Script;
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use serde_json::{Value, json};

use crate::peer::Peer;

const STRANGER: &str = "0198f0ab-0000-7000-8000-00000000dead";

fn capabilities() -> Value {
    json!({ "experimentalApi": true, "requestedCapabilities": ["rawLog", "rawLogPhysical"] })
}

async fn open(config: Config) -> Peer {
    Peer::raw(config).shake(capabilities()).await
}

/// Records of the notifications among frames for a subscription.
fn records(frames: &[Value], id: &Value) -> Vec<Value> {
    let mine = |frame: &&Value| frame["method"] == "log/record" && frame["params"]["subscriptionId"] == *id;
    frames.iter().filter(mine).map(|frame| frame["params"]["record"].clone()).collect()
}

/// The records of a stream behind a position, as many as one answer can hold each time; ends at one that fits none.
async fn rest(peer: &mut Peer, session: &str, stream: &Value, from: &Value) -> Vec<Value> {
    let (mut all, mut params) =
        (Vec::new(), json!({ "sessionId": session, "stream": stream, "limit": 1000, "from": from }));
    while let Ok(page) = peer.call("log/page", params.clone()).await {
        all.extend(page["records"].as_array().unwrap().iter().cloned());
        if page["nextCursor"].is_null() {
            break;
        }
        params["from"] = page["nextCursor"]["after"].clone();
    }
    all
}

fn count(value: &Value) -> i64 {
    i64::try_from(value.as_array().unwrap().len()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn streams_are_listed_and_paged_without_holes() {
    let mut peer = open(Config::in_memory()).await;
    let session = peer.start().await;
    peer.prompt(&session, "hello").await.unwrap();
    peer.until("turn/completed").await;
    peer.quiet().await;
    let streams = peer.call("log/streams", json!({ "sessionId": session })).await.unwrap();
    let rows = streams["streams"].as_array().unwrap();
    let kinds: Vec<_> = rows.iter().map(|row| row["stream"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session", "run"]);
    for row in rows {
        let stream = &row["stream"];
        let ask = |limit: i64| json!({ "sessionId": session, "stream": stream, "limit": limit });
        let whole = peer.call("log/page", ask(1000)).await.unwrap();
        assert_eq!(
            (&whole["nextCursor"], count(&whole["records"])),
            (&Value::Null, row["tail"]["sequence"].as_i64().unwrap())
        );
        assert_eq!(whole["records"][0]["id"], row["firstAvailable"]["id"]);
        let (mut all, mut params) = (Vec::new(), ask(2));
        loop {
            let page = peer.call("log/page", params.clone()).await.unwrap();
            all.extend(page["records"].as_array().unwrap().clone());
            if page["nextCursor"].is_null() {
                break;
            }
            assert_eq!((count(&page["records"]), &page["nextCursor"]["stream"]), (2, stream));
            params["from"] = page["nextCursor"]["after"].clone();
        }
        assert_eq!(json!(all), whole["records"]);
        let numbers: Vec<_> = all.iter().map(|record| record["sequence"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=row["tail"]["sequence"].as_i64().unwrap()).collect::<Vec<_>>());
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn wrong_places_are_told_apart() {
    let mut peer = open(Config::in_memory()).await;
    let session = peer.start().await;
    peer.prompt(&session, "hello").await.unwrap();
    peer.until("turn/completed").await;
    peer.quiet().await;
    let streams = peer.call("log/streams", json!({ "sessionId": session })).await.unwrap();
    let (own, run) = (&streams["streams"][0], &streams["streams"][1]);
    let good = json!({ "sessionId": session, "stream": own["stream"], "limit": 5 });
    for member in ["sessionId", "stream", "limit"] {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(member);
        assert_eq!(peer.call("log/page", bad).await.unwrap_err()["code"], -32602, "{member}");
    }
    for limit in [0, 1001] {
        let mut bad = good.clone();
        bad["limit"] = limit.into();
        assert_eq!(peer.call("log/page", bad).await.unwrap_err()["code"], -32602);
    }
    let nowhere = json!({ "id": STRANGER, "sequence": 1 });
    let unknown = json!({ "kind": "task", "id": "none" });
    for (stream, place, code, member, told) in [
        (&unknown, None, -32063, "stream", &unknown),
        (&own["stream"], Some(&nowhere), -32060, "after", &nowhere),
        (&own["stream"], Some(&run["tail"]), -32062, "cursorStream", &run["stream"]),
    ] {
        let mut page = json!({ "sessionId": session, "stream": stream, "limit": 5 });
        let mut subscribe = json!({ "sessionId": session, "stream": stream });
        if let Some(place) = place {
            page["from"] = place.clone();
            subscribe["after"] = place.clone();
        }
        for (method, params) in [("log/page", page), ("log/subscribe", subscribe)] {
            let error = peer.call(method, params).await.unwrap_err();
            assert_eq!((&error["code"], &error["data"][member]), (&json!(code), told), "{method}");
        }
    }
    assert_eq!(peer.call("log/streams", json!({ "sessionId": STRANGER })).await.unwrap_err()["code"], -32020);
    peer.finish().await;
    let mut plain = Peer::raw(Config::in_memory()).shake(json!({ "experimentalApi": true })).await;
    for (method, capability) in [
        ("log/streams", "rawLog"),
        ("log/page", "rawLog"),
        ("log/subscribe", "rawLog"),
        ("log/unsubscribe", "rawLog"),
        ("projection/list", "rawLog"),
        ("projection/read", "rawLog"),
        ("log/physicalFiles", "rawLogPhysical"),
        ("log/physicalSubscribe", "rawLogPhysical"),
        ("log/physicalUnsubscribe", "rawLogPhysical"),
    ] {
        let error = plain.call(method, json!({})).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]["capability"]), (&json!(-32010), &json!(capability)), "{method}");
    }
    plain.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_replays_goes_on_and_ends() {
    let mut peer = open(Config::in_memory()).await;
    let session = peer.start().await;
    let stream = json!({ "kind": "session", "id": session });
    let live = peer.call("log/subscribe", json!({ "sessionId": session, "stream": stream })).await.unwrap();
    let effort = json!({ "sessionId": session, "reasoningEffort": "low" });
    peer.command("session/setReasoningEffort", effort).await.unwrap();
    let seen = records(&peer.quiet().await, &live["subscriptionId"]);
    let types: Vec<_> = seen.iter().map(|record| record["payload_type"].as_str().unwrap()).collect();
    assert_eq!(types, ["reference.command", "reference.view"]);
    assert_eq!(seen[0]["sequence"].as_i64(), live["tail"]["sequence"].as_i64().map(|tail| tail + 1));
    let again = json!({ "sessionId": session, "stream": stream, "after": live["tail"] });
    let again = peer.call("log/subscribe", again).await.unwrap();
    assert_eq!(again["tail"]["id"], seen[1]["id"]);
    assert_eq!(records(&peer.quiet().await, &again["subscriptionId"]), seen, "the replay is what was told live");
    for _ in 0..2 {
        let end = json!({ "subscriptionId": live["subscriptionId"] });
        assert_eq!(peer.call("log/unsubscribe", end).await.unwrap(), json!({}));
    }
    peer.command("session/setReasoningEffort", json!({ "sessionId": session, "reasoningEffort": "high" }))
        .await
        .unwrap();
    let frames = peer.quiet().await;
    assert!(records(&frames, &live["subscriptionId"]).is_empty());
    assert_eq!(records(&frames, &again["subscriptionId"]).len(), 2);
    let projections = peer.call("projection/list", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(projections["projections"], json!([{ "name": "session", "experimental": true }]));
    let read = |name: &str| json!({ "sessionId": session, "projection": name });
    let projection = peer.call("projection/read", read("session")).await.unwrap();
    assert_eq!(projection["state"]["sessionId"], session);
    assert_eq!(projection["basis"]["positions"][0]["after"]["sequence"], projection["basis"]["recordCount"]);
    let error = peer.call("projection/read", read("other")).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["projection"]), (&json!(-32064), &json!("other")));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn records_that_do_not_arrive_leave_a_gap_that_says_why() {
    let config = Config { frame_limit: 64 * 1024, outbox_frames: 40, ..Config::in_memory() };
    let mut peer = Peer::over(Host::new(config), 4096).shake(capabilities()).await;
    let session = peer.start().await;
    let stream = json!({ "kind": "session", "id": session });
    let subscribed = peer.call("log/subscribe", json!({ "sessionId": session, "stream": stream })).await.unwrap();
    peer.prompt(&session, "@script\ntool {\"size\": 100000}").await.unwrap();
    let frames = peer.quiet().await;
    let gap = frames.iter().find(|frame| frame["method"] == "log/gap").expect("the stored output fits no frame");
    assert_eq!(gap["params"]["reason"], "overFrame");
    let (after, next) = (&gap["params"]["after"]["sequence"], &gap["params"]["next"]["sequence"]);
    assert_eq!(after.as_i64().unwrap() + 1, next.as_i64().unwrap());
    assert!(records(&frames, &subscribed["subscriptionId"]).iter().all(|record| record["sequence"] != *next));
    // Nobody reads while more happens than waits for a slow reader.
    for at in 0..60 {
        let params = json!({
            "commandId": peer.command_id(), "sessionId": session, "reasoningEffort": if at % 2 == 0 { "low" } else { "high" },
        });
        peer.ask("session/setReasoningEffort", params).await;
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let frames = peer.quiet().await; // it reads again, and nothing else has to happen
    let gap = frames.iter().rfind(|frame| frame["method"] == "log/gap").expect("records were dropped");
    assert_eq!(gap["params"]["reason"], "replayAnchorLost");
    let filled = rest(&mut peer, &session, &stream, &gap["params"]["after"]).await;
    let next = gap["params"]["after"]["sequence"].as_i64().unwrap() + 1;
    assert_eq!(filled[0]["sequence"], next, "what was dropped can be paged");
    let told = records(&frames, &subscribed["subscriptionId"]);
    assert_eq!(told.last(), filled.last(), "the newest record comes with the gap");
    let behind = filled.iter().position(|record| record["id"] == gap["params"]["next"]["id"]).unwrap();
    assert!(told.ends_with(&filled[behind..]), "delivery goes on with the record that the gap names");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_can_be_paged_is_told_apart_from_what_fits_no_frame() {
    let config = Config { frame_limit: 64 * 1024, outbox_frames: 40, ..Config::in_memory() };
    let mut peer = Peer::over(Host::new(config), 4096).shake(capabilities()).await;
    let session = peer.start().await;
    let stream = json!({ "kind": "session", "id": session });
    let subscribed = peer.call("log/subscribe", json!({ "sessionId": session, "stream": stream })).await.unwrap();
    let script = format!("@script\n{}tool {{\"size\": 100000}}", "tool {\"output\": \"x\"}\n".repeat(60));
    let params = json!({
        "commandId": peer.command_id(), "sessionId": session, "input": [{ "type": "text", "text": script }],
    });
    peer.ask("turn/start", params).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await; // reads nothing until all is written
    let frames = peer.quiet().await;
    let gaps: Vec<_> = frames.iter().filter(|frame| frame["method"] == "log/gap").map(|gap| &gap["params"]).collect();
    let [lost, large, ..] = gaps.as_slice() else { panic!("{gaps:?}") };
    assert_eq!((&lost["reason"], &large["reason"]), (&json!("replayAnchorLost"), &json!("overFrame")));
    assert_eq!(lost["next"], large["next"], "both lead to the record that fits no frame");
    let number = |position: &Value| position["sequence"].as_i64().unwrap();
    assert!(number(&lost["after"]) + 1 < number(&large["after"]), "what was dropped is no hole for good");
    assert_eq!(number(&large["after"]) + 1, number(&large["next"]));
    let filled = rest(&mut peer, &session, &stream, &lost["after"]).await;
    let place = |record: &Value| json!({ "id": record["id"], "sequence": record["sequence"] });
    let pageable = usize::try_from(number(&large["after"]) - number(&lost["after"])).unwrap();
    assert_eq!(place(&filled[pageable - 1]), large["after"]);
    assert!(records(&frames, &subscribed["subscriptionId"]).iter().any(|record| place(record) == lost["after"]));
    peer.finish().await;
}

/// A host whose first turn makes a log of more than 5 MiB, and a client that does not care for its events.
async fn long(layer: &Arc<Memory>, room: usize) -> (Peer, String, Vec<u8>) {
    let event = format!(r#"event {{"method":"session/branchChanged","params":{{"branch":"{}"}}}}"#, "b".repeat(4096));
    let script = Script::parse(&format!("{event}\n").repeat(1400)).unwrap();
    let config = Config { script, ..Config::durable("root".into()) };
    let host = Host::with(config, Arc::clone(layer) as Arc<dyn Layer>, Box::new(Honest));
    let mut capabilities = capabilities();
    capabilities["optOutNotificationMethods"] = json!(["session/branchChanged"]);
    let mut peer = Peer::over(host, room).shake(capabilities).await;
    let session = peer.start().await;
    peer.prompt(&session, "go").await.unwrap();
    peer.until("turn/completed").await;
    peer.quiet().await;
    let path = log_path(layer);
    let length = usize::try_from(layer.length(&path).unwrap().unwrap()).unwrap();
    assert!(length > 5 << 20);
    let bytes = layer.read(&path, 0, length).unwrap();
    (peer, session, bytes)
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_does_not_read_is_not_read_for() {
    let layer = Arc::new(Memory::default());
    let (mut peer, session, bytes) = long(&layer, 4096).await;
    let before = layer.bytes_read();
    let after = json!({ "byteOffset": 0, "nextOrdinal": 1 });
    let physical = json!({ "sessionId": session, "after": after });
    for _ in 0..8 {
        peer.ask("log/physicalSubscribe", physical.clone()).await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let read = layer.bytes_read() - before;
    assert!(read < 12 << 20, "{read} bytes were read for nobody: the queue holds 8 MiB");
    let frames = peer.quiet().await;
    for id in 1..=8 {
        let mine: Vec<_> = frames.iter().filter(|frame| frame["params"]["subscriptionId"] == id).cloned().collect();
        assert!(joined(&mine).as_bytes() == bytes, "subscription {id} has {} lines", mine.len());
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_log_is_read_while_its_session_goes_on() {
    let layer = Arc::new(Memory::default());
    let (mut peer, session, _) = long(&layer, 1 << 20).await;
    let streams = peer.call("log/streams", json!({ "sessionId": session })).await.unwrap();
    let (own, run) = (streams["streams"][0].clone(), streams["streams"][1].clone());
    let last = json!({ "sessionId": session, "stream": own["stream"], "limit": 1, "from": own["tail"] });
    let tail = json!({ "sessionId": session, "stream": run["stream"] });
    for (method, params) in [
        ("log/streams", json!({ "sessionId": session })),
        ("log/page", last),
        ("log/subscribe", tail),
        ("projection/read", json!({ "sessionId": session, "projection": "session" })),
    ] {
        let slow = peer.ask(method, params).await;
        let effort = json!({ "commandId": peer.command_id(), "sessionId": session, "reasoningEffort": "low" });
        let quick = peer.ask("session/setReasoningEffort", effort).await;
        let frames = peer.quiet().await;
        let at = |id: i64| frames.iter().position(|frame| frame["id"] == id && frame.get("method").is_none());
        assert!(at(quick) < at(slow) && at(quick).is_some(), "{method} holds up the session");
        assert!(frames[at(slow).unwrap()].get("result").is_some(), "{method}: {}", frames[at(slow).unwrap()]);
    }
    let all = json!({ "sessionId": session, "stream": own["stream"], "after": own["firstAvailable"] });
    let subscribed = peer.call("log/subscribe", all).await.unwrap();
    let seen = records(&peer.quiet().await, &subscribed["subscriptionId"]);
    let numbers: Vec<_> = seen.iter().map(|record| record["sequence"].as_i64().unwrap()).collect();
    let tail = subscribed["tail"]["sequence"].as_i64().unwrap();
    assert_eq!(numbers, (2..=tail).collect::<Vec<_>>(), "a replay has no holes");
    peer.finish().await;
}

fn host(layer: &Arc<Memory>) -> Arc<Host> {
    let layer: Arc<dyn Layer> = Arc::clone(layer) as _;
    Host::with(Config::durable("root".into()), layer, Box::new(Honest))
}

fn log_path(layer: &Memory) -> PathBuf {
    let mut path = PathBuf::from("root");
    while !path.ends_with("session.jsonl") {
        let names = layer.list(&path).unwrap();
        let name = names.iter().find(|name| *name == "session.jsonl").or(names.first()).unwrap();
        path.push(name);
    }
    path
}

/// The file from an offset on, joined from the chunks among frames.
fn joined(frames: &[Value]) -> String {
    let mut text = String::new();
    for frame in frames.iter().filter(|frame| frame["method"] == "log/physicalLine") {
        let params = &frame["params"];
        text.push_str(params["data"].as_str().unwrap());
        if params["chunk"]["index"].as_i64().unwrap() + 1 == params["chunk"]["count"].as_i64().unwrap() {
            text.push('\n');
        }
    }
    text
}

#[tokio::test(start_paused = true)]
async fn the_file_is_followed_byte_for_byte_until_it_is_unloaded() {
    let layer = Arc::new(Memory::default());
    let mut peer = Peer::over(host(&layer), 1 << 20).shake(capabilities()).await;
    let session = peer.start().await;
    let subscribe = |offset: i64, ordinal: u64, chunk: i64| {
        let after = json!({ "byteOffset": offset, "nextOrdinal": ordinal });
        json!({ "sessionId": session, "after": after, "chunkBytes": chunk })
    };
    for bad in [
        subscribe(3, 1, 64),
        subscribe(-1, 1, 64),
        subscribe(1 << 40, 1, 64),
        subscribe(0, 0, 64),
        subscribe(0, (1 << 63) + 1, 64),
        subscribe(0, 1, 0),
    ] {
        assert_eq!(peer.call("log/physicalSubscribe", bad).await.unwrap_err()["code"], -32602);
    }
    let subscribed = peer.call("log/physicalSubscribe", subscribe(0, 7, 50)).await.unwrap();
    peer.prompt(&session, "grüße, ὦ κόσμε").await.unwrap();
    let frames = peer.quiet().await;
    let path = log_path(&layer);
    let length = layer.length(&path).unwrap().unwrap();
    let bytes = layer.read(&path, 0, usize::try_from(length).unwrap()).unwrap();
    assert_eq!(joined(&frames).as_bytes(), bytes);
    let files = peer.call("log/physicalFiles", json!({ "sessionId": session })).await.unwrap();
    let file = json!({ "sessionId": session, "relPath": "session.jsonl", "sizeBytes": length });
    assert_eq!(files, json!({ "files": [file] }));
    assert_eq!(subscribed["relPath"], "session.jsonl");
    let lines: Vec<_> = frames.iter().filter(|frame| frame["method"] == "log/physicalLine").collect();
    assert_eq!(lines[0]["params"]["ordinal"], 7);
    assert_eq!(lines.last().unwrap()["params"]["endOffset"], length);
    assert!(lines.iter().all(|line| line["params"]["data"].as_str().unwrap().len() <= 50));
    let silent = peer.call("log/physicalSubscribe", subscribe(i64::try_from(length).unwrap(), 1, 50)).await.unwrap();
    for _ in 0..2 {
        let end = json!({ "subscriptionId": silent["subscriptionId"] });
        assert_eq!(peer.call("log/physicalUnsubscribe", end).await.unwrap(), json!({}));
    }
    let frames = peer.finish().await;
    let last = frames.iter().rfind(|frame| frame["method"].as_str().unwrap().starts_with("log/")).unwrap();
    assert_eq!((&last["method"], &last["params"]["reason"]), (&json!("log/physicalReset"), &json!("unloaded")));
    assert_eq!(last["params"]["at"]["byteOffset"], layer.length(&path).unwrap().unwrap());
    assert!(frames.iter().all(|frame| frame["params"]["subscriptionId"] != silent["subscriptionId"]));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_cut_ends_what_follows_it() {
    let layer = Arc::new(Memory::default());
    let mut peer = Peer::over(host(&layer), 1 << 20).shake(capabilities()).await;
    let session = peer.start().await;
    let after = json!({ "byteOffset": 0, "nextOrdinal": 1 });
    let subscribe = json!({ "sessionId": session, "after": after });
    peer.call("log/physicalSubscribe", subscribe.clone()).await.unwrap();
    peer.quiet().await;
    let path = log_path(&layer);
    layer.truncate(&path, 1).unwrap();
    peer.command("session/setReasoningEffort", json!({ "sessionId": session, "reasoningEffort": "low" }))
        .await
        .unwrap();
    let frames = peer.quiet().await;
    let logs: Vec<_> = frames.iter().filter(|frame| frame["method"].as_str().unwrap().starts_with("log/")).collect();
    assert_eq!((logs.len(), &logs[0]["params"]["reason"]), (1, &json!("truncated")));
    peer.vanish();
}
