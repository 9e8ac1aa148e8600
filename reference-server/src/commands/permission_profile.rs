//! Permission profiles: `permissionProfile/list`, `session/setPermissionProfile` (experimental).
//!
//! The catalogue is fixed, and one profile of it is excluded. Simulated: what a session may do does not change with its profile, and
//! no automated reviewer is ever attached.

use msp_types::msp::methods::{PermissionProfileList, SessionSetPermissionProfile};
use msp_types::msp::notifications::SessionPermissionProfileChanged;
use msp_types::msp::{
    PermissionProfileListParams, PermissionProfileListResult, SessionSetPermissionProfileParams,
    SessionSetPermissionProfileResult,
};
use serde_json::{Value, json};

use super::{Command, HostCall, HostMethod, Method, Reply, command, from_value, method};
use crate::decision::{Context, Decision, Draft, Stream};
use crate::refusal::Refusal;
use crate::state::State;

/// What this family has.
pub const METHODS: &[Method] = &[method::<PermissionProfileList>(), command::<SessionSetPermissionProfile>()];

/// A profile of the catalogue.
struct Profile {
    id: &'static str,
    label: &'static str,
    authority: &'static str,
    excluded: bool,
}

/// The one that sessions have which chose none.
const DEFAULT: &str = "default";

const CATALOGUE: &[Profile] = &[
    Profile { id: DEFAULT, label: "Ask a person", authority: "human", excluded: false },
    Profile { id: "reviewed", label: "Automatic review", authority: "autoReview", excluded: false },
    Profile { id: "unrestricted", label: "Unrestricted", authority: "none", excluded: true },
];

/// Refuses a profile that cannot be had (CMD-18), before anything is written.
///
/// # Errors
/// −32030 with a `permission_profile_…` reason.
pub fn check(profile: Option<&str>, durable: bool) -> Result<(), Refusal> {
    let Some(id) = profile else { return Ok(()) };
    let Some(profile) = CATALOGUE.iter().find(|profile| profile.id == id) else {
        return Err(Refusal::rejected("permission_profile_unknown", format!("no permission profile `{id}`")));
    };
    if profile.excluded {
        let message = format!("permission profile `{id}` is excluded on this host");
        return Err(Refusal::rejected("permission_profile_unavailable", message));
    }
    if !durable && id != DEFAULT {
        let message = "sessions of an ephemeral host keep its profile";
        return Err(Refusal::rejected("permission_profile_ephemeral_fixed", message));
    }
    Ok(())
}

impl HostMethod for PermissionProfileList {
    fn serve(
        params: PermissionProfileListParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<PermissionProfileListResult>, Refusal> {
        if let Some(session_id) = &params.session_id {
            drop(call.host.readable(session_id)?);
        }
        let fixed = !call.host.is_durable();
        let row = |profile: &Profile| {
            let mut reasons = Vec::new();
            if profile.excluded {
                reasons.push("managedExcluded");
            }
            if fixed && profile.id != DEFAULT {
                reasons.push("ephemeralFixed");
            }
            let mut row = json!({
                "profileId": profile.id, "label": profile.label, "reviewerAuthority": profile.authority,
                "available": reasons.is_empty(),
            });
            if !reasons.is_empty() {
                row["unavailableReasons"] = json!(reasons);
            }
            row
        };
        let profiles: Vec<_> = CATALOGUE.iter().map(row).collect();
        Ok(Reply::Result(from_value(json!({ "profiles": profiles }))?))
    }
}

impl Command for SessionSetPermissionProfile {
    fn decide(
        params: SessionSetPermissionProfileParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<SessionSetPermissionProfileResult>, Refusal> {
        let profile = params.profile_id.as_str();
        check(Some(profile), ctx.host.is_durable())?;
        let noop = current(ctx.state) == profile;
        let outcome = if noop { "noop" } else { "completed" };
        let result = json!({
            "commandId": params.command_id, "status": "accepted", "applyOutcome": outcome,
            "permissionState": permission_state(profile, ctx.subscribers),
        });
        let decision = Decision::new(from_value(result)?);
        if noop {
            return Ok(decision);
        }
        let changed = json!({
            "profileId": profile, "source": "livePicker", "commandId": params.command_id,
            "clientName": ctx.caller.handshake.client_name,
        });
        Ok(decision.draft(Draft::view::<SessionPermissionProfileChanged>(Stream::Session, changed)))
    }
}

/// The profile in force.
fn current(state: &State) -> &str {
    let changed = state.value("session/permissionProfileChanged", "profileId").and_then(Value::as_str);
    changed.or(state.header.permission_profile.as_deref()).unwrap_or(DEFAULT)
}

/// The state as the wire shows it. A person reviews as long as a client is subscribed.
fn permission_state(profile: &str, subscribers: usize) -> Value {
    let authority = CATALOGUE.iter().find(|row| row.id == profile).map_or("none", |row| row.authority);
    json!({
        "profileId": profile, "reviewerAuthority": authority,
        "reviewerAttached": authority == "human" && subscribers > 0,
    })
}
