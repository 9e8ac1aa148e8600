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
    let steps = match steps_of(script, state, submit) {
        Ok(steps) => steps,
        Err(error) => return vec![config_error(&error.to_string())],
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
                actions.push(config_error(&format!("script line {}: {message}", step.line)));
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
        for action in expand(step, &mut place).map_err(|message| format!("script line {}: {message}", step.line))? {
            match action {
                Action::Emit(more) => drafts.extend(more),
                _ => return Err(format!("script line {}: `{}` has no place at a start", step.line, step.verb)),
            }
        }
    }
    Ok(drafts)
}

/// What one step does.
fn expand(step: &Step, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let verb = VERBS.iter().flat_map(|verbs| verbs.iter()).find(|verb| verb.name == step.verb);
    let verb = verb.ok_or_else(|| format!("no verb `{}`", step.verb))?;
    let mut args = step.args.clone();
    for (name, value) in &mut args {
        if !verb.members.contains(&name.as_str()) {
            return Err(format!("no argument `{name}` here"));
        }
        stage.fill_in(value)?;
    }
    (verb.expand)(&mut Args::new(args), stage)
}

/// The steps of a submit: its own, those of the script for its turn, or the echo.
fn steps_of(script: &Script, state: &State, submit: &Submit) -> Result<Vec<Step>, ScriptError> {
    let own = submit.text.strip_prefix(MARK).filter(|rest| rest.is_empty() || rest.starts_with('\n'));
    if let Some(own) = own.map(Script::parse) {
        return Ok(own?.turns.into_iter().flatten().collect());
    }
    Ok(match script.turns.get(state.turns.ended.len()) {
        Some(steps) => steps.clone(),
        None => vec![echo(submit.user_shell.as_deref().unwrap_or(&submit.text))],
    })
}

/// Whether the answer to a submit that starts at once comes after its turn.
pub fn answers_last(script: &Script, state: &State, submit: &Submit) -> bool {
    steps_of(script, state, submit).is_ok_and(|steps| steps.first().is_some_and(|step| step.verb == steps::ACK_LAST))
}

fn echo(text: &str) -> Step {
    let args = [("text".to_owned(), Value::from(if text.is_empty() { "(no text)" } else { text }))];
    Step { line: 0, verb: "say".to_owned(), args: args.into_iter().collect() }
}

fn config_error(message: &str) -> Action {
    Action::End(End::failed("configError", message, false))
}
