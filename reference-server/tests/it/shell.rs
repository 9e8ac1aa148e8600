//! The user's shell: real processes, so these tests wait for what the machine does (MISC-2, ITEM-44, OUT).
#![cfg(unix)]

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::{Peer, names};

async fn open(config: Config) -> (Peer, String, tempfile::TempDir) {
    let mut peer = Peer::raw(config).shake(json!({ "requestedCapabilities": ["userShell"] })).await;
    let workspace = tempfile::tempdir().unwrap();
    let started = peer.command("session/start", json!({ "workspaceRoot": workspace.path() })).await.unwrap();
    let session = started["session"]["sessionId"].as_str().unwrap().to_owned();
    (peer, session, workspace)
}

async fn shell(peer: &mut Peer, session: &str, text: &str) -> Value {
    peer.command("session/userShell", json!({ "sessionId": session, "commandText": text })).await.unwrap();
    peer.until("item/completed").await.pop().unwrap()["params"]["item"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_in_the_workspace_and_says_how_it_ended() {
    let (mut peer, session, workspace) = open(Config::in_memory()).await;
    let item = shell(&mut peer, &session, "pwd; echo err >&2; exit 3").await;
    let here = workspace.path().canonicalize().unwrap();
    assert_eq!(item["visibleOutput"], format!("{}\nerr\n", here.display()));
    assert_eq!((&item["exitCode"], &item["turnId"], &item["status"]), (&json!(3), &json!(null), &json!("completed")));
    assert_eq!(item["commandText"], "pwd; echo err >&2; exit 3");
    let item = shell(&mut peer, &session, "kill -9 $$").await;
    assert_eq!((&item["exitSignal"], item.get("exitCode")), (&json!(9), None));
    let item = shell(&mut peer, &session, "sleep 1000 & echo left").await;
    assert_eq!(item["visibleOutput"], "left\n"); // what is left behind keeps nothing open
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn long_output_is_cut_and_stored() {
    let (mut peer, session, _workspace) = open(Config::in_memory()).await;
    let item = shell(&mut peer, &session, "head -c 100000 /dev/zero | tr '\\0' x").await;
    assert_eq!((item["visibleOutput"].as_str().unwrap().len(), &item["truncated"]), (65536, &json!(true)));
    let ask = json!({ "sessionId": session, "itemId": item["itemId"], "outputRef": item["outputRef"]["id"] });
    let page = peer.call("item/readOutput", ask).await.unwrap();
    assert_eq!((&page["byteLen"], &page["eof"]), (&json!(100_000), &json!(true)));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_closing_session_takes_its_processes_along() {
    let (mut peer, session, workspace) = open(Config::in_memory()).await;
    let text = "echo $$ > pid; sleep 1000; echo never > late";
    peer.command("session/userShell", json!({ "sessionId": session, "commandText": text })).await.unwrap();
    let pid = loop {
        match std::fs::read_to_string(workspace.path().join("pid")) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => std::thread::yield_now(),
        }
    };
    peer.command("session/leave", json!({ "sessionId": session, "mode": "stop" })).await.unwrap();
    let frames = peer.until("session/leaveCompleted").await;
    let shown = names(&frames);
    assert_eq!(shown[..2], ["item/started userShell inProgress r1", "item/completed userShell cancelled r2"]);
    // The shell is a child of ours until its thread reaped it; then its entry goes.
    while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
    assert!(!workspace.path().join("late").exists());
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_disabled_shell_accepts_and_rejects() {
    let (mut peer, session, _workspace) = open(Config { shell: false, ..Config::in_memory() }).await;
    let item = shell(&mut peer, &session, "echo no").await;
    assert_eq!((&item["status"], item.get("visibleOutput")), (&json!("rejected"), None));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_runs_its_command_first() {
    let (mut peer, session, _workspace) = open(Config::in_memory()).await;
    let start = |input: Value, shell: Value| json!({ "sessionId": session, "input": input, "userShell": shell });
    for (input, shell) in
        [(json!([{ "type": "text", "text": "x" }]), json!({ "commandText": "ls" })), (json!([]), json!(null))]
    {
        assert_eq!(peer.command("turn/start", start(input, shell)).await.unwrap_err()["code"], -32602);
    }
    peer.command("turn/start", start(json!([]), json!({ "commandText": "echo hi" }))).await.unwrap();
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        [
            "turn/started",
            "item/completed userMessage completed r1",
            "item/started userShell inProgress r1",
            "item/delta",
            "item/completed userShell completed r2",
            "item/started agentMessage inProgress r1",
            "item/delta",
            "item/completed agentMessage completed r2",
            "turn/completed completed",
        ]
    );
    peer.finish().await;
}

/// The output that came live, up to the end of an item.
async fn streamed(peer: &mut Peer, session: &str, text: &str) -> (String, Value) {
    peer.command("session/userShell", json!({ "sessionId": session, "commandText": text })).await.unwrap();
    let frames = peer.until("item/completed").await;
    let deltas = frames.iter().filter(|frame| frame["method"] == "item/delta");
    let live = deltas.map(|frame| frame["params"]["delta"].as_str().unwrap()).collect();
    (live, frames.last().unwrap()["params"]["item"].clone())
}

#[tokio::test(start_paused = true)]
async fn output_streams_while_the_command_runs() {
    let (mut peer, session, workspace) = open(Config::in_memory()).await;
    // It goes on only after somebody saw what it said so far, which is half a character more than can be shown.
    let text = "wait_for() { while [ -d \"$PWD\" ] && [ ! -e $1 ]; do sleep 0.01; done; }; \
                printf 'gr\\303'; wait_for one; printf '\\274\\303\\237e\\n'; wait_for two; echo done";
    peer.command("session/userShell", json!({ "sessionId": session, "commandText": text })).await.unwrap();
    for (shown, file) in [("gr", "one"), ("üße\n", "two")] {
        let mut live = String::new();
        while live != shown {
            let frame = peer.until("item/delta").await.pop().unwrap();
            assert_eq!(frame["params"]["field"], "output");
            live.push_str(frame["params"]["delta"].as_str().unwrap());
            assert!(shown.starts_with(&live), "{live:?}");
        }
        std::fs::write(workspace.path().join(file), "").unwrap();
    }
    let frames = peer.until("item/completed").await;
    assert_eq!(frames.last().unwrap()["params"]["item"]["visibleOutput"], "grüße\ndone\n");

    let (live, item) =
        streamed(&mut peer, &session, "head -c 65535 /dev/zero | tr '\\0' x; printf ü; sleep 0.1; echo more").await;
    assert_eq!((live.len(), &item["truncated"]), (65535, &json!(true)), "no delta goes beyond what the item holds");
    assert_eq!(item["visibleOutput"], live);
    peer.finish().await;
}
