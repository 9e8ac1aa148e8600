//! `session/promptHint` and `session/reportStartupPhases` (experimental).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
