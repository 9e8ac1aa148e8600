//! Subagents: the eight verbs (AGENT).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
