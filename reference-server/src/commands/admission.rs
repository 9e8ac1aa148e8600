//! Peer admissions: `admission/listPending`, `admission/decide` (experimental).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
