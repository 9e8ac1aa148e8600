//! Approvals: `approval/decide`, `approval/listPending` (APPR).

use msp_types::msp::methods::ApprovalListPending;
use msp_types::msp::{ApprovalListPendingParams, ApprovalListPendingResult};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, from_value, method};
use crate::refusal::Refusal;
use crate::state::Prompts;

/// What this family has.
pub const METHODS: &[Method] = &[method::<ApprovalListPending>()];

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
