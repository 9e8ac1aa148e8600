//! Skills: `skill/list`, `setActivation`, `import` (MISC-4).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];

/// Refuses a skill that is in no catalogue (TURN-2).
///
/// # Errors
/// −32032.
pub fn check(
    host: &crate::host::Host,
    selector: &str,
    source: Option<&msp_types::msp::SkillInvocationSource>,
) -> Result<(), crate::refusal::Refusal> {
    let _ = (host, source); // the catalogue comes with the family; until then there is no skill
    let row = msp_types::msp::errors::SKILL_NOT_FOUND;
    Err(crate::refusal::Refusal::new(row, format!("no skill `{selector}`")).with("selector", selector))
}
