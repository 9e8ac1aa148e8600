//! Turns: one in the foreground, how the others ended (section 17).

use serde_json::{Map, Value};

use super::ViewEvent;
use crate::state::{ActiveTurn, State, TurnEnd};

pub(super) fn apply(state: &mut State, event: &ViewEvent, at: i64) {
    let text = |member: &str| event.params.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let turn_id = text("turnId");
    match event.method.as_str() {
        "turn/started" => {
            state.turns.active =
                Some(ActiveTurn { turn_id, command_id: text("commandId"), started_at: at, committed: false });
        }
        "turn/completed" => {
            if state.turns.active.as_ref().is_some_and(|turn| turn.turn_id == turn_id) {
                state.turns.active = None;
            }
            let terminal = text("terminal");
            state.turns.completed += i64::from(terminal == "completed");
            let members = ["turnId", "terminal", "reason", "error"];
            let last: Map<_, _> = members
                .iter()
                .filter_map(|member| Some(((*member).to_owned(), event.params.get(*member)?.clone())))
                .collect();
            state.turns.last = Some(Value::Object(last));
            state.turns.ended.insert(turn_id, TurnEnd { terminal, sequence: event.position.sequence });
        }
        "turn/unqueued" => {
            state.turns.queue.retain(|submit| submit.turn_id != turn_id);
            state.turns.unqueued.insert(turn_id);
        }
        _ => {} // notices of a running turn
    }
}
