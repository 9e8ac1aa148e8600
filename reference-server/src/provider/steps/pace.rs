//! Time.
//!
//! - `wait {"ms"}`: lets time pass.
//! - `hold {"steers"?}`: waits until so many inputs were steered into the turn; without the number until it is stopped.

use super::{Args, Stage, Verb};
use crate::session::Action;

pub(super) const VERBS: &[Verb] =
    &[Verb { name: "wait", members: &["ms"], expand: wait }, Verb { name: "hold", members: &["steers"], expand: hold }];

fn wait(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let ms = args.number("ms")?.ok_or("`ms` is missing")?;
    args.end()?;
    Ok(vec![Action::Sleep(ms)])
}

fn hold(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let steers = args.number("steers")?.unwrap_or(u64::MAX);
    args.end()?;
    Ok(vec![Action::UntilSteered(steers)])
}
