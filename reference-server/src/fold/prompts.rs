//! Approvals and questions to the user: open until their terminal, which is kept for those who come too late.

use serde_json::Value;

use super::ViewEvent;
use crate::state::{Prompt, Prompts, State};

pub(super) fn apply(state: &mut State, event: &ViewEvent) {
    let (prompts, member) = if event.method.starts_with("approval/") {
        (&mut state.approvals, "approvalId")
    } else if event.method.starts_with("admission/") {
        (&mut state.admissions, "admissionId")
    } else {
        (&mut state.user_inputs, "userInputId")
    };
    let Some(id) = event.params.get(member).and_then(Value::as_str) else { return };
    match event.method.as_str() {
        "approval/requested" | "userInput/requested" | "admission/requested" => {
            let params = Value::Object(event.params.clone());
            prompts.pending.push(Prompt { id: id.to_owned(), params });
        }
        "approval/updated" => update(prompts, id, event),
        "approval/resolved" | "userInput/settled" | "admission/resolved" => {
            prompts.pending.retain(|prompt| prompt.id != id);
            prompts.closed.insert(id.to_owned(), Value::Object(event.params.clone()));
        }
        _ => {} // `approval/reviewing` is activity only
    }
}

/// Brings a pending approval up to date; its cursor and source range stay those of its opening (APPR-2).
fn update(prompts: &mut Prompts, id: &str, event: &ViewEvent) {
    let Some(prompt) = prompts.pending.iter_mut().find(|prompt| prompt.id == id) else { return };
    for member in ["subject", "currentRequirementId", "availableChoices", "protectedWrite", "judgeEscalated"] {
        if let Some(value) = event.params.get(member) {
            prompt.params[member] = value.clone();
        }
    }
}
