//! Sessions that come into being or are loaded: `session/start`, `resume`, `fork`, `sideChat` (SESS, RES, FORK).

mod birth;
mod fork;
mod mcp_servers;
mod resume;
mod start;

use super::{Method, method};
use msp_types::msp::methods::{SessionFork, SessionResume, SessionSideChat, SessionStart};

pub use self::birth::Births;
pub(crate) use self::birth::give_birth;
pub(crate) use self::start::check_roots;

/// What this family has.
pub const METHODS: &[Method] =
    &[method::<SessionStart>(), method::<SessionResume>(), method::<SessionFork>(), method::<SessionSideChat>()];
