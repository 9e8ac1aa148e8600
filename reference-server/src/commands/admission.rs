//! Peer admissions: `admission/listPending`, `admission/decide` (experimental).
//!
//! Simulated: no peer ever asks by itself; the verb `admission` lets one ask. A decision is final, and nothing else follows it.

use msp_types::msp::methods::{AdmissionDecide, AdmissionListPending};
use msp_types::msp::notifications::AdmissionResolved;
use msp_types::msp::{
    AdmissionDecideParams, AdmissionDecideResult, AdmissionListPendingParams, AdmissionListPendingResult,
    CommandStatus, errors,
};
use serde_json::{Value, json};

use super::{Command, HostCall, HostMethod, Method, Reply, command, from_value, method};
use crate::decision::{Context, Decision, Draft, Stream};
use crate::refusal::Refusal;
use crate::session::Core;
use crate::state::{Prompt, State};

/// What this family has.
pub const METHODS: &[Method] = &[method::<AdmissionListPending>(), command::<AdmissionDecide>()];

/// Choices of every request: id, which is the decision too, label and scope.
pub const CHOICES: &[(&str, &str, &str)] = &[
    ("allow_once", "Allow once", "once"),
    ("reject_once", "Reject once", "once"),
    ("allow_connected", "Allow while connected", "connected"),
    ("block_connected", "Block while connected", "connected"),
];

impl HostMethod for AdmissionListPending {
    fn serve(
        params: AdmissionListPendingParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<AdmissionListPendingResult>, Refusal> {
        strict(params.unknown.keys().next())?;
        let readable = call.host.readable(&params.session_id)?;
        let held = readable.hold();
        let admissions: Vec<_> = held.state().admissions.pending.iter().map(payload).collect();
        Ok(Reply::Result(from_value(json!({ "sessionId": params.session_id, "admissions": admissions }))?))
    }
}

impl Command for AdmissionDecide {
    fn decide(
        params: AdmissionDecideParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<AdmissionDecideResult>, Refusal> {
        strict(params.unknown.keys().next())?;
        let prompt = find(ctx.state, &params.admission_id, &params.session_id)?;
        let choices = prompt.params["availableChoices"].as_array();
        if !choices.into_iter().flatten().any(|choice| choice["choiceId"] == params.choice_id.as_str()) {
            return Err(Refusal::new(errors::ADMISSION_CHOICE_INVALID, "this choice is not offered")
                .with("admissionId", params.admission_id)
                .with("choiceId", params.choice_id));
        }
        let resolved = json!({
            "admissionId": prompt.id, "decision": params.choice_id, "resolvedBy": "user",
            "decidedByCommandId": params.command_id,
        });
        let result = AdmissionDecideResult::new(params.admission_id, params.command_id, CommandStatus::Accepted);
        Ok(Decision::new(result).draft(Draft::view::<AdmissionResolved>(Stream::Session, resolved)))
    }
}

/// Unknown members are refused (EXP-8).
fn strict(unknown: Option<&String>) -> Result<(), Refusal> {
    unknown.map_or(Ok(()), |member| Err(Refusal::invalid_params(format!("unknown member `{member}`"))))
}

/// The open request of an id.
fn find<'a>(state: &'a State, id: &str, session_id: &str) -> Result<&'a Prompt, Refusal> {
    if let Some(prompt) = state.admissions.find(id) {
        return Ok(prompt);
    }
    Err(match state.admissions.closed.get(id) {
        Some(closed) => {
            let mut resolution = json!({ "decision": closed["decision"], "viewCursor": closed["viewCursor"] });
            if closed["resolvedBy"].is_string() {
                resolution["resolvedBy"] = closed["resolvedBy"].clone();
            }
            Refusal::new(errors::ADMISSION_ALREADY_RESOLVED, "the request is settled")
                .with("admissionResolution", resolution)
                .with("retryable", false)
        }
        None => Refusal::new(errors::ADMISSION_NOT_FOUND, format!("no admission `{id}`")).with("sessionId", session_id),
    }
    .with("admissionId", id))
}

/// What `admission/request` and `admission/listPending` carry: the event without its source range.
pub fn payload(prompt: &Prompt) -> Value {
    let mut params = prompt.params.clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("sourceRange");
    }
    params
}

/// Lets a request lapse, if it is still open.
pub fn lapse(core: &mut Core, id: &str) {
    if core.state.admissions.find(id).is_some() {
        let resolved = json!({ "admissionId": id, "decision": "timedOut" });
        core.emit(vec![Draft::view::<AdmissionResolved>(Stream::Session, resolved)]);
    }
}
