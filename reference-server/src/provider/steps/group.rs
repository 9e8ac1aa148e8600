//! Steps within steps. A nested step is an object of one member: `{"say":{"text":"x"}}` is what `say {"text":"x"}` is on a line.
//!
//! - `repeat {"times", "steps"}`: the steps so many times over. Behind it, a name means the item of the first time.
//! - `later {"ms", "steps"}`: the steps after a while, beside whatever the turn does by then, and also after its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Args, Stage, Verb};
use crate::provider::expand;
use crate::provider::script::Step;
use crate::session::Action;
use crate::state::Submit;

/// Steps that one `repeat` may become.
const MOST: u64 = 100_000;

pub(super) const VERBS: &[Verb] = &[
    Verb { name: "repeat", members: &["times", "steps"], expand: repeat },
    Verb { name: "later", members: &["ms", "steps"], expand: later },
];

fn steps(args: &mut Args) -> Result<Vec<Step>, String> {
    let Some(Value::Array(steps)) = args.value("steps") else { return Err("`steps` is no list".to_owned()) };
    let step = |step: Value| {
        let members = if let Value::Object(members) = step { members } else { Map::new() };
        let mut members = members.into_iter();
        match (members.next(), members.next()) {
            (Some((verb, Value::Object(args))), None) => Ok(Step { line: 0, verb, args }),
            _ => Err("a step of `steps` is an object of one verb with its arguments".to_owned()),
        }
    };
    steps.into_iter().map(step).collect()
}

fn repeat(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let times = args.number("times")?.ok_or("`times` is missing")?;
    let steps = steps(args)?;
    args.end()?;
    if times.saturating_mul(steps.len() as u64) > MOST {
        return Err(format!("these would be more than {MOST} steps"));
    }
    if times == 0 {
        return Ok(Vec::new());
    }
    // The first time tells what is wrong with the steps; the others are made when their turn comes, so that they cost nothing before.
    let mut actions = once(&steps, stage)?;
    actions.extend(again(times - 1, steps, stage.submit.clone(), stage.names.clone()));
    Ok(actions)
}

fn once(steps: &[Step], stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut actions = Vec::new();
    for step in steps {
        actions.extend(expand(step, stage)?);
    }
    Ok(actions)
}

/// So many times more.
fn again(times: u64, steps: Vec<Step>, submit: Submit, mut names: BTreeMap<String, String>) -> Option<Action> {
    (times > 0).then(|| {
        Action::Do(Box::new(move |core| {
            let host = Arc::clone(&core.host);
            let mut mint = host.mint.lock();
            let mut stage = Stage { state: &core.state, mint: &mut mint, submit: &submit, names: &mut names };
            let mut actions = once(&steps, &mut stage).unwrap_or_default(); // they were good the first time
            actions.extend(again(times - 1, steps, submit, names));
            actions
        }))
    })
}

fn later(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let ms = args.number("ms")?.ok_or("`ms` is missing")?;
    let steps = steps(args)?;
    args.end()?;
    let mut actions = Vec::new();
    for step in &steps {
        let more = expand(step, stage)?;
        if !more.iter().all(Action::needs_no_turn) {
            return Err(format!("`{}` waits or ends a turn, and has no place in `later`", step.verb));
        }
        actions.extend(more);
    }
    Ok(vec![Action::Do(Box::new(move |core| {
        core.after(ms, move |core| core.act_beside(actions));
        Vec::new()
    }))])
}
