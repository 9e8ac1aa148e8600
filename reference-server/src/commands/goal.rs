//! Goals: set, edit, clear, pause, resume (GOAL).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
