//! Models: `model/list` (MODEL-1).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
