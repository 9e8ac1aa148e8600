//! Projections: `projection/list`, `projection/read` (experimental).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
