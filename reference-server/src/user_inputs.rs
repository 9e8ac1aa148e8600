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

/// Whether questions may be asked: their number, the lengths of their texts, and what has to be different (UIN-2).
///
/// # Errors
/// A text that names the first bound that does not hold.
pub fn within_bounds(questions: &Value) -> Result<(), String> {
    let questions = questions.as_array().map_or(&[][..], Vec::as_slice);
    if !(1..=3).contains(&questions.len()) {
        return Err(format!("{} questions, where 1 to 3 may be asked", questions.len()));
    }
    each_once(questions.iter().map(|question| &question["id"]), "question id")?;
    for question in questions {
        at_most(&question["id"], 64, "question id")?;
        at_most(&question["header"], 12, "header")?;
        let options = question["options"].as_array().map_or(&[][..], Vec::as_slice);
        if !(2..=3).contains(&options.len()) {
            return Err(format!("{} options, where 2 or 3 may be offered", options.len()));
        }
        each_once(options.iter().map(|option| &option["label"]), "label")?;
        for option in options {
            at_most(&option["label"], 80, "label")?;
            at_most(&option["description"], 240, "description")?;
            at_most(&option["preview"]["content"], 2000, "preview")?;
            if option.get("preview").is_some() && question["selection"]["mode"] == "multiple" {
                return Err("a preview, where more than one may be selected".to_owned());
            }
        }
    }
    Ok(())
}

fn at_most(text: &Value, bound: usize, what: &str) -> Result<(), String> {
    match text.as_str().map_or(0, |text| text.chars().count()) {
        length if length > bound => Err(format!("a {what} of {length} characters, where {bound} fit")),
        _ => Ok(()),
    }
}

fn each_once<'a>(mut texts: impl Iterator<Item = &'a Value>, what: &str) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    match texts.find(|text| !seen.insert(text.to_string())) {
        Some(twice) => Err(format!("the {what} {twice} occurs twice")),
        None => Ok(()),
    }
}
