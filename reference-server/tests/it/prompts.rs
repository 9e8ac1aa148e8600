//! Approvals and questions to the user.

use msp_reference_server::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peer::{Peer, name, names};

const WRITE: &str = r#"tool {"tool":"write_file","args":{"path":"a"},"output":"done","approval":{"subject":{"kind":"fileAccess","path":"/w/a","access":"write"}}}"#;
const STAGED: &str = r#"tool {"tool":"shell","output":"ok","approval":{"subject":{"kind":"shell","command":"git add . && rm x","stages":[["git","add","."],["rm","x"]]}}}"#;
const QUESTIONS: &str = r#"[{"id":"db","header":"Database","question":"Which?","selection":{"mode":"single"},"options":[{"label":"A"},{"label":"B"}]},{"id":"opts","header":"Options","question":"Which ones?","selection":{"mode":"multiple","minSelections":1,"maxSelections":2},"options":[{"label":"x"},{"label":"y"},{"label":"z"}]}]"#;

fn script(step: &str) -> String {
    format!("@script\n{step}")
}

/// Plays a step and returns the prompt's host request, receipted.
async fn prompted(peer: &mut Peer, session: &str, step: &str, method: &str) -> (Vec<Value>, Value) {
    peer.prompt(session, &script(step)).await.unwrap();
    let frames = peer.until(method).await;
    let request = frames.last().unwrap().clone();
    peer.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": {} })).await;
    (frames, request["params"].clone())
}

fn decide(params: &Value, choice: &str) -> Value {
    json!({
        "sessionId": params["sessionId"], "approvalId": params["approvalId"],
        "requirementId": params["currentRequirementId"], "choiceId": choice,
    })
}

