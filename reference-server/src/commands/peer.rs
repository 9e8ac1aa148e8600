//! Peers: `peer/list` (experimental).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
