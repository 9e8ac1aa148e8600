//! Rust types from the schemas of coding-agent session protocols, with nothing lost.
//!
//! ```text
//! files ─ input ─▶ Schemas ─ passes ─▶ Ir ─ shapes ─▶ expressions ─ emit ─▶ Files ─ output ─▶ disk, or a diff
//!                     │                     (typify)
//!                     ├─ lint ─▶ diagnostics
//!                     └─ list ─▶ tables
//! ```
//!
//! - [`input`] reads a bundle (one surface or both), a folder of session functions, or any JSON Schema, and resolves references.
//! - `passes` take out of JSON Schema what Rust says in another way (openness, presence, unions, bounds, names) into the [`ir`].
//! - `shapes` hands what is left to typify, which decides on lists, maps and boxes; nothing else knows typify.
//! - [`emit`] writes each type as one call of a hand-written macro; the macros travel with the output.
//! - [`output`] writes all files or none, or compares.
//!
//! Reading, generating and laying out the experimental bundle takes 0.62 times what plain typify with prettyplease takes for the same
//! bundle, 58 ms beside 95 ms in one run (`cargo bench -p msp-codegen --bench generation`).
//!
//! The same input gives the same bytes: no clock, no hash order. Libraries never print.
//!
//! ```
//! use msp_codegen::{generate, input, options::Options};
//!
//! # let folder = std::env::temp_dir().join(format!("msp-codegen-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("lamp.json");
//! std::fs::write(&path, r#"{"title": "Lamp", "type": "object", "required": ["on"], "properties": {"on": {"type": "boolean"}}}"#)?;
//! let options = Options::default();
//! let schemas = input::read(&[&path], &options).map_err(|found| found[0].to_string())?;
//! let (files, diagnostics) = generate::generate(&schemas, &options);
//! assert!(diagnostics.is_empty());
//! assert!(files["types.rs"].contains("\"on\" req on: bool,"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

mod choices;
mod keywords;
mod make;
mod passes;
mod shapes;
mod suggest;

pub use build::build;
