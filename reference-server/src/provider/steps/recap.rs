//! Recaps to come.
//!
//! - `recap {"outcome"?, "text"?, "title"?, "delayMs"?}`: what the session's next `recap/request` ends with: `completed` (default)
//!   with that text and title, `failed` or `timedOut`; 45000 ms and more is always `timedOut` (MISC-7).
//!
//! Example: `recap {"text":"Two files were changed.","title":"Clean-up","delayMs":200}`

use serde_json::{Value, json};

use super::{Args, Stage, Verb};
use crate::decision::Draft;
use crate::session::Action;

pub(super) const VERBS: &[Verb] =
    &[Verb { name: "recap", members: &["outcome", "text", "title", "delayMs"], expand: recap }];

fn recap(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut plan = json!({});
    for member in ["outcome", "text", "title"] {
        if let Some(text) = args.text(member)? {
            plan[member] = text.into();
        }
    }
    if let Some(delay) = args.number("delayMs")? {
        plan["delayMs"] = delay.into();
    }
    args.end()?;
    match plan.get("outcome").and_then(Value::as_str) {
        None | Some("completed" | "failed" | "timedOut") => Ok(vec![Action::Emit(vec![Draft::fact("recap", plan)])]),
        Some(other) => Err(format!("a recap does not end `{other}` like this")),
    }
}
