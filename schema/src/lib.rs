//! The published shapes of MSP and of the session functions, and one way to read them.
//!
//! ```text
//! msp/{stable,experimental}/  ─┐                    ┌─ bundle::Bundle        methods, definitions, errors of one file
//! msp/revisions/              ─┤  published::files  ├─ annotations           what a bundle cannot say
//! msp/annotations.json        ─┤  ───────────────►  ├─ revisions             which release a fingerprint belongs to
//! session/                    ─┘                    └─ session               functions and triggers
//! ```
//!
//! ```
//! use msp_schema::{Surface, published};
//!
//! let bundle = published::bundle(Surface::Stable);
//! let start = bundle.find_method("turn/start").expect("it is published");
//! assert_eq!(start.params.as_deref(), Some("TurnStartParams"));
//! assert!(bundle.definition("TurnStartParams").is_some());
//! ```
//!
//! What stays true:
//! - Every file is embedded: nothing here needs the repository, a network or an environment variable.
//! - A bundle is read as it is. What we know beyond it stands in [`annotations`], keyed by JSON Pointer.
//! - A fingerprint is a string to compare. It is never computed from a file; [`digest`] is ours.

pub mod annotations;
pub mod bundle;
pub mod digest;
mod error;
#[cfg(feature = "instances")]
pub mod instances;
pub mod keywords;
pub mod pointer;
pub mod published;
pub mod revisions;
pub mod session;
mod surface;

pub use error::SchemaError;
pub use surface::Surface;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
