//! Questions to the user as drafts (UIN). Pure.

use msp_types::msp::notifications::{UserInputRequested, UserInputSettled};
use serde_json::{Map, Value, json};

use crate::decision::{Draft, Stream};
use crate::mint::Mint;
use crate::state::Prompt;
use crate::time::rfc3339;

/// How a prompt ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// Outcome on the wire.
    pub outcome: &'static str,
    /// Answers.
    pub answers: Value,
    /// Clarification, or null.
    pub clarification: Value,
    /// Reason, or null.
    pub reason: Value,
    /// The command that settled it, or null.
    pub decided_by: Value,
}

impl Settlement {
    /// An outcome with nothing else.
    pub fn new(outcome: &'static str, command_id: Option<&str>) -> Self {
        Self {
            outcome,
            answers: json!([]),
            clarification: Value::Null,
            reason: Value::Null,
            decided_by: command_id.into(),
        }
    }
}

/// `userInput/requested` for the call of an item.
pub fn request(
    item: &Map<String, Value>,
    user_input_id: &str,
    questions: &Value,
    auto_resolution_ms: Option<u64>,
) -> Draft {
    let text = |member: &str| item.get(member).cloned().unwrap_or_default();
    let mut params = json!({
        "userInputId": user_input_id, "itemId": text("itemId"), "turnId": text("turnId"),
        "toolCallId": text("callId"), "toolName": text("tool"), "questions": questions,
    });
    if let Some(ms) = auto_resolution_ms {
        params["autoResolutionMs"] = ms.into();
    }
    let turn_id = text("turnId").as_str().unwrap_or_default().to_owned();
    Draft::view::<UserInputRequested>(Stream::Run(turn_id), params)
}

/// `userInput/settled` of a prompt; all its members are there, null where they do not apply (UIN-6).
pub fn settle(prompt: &Prompt, settlement: &Settlement, mint: &mut Mint) -> Draft {
    let params = json!({
        "userInputId": prompt.id, "outcome": settlement.outcome, "answers": settlement.answers,
        "clarification": settlement.clarification, "reason": settlement.reason,
        "decidedByCommandId": settlement.decided_by, "decidedAt": rfc3339(mint.now_ms()),
    });
    let turn_id = prompt.params["turnId"].as_str().unwrap_or_default().to_owned();
    Draft::view::<UserInputSettled>(Stream::Run(turn_id), params)
}
