//! What a host may do, and clients trip over, by script; and scripts that are wrong.

use msp_judge::transcript::Side;
use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::Peer;

/// Frames of the host since a line of the transcript.
fn sent(peer: &Peer, since: usize) -> Vec<Value> {
    let sent = peer.transcript[since..].iter().filter(|(side, _)| *side == Side::Server);
    sent.map(|(_, text)| serde_json::from_str(text).unwrap()).collect()
}

fn place(frames: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    frames.iter().position(is).expect("the frame came")
}

#[tokio::test(start_paused = true)]
async fn the_answer_comes_after_the_terminal_however_the_turn_ends() {
    for (script, stop) in [("ackLast\nsay {\"text\":\"x\"}", false), ("ackLast\nhold", true)] {
        let mut peer = Peer::open(Config::in_memory()).await;
        let session = peer.start().await;
        peer.quiet().await;
        let since = peer.transcript.len();
        let input = json!([{ "type": "text", "text": format!("@script\n{script}") }]);
        let params = json!({ "commandId": peer.command_id(), "sessionId": session, "input": input });
        let id = peer.ask("turn/start", params.clone()).await;
        peer.quiet().await;
        if stop {
            assert!(sent(&peer, since).iter().all(|frame| frame["id"] != id), "the turn still runs");
            peer.command("turn/interrupt", json!({ "sessionId": session })).await.unwrap();
            peer.quiet().await;
        }
        let frames = sent(&peer, since);
        let started = place(&frames, |frame| frame["method"] == "turn/started");
        let ended = place(&frames, |frame| frame["method"] == "turn/completed");
        let answered = place(&frames, |frame| frame["id"] == id);
        assert!(started < ended && ended < answered, "{script}");
        assert_eq!(frames[answered]["result"]["turnId"], frames[started]["params"]["turnId"]);
        // The ledger has the answer like any other.
        assert_eq!(peer.call("turn/start", params).await.unwrap(), frames[answered]["result"]);
        peer.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_gap_ends_at_an_event_that_no_page_shows() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    peer.prompt(&session, "@script\nlose {\"events\":1}\nsay {\"text\":\"Where am I?\"}").await.unwrap();
    let frames = peer.until("turn/completed").await;
    let gap = place(&frames, |frame| frame["method"] == "view/gap");
    assert_eq!(frames[gap + 1]["method"], "item/delta");
    let next = &frames[gap]["params"]["next"];
    assert_eq!(*next, frames[gap + 1]["params"]["viewCursor"]);
    assert_eq!(frames[gap]["params"]["after"], frames[gap - 1]["params"]["viewCursor"]);
    assert!(frames.iter().all(|frame| frame["method"] != "item/started"), "it was lost");
    assert!(peer.pages(&session).await.iter().all(|event| event["params"]["viewCursor"] != *next));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_stage_resolves_itself_and_nobody_is_asked_again() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let stages = json!([["a"], ["b"], ["c"]]);
    let subject = json!({ "kind": "shell", "command": "a && b && c", "stages": stages });
    let approval = json!({ "subject": subject, "resolveThemselves": [1], "quiet": true });
    peer.prompt(&session, &format!("@script\ntool {}", json!({ "approval": approval }))).await.unwrap();
    let asked = peer.until("approval/request").await.pop().unwrap();
    let mut decide = json!({
        "sessionId": session, "approvalId": asked["params"]["approvalId"], "choiceId": "allow_once",
        "requirementId": asked["params"]["currentRequirementId"],
    });
    assert_eq!(decide["requirementId"]["sourceIndex"], 0);
    assert_eq!(peer.command("approval/decide", decide.clone()).await.unwrap()["terminal"], false);
    let frames = peer.quiet().await;
    assert!(frames.iter().all(|frame| frame["method"] != "approval/request"));
    let updated = &frames[place(&frames, |frame| frame["method"] == "approval/updated")]["params"];
    assert_eq!(updated["currentRequirementId"]["sourceIndex"], 2);
    let kinds = updated["subject"]["stages"].as_array().unwrap().iter().map(|stage| &stage["resolution"]["kind"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["allowOnce", "policyAllow", "unresolved"]);
    decide["requirementId"] = updated["currentRequirementId"].clone();
    assert_eq!(peer.command("approval/decide", decide).await.unwrap()["terminal"], true);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_no_list_has_is_told_as_it_is() {
    let mut peer = Peer::open(Config::in_memory()).await;
    peer.unlisted = true;
    let session = peer.start().await;
    peer.prompt(&session, "@script\nnotify {\"method\":\"session/neverHeardOf\",\"params\":{\"x\":1}}").await.unwrap();
    let mut frame = peer.until("session/neverHeardOf").await.pop().unwrap();
    assert!(frame["emittedAtMs"].is_i64());
    frame.as_object_mut().unwrap().remove("emittedAtMs");
    assert_eq!(frame, json!({ "jsonrpc": "2.0", "method": "session/neverHeardOf", "params": { "x": 1 } }));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_nullable_member_alternates() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let script = "branch {\"name\":null}\nbranch {\"name\":null}\nbranch {\"name\":\"main\"}\nbranch {\"name\":null}";
    peer.prompt(&session, &format!("@script\n{script}")).await.unwrap();
    let frames = peer.until("turn/completed").await;
    let told = frames.iter().filter(|frame| frame["method"] == "session/branchChanged");
    let branches: Vec<_> = told.map(|frame| frame["params"]["branch"].clone()).collect();
    assert_eq!(branches, [Value::Null, json!("main"), Value::Null]);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_step_names_its_line_and_what_is_wrong() {
    let rows = [
        ("sing", "no verb `sing`"),
        ("say {\"text\":\"x\",\"volume\":3}", "no argument `volume` here"),
        ("say {\"text\":{\"fill\":\"\",\"bytes\":3}}", "`text`: `fill` is no text"),
        ("say {\"text\":{\"fill\":\"x\",\"bytes\":67108865}}", "`text`: `bytes` is no number up to 67108864"),
        ("update {\"name\":\"nobody\",\"members\":{}}", "no item is named `nobody`"),
        ("say {\"text\":\"$item:nobody\"}", "no item is named `nobody`"),
        ("later {\"ms\":1,\"steps\":[{\"hold\":{}}]}", "`hold` waits or ends a turn, and has no place in `later`"),
        (
            "later {\"ms\":1,\"steps\":[{\"repeat\":{\"times\":1,\"steps\":[{\"end\":{}}]}}]}",
            "`repeat` waits or ends a turn",
        ),
        ("repeat {\"times\":100001,\"steps\":[{\"wait\":{\"ms\":1}}]}", "these would be more than 100000 steps"),
        ("repeat {\"times\":2,\"steps\":[\"say\"]}", "a step of `steps` is an object of one verb"),
        ("tool {\"args\":\"x\",\"argsBytes\":3}", "`args` or `argsBytes`, not both"),
        ("tool {\"patch\":[{\"path\":\"a\"}]}", "`patch` is no list"),
        ("tool {\"label\":{\"active\":\"a\",\"done\":\"b\"}}", "`neutral` of `label` is missing"),
        ("tool {\"approval\":{\"judge\":\"perhaps\"}}", "a judge does not `perhaps`"),
        ("tool {\"approval\":{\"resolveThemselves\":[0]}}", "the first stage, 0, is the one that is asked about"),
        ("hook {\"event\":\"stop\",\"outcome\":\"odd\"}", "a hook does not end `odd`"),
        ("search {\"action\":\"openPage\"}", "`url` is missing"),
        ("branch {\"name\":3}", "`name` is neither text nor null"),
    ];
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    for (step, wrong) in rows {
        peer.prompt(&session, &format!("@script\n# a comment\n{step}")).await.unwrap();
        let error = peer.until("turn/completed").await.pop().unwrap()["params"]["error"].clone();
        assert_eq!(error["kind"], "configError", "{step}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("script line 3: ") && message.contains(wrong), "{step}: {message}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn questions_out_of_their_bounds_are_shown_to_nobody() {
    let question = |change: Value| {
        let mut question = json!({
            "id": "q", "header": "Head", "question": "Which?", "selection": { "mode": "single" },
            "options": [{ "label": "A" }, { "label": "B" }],
        });
        question.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        question
    };
    let options = |options: Value| json!([question(json!({ "options": options }))]);
    let rows = [
        (json!([]), "0 questions, where 1 to 3 may be asked"),
        (json!(["a", "b", "c", "d"].map(|id| question(json!({ "id": id })))), "4 questions"),
        (json!([question(json!({})), question(json!({}))]), "the question id \"q\" occurs twice"),
        (json!([question(json!({ "id": "i".repeat(65) }))]), "a question id of 65 characters, where 64 fit"),
        (json!([question(json!({ "header": "h".repeat(13) }))]), "a header of 13 characters, where 12 fit"),
        (options(json!([{ "label": "A" }])), "1 options, where 2 or 3 may be offered"),
        (options(json!([{ "label": "A" }, { "label": "A" }])), "the label \"A\" occurs twice"),
        (options(json!([{ "label": "A" }, { "label": "b".repeat(81) }])), "a label of 81 characters, where 80 fit"),
        (options(json!([{ "label": "A" }, { "label": "B", "description": "d".repeat(241) }])), "a description of 241"),
        (
            options(
                json!([{ "label": "A" }, { "label": "B", "preview": { "format": "text", "content": "p".repeat(2001) } }]),
            ),
            "a preview of 2001",
        ),
        (
            json!([question(json!({
                "selection": { "mode": "multiple" },
                "options": [{ "label": "A", "preview": { "format": "text", "content": "p" } }, { "label": "B" }],
            }))]),
            "a preview, where more than one may be selected",
        ),
    ];
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    for (questions, reason) in rows {
        let step = json!({ "questions": questions });
        peer.prompt(&session, &format!("@script\nask {step}")).await.unwrap();
        let frames = peer.until("turn/completed").await;
        assert!(frames.iter().all(|frame| frame["method"] != "userInput/requested"), "{reason}");
        let call = &frames[frames.len() - 2]["params"]["item"];
        assert_eq!((&call["kind"], &call["status"]), (&json!("toolCall"), &json!("failed")), "{reason}");
        assert!(call["failureReason"].as_str().unwrap().contains(reason), "{call}");
    }
    peer.finish().await;
}
