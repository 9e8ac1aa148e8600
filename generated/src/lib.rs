//! Lossless Rust types for MSP and the session functions.

#[macro_use]
#[rustfmt::skip] // a copy, kept as it was written
#[allow(unused_macros, clippy::pedantic, missing_docs, unreachable_pub, reason = "serves both families and whoever copies it")]
pub mod words;

/// MSP, the Muse Session Protocol.
#[path = "gen/msp/mod.rs"]
#[rustfmt::skip] // generated
#[allow(clippy::pedantic, reason = "names and texts are the schema's")]
pub mod msp;

/// The `session::*` functions and the events of the session manager.
#[path = "gen/session/mod.rs"]
#[rustfmt::skip] // generated
#[allow(clippy::pedantic, reason = "names and texts are the schema's")]
pub mod session;

pub use words::*;
