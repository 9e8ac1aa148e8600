//! Rust types from the schemas of coding-agent session protocols, with nothing lost.

pub mod diagnostic;
pub mod document;
pub mod input;
pub mod lint;
pub mod options;
pub mod pointer;
pub mod schemas;

mod keywords;
mod suggest;
