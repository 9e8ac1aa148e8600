//! Tests that need nothing but this repository, over cases that are folders of data.
//!
//! - `input`: what reading makes of each kind of path.
//! - `list`: what is shown of an input.
//! - `output`: files written and compared.
//! - `build`: the helper for build scripts.
//! - `cli`: the built program, with exit codes and both streams.
//! - `generate`: what Rust a schema becomes.
//! - `workspace`: Rust versions and arrows between crates.
//! - `lint`: what is found in schemas that can be read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod build;
mod cases;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod generate;
mod input;
mod lint;
mod list;
mod output;
mod workspace;
