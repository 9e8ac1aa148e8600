//! State events (section 20): whole values, the latest wins.

use serde_json::Value;

use super::ViewEvent;
use crate::state::State;

pub(super) fn apply(state: &mut State, event: &ViewEvent) {
    state.values.insert(event.method.clone(), Value::Object(event.params.clone()));
}
