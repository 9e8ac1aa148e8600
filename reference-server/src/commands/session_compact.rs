//! Compaction: `session/compact` (MISC-1).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
