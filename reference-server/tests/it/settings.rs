//! Settings of the host, use of the subscription.

use msp_reference_server::Config;
use serde_json::json;

use crate::peer::Peer;

async fn open() -> Peer {
    Peer::raw(Config::in_memory()).shake(json!({ "experimentalApi": true })).await
}

#[tokio::test(start_paused = true)]
async fn settings_are_written_all_or_none() {
    let mut peer = open().await;
    let schema = peer.call("settings/readSchema", json!({})).await.unwrap();
    assert_eq!(schema["keys"]["shell.enabled"]["constraint"]["value"], true);
    assert_eq!(schema["keys"]["ui.language"].get("constraint"), None);
    let write = json!({ "keyPath": "ui.language", "value": "de" });
    assert_eq!(peer.call("settings/writeValue", write).await.unwrap()["effectiveValue"], "de");
    let good = json!({ "keyPath": "recap.onReturn", "value": false });
    for (bad, code) in [
        (json!({ "keyPath": "shell.enabled", "value": false }), -32030),
        (json!({ "keyPath": "no.such", "value": "x" }), -32602),
        (json!({ "keyPath": "ui.language", "value": true }), -32602),
    ] {
        let error = peer.call("settings/writeMany", json!({ "edits": [good, bad] })).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]["index"]), (&json!(code), &json!(1)));
        assert_eq!(error["data"]["keyPath"], bad["keyPath"]);
        assert_eq!(peer.call("settings/writeValue", bad).await.unwrap_err()["code"], code);
    }
    let read = peer.call("settings/read", json!({})).await.unwrap();
    assert_eq!(read["values"], json!({ "recap.onReturn": true, "shell.enabled": true, "ui.language": "de" }));
    let clear = json!({ "edits": [good, { "keyPath": "ui.language", "value": null }] });
    let results = peer.call("settings/writeMany", clear).await.unwrap()["results"].clone();
    assert_eq!((&results[0]["effectiveValue"], &results[1]["effectiveValue"]), (&json!(false), &json!(null)));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn usage_is_told_when_it_changed() {
    let mut peer = open().await;
    let session = peer.start().await;
    assert_eq!(peer.call("usage/read", json!({})).await.unwrap(), json!({}));
    let observed = "subscription {\"tier\":\"pro\",\"window\":40,\"weekly\":101}";
    peer.prompt(&session, &format!("@script\n{observed}\n{observed}")).await.unwrap();
    let frames = peer.until("turn/completed").await;
    let told: Vec<_> = frames.iter().filter(|frame| frame["method"] == "usage/changed").collect();
    assert_eq!((told.len(), &told[0]["params"]["weekly"]["usedPercent"]), (1, &json!(101)));
    assert_eq!(peer.call("usage/read", json!({})).await.unwrap()["usage"]["tier"], "pro");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_refresh_gives_figures_or_says_whether_to_try_again() {
    for (fails, kind) in [(None, ""), (Some(true), "transient"), (Some(false), "authentication")] {
        let mut peer = open().await;
        let session = peer.start().await;
        let args = if fails.is_some() { json!({ "refreshFails": kind }) } else { json!({}) };
        peer.prompt(&session, &format!("@script\nsubscription {args}")).await.unwrap();
        peer.until("turn/completed").await;
        assert_eq!(peer.call("usage/refresh", json!({})).await.unwrap_err()["code"], -32081);
        peer.call("account/loginStart", json!({ "type": "deviceCode" })).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let answer = peer.call("usage/refresh", json!({})).await;
        match fails {
            None => assert_eq!(answer.unwrap()["usage"]["tier"], "pro"),
            Some(retryable) => {
                let error = answer.unwrap_err();
                assert_eq!((&error["code"], &error["data"]["failureKind"]), (&json!(-32082), &json!(kind)));
                assert_eq!(error["data"]["retryable"], retryable);
            }
        }
        peer.finish().await;
    }
}
