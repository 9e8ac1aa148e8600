//! Settings of a session: model, reasoning effort, approval mode (MODEL-2, MODEL-3, APPR-24, APPR-25).

use msp_types::msp::methods::{SessionSetApprovalMode, SessionSetModel, SessionSetReasoningEffort};
use msp_types::msp::notifications::{SessionApprovalModeChanged, SessionModelChanged, SessionReasoningEffortChanged};
use msp_types::msp::{
    ApprovalModeApplyOutcome, CommandStatus, SessionSetApprovalModeParams, SessionSetApprovalModeResult,
    SessionSetModelParams, SessionSetModelResult, SessionSetReasoningEffortParams, SessionSetReasoningEffortResult,
};
use serde_json::json;

use super::{Command, Method, command, from_value};
use crate::decision::{Context, Decision, Draft, Stream};
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] =
    &[command::<SessionSetModel>(), command::<SessionSetReasoningEffort>(), command::<SessionSetApprovalMode>()];

impl Command for SessionSetModel {
    fn decide(
        params: SessionSetModelParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<SessionSetModelResult>, Refusal> {
        let model = &params.model;
        if model.model_id.is_empty() {
            return Err(Refusal::rejected("invalid_target", "the model target is empty"));
        }
        let given = model.provider_id.as_deref().filter(|provider| !provider.is_empty());
        let provider = given.unwrap_or(&ctx.host.config.provider_id);
        if provider != ctx.host.config.provider_id {
            return Err(Refusal::rejected("unsupported_route", format!("no provider `{provider}`")));
        }
        if !super::model::is_name(&model.model_id) {
            return Err(Refusal::rejected("invalid_model", format!("`{}` names no model", model.model_id)));
        }
        let result = Decision::new(SessionSetModelResult::new(params.command_id, CommandStatus::Accepted));
        let same = ctx.state.model_id().as_deref() == Some(&model.model_id)
            && ctx.state.provider_id().as_deref() == Some(provider);
        if same {
            return Ok(result);
        }
        let changed = json!({ "modelId": model.model_id, "providerId": provider, "source": "user" });
        Ok(result.draft(Draft::view::<SessionModelChanged>(Stream::Session, changed)))
    }
}

impl Command for SessionSetReasoningEffort {
    fn decide(
        params: SessionSetReasoningEffortParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<SessionSetReasoningEffortResult>, Refusal> {
        let effort = params.reasoning_effort.as_str();
        let same =
            ctx.state.value("session/reasoningEffortChanged", "reasoningEffort").is_some_and(|held| held == effort);
        let result = Decision::new(SessionSetReasoningEffortResult::new(params.command_id, CommandStatus::Accepted));
        if same {
            return Ok(result);
        }
        let changed = json!({ "reasoningEffort": effort, "source": "user" });
        Ok(result.draft(Draft::view::<SessionReasoningEffortChanged>(Stream::Session, changed)))
    }
}

impl Command for SessionSetApprovalMode {
    fn decide(
        params: SessionSetApprovalModeParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<SessionSetApprovalModeResult>, Refusal> {
        let mode = params.mode.as_str();
        if !within_ceiling(&ctx.host.config.approval_mode, mode) {
            let message = format!("approval mode `{mode}` is above what the host was started with");
            return Err(Refusal::rejected("approval_mode_ceiling", message));
        }
        let current = ctx.state.approval_mode(false);
        if current["mode"] == mode {
            // Who set it last stays told (DIS-19).
            let effective = from_value(current)?;
            let outcome = ApprovalModeApplyOutcome::Noop;
            let result =
                SessionSetApprovalModeResult::new(outcome, params.command_id, effective, CommandStatus::Accepted);
            return Ok(Decision::new(result));
        }
        let source = "approvalReconfigure";
        let effective = from_value(json!({ "mode": mode, "source": source, "lastCommandId": params.command_id }))?;
        let changed = json!({
            "mode": mode, "commandId": params.command_id,
            "clientName": ctx.caller.handshake.client_name, "source": source,
        });
        let outcome = ApprovalModeApplyOutcome::Completed;
        let result = SessionSetApprovalModeResult::new(outcome, params.command_id, effective, CommandStatus::Accepted);
        Ok(Decision::new(result).draft(Draft::view::<SessionApprovalModeChanged>(Stream::Session, changed)))
    }
}

/// Whether a mode is the ceiling or below it; `onRequest` compares with `allowAll` only (APPR-25).
pub fn within_ceiling(ceiling: &str, mode: &str) -> bool {
    ceiling == mode || ceiling == "allowAll" || (ceiling == "promptUnmatched" && mode == "denyUnmatched")
}