#[tokio::test(start_paused = true)]
async fn an_approval_waits_for_its_decision() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let (frames, asked) = prompted(&mut peer, &session, WRITE, "approval/request").await;
    let shown = frames.iter().find(|frame| frame["method"] == "approval/requested").unwrap();
    assert_eq!(shown["params"], asked, "the request repeats the event");
    assert!(peer.quiet().await.iter().all(|frame| frame["method"] == "session/statusChanged"));
    let pending = peer.call("approval/listPending", json!({ "sessionId": session })).await.unwrap();
    assert_eq!((&pending["approvals"][0], &pending["userInputs"]), (&asked, &json!([])));
    let mut stale = decide(&asked, "allow_once");
    stale["requirementId"]["sourceIndex"] = 1.into();
    let mut feedback = decide(&asked, "allow_once");
    feedback["feedback"] = "no".into();
    let mut unknown = decide(&asked, "allow_once");
    unknown["approvalId"] = "nothing".into();
    for (params, code) in [(stale, -32053), (decide(&asked, "bogus"), -32052), (feedback, -32052), (unknown, -32050)] {
        assert_eq!(peer.command("approval/decide", params).await.unwrap_err()["code"], code);
    }
    let command = json!({ "commandId": peer.command_id() });
    let mut winner = decide(&asked, "allow_session");
    winner["commandId"] = command["commandId"].clone();
    let ack = peer.call("approval/decide", winner.clone()).await.unwrap();
    assert_eq!(ack["terminal"], true);
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        ["approval/resolved", "item/delta", "item/completed toolCall completed r2", "turn/completed completed",]
    );
    let resolved = &frames.iter().find(|frame| frame["method"] == "approval/resolved").unwrap()["params"];
    assert_eq!(resolved["amendment"], json!({ "durability": "session", "rulePreview": "write /w/a" }));
    assert_eq!(peer.call("approval/decide", winner).await.unwrap(), ack);
    let late = peer.command("approval/decide", decide(&asked, "abort")).await.unwrap_err();
    assert_eq!((&late["code"], &late["data"]["resolution"]["viewCursor"]), (&json!(-32051), &resolved["viewCursor"]));
    peer.prompt(&session, &script(WRITE)).await.unwrap();
    assert!(
        !names(&peer.until("turn/completed").await).contains(&"approval/requested".to_owned()),
        "the rule holds for the session"
    );
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn stages_are_decided_one_by_one_and_a_no_ends_all() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let (_, asked) = prompted(&mut peer, &session, STAGED, "approval/request").await;
    assert_eq!(peer.command("approval/decide", decide(&asked, "allow_once")).await.unwrap()["terminal"], false);
    let frames = peer.until("approval/request").await;
    let again = &frames.last().unwrap()["params"];
    assert_eq!(
        (&again["viewCursor"], &again["currentRequirementId"]["sourceIndex"]),
        (&asked["viewCursor"], &json!(1))
    );
    let updated = frames.iter().find(|frame| frame["method"] == "approval/updated").unwrap();
    assert_eq!(updated["params"]["change"]["requirementId"]["sourceIndex"], 0);
    let mut no = decide(again, "abort");
    no["feedback"] = "keep x, please".into();
    assert_eq!(peer.command("approval/decide", no).await.unwrap()["terminal"], true);
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        ["approval/resolved", "item/completed toolCall rejected r2", "turn/completed completed"]
    );
    assert_eq!(
        frames.iter().find(|frame| frame["method"] == "approval/resolved").unwrap()["params"]["stageEvidence"][0]["resolution"]
            ["kind"],
        "allowOnce"
    );
    assert!(!format!("{:?}", peer.pages(&session).await).contains("keep x"));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn modes_prompt_or_do_not() {
    let mut peer = Peer::open(Config { approval_mode: "allowAll".to_owned(), ..Config::in_memory() }).await;
    let session = peer.start().await;
    for (mode, shown) in [
        ("allowAll", vec!["item/started toolCall inProgress r1", "item/delta", "item/completed toolCall completed r2"]),
        (
            "onRequest",
            vec!["item/started toolCall inProgress r1", "item/delta", "item/completed toolCall completed r2"],
        ),
        (
            "denyUnmatched",
            vec![
                "item/started toolCall inProgress r1",
                "approval/requested",
                "approval/resolved",
                "item/completed toolCall rejected r2",
            ],
        ),
    ] {
        peer.command("session/setApprovalMode", json!({ "sessionId": session, "mode": mode })).await.unwrap();
        peer.quiet().await;
        peer.prompt(&session, &script(WRITE)).await.unwrap();
        let frames = peer.until("turn/completed").await;
        let seen = names(&frames);
        assert_eq!(seen[2..seen.len() - 1], shown, "{mode}");
        assert!(frames.iter().all(|frame| frame["method"] != "approval/request"));
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_protected_write_needs_somebody_who_watches() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let step = WRITE.replace(r#""approval":{"#, r#""approval":{"protectedWrite":true,"#);
    let (_, asked) = prompted(&mut peer, &session, &step, "approval/request").await;
    assert!(asked["availableChoices"].as_array().unwrap().iter().all(|choice| choice["scope"] == "once"));
    peer.call("view/unsubscribe", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(peer.command("approval/decide", decide(&asked, "allow_once")).await.unwrap_err()["code"], -32054);
    peer.call("view/subscribe", json!({ "sessionId": session })).await.unwrap();
    let frames = peer.until("approval/request").await;
    assert_eq!(frames.last().unwrap()["params"]["approvalId"], asked["approvalId"], "asked again");
    peer.command("approval/decide", decide(&asked, "allow_once")).await.unwrap();
    peer.until("turn/completed").await;
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_what_is_open() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    prompted(&mut peer, &session, WRITE, "approval/request").await;
    peer.quiet().await;
    peer.command("turn/interrupt", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(
        names(&peer.until("turn/completed").await),
        ["approval/resolved", "item/completed toolCall cancelled r2", "turn/completed cancelled",]
    );
    let ask = format!("ask {{\"questions\":{QUESTIONS}}}");
    prompted(&mut peer, &session, &ask, "userInput/request").await;
    peer.quiet().await;
    peer.command("turn/cancel", json!({ "sessionId": session })).await.unwrap();
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        ["userInput/settled", "item/completed toolCall cancelled r2", "turn/completed cancelled"]
    );
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn questions_take_what_they_offer() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let ask = format!("ask {{\"questions\":{QUESTIONS}}}");
    let (_, asked) = prompted(&mut peer, &session, &ask, "userInput/request").await;
    let to = |answers: Value| json!({ "sessionId": session, "userInputId": asked["userInputId"], "answers": answers });
    let db = json!({ "questionId": "db", "selectedLabel": "A" });
    for bad in [
        json!([db]),
        json!([db, db, { "questionId": "opts", "selectedLabels": ["x"] }]),
        json!([db, { "questionId": "opts", "selectedLabel": "x" }]),
        json!([db, { "questionId": "opts", "selectedLabels": ["x", "x"] }]),
        json!([db, { "questionId": "opts", "selectedLabels": ["x", "y", "z"] }]),
        json!([db, { "questionId": "opts", "selectedLabels": [] }]),
        json!([{ "questionId": "db", "selectedLabel": "C" }, { "questionId": "opts", "selectedLabels": ["x"] }]),
        json!([{ "questionId": "db", "selectedLabel": "A", "freeText": "A" }, { "questionId": "opts", "selectedLabels": ["x"] }]),
        json!([{ "questionId": "db", "freeText": "f".repeat(501) }, { "questionId": "opts", "selectedLabels": ["x"] }]),
        json!([{ "questionId": "db", "selectedLabel": "A", "attachments": [] }, { "questionId": "opts", "selectedLabels": ["x"] }]),
        json!([db, { "questionId": "no", "freeText": "x" }]),
    ] {
        assert_eq!(peer.command("userInput/answer", to(bad.clone())).await.unwrap_err()["code"], -32057, "{bad}");
    }
    let good = to(
        json!([{ "questionId": "db", "freeText": "f".repeat(500) }, { "questionId": "opts", "selectedLabels": ["z", "x"] }]),
    );
    peer.command("userInput/answer", good.clone()).await.unwrap();
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        ["userInput/settled", "item/completed toolCall completed r2", "turn/completed completed"]
    );
    let settled = frames.iter().find(|frame| frame["method"] == "userInput/settled").unwrap();
    let late = peer.command("userInput/answer", good).await.unwrap_err();
    assert_eq!(
        (&late["code"], &late["data"]["settlement"]["viewCursor"]),
        (&json!(-32056), &settled["params"]["viewCursor"])
    );
    let none = json!({ "sessionId": session, "userInputId": "none" });
    assert_eq!(peer.command("userInput/cancel", none).await.unwrap_err()["code"], -32055);

    for (method, more, expected) in [
        (
            "userInput/cancel",
            json!({ "reason": "not now" }),
            ["userInput/settled", "item/completed toolCall cancelled r2", "turn/completed completed"],
        ),
        (
            "userInput/clarify",
            json!({ "clarification": { "format": "text", "content": "why?" } }),
            ["userInput/settled", "item/completed toolCall completed r2", "turn/completed completed"],
        ),
        (
            "userInput/interrupt",
            json!({ "answers": [db] }),
            ["userInput/settled", "item/completed toolCall cancelled r2", "turn/completed cancelled"],
        ),
    ] {
        let (_, asked) = prompted(&mut peer, &session, &ask, "userInput/request").await;
        let mut params = json!({ "sessionId": session, "userInputId": asked["userInputId"] });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        peer.quiet().await;
        peer.command(method, params).await.unwrap();
        let frames = peer.until("turn/completed").await;
        assert_eq!(names(&frames), expected, "{method}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_timed_question_settles_itself_unless_somebody_engages() {
    let mut peer = Peer::open(Config { seed: Some(1), ..Config::in_memory() }).await;
    let session = peer.start().await;
    let ask = format!("ask {{\"questions\":{QUESTIONS},\"autoResolutionMs\":100}}");
    let (_, asked) = prompted(&mut peer, &session, &ask, "userInput/request").await;
    assert_eq!(asked["autoResolutionMs"], 100);
    let frames = peer.until("turn/completed").await;
    assert_eq!(
        names(&frames),
        ["userInput/settled", "item/completed toolCall timedOut r2", "turn/completed completed"]
    );
    let (_, asked) = prompted(&mut peer, &session, &ask, "userInput/request").await;
    let engaged = json!({ "sessionId": session, "userInputId": asked["userInputId"] });
    peer.send(&json!({ "jsonrpc": "2.0", "method": "userInput/engaged", "params": engaged })).await;
    assert!(peer.quiet().await.iter().all(|frame| name(frame) != "userInput/settled"));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_are_asked_again_on_resume_and_without_dialogs_only_shown() {
    let dir = TempDir::new().unwrap();
    let mut peer = Peer::open(Config::durable(dir.path().to_owned())).await;
    let session = peer.start().await;
    let ask = format!("ask {{\"questions\":{QUESTIONS}}}");
    let (_, asked) = prompted(&mut peer, &session, &ask, "userInput/request").await;
    peer.quiet().await;
    let resumed = peer.command("session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(
        resumed["pendingRequests"],
        json!([{ "kind": "userInput", "userInputId": asked["userInputId"], "viewCursor": asked["viewCursor"] }])
    );
    assert_eq!(resumed["session"]["attention"], json!(["inputPending"]));
    let again = peer.until("userInput/request").await;
    assert!(again.last().unwrap()["params"].get("sourceRange").is_none());
    peer.finish().await;

    let mut mute = Peer::raw(Config::in_memory()).shake(json!({ "userInputDialogs": false })).await;
    let session = mute.start().await;
    mute.prompt(&session, &script(&ask)).await.unwrap();
    let frames = mute.quiet().await;
    assert!(frames.iter().any(|frame| frame["method"] == "userInput/requested"));
    assert!(frames.iter().all(|frame| frame["method"] != "userInput/request"));
    mute.finish().await;
}
