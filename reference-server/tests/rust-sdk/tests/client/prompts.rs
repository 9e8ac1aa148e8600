//! Approvals and questions to the user.

use std::sync::{Arc, Mutex};

use muse_code_sdk::approval::ApprovalDecisionInput;
use muse_code_sdk::msp::{ApprovalDecision, ApprovalRequestParams, UserInputAnswer};
use muse_code_sdk::session::Session;
use muse_code_sdk::turn::Turn;
use serde_json::{Value, json};

use crate::host::{Host, prompt, until, within};
use crate::turns::{items, terminal};

const WRITE: &str = "@script\ntool {\"tool\":\"write_file\",\"output\":\"done\",\"approval\":{\"subject\":{\"kind\":\"fileAccess\",\
                     \"path\":\"/w/a\",\"access\":\"write\"}}}";
const STAGED: &str = "@script\ntool {\"tool\":\"shell\",\"output\":\"ok\",\"approval\":{\"subject\":{\"kind\":\"shell\",\
                      \"command\":\"git add . && rm x\",\"stages\":[[\"git\",\"add\",\".\"],[\"rm\",\"x\"]]}}}";
const ASK: &str = "@script\nask {\"questions\":[{\"id\":\"db\",\"header\":\"Database\",\"question\":\"Which?\",\
                   \"selection\":{\"mode\":\"single\"},\"options\":[{\"label\":\"A\"},{\"label\":\"B\"}]}]}";

/// What became of a script that asks for approval.
struct Decided {
    call: Value,
    asked: Vec<ApprovalRequestParams>,
    said: Vec<Value>,
}

/// Plays a script that asks for approval, and decides every stage alike.
async fn decided(script: &str, decision: ApprovalDecision, feedback: Option<&str>) -> Decided {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::open(folder.path()).await;
    let session = host.start(folder.path()).await;
    let asked: Arc<Mutex<Vec<ApprovalRequestParams>>> = Arc::default();
    let (requests, feedback) = (Arc::clone(&asked), feedback.map(str::to_owned));
    session.on_approval(move |request| {
        let choice = request.available_choices.iter().find(|choice| choice.decision == decision);
        let choice_id = choice.expect("the choice is offered").choice_id.clone();
        requests.lock().unwrap().push(request);
        let feedback = feedback.clone();
        async move { ApprovalDecisionInput { choice_id, feedback } }
    });
    let turn = session.send_user_turn(prompt(script)).await.unwrap();
    // An approval that the SDK cannot answer fails this wait.
    assert_eq!(terminal(&turn.completed().await.unwrap()), "completed");
    assert_eq!(session.fold().pending_approvals(), []);
    assert_eq!(session.fold().resolved_approvals().len(), 1);
    let call = items(&session, "toolCall").remove(0);
    let said = items(&session, "agentMessage");
    host.close().await;
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    Decided { call, asked, said }
}

#[tokio::test]
async fn an_approval_is_allowed() {
    within(async {
        let Decided { call, asked, .. } = decided(WRITE, ApprovalDecision::Approved, None).await;
        assert_eq!((&call["status"], &call["visibleOutput"]), (&json!("completed"), &json!("done")));
        assert_eq!(call["approvalId"], asked[0].approval_id);
        assert_eq!(asked.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_approval_is_denied_with_feedback() {
    within(async {
        let script = format!("{WRITE}\nheard");
        let Decided { call, asked, said } = decided(&script, ApprovalDecision::Abort, Some("not that file")).await;
        assert_eq!((&call["status"], &call["failureReason"]), (&json!("rejected"), &json!("approval aborted")));
        assert_eq!(asked.len(), 1);
        assert_eq!(said[0]["text"], "not that file"); // what the model heard
    })
    .await;
}

#[tokio::test]
async fn an_approval_is_decided_stage_by_stage() {
    within(async {
        let Decided { call, asked, .. } = decided(STAGED, ApprovalDecision::Approved, None).await;
        assert_eq!(call["status"], "completed");
        assert_eq!(asked.iter().map(|ask| ask.current_requirement_id.source_index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(asked[0].approval_id, asked[1].approval_id);
    })
    .await;
}

/// A turn that asks, up to its question.
async fn asking(host: &Host, session: &Session) -> (Turn, String) {
    let turn = session.send_user_turn(prompt(ASK)).await.unwrap();
    until(|| !session.fold().pending_user_inputs().is_empty()).await;
    let question = session.fold().pending_user_inputs()[0]["userInputId"].as_str().unwrap().to_owned();
    until(|| host.line.methods().iter().any(|method| method == "userInput/request")).await;
    (turn, question)
}

#[track_caller]
fn outcomes(session: &Session) -> Vec<Value> {
    assert_eq!(session.fold().pending_user_inputs(), Vec::<Value>::new());
    session.fold().settled_user_inputs().into_iter().map(|settled| settled["outcome"].clone()).collect()
}

#[tokio::test]
async fn a_question_is_answered() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path()).await;
        let session = host.start(folder.path()).await;
        let (turn, question) = asking(&host, &session).await;
        let answer = UserInputAnswer {
            question_id: "db".to_owned(),
            selected_label: Some("B".to_owned()),
            selected_labels: Vec::new(),
            free_text: None,
            note: None,
        };
        session.answer_user_input(question, vec![answer]).await.unwrap();
        assert_eq!(terminal(&turn.completed().await.unwrap()), "completed");
        assert_eq!(outcomes(&session), ["answered"]);
        assert_eq!(items(&session, "toolCall")[0]["visibleOutput"], "B");
        host.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_question_is_cancelled_past_the_sdk() {
    within(async {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path()).await;
        let session = host.start(folder.path()).await;
        let (turn, question) = asking(&host, &session).await;
        host.line.command(&session, "userInput/cancel", json!({ "userInputId": question })).await;
        assert_eq!(terminal(&turn.completed().await.unwrap()), "completed");
        assert_eq!(outcomes(&session), ["cancelled"]);
        assert_eq!(items(&session, "toolCall")[0]["status"], "cancelled");
        host.close().await;
    })
    .await;
}
