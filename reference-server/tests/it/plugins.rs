//! Skills, plugins, hooks: catalogues, receipts, and the notes that say that they changed (MISC-4, MISC-5).

use std::path::Path;

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::Peer;

/// The params of the notes of a method that came.
async fn notes(peer: &mut Peer, method: &str) -> Vec<Value> {
    let frames = peer.quiet().await;
    frames.iter().filter(|frame| frame["method"] == method).map(|frame| frame["params"].clone()).collect()
}

fn write(folder: &Path, file: &str, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(file), text).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_skill_is_switched_and_invoked() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let list = json!({ "sessionId": session });
    let before = peer.call("skill/list", list.clone()).await.unwrap()["skills"].as_array().unwrap().len();
    let set = |selector: &str, activation: &str| json!({ "sessionId": session, "selector": selector, "scope": "bundled", "activation": activation });
    let receipt = peer.command("skill/setActivation", set("review", "off")).await.unwrap();
    assert_eq!((&receipt["previous"], &receipt["activation"]), (&json!("on"), &json!("off")));
    assert_eq!(notes(&mut peer, "skill/changed").await, [json!({ "sessionId": session })]);
    let receipt = peer.command("skill/setActivation", set("review", "off")).await.unwrap();
    assert_eq!(receipt["previous"], "off");
    assert_eq!(peer.call("skill/list", list).await.unwrap()["skills"].as_array().unwrap().len(), before - 1);
    let error = peer.command("skill/setActivation", set("nobody", "on")).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["selector"]), (&json!(-32032), &json!("nobody")));
    assert_eq!(peer.command("skill/setActivation", set("review", "maybe")).await.unwrap_err()["code"], -32602);
    let start = |selector: &str| json!({ "sessionId": session, "input": [{ "type": "skill", "selector": selector }] });
    assert_eq!(peer.command("turn/start", start("review")).await.unwrap_err()["code"], -32032);
    peer.command("turn/start", start("explain")).await.unwrap();
    peer.until("turn/completed").await;
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_import_says_what_became_of_each_skill() {
    let home = tempfile::tempdir().unwrap();
    write(&home.path().join("lint"), "SKILL.md", "---\ndescription: Checks style.\n---\n");
    write(&home.path().join("empty"), "README.md", "");
    let skill_folders = [("claude".to_owned(), home.path().to_owned())].into();
    let mut peer = Peer::open(Config { skill_folders, ..Config::in_memory() }).await;
    let session = peer.start().await;
    let import = |more: Value| {
        let mut params = json!({ "sessionId": session, "source": "claude" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let receipt = peer.command("skill/import", import(json!({ "dryRun": true }))).await.unwrap();
    assert_eq!((&receipt["installed"], &receipt["dryRun"]), (&json!(["lint"]), &json!(true)));
    assert!(notes(&mut peer, "skill/changed").await.is_empty());
    let receipt = peer.command("skill/import", import(json!({}))).await.unwrap();
    assert_eq!(receipt["counts"], json!({ "installed": 1, "skipped": 0, "failed": 1, "quarantined": 0 }));
    assert_eq!(notes(&mut peer, "skill/changed").await.len(), 1);
    let receipt = peer.command("skill/import", import(json!({}))).await.unwrap();
    assert_eq!(receipt["skipped"], json!(["lint"]));
    let receipt = peer.command("skill/import", import(json!({ "force": true }))).await.unwrap();
    assert_eq!(receipt["installed"], json!(["lint"]));
    let rows = peer.call("skill/list", json!({ "sessionId": session })).await.unwrap();
    let row = rows["skills"].as_array().unwrap().iter().find(|row| row["selector"] == "lint").unwrap();
    assert_eq!((&row["source"], &row["description"]), (&json!("user"), &json!("Checks style.")));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_plugin_brings_its_hooks_and_skills() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let install = |target: Value| json!({ "sessionId": session, "target": target });
    let official = |name: &str| json!({ "marketplace": { "marketplace": "official", "name": name } });
    let receipt = peer.command("plugin/install", install(official("hello"))).await.unwrap();
    assert_eq!((&receipt["source"], &receipt["version"]), (&json!("curated"), &json!("1.0.0")));
    assert_eq!(notes(&mut peer, "plugin/changed").await[0]["id"], "hello");
    let list = json!({ "sessionId": session });
    assert_eq!(peer.call("plugin/list", list.clone()).await.unwrap()["plugins"][0]["id"], "hello");
    assert_eq!(peer.call("hook/list", list.clone()).await.unwrap()["hooks"][0]["event"], "sessionStart");
    let skills = peer.call("skill/list", list).await.unwrap();
    assert!(skills["skills"].as_array().unwrap().iter().any(|row| row["selector"] == "hello:greet"));
    let bare = tempfile::tempdir().unwrap();
    let receipt =
        peer.command("plugin/install", install(json!({ "localPath": { "path": bare.path() } }))).await.unwrap();
    assert!(receipt["warning"].is_string());
    let both = json!({ "marketplace": official("hello")["marketplace"], "localPath": { "path": "/" } });
    for (target, code) in [
        (both, -32602),
        (json!({}), -32602),
        (json!({ "localPath": { "path": "/", "scope": "moon" } }), -32602),
        (json!({ "localPath": { "path": bare.path().join("gone") } }), -32030),
        (official("goodbye"), -32035),
        (json!({ "marketplace": { "marketplace": "none", "name": "x" } }), -32034),
    ] {
        assert_eq!(
            peer.command("plugin/install", install(target.clone())).await.unwrap_err()["code"],
            code,
            "{target}"
        );
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn marketplaces_come_change_and_go() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("good"), "plugin.json", "{\"name\":\"good\",\"version\":\"2.0\"}");
    write(&folder.path().join("bad"), "plugin.json", "{");
    let add = json!({ "sessionId": session, "name": "mine", "source": folder.path() });
    let record = peer.command("plugin/marketplaceAdd", add.clone()).await.unwrap();
    assert_eq!((&record["pluginCount"], &record["skipped"][0]["plugin"]), (&json!(1), &json!("bad")));
    assert_eq!(peer.command("plugin/marketplaceAdd", add.clone()).await.unwrap_err()["code"], -32036);
    write(&folder.path().join("bad"), "plugin.json", "{\"name\":\"bad\",\"version\":\"1\"}");
    let name = json!({ "sessionId": session, "name": "mine" });
    assert_eq!(peer.command("plugin/marketplaceUpdate", name.clone()).await.unwrap()["pluginCount"], 2);
    peer.command("plugin/marketplaceRemove", name.clone()).await.unwrap();
    let told = notes(&mut peer, "plugin/marketplaceChanged").await;
    let changes: Vec<_> = told.iter().map(|note| note["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["added", "updated", "removed"]);
    assert_eq!(told[2].get("pluginCount"), None);
    for method in ["plugin/marketplaceUpdate", "plugin/marketplaceRemove"] {
        assert_eq!(peer.command(method, name.clone()).await.unwrap_err()["code"], -32034);
    }
    let away = json!({ "sessionId": session, "name": "away", "source": "owner/repo" });
    assert_eq!(peer.command("plugin/marketplaceAdd", away).await.unwrap()["source"]["kind"], "github");
    peer.finish().await;

    let mut peer = Peer::open(Config { plugin_changes: false, ..Config::in_memory() }).await;
    let session = peer.start().await;
    let add = json!({ "sessionId": session, "name": "mine", "source": "owner/repo" });
    assert_eq!(peer.command("plugin/marketplaceAdd", add).await.unwrap_err()["code"], -32037);
    peer.finish().await;
}
