//! Account: `account/read`, `loginStart`, `loginCancel`, `logout` (experimental).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];
