//! `session/rename` (SESS-16).

use msp_types::msp::methods::SessionRename;
use msp_types::msp::notifications::SessionNameChanged;
use msp_types::msp::{CommandStatus, SessionRenameParams, SessionRenameResult};
use serde_json::json;

use super::{Command, Method, command};
use crate::decision::{Context, Decision, Draft, Effect, Stream};
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[command::<SessionRename>()];

impl Command for SessionRename {
    fn decide(params: SessionRenameParams, ctx: &mut Context<'_>) -> Result<Decision<SessionRenameResult>, Refusal> {
        // Canonical: one line without white space around it.
        let name = params.name.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            return Err(Refusal::invalid_params("`name` is empty"));
        }
        let changed = json!({ "name": name, "nameOrigin": "custom" });
        let same = ctx
            .state
            .values
            .get("session/nameChanged")
            .is_some_and(|held| held["name"] == changed["name"] && held["nameOrigin"] == "custom");
        let mut result = SessionRenameResult::new(params.command_id, CommandStatus::Accepted);
        result.name = Some(name);
        let decision = Decision::new(result);
        if same {
            return Ok(decision); // state events come on change only (CUR-13)
        }
        Ok(decision
            .draft(Draft::view::<SessionNameChanged>(Stream::Session, changed))
            .effect(Effect::Do(Box::new(|core| core.tell_list()))))
    }
}
