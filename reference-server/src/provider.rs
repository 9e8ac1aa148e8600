//! The scripted provider: what the model would do, said in a small language. Deterministic, and without I/O of its own.
//!
//! A prompt that begins with the line `@script` carries its steps; otherwise the steps of the turn come from `--script FILE`; a
//! turn that neither says anything about echoes its prompt as a streamed reply. A step is a line: a verb and a JSON object.
//!
//! ```text
//! @script
//! think {"summary":["Look at the file."]}
//! tool {"tool":"read_file","args":{"path":"a.txt"},"output":"hello\n"}
//! say {"text":"It says hello.","chunks":3,"delayMs":20}
//! ```
//!
//! Empty lines and lines that begin with `#` are skipped. In a file, the line `turn` begins the steps of the next turn of a session,
//! and the line `start`, before all turns, those of a session that has just started: events that no turn is behind.
//! The verbs are listed in [`VERBS`], one file per family in `provider/steps/`; each documents its arguments.
//! A step that cannot be read fails its turn with `configError` and names the line.

mod script;
mod steps;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::script::{Script, ScriptError, Step};
pub use self::steps::{Args, Stage, VERBS, Verb};
use crate::commands::session_shell;
use crate::decision::Draft;
use crate::mint::Mint;
use crate::session::Action;
use crate::state::{State, Submit};
use crate::turns::End;

/// The mark that makes a prompt a script.
pub const MARK: &str = "@script";

/// What the provider does for a submit.
pub fn plan(script: &Script, state: &State, submit: &Submit, mint: &mut Mint) -> Vec<Action> {
    let own = submit.text.strip_prefix(MARK).filter(|rest| rest.is_empty() || rest.starts_with('\n'));
    let steps = match own.map(Script::parse) {
        Some(Ok(script)) => script.turns.into_iter().flatten().collect(),
        Some(Err(error)) => return vec![config_error(&error.to_string())],
        None => match script.turns.get(state.turns.ended.len()) {
            Some(steps) => steps.clone(),
            None => vec![echo(submit.user_shell.as_deref().unwrap_or(&submit.text))],
        },
    };
    let mut names = BTreeMap::new();
    let mut actions = match &submit.user_shell {
        Some(command) => session_shell::in_turn(mint, &submit.command_id, command),
        None => Vec::new(),
    };
    let mut place = Stage { state, mint, submit, names: &mut names };
    for step in &steps {
        match expand(step, &mut place) {
            Ok(more) => actions.extend(more),
            Err(message) => {
                actions.push(config_error(&message));
                return actions;
            }
        }
    }
    actions
}

/// What happens in a session that has just started: drafts of events, shown after the answer. Steps that take time have no place there.
///
/// # Errors
/// A text that names the line.
pub fn at_start(script: &Script, state: &State, mint: &mut Mint) -> Result<Vec<Draft>, String> {
    let (submit, mut names, mut drafts) = (Submit::default(), BTreeMap::new(), Vec::new());
    let mut place = Stage { state, mint, submit: &submit, names: &mut names };
    for step in &script.start {
        for action in expand(step, &mut place)? {
            match action {
                Action::Emit(more) => drafts.extend(more),
                _ => return Err(format!("script line {}: `{}` has no place at a start", step.line, step.verb)),
            }
        }
    }
    Ok(drafts)
}

/// The actions of a step.
fn expand(step: &Step, place: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let verb = VERBS.iter().flat_map(|verbs| verbs.iter()).find(|verb| verb.name == step.verb);
    let expanded = match verb {
        Some(verb) => (verb.expand)(&mut Args::new(step.args.clone()), place),
        None => Err(format!("no verb `{}`", step.verb)),
    };
    expanded.map_err(|message| format!("script line {}: {message}", step.line))
}

fn echo(text: &str) -> Step {
    let args = [("text".to_owned(), Value::from(if text.is_empty() { "(no text)" } else { text }))];
    Step { line: 0, verb: "say".to_owned(), args: args.into_iter().collect() }
}

fn config_error(message: &str) -> Action {
    Action::End(End::failed("configError", message, false))
}
