//! The goal, as the model reports on it.
//!
//! - `goal {"objective"?, "status"?, "percentComplete"?, "currentWork"?, "nextWork"?, "clear"?}`: the session's goal changes; members
//!   that are not named stay. `clear` takes it away. Example: `goal {"status":"completed","percentComplete":100}`.

use serde_json::{Value, json};

use super::{Args, Stage, Verb};
use crate::commands::goal::changed;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[Verb {
    name: "goal",
    members: &["objective", "status", "percentComplete", "currentWork", "nextWork", "clear"],
    expand: goal,
}];

fn goal(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let clear = args.flag("clear")?.unwrap_or(false);
    let mut members = serde_json::Map::new();
    for name in ["objective", "status", "currentWork", "nextWork"] {
        members.extend(args.text(name)?.map(|text| (name.to_owned(), Value::from(text))));
    }
    members.extend(args.number("percentComplete")?.map(|percent| ("percentComplete".to_owned(), Value::from(percent))));
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, mint| {
        if clear {
            return vec![changed(&Value::Null)];
        }
        let now = mint.now_ms();
        let held = state.value("session/goalChanged", "goal").cloned();
        let mut goal = held.unwrap_or_else(
            || json!({ "objective": "(none given)", "status": "active", "percentComplete": 0, "createdAtMs": now }),
        );
        goal["updatedAtMs"] = now.into();
        for (name, value) in members {
            goal[name] = value;
        }
        vec![changed(&goal)]
    }))])
}
