//! Hooks: `hook/list` (MISC-5).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
