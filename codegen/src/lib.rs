//! Rust types from the schemas of coding-agent session protocols, with nothing lost.

pub mod build;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod config;
pub mod diagnostic;
pub mod document;
pub mod emit;
pub mod generate;
pub mod input;
pub mod ir;
pub mod lint;
pub mod list;
pub mod options;
pub mod output;
pub mod pointer;
pub mod schemas;

mod keywords;
mod passes;
mod shapes;
mod suggest;

pub use build::build;
