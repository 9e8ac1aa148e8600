//! Frames in, findings out: the judge of MSP transcripts.
//!
//! The judge holds what a host and a client sent, or what session functions were called with, against the published
//! schemas: the envelope, the direction, the pairing of responses with requests, and params, results, errors and
//! notifications against their definitions. It never decodes through generated types: it judges raw JSON. It does no
//! I/O of its own and reads no clock, so live and recorded traffic are judged alike.
//!
//! In a test of your own:
//!
//! ```
//! use msp_judge::{Judge, Library, Profile, Surface, judge_transcript};
//!
//! let library = std::sync::Arc::new(Library::new(Surface::Stable)?);
//! let mut profile = Profile::default();
//! profile.library = Some(std::sync::Arc::clone(&library));
//!
//! let transcript = concat!(
//!     r#"{"dir":"client","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"view/subscribe\",\"params\":{\"sessionId\":\"s\"}}"}"#, "\n",
//!     r#"{"dir":"server","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"viewCursor\":7}}"}"#, "\n",
//! );
//! let report = judge_transcript(transcript.as_bytes(), Judge::new(library.newest()?, profile))?;
//! assert!(!report.is_good());
//! assert_eq!(report.findings[0].line(), "error[SCHEMA]: view/subscribe /result/viewCursor type: expected string, found 7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it goes
//!
//! [`transcript`] turns lines into entries, [`Judge::observe`] takes one entry after the other, [`Judge::finish`] gives
//! the [`Report`]. [`Bench`] judges single values. A frame goes through two lanes:
//!
//! - The **fast lane** follows the compiled schema over the bytes, once, and may only say *certainly good* or *ask*.
//! - The **slow lane**, `serde_json` and `jsonschema`, alone says *bad*, and finds the words.
//!
//! So an oddity costs time, never a verdict. The test that holds it mutates frames and demands that whatever the fast
//! lane accepts, the library accepts too, without a word that is new:
//! `FULL=1 cargo test -p msp-judge --all-features --test it soundness -- --nocapture` tries 117,046 frames, of which the
//! lane accepts 37,886, none wrongly; and for each reason to ask it counts frames that only this reason keeps out.
//!
//! A frame that neither lane has anything against becomes *facts*, once: a request with the session as it stood, an
//! answer with its request, an event from live or page, an item on whatever path it is seen. The rules of the protocol
//! are data (`rules/msp.toml`, read by [`rules::table`]); a family of them is one file with a *monitor*, which is given
//! the facts that it names and says which rules were exercised and which broken. A fault of shape carries the rule that
//! claims its place, else `SCHEMA`. [`Report::verdicts`] has what came of each rule that has a judge. What happened
//! before a transcript begins, in a gap, or around a frame that was no fact, is unknown, not absent.
//!
//! What the bundle leaves open is filled in from the overlay of `msp-schema`: what a stored event (`view/page`) carries
//! is judged by the notification that it names, what the raw log carries by the definition of a record, and the kinds of
//! log streams are known words.
//!
//! # What counts as what
//!
//! - A name that comes twice in an object is a finding; the last value is judged. Escapes make no other name.
//! - `1.0` and `1e2` are integers, as JSON Schema says. A number beyond the range of a double is no JSON, nor is half
//!   a surrogate pair, nor an object or array nested more than 128 levels deep.
//! - A word outside an open enum is a warning with definition, value and line, an unlisted notification a note, an
//!   unlisted request a warning. An unknown word in a `ToolReceipt` of a known family is neither: the branch for
//!   families to come takes it.
//! - A response that pairs with no request is a fault where the transcript has the connection from its `initialize`
//!   on; elsewhere a note at the end counts such responses.
//! - `format` is not asserted.
//!
//! # Limits
//!
//! A union whose branches both lead back to it through the same member, as in `N = {c: N, a} | {c: N, z}`, costs twice
//! the time with each level of the value, in both lanes: each branch is tried to its end, by `jsonschema` as by the
//! fast lane.
//!
//! # Memory
//!
//! Open requests (at most 65,536, then the oldest are forgotten, which a note tells; the rules remember the frames of
//! the last 4,096), a small state a connection, and the findings until they are taken, at most [`Profile::keep`]. For
//! the rules, a fixed number of bytes for each durable event, item and turn of a session until it is closed; with
//! [`Profile::rules`] off, nothing. Lines over the frame limit are passed over without
//! being held.

mod document;
mod error;
mod facts;
mod frame;
mod judge;
mod library;
mod nearest;
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
pub use judge::{Judge, Profile, judge_transcript};
pub use library::Library;
pub use msp_schema::Surface;
pub use report::{Counts, Finding, Report};
pub use rules::tally::{RuleVerdict, UnderTest, Verdict};
pub use rules::{Rule, Severity};
pub use schema::{EventShape, KnownWords, Overlay, Place, Schema, Why};
pub use sessions::SessionSchema;
pub use value::{Bench, CallPart, Target, ValueError};
