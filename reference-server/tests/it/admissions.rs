//! Peers that ask to be let in, and worktrees.

use std::fs;
use std::time::Duration;

use msp_reference_server::{Config, Host};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peer::Peer;

fn capabilities() -> Value {
    json!({ "experimentalApi": true, "requestedCapabilities": ["peerMessaging"] })
}

#[tokio::test(start_paused = true)]
async fn a_peer_is_asked_about_once_and_decided_for_good() {
    let dir = TempDir::new().unwrap();
    let host = Host::new(Config::durable(dir.path().to_owned()));
    let mut peer = Peer::over(host.clone(), 1 << 20).shake(capabilities()).await;
    let mut stable = Peer::over(host.clone(), 1 << 20).shake(json!({})).await.number(1);
    let session = peer.start().await;
    stable.call("view/subscribe", json!({ "sessionId": session })).await.unwrap();
    peer.prompt(&session, "@script\nadmission {\"label\": \"build\", \"body\": \"May I?\"}").await.unwrap();
    let frames = peer.quiet().await;
    let find = |method: &str| frames.iter().find(|frame| frame["method"] == method).unwrap()["params"].clone();
    let (mut requested, request) = (find("admission/requested"), find("admission/request"));
    requested.as_object_mut().unwrap().remove("sourceRange");
    assert_eq!(requested, request);
    assert_eq!((&request["requesterLabel"], &request["heldBody"]), (&json!("build"), &json!("May I?")));
    let pending = peer.call("admission/listPending", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(pending, json!({ "sessionId": session, "admissions": [request] }));
    let listed = peer.call("session/list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"][0]["attention"], json!(["admissionPending"]));

    let id = &request["admissionId"];
    let decide = |choice: &str, id: &Value| json!({ "sessionId": session, "admissionId": id, "choiceId": choice });
    let mut extra = decide("allow_once", id);
    extra["more"] = 1.into();
    assert_eq!(peer.command("admission/decide", extra).await.unwrap_err()["code"], -32602);
    let bad = peer.command("admission/decide", decide("allow_always", id)).await.unwrap_err();
    assert_eq!((&bad["code"], &bad["data"]["choiceId"]), (&json!(-32072), &json!("allow_always")));
    let nobody = peer.command("admission/decide", decide("allow_once", &json!("nobody"))).await.unwrap_err();
    assert_eq!((&nobody["code"], &nobody["data"]["sessionId"]), (&json!(-32070), &json!(session)));
    let ack = peer.command("admission/decide", decide("allow_connected", id)).await.unwrap();
    assert_eq!((&ack["status"], &ack["admissionId"]), (&json!("accepted"), id));
    let frames = peer.until("admission/resolved").await;
    let resolved = &frames.last().unwrap()["params"];
    assert_eq!(
        (&resolved["decision"], &resolved["decidedByCommandId"]),
        (&json!("allow_connected"), &ack["commandId"])
    );
    let late = peer.command("admission/decide", decide("reject_once", id)).await.unwrap_err();
    let resolution =
        json!({ "decision": "allow_connected", "resolvedBy": "user", "viewCursor": resolved["viewCursor"] });
    assert_eq!((&late["code"], &late["data"]["admissionResolution"]), (&json!(-32071), &resolution));

    let seen = stable.quiet().await;
    let pages = stable.pages(&session).await;
    let rows = stable.call("session/list", json!({})).await.unwrap();
    let all = json!([seen, pages, rows]).to_string();
    for word in ["admissionPending", "admission/request", "admission/resolved"] {
        assert!(!all.contains(word), "the stable surface has no `{word}`");
    }
    stable.finish().await;
    let mut plain = Peer::over(host, 1 << 20).shake(json!({ "experimentalApi": true })).await.number(2);
    let pages = json!(plain.pages(&session).await).to_string();
    assert!(
        pages.contains("turn/completed") && !pages.contains("admission/"),
        "without the grant no page has it either"
    );
    plain.finish().await;
    assert!(json!(peer.pages(&session).await).to_string().contains("admission/requested"));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_is_told_again_and_lapses() {
    let mut peer = Peer::raw(Config::in_memory()).shake(capabilities()).await;
    let session = peer.start().await;
    peer.prompt(&session, "@script\nadmission {\"expiresMs\": 30000}").await.unwrap();
    peer.until("turn/completed").await;
    peer.quiet().await;
    peer.call("view/subscribe", json!({ "sessionId": session })).await.unwrap();
    peer.until("admission/request").await;
    let extra = json!({ "sessionId": session, "more": 1 });
    assert_eq!(peer.call("admission/listPending", extra).await.unwrap_err()["code"], -32602);
    tokio::time::sleep(Duration::from_secs(40)).await;
    let frames = peer.until("admission/resolved").await;
    let resolved = &frames.last().unwrap()["params"];
    assert_eq!((&resolved["decision"], &resolved["resolvedBy"]), (&json!("timedOut"), &Value::Null));
    let pending = peer.call("admission/listPending", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(pending["admissions"], json!([]));
    peer.finish().await;
    let mut plain = Peer::raw(Config::in_memory()).shake(json!({ "experimentalApi": true })).await;
    for method in ["admission/listPending", "admission/decide"] {
        let error = plain.call(method, json!({})).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]["capability"]), (&json!(-32010), &json!("peerMessaging")));
    }
    plain.finish().await;
}

#[tokio::test(start_paused = true)]
async fn worktrees_are_listed_with_the_sessions_that_use_them() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (main, linked) = (root.join("main"), root.join("linked"));
    let git = main.join(".git/worktrees/linked");
    for folder in [&main.join("src"), &linked, &git] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(main.join(".git/HEAD"), "ref: refs/heads/trunk/one\n").unwrap();
    fs::write(git.join("HEAD"), "0123456789abcdef0123456789abcdef01234567\n").unwrap();
    fs::write(git.join("commondir"), "../..\n").unwrap();
    fs::write(git.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
    fs::write(linked.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    let trusting = Config { trust_workspace: true, ..Config::in_memory() };
    let mut peer = Peer::raw(trusting).shake(capabilities()).await;
    let started = peer.command("session/start", json!({ "workspaceRoot": linked })).await.unwrap();
    let expected = json!({ "worktrees": [
        { "path": main, "isMain": true, "sessionIds": [], "branch": "trunk/one" },
        { "path": linked, "isMain": false, "sessionIds": [started["session"]["sessionId"]] },
    ] });
    for inside in [&main.join("src"), &linked] {
        let list = peer.call("worktree/list", json!({ "workspaceRoot": inside })).await.unwrap();
        assert_eq!(list, expected);
    }
    assert_eq!(peer.call("worktree/list", json!({ "workspaceRoot": root })).await.unwrap_err()["code"], -32602);
    peer.finish().await;
    let mut wary = Peer::raw(Config::in_memory()).shake(capabilities()).await;
    let error = wary.call("worktree/list", json!({ "workspaceRoot": main })).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["path"]), (&json!(-32029), &json!(main)));
    wary.finish().await;
}
