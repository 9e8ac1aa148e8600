//! The types of `msp-types`, made while the crate is built: the other side of its feature `regenerate`.
//!
//! The bundle is the one that the environment variable `MSP_SCHEMA` names (a file, a surface folder, or a folder with both surfaces),
//! else the packaged one. Use it through `msp-types`; it is a crate of its own so that nobody else has a build script.

/// What the types are written in: presence, strictness, registries, frames.
#[macro_use]
#[allow(unused_macros, clippy::all, clippy::pedantic, missing_docs, unreachable_pub, reason = "serves any schema")]
pub mod words {
    include!(concat!(env!("OUT_DIR"), "/words.rs"));
}

/// MSP, the Muse Session Protocol.
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "names and texts are the schema's")]
pub mod msp {
    include!(concat!(env!("OUT_DIR"), "/msp/types.rs"));
}

/// The `session::*` functions and the events of the session manager.
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "names and texts are the schema's")]
pub mod session {
    include!(concat!(env!("OUT_DIR"), "/session/types.rs"));
}
