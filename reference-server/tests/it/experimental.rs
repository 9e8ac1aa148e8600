//! Experimental families that belong to the host: account, MCP servers, peers, limits, profiles, hints.

use std::time::Duration;

use msp_reference_server::{Config, Host};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peer::Peer;

const STRANGER: &str = "0198f0ab-0000-7000-8000-00000000dead";

async fn opted_in(config: Config) -> Peer {
    let asked = ["peerMessaging", "sessionMcp", "rawLog", "rawLogPhysical"];
    Peer::raw(config).shake(json!({ "experimentalApi": true, "requestedCapabilities": asked })).await
}

/// Methods of the notifications among frames, with the outcome where they have one.
fn told(frames: &[Value]) -> Vec<String> {
    let text = |frame: &Value| {
        let method = frame["method"].as_str().unwrap_or("(answer)").to_owned();
        match frame["params"]["outcome"].as_str() {
            Some(outcome) => format!("{method} {outcome}"),
            None => method,
        }
    };
    frames.iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn without_the_opt_in_every_experimental_method_is_gated() {
    let mut peer = Peer::open(Config::in_memory()).await;
    for method in ["account/read", "host/readLimits", "peer/list", "permissionProfile/list", "session/promptHint"] {
        let error = peer.call(method, json!({})).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32601), &json!("experimentalRequired")));
        assert_eq!(error["data"]["descriptor"], method);
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_account_logs_in_by_key_and_by_code_and_out_again() {
    let host = Host::new(Config::in_memory());
    let mut stable = Peer::over(host.clone(), 1 << 20).shake(json!({})).await;
    let mut peer = Peer::over(host, 1 << 20).shake(json!({ "experimentalApi": true })).await;
    let logged_out = json!({ "state": "loggedOut", "credentialRequired": false });
    assert_eq!(peer.call("account/read", json!({})).await.unwrap(), logged_out);
    for bad in [
        json!({ "type": "apiKey" }),
        json!({ "type": "apiKey", "apiKey": "" }),
        json!({ "type": "deviceCode", "apiKey": "sesame" }),
        json!({ "type": "sesame" }),
        json!({ "type": "apiKey", "apiKey": { "sesame": 1 } }),
    ] {
        let error = peer.call("account/loginStart", bad).await.unwrap_err();
        assert_eq!(error["code"], -32602);
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
    let key = json!({ "type": "apiKey", "apiKey": "sesame" });
    assert_eq!(peer.call("account/loginStart", key).await.unwrap(), json!({}));
    let frames = peer.quiet().await;
    assert_eq!(told(&frames), ["account/loginCompleted granted", "account/changed"]);
    assert!(!json!(frames).to_string().contains("sesame"));
    assert_eq!(peer.call("usage/refresh", json!({})).await.unwrap_err()["code"], -32081);
    assert_eq!(peer.call("account/logout", json!({})).await.unwrap(), logged_out);
    assert_eq!(told(&peer.quiet().await), ["account/changed"]);
    assert_eq!(peer.call("account/logout", json!({})).await.unwrap(), logged_out);

    let device = json!({ "type": "deviceCode" });
    let first = peer.call("account/loginStart", device.clone()).await.unwrap();
    let second = peer.call("account/loginStart", device.clone()).await.unwrap();
    assert_ne!(first["userCode"], second["userCode"]);
    assert_eq!(peer.call("account/loginCancel", json!({})).await.unwrap(), json!({ "cancelled": true }));
    assert_eq!(told(&peer.quiet().await), ["account/loginCompleted cancelled"]);
    assert_eq!(peer.call("account/loginCancel", json!({})).await.unwrap(), json!({ "cancelled": false }));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(peer.quiet().await.is_empty(), "what was cancelled is never granted");

    peer.call("account/loginStart", device.clone()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(told(&peer.quiet().await), ["account/loginCompleted granted", "account/changed"]);
    assert_eq!(peer.call("account/read", json!({})).await.unwrap()["state"], "accountLogin");
    peer.call("usage/refresh", json!({})).await.unwrap();
    let early = peer.call("usage/refresh", json!({})).await.unwrap_err();
    assert_eq!((&early["code"], &early["data"]["retryable"]), (&json!(-32080), &json!(true)));
    assert!(early["data"]["retryAfterMs"].as_i64().is_some_and(|wait| wait > 0));

    peer.call("account/loginStart", device).await.unwrap();
    let session = peer.start().await;
    peer.prompt(&session, "@script\naccount {\"outcome\": \"denied\"}").await.unwrap();
    peer.until("account/loginCompleted").await;
    assert!(stable.quiet().await.iter().all(|frame| !told(std::slice::from_ref(frame))[0].starts_with("account")));
    stable.finish().await;
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn servers_are_listed_logged_in_to_and_out_of() {
    let mut peer = opted_in(Config::in_memory()).await;
    let servers = json!({
        "files": { "transport": "stdio", "command": "files" },
        "web": { "transport": "streamableHttp", "url": "https://mcp.invalid/" },
    });
    let started = peer.command("session/start", json!({ "config": { "mcpServers": servers } })).await.unwrap();
    let session = &started["session"]["sessionId"];
    let list = peer.call("mcpServer/list", json!({ "sessionId": session })).await.unwrap();
    let oauth = |list: &Value| {
        let rows = list["servers"].as_array().unwrap().iter();
        rows.map(|row| format!("{} {} {}", row["name"], row["source"], row["oauth"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let rows = ["simulated settings loggedOut", "files session notSupported", "web session loggedOut"];
    assert_eq!(oauth(&list), rows);
    assert_eq!(peer.call("mcpServer/list", json!({})).await.unwrap()["servers"].as_array().unwrap().len(), 1);
    assert_eq!(peer.call("mcpServer/list", json!({ "sessionId": STRANGER })).await.unwrap_err()["code"], -32020);
    for bad in ["files", "nobody"] {
        assert_eq!(peer.call("mcpServer/oauthLogin", json!({ "server": bad })).await.unwrap_err()["code"], -32602);
    }
    let web = json!({ "server": "web" });
    assert_eq!(peer.call("mcpServer/oauthLoginCancel", web.clone()).await.unwrap(), json!({ "cancelled": false }));
    peer.call("mcpServer/oauthLogin", web.clone()).await.unwrap();
    assert_eq!(peer.call("mcpServer/oauthLoginCancel", web.clone()).await.unwrap(), json!({ "cancelled": true }));
    assert_eq!(told(&peer.quiet().await)[1..], ["mcpServer/oauthLoginCompleted cancelled"]);
    assert!(peer.call("mcpServer/oauthLogin", web.clone()).await.unwrap()["authorizationUrl"].is_string());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let frames = peer.quiet().await;
    assert_eq!(told(&frames), ["mcpServer/oauthLoginCompleted granted"]);
    assert!(!json!(frames).to_string().contains("https:"));
    let list = peer.call("mcpServer/list", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(oauth(&list)[2], "web session loggedIn");
    let gone = json!({ "removed": true, "revocation": "succeeded" });
    assert_eq!(peer.call("mcpServer/oauthLogout", web.clone()).await.unwrap(), gone);
    let nothing = json!({ "removed": false, "revocation": "notAttempted" });
    assert_eq!(peer.call("mcpServer/oauthLogout", web).await.unwrap(), nothing);
    peer.call("mcpServer/oauthLogin", json!({ "server": "simulated" })).await.unwrap();
    let text = "@script\nmcpLogin {\"outcome\": \"expired\"}";
    peer.prompt(session.as_str().unwrap(), text).await.unwrap();
    let frames = peer.until("mcpServer/oauthLoginCompleted").await;
    assert_eq!(frames.last().unwrap()["params"], json!({ "server": "simulated", "outcome": "expired" }));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn peers_are_the_other_sessions_and_limits_are_not_served() {
    let mut peer = opted_in(Config::in_memory()).await;
    let (viewer, other) = (peer.start().await, peer.start().await);
    let list = peer.call("peer/list", json!({ "sessionId": viewer })).await.unwrap();
    assert_eq!(list["sessionId"], viewer);
    let row = json!({
        "sessionId": other, "sessionName": null, "displayLabel": other, "status": "idle", "canReceive": true,
        "lastSeenAgeMs": 0,
    });
    assert_eq!(list["peers"], json!([row]));
    let extra = json!({ "sessionId": viewer, "more": 1 });
    assert_eq!(peer.call("peer/list", extra).await.unwrap_err()["code"], -32602);
    assert_eq!(peer.call("peer/list", json!({ "sessionId": STRANGER })).await.unwrap_err()["code"], -32020);
    for method in ["host/readLimits", "session/readLimits"] {
        let error = peer.call(method, json!({})).await.unwrap_err();
        assert_eq!(error["data"]["kind"], "methodNotFound", "{method}");
    }
    peer.finish().await;
    let mut plain = Peer::raw(Config::in_memory()).shake(json!({ "experimentalApi": true })).await;
    let error = plain.call("peer/list", json!({})).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["capability"]), (&json!(-32010), &json!("peerMessaging")));
    plain.finish().await;
}

#[tokio::test(start_paused = true)]
async fn profiles_are_listed_and_chosen() {
    let dir = TempDir::new().unwrap();
    let mut peer = opted_in(Config::durable(dir.path().to_owned())).await;
    let session = peer.start().await;
    let list = peer.call("permissionProfile/list", json!({ "sessionId": session })).await.unwrap();
    let available: Vec<_> = list["profiles"].as_array().unwrap().iter().map(|row| &row["available"]).collect();
    assert_eq!(available, [true, true, false]);
    assert_eq!(list["profiles"][2]["unavailableReasons"], json!(["managedExcluded"]));
    let choose = |profile: &str| json!({ "sessionId": session, "profileId": profile });
    let ack = peer.command("session/setPermissionProfile", choose("reviewed")).await.unwrap();
    assert_eq!((&ack["applyOutcome"], &ack["permissionState"]["profileId"]), (&json!("completed"), &json!("reviewed")));
    let frames = peer.until("session/permissionProfileChanged").await;
    let changed = &frames.last().unwrap()["params"];
    assert_eq!((&changed["profileId"], &changed["commandId"]), (&json!("reviewed"), &ack["commandId"]));
    let again = peer.command("session/setPermissionProfile", choose("reviewed")).await.unwrap();
    assert_eq!(again["applyOutcome"], "noop");
    assert!(peer.quiet().await.is_empty(), "a noop tells nothing");
    for (profile, reason) in
        [("nobody", "permission_profile_unknown"), ("unrestricted", "permission_profile_unavailable")]
    {
        let error = peer.command("session/setPermissionProfile", choose(profile)).await.unwrap_err();
        assert_eq!(error["data"]["reason"], reason);
        let start = json!({ "permissionProfile": profile });
        assert_eq!(peer.command("session/start", start).await.unwrap_err()["data"]["reason"], reason);
    }
    let mut stranger = choose("default");
    stranger["sessionId"] = STRANGER.into();
    assert_eq!(peer.command("session/setPermissionProfile", stranger).await.unwrap_err()["code"], -32020);
    peer.finish().await;

    let mut ephemeral = opted_in(Config::in_memory()).await;
    let session = ephemeral.start().await;
    let choice = json!({ "sessionId": session, "profileId": "reviewed" });
    let error = ephemeral.command("session/setPermissionProfile", choice).await.unwrap_err();
    assert_eq!(error["data"]["reason"], "permission_profile_ephemeral_fixed");
    ephemeral.finish().await;
}

#[tokio::test(start_paused = true)]
async fn hints_are_picked_and_startup_is_reported_once() {
    let mut peer = opted_in(Config::in_memory()).await;
    let session = peer.start().await;
    let before = peer.pages(&session).await;
    let candidates = json!([{ "id": "one", "description": "first" }, { "id": "two", "description": "second" }]);
    let hint = peer.call("session/promptHint", json!({ "sessionId": session, "candidates": candidates })).await;
    assert_eq!(hint.unwrap(), json!({ "hintId": "one" }));
    let none = peer.call("session/promptHint", json!({ "sessionId": session, "candidates": [] })).await;
    assert_eq!(none.unwrap(), json!({}));
    let span = json!({ "phase": "firstFrame", "startMs": 0, "durationMs": 7, "more": true });
    let report = |nonce: &str, span: &Value| json!({ "sessionId": session, "launchNonce": nonce, "phases": [span] });
    let method = "session/reportStartupPhases";
    for (nonce, recorded) in [
        ("0198f0aa-1111-4000-8000-0000000000aa", true),
        ("{0198F0AA-1111-4000-8000-0000000000AA}", false),
        ("urn:uuid:0198f0aa-1111-4000-8000-0000000000aa", false),
        ("0198f0aa111140008000000000000000", true),
    ] {
        assert_eq!(peer.call(method, report(nonce, &span)).await.unwrap(), json!({ "recorded": recorded }), "{nonce}");
    }
    let mut bad = span.clone();
    bad["phase"] = "coffee".into();
    assert_eq!(peer.call(method, report(STRANGER, &bad)).await.unwrap_err()["code"], -32602);
    bad["phase"] = "terminalProbe".into();
    bad["colorProvenance"] = "coffee".into();
    assert_eq!(peer.call(method, report(STRANGER, &bad)).await.unwrap_err()["code"], -32602);
    assert_eq!(peer.call(method, report("0198f0aa", &span)).await.unwrap_err()["code"], -32602);
    assert_eq!(peer.pages(&session).await, before, "neither shows on the view");
    peer.finish().await;
}
