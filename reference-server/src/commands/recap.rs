//! Recaps: `recap/request`, `recap/cancel` (MISC-7).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
