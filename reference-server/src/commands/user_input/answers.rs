//! Answers against the questions of their prompt (UIN-4, LIM-6).

use std::collections::BTreeSet;

use msp_types::msp::errors;
use serde_json::Value;

use crate::refusal::Refusal;
use crate::state::Prompt;

/// How many questions have to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Every one.
    All,
    /// Any of them, or none.
    Some,
}

const MOST_CHARACTERS: usize = 500;

/// Refuses answers that the prompt does not take.
///
/// # Errors
/// −32057.
pub(super) fn check(prompt: &Prompt, answers: &Value, wanted: Wanted) -> Result<(), Refusal> {
    let invalid = |message: String| {
        Refusal::new(errors::USER_INPUT_ANSWER_INVALID, message).with("userInputId", prompt.id.as_str())
    };
    let questions = prompt.params["questions"].as_array().map_or(&[][..], Vec::as_slice);
    let mut answered = BTreeSet::new();
    for answer in answers.as_array().into_iter().flatten() {
        let id = answer["questionId"].as_str().unwrap_or_default();
        let question = questions.iter().find(|question| question["id"] == id);
        let question = question.ok_or_else(|| invalid(format!("no question `{id}`")))?;
        if !answered.insert(id) {
            return Err(invalid(format!("question `{id}` is answered twice")));
        }
        check_one(question, answer).map_err(|what| invalid(format!("question `{id}`: {what}")))?;
    }
    if wanted == Wanted::All && answered.len() < questions.len() {
        return Err(invalid("not every question is answered".to_owned()));
    }
    Ok(())
}

fn check_one(question: &Value, answer: &Value) -> Result<(), String> {
    if answer.get("attachments").is_some() {
        return Err("`attachments` are reserved".to_owned());
    }
    for member in ["freeText", "note"] {
        if answer[member].as_str().is_some_and(|text| text.chars().count() > MOST_CHARACTERS) {
            return Err(format!("`{member}` is over {MOST_CHARACTERS} characters"));
        }
    }
    let given = ["selectedLabel", "selectedLabels", "freeText"].iter().filter(|member| answer.get(**member).is_some());
    if given.count() != 1 {
        return Err("exactly one of `selectedLabel`, `selectedLabels` and `freeText`".to_owned());
    }
    let multiple = question["selection"]["mode"] == "multiple";
    let offered = |label: &Value| {
        question["options"].as_array().is_some_and(|options| options.iter().any(|option| option["label"] == *label))
    };
    if let Some(label) = answer.get("selectedLabel") {
        return if multiple || !offered(label) { Err(format!("{label} cannot be selected")) } else { Ok(()) };
    }
    let Some(labels) = answer["selectedLabels"].as_array() else { return Ok(()) };
    let distinct: BTreeSet<_> = labels.iter().map(Value::to_string).collect();
    let bound = |member: &str, default: usize| {
        question["selection"][member].as_u64().map_or(default, |n| usize::try_from(n).unwrap_or(default))
    };
    let most = question["options"].as_array().map_or(0, Vec::len);
    let count = bound("minSelections", 1)..=bound("maxSelections", most);
    if !multiple || distinct.len() != labels.len() || !labels.iter().all(offered) || !count.contains(&labels.len()) {
        return Err("these labels cannot be selected together".to_owned());
    }
    Ok(())
}
