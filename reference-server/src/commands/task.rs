//! Background work: `task/*` (TASK).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
