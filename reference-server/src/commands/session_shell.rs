//! User shell: `session/userShell` (MISC-2).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
