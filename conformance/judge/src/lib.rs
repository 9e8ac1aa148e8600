//! Frames in, findings out: the judge of MSP transcripts.

mod document;
mod error;
mod frame;
mod judge;
mod library;
mod pairing;
mod pointer;
#[doc(hidden)]
pub mod probe;
pub mod report;
pub mod rules;
mod schema;
mod sessions;
pub mod transcript;
mod value;

pub use error::SchemaError;
pub use judge::{Judge, Profile};
pub use library::Library;
pub use msp_schema::Surface;
pub use report::{Counts, Finding, Report};
pub use rules::{Rule, Severity};
pub use schema::{EventShape, KnownWords, Overlay, Place, Schema, Why};
pub use sessions::SessionSchema;
pub use value::{Bench, CallPart, Target, ValueError};
