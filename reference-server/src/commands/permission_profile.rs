//! Permission profiles: `permissionProfile/list`, `session/setPermissionProfile` (experimental).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];

/// Refuses a profile that is in no catalogue (CMD-18), before anything is written.
///
/// # Errors
/// −32030 `permission_profile_unknown`.
pub fn check(profile: Option<&str>) -> Result<(), crate::refusal::Refusal> {
    match profile {
        None | Some("default") => Ok(()),
        Some(profile) => {
            let message = format!("no permission profile `{profile}`");
            Err(crate::refusal::Refusal::rejected("permission_profile_unknown", message))
        }
    }
}
