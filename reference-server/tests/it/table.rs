//! What of the protocol is not built yet: the list shrinks, and a method that is built leaves it.

use msp_reference_server::{Config, commands};
use serde_json::json;

use crate::peer::Peer;

#[tokio::test(start_paused = true)]
async fn methods_that_are_not_built_say_so() {
    let all =
        ["userShell", "sessionMcp", "feedback", "computerUseSetup", "computerUseHostSetup", "rawLog", "peerMessaging"];
    let mut peer =
        Peer::raw(Config::in_memory()).shake(json!({ "experimentalApi": true, "requestedCapabilities": all })).await;
    for method in commands::missing() {
        let error = peer.call(method, json!({})).await.unwrap_err();
        if error["code"] != -32010 {
            assert_eq!(error["data"]["kind"], "methodNotFound", "{method}");
            assert!(error["message"].as_str().unwrap().contains("not built"), "{method}");
        }
    }
    peer.finish().await;
}
