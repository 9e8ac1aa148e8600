//! `docs/log.md`: a line of each type of record, as a seeded host writes it.

use std::collections::BTreeMap;

use msp_reference_server::Config;
use msp_reference_server::record::{Body, Record};
use serde_json::json;

use super::page::Page;
use crate::peer::Peer;

/// What a type is called in the log. A type that is new has to be named here, and then on the page.
fn type_of(body: &Body) -> &'static str {
    match body {
        Body::Created(_) => "created",
        Body::Loaded { .. } => "loaded",
        Body::Ended { .. } => "ended",
        Body::Command(_) => "command",
        Body::Settled { .. } => "settled",
        Body::View { .. } => "view",
        Body::Queued(_) => "queued",
        Body::Launched { .. } => "launched",
        Body::Stored(_) => "stored",
        Body::Fact { .. } => "fact",
    }
}

const TYPES: [&str; 10] =
    ["created", "loaded", "ended", "command", "settled", "view", "queued", "launched", "stored", "fact"];

/// The log of a session that has records of all types.
async fn log() -> String {
    let folder = tempfile::tempdir().unwrap();
    let config = || Config { seed: Some(7), ..Config::durable(folder.path().to_owned()) };
    let mut peer = Peer::open(config()).await;
    let session = peer.start().await;
    let script =
        "@script\nhold {\"steers\":1}\ntool {\"tool\":\"edit\",\"patch\":[{\"path\":\"a.txt\",\"lines\":[\"+new\"]}]}";
    peer.prompt(&session, script).await.unwrap();
    peer.prompt(&session, "@script\nrecap {\"text\":\"One file was changed.\"}").await.unwrap();
    let steer = json!({ "sessionId": session, "ifBusy": "steer", "input": [{ "type": "text", "text": "go on" }] });
    peer.command("turn/start", steer).await.unwrap();
    peer.quiet().await;
    let path = peer.call("session/read", json!({ "sessionId": session })).await.unwrap()["session"]["path"].clone();
    peer.finish().await;
    let mut peer = Peer::open(config()).await.number(2);
    peer.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    peer.finish().await;
    std::fs::read_to_string(path.as_str().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn records_are_what_the_page_shows() {
    let log = log().await;
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for (at, line) in log.lines().enumerate() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(record.sequence, at as u64 + 1);
        if !line.contains("session.jsonl") {
            first.entry(type_of(&record.body)).or_insert(line); // one that does not say where the folder of this run lies
        }
    }
    let wanted = TYPES.map(|name| {
        let line = first.get(name).unwrap_or_else(|| panic!("no record `{name}` was written"));
        (format!("json {name}"), format!("{line}\n"))
    });
    Page::open("log.md").check_named(&wanted);
}
