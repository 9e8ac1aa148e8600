//! Framing, envelope, handshake, gates, errors.

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::Peer;

/// Sends bytes and tells code, kind and id of the one answer.
async fn refused(peer: &mut Peer, bytes: &[u8]) -> (i64, String, Value) {
    peer.send_bytes(bytes).await;
    let frame = peer.next().await.expect("an answer");
    let error = &frame["error"];
    (error["code"].as_i64().unwrap(), error["data"]["kind"].as_str().unwrap().to_owned(), frame["id"].clone())
}

#[tokio::test(start_paused = true)]
async fn bad_envelopes_are_told_by_code_and_id() {
    let mut peer = Peer::open(Config::in_memory()).await;
    for (line, code, kind, id) in [
        ("{", -32700, "parseError", json!(null)),
        ("\u{1}", -32700, "parseError", json!(null)),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/list\"}]", -32600, "invalidRequest", json!(null)),
        ("7", -32600, "invalidRequest", json!(null)),
        (r#"{"id":1,"method":"session/list"}"#, -32600, "invalidRequest", json!(1)),
        (r#"{"jsonrpc":"1.0","id":"x","method":"session/list"}"#, -32600, "invalidRequest", json!("x")),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#, -32600, "invalidRequest", json!(null)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#, -32600, "invalidRequest", json!(null)),
        (r#"{"jsonrpc":"2.0","id":true,"method":"session/list"}"#, -32600, "invalidRequest", json!(null)),
        (r#"{"jsonrpc":"2.0","id":3}"#, -32600, "invalidRequest", json!(3)),
        (r#"{"jsonrpc":"2.0","id":4,"method":"session/list","params":[]}"#, -32602, "invalidParams", json!(4)),
        (r#"{"jsonrpc":"2.0","id":4,"method":"session/list","params":null}"#, -32602, "invalidParams", json!(4)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"no/such"}"#, -32601, "methodNotFound", json!(5)),
        (r#"{"jsonrpc":"2.0","id":6,"method":"initialize","params":{}}"#, -32600, "alreadyInitialized", json!(6)),
    ] {
        assert_eq!(refused(&mut peer, format!("{line}\n").as_bytes()).await, (code, kind.to_owned(), id), "{line}");
    }
    // Invalid UTF-8, nothing but blanks, a stray answer and unknown notifications: one answer for all of it.
    assert_eq!(refused(&mut peer, b"{\"a\":\"\xff\"}\n").await.0, -32700);
    peer.send_bytes(b"\n  \n\r\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"x/y\",\"params\":[]}\n").await;
    assert!(peer.call("session/list", json!({})).await.is_ok());
    assert_eq!(peer.quiet().await, Vec::<Value>::new());
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_handshake_opens_the_connection_once() {
    let mut peer = Peer::raw(Config::in_memory());
    let kind = |answer: Result<Value, Value>| answer.unwrap_err()["data"]["kind"].as_str().unwrap().to_owned();
    assert_eq!(kind(peer.call("session/list", json!({})).await), "notInitialized");
    assert_eq!(kind(peer.call("no/such", json!({})).await), "notInitialized");
    for bad in [
        json!({}),
        json!({ "clientInfo": { "name": "Bad-Name!", "version": "1" } }),
        json!({ "clientInfo": { "name": "", "version": "1" } }),
    ] {
        assert_eq!(kind(peer.call("initialize", bad).await), "invalidParams");
    }
    let params = json!({
        "clientInfo": { "name": "ok", "version": "1" }, "zzz": 1,
        "capabilities": { "requestedCapabilities": ["userShell", "noSuch", "rawLog"], "zzz": 1 },
    });
    let result = peer.call("initialize", params).await.unwrap();
    assert_eq!(result["grantedCapabilities"], json!(["userShell"]));
    assert_eq!((&result["experimentalApi"], &result["sessionDurability"]), (&json!(false), &json!("ephemeral")));
    assert_eq!(
        result["schema"]["fingerprint"],
        "sha256:7fddaf646dbc317e5fcac0785e135eb04df14fbb0db1863089dfd6da21730e5b"
    );
    assert_eq!(kind(peer.call("session/list", json!({})).await), "notInitialized");
    peer.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} })).await;
    assert!(peer.call("session/list", json!({})).await.is_ok());
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn gates_are_checked_before_shape_and_session() {
    let mut peer = Peer::open(Config::in_memory()).await;
    for (method, params, code, member, value) in [
        ("account/read", json!({}), -32601, "descriptor", "account/read"),
        ("turn/start", json!({ "tokenBudget": 1 }), -32602, "descriptor", "turn/start.tokenBudget"),
        (
            "turn/start",
            json!({ "providerRequestOptions": {} }),
            -32602,
            "descriptor",
            "turn/start.providerRequestOptions",
        ),
        ("turn/start", json!({ "input": [{ "type": "mention" }] }), -32602, "descriptor", "turn/start.input.mention"),
        ("session/start", json!({ "worktree": {} }), -32602, "descriptor", "session/start.worktree"),
        ("session/userShell", json!({ "sessionId": "none" }), -32010, "capability", "userShell"),
        ("turn/start", json!({ "userShell": { "commandText": "ls" } }), -32010, "capability", "userShell"),
        ("session/start", json!({ "config": { "mcpServers": {} } }), -32010, "capability", "sessionMcp"),
        ("feedback/submit", json!({}), -32010, "capability", "feedback"),
        ("computerUseSetup/read", json!({}), -32010, "capability", "computerUseHostSetup"),
        ("computerUseSetup/read", json!({ "sessionId": "x" }), -32010, "capability", "computerUseSetup"),
    ] {
        let error = peer.call(method, params).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"][member]), (&json!(code), &json!(value)), "{method}: {error}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_frame_over_the_limit_is_refused_by_its_id() {
    let config = Config { frame_limit: 1000, ..Config::in_memory() };
    let mut peer = Peer::open(config).await;
    let pad = |head: &str, length: usize| format!("{head}{}\"}}\n", "x".repeat(length - head.len() - 2));
    let head = r#"{"jsonrpc":"2.0","id":7,"method":"session/list","zzz":""#;
    peer.send_bytes(pad(head, 1000).as_bytes()).await;
    assert!(peer.next().await.unwrap()["result"].is_object());
    assert_eq!(refused(&mut peer, pad(head, 1001).as_bytes()).await, (-32002, "inputTooLarge".to_owned(), json!(7)));
    let late = r#"{"jsonrpc":"2.0","method":"session/list","zzz":""#;
    assert_eq!(refused(&mut peer, pad(late, 300_000).as_bytes()).await, (-32700, "parseError".to_owned(), json!(null)));
    assert!(peer.call("session/list", json!({})).await.is_ok());
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn opt_outs_hold_but_for_what_is_protected() {
    let all = ["item/delta", "turn/started", "session/statusChanged", "no/such", "session/leaveCompleted"];
    let mut peer = Peer::raw(Config::in_memory()).shake(json!({ "optOutNotificationMethods": all })).await;
    let session = peer.start().await;
    peer.prompt(&session, "one two").await.unwrap();
    let frames = peer.quiet().await;
    assert!(
        frames
            .iter()
            .all(|frame| !["item/delta", "turn/started", "view/gap"].contains(&frame["method"].as_str().unwrap()))
    );
    let pages = peer.pages(&session).await;
    assert!(pages.iter().any(|event| event["method"] == "turn/started"));
    peer.command("session/leave", json!({ "sessionId": session })).await.unwrap();
    assert!(peer.quiet().await.iter().any(|frame| frame["method"] == "session/leaveCompleted"));
    peer.finish().await;
}
