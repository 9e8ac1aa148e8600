//! The published Rust SDK drives the reference host, process by process. Where the SDK has no call (cancel, cancelled questions,
//! paging), the frame goes past it over the transport that it was given, and the SDK has to cope with what follows.

mod host;
mod prompts;
mod sessions;
mod turns;
