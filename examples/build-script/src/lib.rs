//! Types made from `schema/lamp.schema.json` while this crate is built.
//!
//! ```
//! use build_script_example::lamp::{self, words::{Checked as _, Frame, from_json_strict}};
//!
//! let line = r#"{"jsonrpc":"2.0","method":"lamp/changed","params":{"brightness":40,"name":null,"colour":"violet","watts":9}}"#;
//! let frame = lamp::frames::FromHost::decode(line)?;
//! let Frame::Notification { notification: lamp::notifications::Notification::LampChanged(state), .. } = &frame else {
//!     panic!("{frame:?}");
//! };
//! assert_eq!(state.colour, Some(lamp::Colour::Unlisted("violet".to_owned()))); // a newer lamp
//! assert_eq!(state.unknown["watts"], 9);
//! assert!(frame.encode()?.contains("\"watts\":9"));
//!
//! let bright = lamp::LampState::new(140, Some("desk".to_owned()));
//! assert_eq!(bright.violations()[0].to_string(), "`/brightness`: maximum asks for at most 100");
//! assert!(from_json_strict::<lamp::LampState>(r#"{"brightness":1,"name":"UPPER"}"#).is_err());
//! # Ok::<(), serde_json::Error>(())
//! ```

/// The lamp's protocol.
pub mod lamp {
    include!(concat!(env!("OUT_DIR"), "/schema.rs"));
}
