//! Compactions.
//!
//! - `compact {"trigger"?, "outcome"?, "reason"?, "tokensBefore"?, "tokensAfter"?, "delayMs"?}`: the turn compacts its context;
//!   `trigger` is `auto` (default) or `manual`, `outcome` is `compacted` (default), `noop`, `failed` or `cancelled`. Example:
//!   `compact {"tokensBefore":161000,"tokensAfter":31000}`.
//! - `nextCompaction {"outcome"?, "reason"?, …}`: what becomes of the next `session/compact`. Example:
//!   `nextCompaction {"outcome":"failed","reason":"summarizer_failed","delayMs":50}`.

use serde_json::{Map, Value};

use super::{Args, Stage, Verb};
use crate::commands::session_compact;
use crate::decision::Draft;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "compact",
        members: &["trigger", "outcome", "reason", "tokensBefore", "tokensAfter", "delayMs"],
        expand: compact,
    },
    Verb {
        name: "nextCompaction",
        members: &["outcome", "reason", "tokensBefore", "tokensAfter", "delayMs"],
        expand: next,
    },
];

fn plan(args: &mut Args) -> Result<Value, String> {
    let mut plan = Map::new();
    for name in ["outcome", "reason"] {
        plan.extend(args.text(name)?.map(|text| (name.to_owned(), Value::from(text))));
    }
    for name in ["tokensBefore", "tokensAfter", "delayMs"] {
        plan.extend(args.number(name)?.map(|number| (name.to_owned(), Value::from(number))));
    }
    Ok(Value::Object(plan))
}

fn compact(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let trigger = args.text("trigger")?.unwrap_or_else(|| "auto".to_owned());
    let plan = plan(args)?;
    args.end()?;
    let (item_id, start) = session_compact::open(stage.mint, Some(&stage.submit.turn_id), &trigger);
    let mut actions = vec![Action::Emit(vec![start])];
    actions.extend(plan["delayMs"].as_u64().map(Action::Sleep));
    actions.push(Action::Do(Box::new(move |core| {
        session_compact::end(core, &item_id, &plan);
        Vec::new()
    })));
    Ok(actions)
}

fn next(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let plan = plan(args)?;
    args.end()?;
    Ok(vec![Action::Emit(vec![Draft::fact("nextCompaction", plan)])])
}
