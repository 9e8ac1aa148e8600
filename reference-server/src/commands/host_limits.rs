//! Limits: `host/readLimits`, `session/readLimits` (experimental; refused over stdio).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
