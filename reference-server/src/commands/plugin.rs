//! Plugins and marketplaces: `plugin/*` (MISC-5).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
