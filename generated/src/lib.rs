//! Lossless Rust types for MSP (the Muse Session Protocol) and for the `session::*` functions of the iii session manager.
//!
//! Made from the schemas by `msp-codegen`: decoding and encoding gives back every member, known or not, with absent, `null` and
//! empty kept apart. Open enums keep a text that the schema does not list, unions keep an alternative that it does not know, closed
//! enums refuse. `Deserialize` refuses a wrong shape and nothing else; [`from_json_strict`] also holds the value against bounds,
//! lengths, patterns, dependent members and closed objects, and [`Checked::violations`] lists what a value breaks.
//!
//! # Decoding a frame
//!
//! Every frame that a host can send becomes one typed value; a method that the schema does not list keeps its params.
//!
//! ```
//! use msp_types::Frame;
//! use msp_types::msp::{frames::FromHost, notifications::Notification};
//!
//! let line = r#"{"jsonrpc":"2.0","method":"item/started","emittedAtMs":1,"params":{"sessionId":"s","viewCursor":"c1",
//!     "item":{"itemId":"i","kind":"agentMessage","revision":1,"status":"inProgress","novel":true}}}"#;
//! match FromHost::decode(line)? {
//!     Frame::Notification { notification: Notification::ItemStarted(params), .. } => {
//!         assert_eq!(params.item.kind.as_str(), "agentMessage");
//!         assert_eq!(params.item.unknown["novel"], true); // not in the schema, and not lost
//!     }
//!     other => panic!("{other:?}"),
//! }
//!
//! let line = r#"{"jsonrpc":"2.0","method":"session/neverHeardOf","params":{"x":1}}"#;
//! match FromHost::decode(line)? {
//!     Frame::Notification { notification: Notification::Unlisted { method, params }, .. } => {
//!         assert_eq!(method, "session/neverHeardOf");
//!         assert_eq!(params.unwrap()["x"], 1);
//!     }
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Building a request
//!
//! `new` takes the required members; all others are fields. The answer's type hangs on the method.
//!
//! ```
//! use msp_types::msp::{ViewPageParams, frames::FromClient, methods::{self, Request}};
//! use msp_types::{Call, Frame, Unknown};
//!
//! let mut params = ViewPageParams::new(100, "01890a5d-ac96-774b-bcce-b302099a8057".to_owned());
//! params.cursor = Some("c41".to_owned());
//! let frame = FromClient::Request { id: 7.into(), request: Request::ViewPage(Box::new(params)), unknown: Unknown::new() };
//! let line = frame.encode()?;
//! assert!(line.contains(r#""method":"view/page""#) && !line.contains("anchor"));
//!
//! let answer = serde_json::json!({ "events": [], "headCursor": null, "nextCursor": null });
//! let _page: <methods::ViewPage as Call>::Result = serde_json::from_value(answer)?;
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Matching an error by its kind
//!
//! ```
//! use msp_types::Frame;
//! use msp_types::msp::{ErrorKind, ErrorObject, errors, frames::FromHost};
//!
//! let line = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"another process has it",
//!     "data":{"kind":"sessionInUse","sessionId":"s"}}}"#;
//! let Frame::Error { id, error, .. } = FromHost::decode(line)? else { panic!("no error") };
//! assert_eq!(id, 7);
//! let error: ErrorObject = serde_json::from_value(error)?;
//! match error.data.as_ref().map(|data| &data.kind) {
//!     Some(ErrorKind::SessionInUse) => assert_eq!(errors::SESSION_IN_USE.retryable, Some(false)),
//!     Some(ErrorKind::Unlisted(kind)) => panic!("a kind from a newer host: {kind}"),
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! What does not decode says where:
//!
//! ```
//! # use msp_types::msp::frames::FromHost;
//! let line = r#"{"jsonrpc":"2.0","method":"item/started","params":{"sessionId":"s","viewCursor":"c",
//!     "item":{"itemId":"i","kind":"agentMessage","revision":"1","status":"inProgress"}}}"#;
//! let error = FromHost::decode(line).unwrap_err().to_string();
//! assert_eq!(error, r#"params of `item/started`: `/item/revision`: invalid type: string "1", expected i64"#);
//! ```
//!
//! # Strict decoding
//!
//! ```
//! # #[cfg(feature = "strict")] {
//! use msp_types::msp::ViewPageParams;
//! use msp_types::{Checked as _, from_json_strict};
//!
//! let text = r#"{"sessionId":"s","limit":1001}"#;
//! let error = from_json_strict::<ViewPageParams>(text).unwrap_err();
//! assert_eq!(error.to_string(), "`/limit`: maximum asks for at most 1000");
//!
//! let lenient: ViewPageParams = serde_json::from_str(text).unwrap(); // the shape is right
//! assert_eq!(lenient.violations()[0].keyword, "maximum");
//! # }
//! ```
//!
//! # What is not kept
//!
//! - `1.0`, `1e2` or `-0` where an integer is declared, and integers beyond 64 bits, are refused.
//! - A known tag with a bad payload is refused, although JSON Schema would let a catch-all alternative take it.
//! - An object that names one of its known members twice is refused; of an unknown one the last counts.
//! - Numbers beyond 64 bits or double precision change, where `number` is declared and in unknown members (a property of
//!   `serde_json::Number`); beyond the range of a double (`1e400`) the whole text is refused.
//! - The order of members, and blanks.
//!
//! # What it costs
//!
//! Beside the output of plain typify for the same bundle, which loses unknown members and more; ratios of one run of
//! `cargo bench -p msp-types` on two busy cores. Compile times are medians of processor seconds with dependencies built, the
//! others the shortest of many rounds.
//!
//! | | ours / plain | ratio |
//! |---|---|---|
//! | `cargo check` | 3.19 s / 8.33 s | 0.38 |
//! | debug build | 3.73 s / 9.90 s | 0.38 |
//! | library file | 11.59 MB / 21.52 MB | 0.54 |
//! | decode `Item`, 104 members | 7.30 µs / 7.69 µs | 0.95 |
//! | encode `Item`, 104 members | 2.96 µs / 2.64 µs | 1.12 |
//! | decode `Item`, 7 members | 0.74 µs / 0.53 µs | 1.41 |
//! | encode `Item`, 7 members | 0.17 µs / 0.17 µs | 1.01 |
//! | decode `Item`, 7 members and 5 unknown | 1.31 µs / 0.62 µs | 2.11 |
//! | encode `Item`, 7 members and 5 unknown | 0.26 µs / 0.18 µs | 1.44 |
//!
//! # Features
//!
//! - `strict` (on by default): `violations` and `from_json_strict`; brings regex-lite.
//! - `experimental`: the parts that only the experimental surface of MSP has. Without it such members are kept as unknown ones.
//! - `schemars`: every type describes itself (schemars 1).
//! - `regenerate`: the types come from the bundle that the environment variable `MSP_SCHEMA` names (an absolute path), instead of the packaged one, and
//!   are made while the crate is built. This brings the generator and a build script; without it there is none.

/// What the types are written in: presence, strictness, registries, frames.
#[cfg(not(feature = "regenerate"))]
#[macro_use]
#[rustfmt::skip] // a copy, kept as it was written
#[allow(unused_macros, clippy::pedantic, missing_docs, unreachable_pub, reason = "serves both families and whoever copies it")]
pub mod words;

/// MSP, the Muse Session Protocol.
#[cfg(not(feature = "regenerate"))]
#[path = "gen/msp/mod.rs"]
#[rustfmt::skip] // generated
#[allow(clippy::pedantic, reason = "names and texts are the schema's")]
pub mod msp;

/// The `session::*` functions and the events of the session manager.
#[cfg(not(feature = "regenerate"))]
#[path = "gen/session/mod.rs"]
#[rustfmt::skip] // generated
#[allow(clippy::pedantic, reason = "names and texts are the schema's")]
pub mod session;

#[cfg(feature = "regenerate")]
pub use msp_types_regenerated::{msp, session, words};

pub use words::*;
