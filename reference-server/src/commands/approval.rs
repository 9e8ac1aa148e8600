//! Approvals: `approval/decide`, `approval/listPending` (APPR).

use msp_types::Presence as Given;
use msp_types::msp::methods::{ApprovalDecide, ApprovalListPending};
use msp_types::msp::{
    ApprovalDecideParams, ApprovalDecideResult, ApprovalListPendingParams, ApprovalListPendingResult, CommandStatus,
    errors,
};
use serde_json::{Value, json};

use super::{Command, HostCall, HostMethod, Method, Reply, command, from_value, method};
use crate::approvals;
use crate::decision::{Context, Decision, Draft, Effect};
use crate::refusal::Refusal;
use crate::session::Core;
use crate::state::{Prompt, Prompts, State};

/// What this family has.
pub const METHODS: &[Method] = &[command::<ApprovalDecide>(), method::<ApprovalListPending>()];

/// The fact of a rule that is decided and not kept yet.
const OWED: &str = "owedRule";

impl Command for ApprovalDecide {
    fn decide(params: ApprovalDecideParams, ctx: &mut Context<'_>) -> Result<Decision<ApprovalDecideResult>, Refusal> {
        let prompt = find(ctx.state, &params.approval_id)?.clone();
        let current = &prompt.params["currentRequirementId"];
        let asked = &params.requirement_id;
        if current["approvalId"] != asked.approval_id.as_str() || current["sourceIndex"] != asked.source_index {
            return Err(Refusal::new(
                errors::APPROVAL_REQUIREMENT_STALE,
                "the approval asks for something else by now",
            )
            .with("approvalId", prompt.id.as_str())
            .with("currentRequirementId", current.clone()));
        }
        let choices = prompt.params["availableChoices"].as_array().cloned().unwrap_or_default();
        let choice = choices.iter().find(|choice| choice["choiceId"] == params.choice_id.as_str());
        let invalid = |message: &str| {
            Refusal::new(errors::APPROVAL_CHOICE_INVALID, message)
                .with("approvalId", prompt.id.as_str())
                .with("choiceId", params.choice_id.as_str())
        };
        let choice = choice.ok_or_else(|| invalid("this choice is not offered now"))?;
        let feedback = if let Given::Value(feedback) = &params.feedback { Some(feedback.clone()) } else { None };
        if feedback.is_some() && choice["acceptsFeedback"] != true {
            return Err(invalid("this choice takes no feedback"));
        }
        if prompt.params["protectedWrite"] == true && ctx.subscribers == 0 {
            return Err(Refusal::new(
                errors::APPROVAL_REVIEWER_UNAVAILABLE,
                "a protected write needs somebody who watches",
            )
            .with("approvalId", prompt.id.as_str()));
        }
        let moved = approvals::decide(ctx.state, &prompt, choice, ctx.command_id, ctx.mint);
        let result =
            ApprovalDecideResult::new(prompt.id.clone(), params.command_id, CommandStatus::Accepted, moved.terminal);
        let mut decision = Decision::new(result).drafts(moved.drafts);
        if let Some(feedback) = feedback {
            // To the model only: neither the log nor an event has it (APPR-13).
            decision = decision.effect(Effect::Do(Box::new(|core| core.hear(feedback))));
        }
        if let Some(rule) = moved.persistent {
            // A fact until it is done, so that a host that dies in between leaves it to the next one.
            let owed = json!({ "rule": rule, "approvalId": prompt.id, "params": prompt.params });
            decision = decision.draft(Draft::fact(OWED, owed)).effect(Effect::Do(Box::new(keep_owed_rule)));
        }
        Ok(decision)
    }
}

/// The open approval of an id.
fn find<'a>(state: &'a State, approval_id: &str) -> Result<&'a Prompt, Refusal> {
    if let Some(prompt) = state.approvals.find(approval_id) {
        return Ok(prompt);
    }
    Err(match state.approvals.closed.get(approval_id) {
        Some(closed) => {
            let resolution = json!({
                "decision": closed["decision"], "resolvedBy": closed["resolvedBy"], "viewCursor": closed["viewCursor"],
            });
            Refusal::new(errors::APPROVAL_ALREADY_RESOLVED, "the approval is resolved").with("resolution", resolution)
        }
        None => Refusal::new(errors::APPROVAL_NOT_FOUND, format!("no approval `{approval_id}`")),
    }
    .with("approvalId", approval_id))
}

/// Keeps the rule that a decision asked for, where it was not kept yet, and tells whether that worked.
pub(crate) fn keep_owed_rule(core: &mut Core) {
    let Some(owed) = core.state.facts.get(OWED).filter(|owed| !owed.is_null()).cloned() else { return };
    let text = |member: &str| owed[member].as_str().unwrap_or_default();
    let failed = core.host.keep_rule(text("rule")).err().map(|error| error.to_string());
    let prompt = Prompt { id: text("approvalId").to_owned(), params: owed["params"].clone() };
    core.emit(vec![approvals::persistence(&prompt, failed.as_deref()), Draft::fact(OWED, Value::Null)]);
}

impl HostMethod for ApprovalListPending {
    fn serve(
        params: ApprovalListPendingParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<ApprovalListPendingResult>, Refusal> {
        let readable = call.host.readable(&params.session_id)?;
        let held = readable.hold();
        let all = |prompts: &Prompts| prompts.pending.iter().map(|prompt| prompt.params.clone()).collect::<Value>();
        let result = json!({ "approvals": all(&held.state().approvals), "userInputs": all(&held.state().user_inputs) });
        Ok(Reply::Result(from_value(result)?))
    }
}
