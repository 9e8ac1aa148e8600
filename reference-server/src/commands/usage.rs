//! Usage: `usage/read`, `usage/refresh` (MISC-6).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
