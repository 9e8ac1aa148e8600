//! The log under damage and loss of power.

use std::sync::Arc;

use msp_reference_server::log::layer::{Layer, Memory};
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
    while let Some(name) = layer.list(&path).unwrap().into_iter().find(|name| !name.contains("index")) {
        path.push(name);
        if path.ends_with("session.jsonl") {
            break;
        }
    }
    path
}
