//! Reference server for MSP and the session functions.
//!
//! Not here yet: the host and the session service come with their own issues. The crate holds its place, its name and its version.

/// Version of the server, as it will report it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
