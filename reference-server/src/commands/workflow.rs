//! Workflows: `workflow/*` (WF).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
