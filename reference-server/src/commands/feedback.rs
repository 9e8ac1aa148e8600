//! Feedback: `feedback/submit` (MISC-8).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
