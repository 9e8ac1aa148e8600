//! Hooks: `hook/list` (MISC-5). The hooks are those that installed plugins name; this host runs none.

use msp_types::msp::methods::HookList;
use msp_types::msp::{HookListParams, HookListResult};
use serde_json::json;

use super::{HostCall, HostMethod, Method, Reply, from_value, method, plugin};
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[method::<HookList>()];

impl HostMethod for HookList {
    fn serve(params: HookListParams, call: &HostCall<'_>) -> Result<Reply<HookListResult>, Refusal> {
        call.host.loaded(&params.session_id)?;
        let rows: Vec<_> = plugin::hooks(call.host)
            .into_iter()
            .filter(|(_, hook)| hook["event"].is_string())
            .map(|(_, hook)| {
                json!({ "key": hook["key"], "event": hook["event"], "handlerKind": "plugin", "enabled": true })
            })
            .collect();
        Ok(Reply::Result(from_value(json!({ "hooks": rows }))?))
    }
}
