//! Questions to the user: answer, cancel, clarify, interrupt; `userInput/engaged` (UIN).

use std::sync::Arc;

use serde_json::Value;

use super::Method;
use crate::host::Host;

/// What this family has.
pub const METHODS: &[Method] = &[];

/// Takes `userInput/engaged`: it is never answered, whatever is wrong with it (UIN-9).
pub fn engaged(host: &Arc<Host>, params: &Value) {
    let _ = (host, params); // countdowns come with the family
}
