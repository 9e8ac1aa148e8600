//! Computer use: settings and set-up (MISC-9).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
