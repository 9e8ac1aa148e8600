//! The text of a script: lines of verbs with JSON objects.

use serde_json::{Map, Value};
use thiserror::Error;

/// Steps, turn by turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Steps of each turn of a session.
    pub turns: Vec<Vec<Step>>,
    /// Steps of a session that has just started, before any turn.
    pub start: Vec<Step>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Line in its text, from 1.
    pub line: usize,
    /// What to do.
    pub verb: String,
    /// With what.
    pub args: Map<String, Value>,
}

/// A line that is no step.
#[derive(Debug, Error)]
#[error("script line {line}: {message}")]
#[non_exhaustive]
pub struct ScriptError {
    /// Line in its text, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// For the first line whose arguments are no JSON object.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let (mut turns, mut begun) = (vec![Vec::new()], 0);
        let mut start: Option<Vec<Step>> = None;
        for (at, text) in text.lines().enumerate() {
            let (line, text) = (at + 1, text.trim());
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (verb, args) = text.split_once(char::is_whitespace).unwrap_or((text, "{}"));
            if verb == "start" && begun == 0 && turns.iter().all(Vec::is_empty) {
                start = Some(Vec::new());
                continue;
            }
            if verb == "turn" {
                begun += 1;
                if begun > 1 || turns.iter().any(|steps| !steps.is_empty()) {
                    turns.push(Vec::new()); // a turn without steps ends at once
                }
                continue;
            }
            let args = serde_json::from_str::<Map<String, Value>>(args.trim()).map_err(|error| ScriptError {
                line,
                message: format!("the arguments of `{verb}` are no JSON object: {error}"),
            })?;
            let step = Step { line, verb: verb.to_owned(), args };
            match (&mut start, turns.last_mut()) {
                (Some(start), _) if begun == 0 => start.push(step),
                (_, Some(steps)) => steps.push(step),
                _ => {}
            }
        }
        if begun == 0 && turns.iter().all(Vec::is_empty) {
            turns.clear();
        }
        Ok(Self { turns, start: start.unwrap_or_default() })
    }
}
