//! Computer use and feedback: what a host answers for itself (MISC-8, MISC-9).

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::Peer;

const ALL: &[&str] = &["feedback", "computerUseSetup", "computerUseHostSetup"];

async fn open(config: Config) -> Peer {
    Peer::raw(config).shake(json!({ "requestedCapabilities": ALL })).await
}

#[tokio::test(start_paused = true)]
async fn settings_of_computer_use_change_whole_or_not_at_all() {
    let mut peer = open(Config::in_memory()).await;
    let read = peer.call("computerUseSettings/read", json!({ "showBuiltIns": true, "installed": true })).await.unwrap();
    assert_eq!((&read["computerControl"], read["blockedApps"][0]["locked"].as_bool()), (&json!("ask"), Some(true)));
    let locked = read["blockedApps"][0]["bundleId"].clone();
    for bad in [
        json!({ "blockApps": [locked] }),
        json!({ "apps": [{ "bundleId": locked, "choice": "ask" }] }),
        json!({ "blockApps": ["a.b"], "unblockApps": ["a.b"] }),
        json!({ "apps": [{ "bundleId": "a.b", "choice": "perhaps" }] }),
    ] {
        let mut bad = bad;
        bad["screenshots"] = "alwaysAllow".into();
        assert_eq!(peer.call("computerUseSettings/update", bad.clone()).await.unwrap_err()["code"], -32602, "{bad}");
    }
    let patch = json!({
        "computerControl": "alwaysAllow", "blockApps": ["a.b"], "apps": [{ "bundleId": "c.d", "choice": "alwaysAllow" }],
    });
    let settings = peer.call("computerUseSettings/update", patch).await.unwrap();
    assert_eq!((&settings["computerControl"], &settings["screenshots"]), (&json!("alwaysAllow"), &json!("ask")));
    assert_eq!(settings["blockedApps"], json!([{ "bundleId": "a.b", "locked": false }]));
    let settings = peer.call("computerUseSettings/update", json!({ "unblockApps": ["a.b"] })).await.unwrap();
    assert_eq!(settings["apps"], json!([{ "bundleId": "c.d", "choice": "alwaysAllow" }]));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_setup_is_told_step_by_step_and_answered_at_its_end() {
    let mut peer = open(Config::in_memory()).await;
    let session = peer.start().await;
    let of_session = json!({ "sessionId": session });
    assert_eq!(peer.call("computerUseSetup/read", of_session.clone()).await.unwrap()["setup"], "dormant");
    let command_id = peer.command_id();
    let start = json!({ "sessionId": session, "commandId": command_id });
    let id = peer.ask("computerUseSetup/start", start.clone()).await;
    let error = peer.call("computerUseSetup/check", json!({})).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32030), &json!("runtime_busy")));
    assert_eq!(peer.answer(id).await.unwrap()["setup"], "readyForTarget");
    let frames = peer.quiet().await;
    let told: Vec<_> = frames.iter().filter(|frame| frame["method"] == "computerUseSetup/changed").collect();
    let setups: Vec<_> = told.iter().map(|frame| frame["params"]["state"]["setup"].as_str().unwrap()).collect();
    assert_eq!((setups, &told[0]["params"]["sessionId"]), (vec!["inProgress", "readyForTarget"], &json!(session)));
    assert_eq!(peer.call("computerUseSetup/start", start).await.unwrap()["setup"], "readyForTarget");
    let other = json!({ "commandId": command_id });
    let error = peer.call("computerUseSetup/start", other).await.unwrap_err();
    assert_eq!(error["data"]["reason"], "command_id_conflict");
    assert_eq!(peer.call("computerUseSetup/read", json!({})).await.unwrap()["setup"], "dormant");
    assert_eq!(peer.command("computerUseSetup/start", json!({})).await.unwrap()["accessibility"], "granted");
    assert_eq!(peer.call("computerUseSetup/check", json!({})).await.unwrap()["screenRecording"], "granted");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_without_computer_use_says_so() {
    let mut peer = open(Config { computer_use: false, ..Config::in_memory() }).await;
    for method in ["computerUseSettings/read", "computerUseSettings/update", "computerUseSetup/read"] {
        assert_eq!(peer.call(method, json!({})).await.unwrap_err()["code"], -32033, "{method}");
    }
    assert_eq!(peer.command("computerUseSetup/start", json!({})).await.unwrap_err()["code"], -32033);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn feedback_is_written_here_and_goes_nowhere() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = open(Config::durable(root.path().to_owned())).await;
    let session = peer.start().await;
    let report = |class: &str, more: Value| {
        let mut params = json!({ "classification": class, "note": "It broke.", "withFiles": true });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for more in [json!({}), json!({ "sessionId": session, "attachSessionRecord": true })] {
        let receipt = peer.call("feedback/submit", report("bug", more.clone())).await.unwrap();
        assert_eq!((&receipt["outcome"], &receipt["sessionRecordAttached"]), (&json!("noCredential"), &json!(false)));
        assert_eq!(receipt["sessionNote"].is_string(), more["attachSessionRecord"] == true);
        let bundle = std::path::Path::new(receipt["bundlePath"].as_str().unwrap());
        assert!(bundle.is_absolute() && std::fs::read_to_string(bundle).unwrap().contains("It broke."));
    }
    for (class, more) in [
        ("bug", json!({ "note": "" })),
        ("praise", json!({})),
        ("bug", json!({ "attachSessionRecord": true })),
        ("bug", json!({ "attachSessionRecord": true, "sessionId": session, "withFiles": false })),
        ("other", json!({ "attachSessionRecord": true, "sessionId": session })),
        ("bug", json!({ "clientArtifactsPath": "relative.zip" })),
    ] {
        let error = peer.call("feedback/submit", report(class, more.clone())).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{class} {more}");
    }
    let gone = json!({ "sessionId": "0198f0ab-0000-7000-8000-00000000ffff" });
    assert_eq!(peer.call("feedback/submit", report("other", gone)).await.unwrap_err()["code"], -32020);
    peer.finish().await;
}
