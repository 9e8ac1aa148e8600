//! The verbs of the script language, one file per family.

mod admission;
mod ask;
mod compaction;
mod generic;
mod goal;
mod group;
mod login;
mod message;
mod misbehave;
mod pace;
mod recap;
mod route;
mod side;
mod subagent;
mod subscription;
mod task;
mod tool;
mod turn;
mod values;
mod workflow;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::mint::Mint;
use crate::session::Action;
use crate::state::{State, Submit};

pub(super) use self::misbehave::ACK_LAST;

/// All verbs.
pub const VERBS: &[&[Verb]] = &[
    message::VERBS,
    tool::VERBS,
    ask::VERBS,
    pace::VERBS,
    recap::VERBS,
    route::VERBS,
    subscription::VERBS,
    turn::VERBS,
    goal::VERBS,
    compaction::VERBS,
    login::VERBS,
    admission::VERBS,
    subagent::VERBS,
    task::VERBS,
    workflow::VERBS,
    values::VERBS,
    side::VERBS,
    group::VERBS,
    misbehave::VERBS,
    generic::VERBS,
];

/// Bytes of a text that a step has made for it.
const MOST_FILL: u64 = 64 * 1024 * 1024;

/// A verb: what a step of this name becomes.
pub struct Verb {
    /// First word of the line.
    pub name: &'static str,
    /// Names of its arguments; any other one is a mistake.
    pub members: &'static [&'static str],
    /// Makes actions of a step; an error names what is wrong with its arguments.
    pub expand: fn(&mut Args, &mut Stage<'_>) -> Result<Vec<Action>, String>,
}

/// What a verb may look at.
pub struct Stage<'a> {
    /// The session as it is before the turn's first action.
    pub state: &'a State,
    /// Clock and ids.
    pub mint: &'a mut Mint,
    /// What was submitted.
    pub submit: &'a Submit,
    /// Items that steps gave a name: their ids.
    pub names: &'a mut BTreeMap<String, String>,
}

impl Stage<'_> {
    /// A new item id, kept under the step's `name` if it has one.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn item_id(&mut self, args: &mut Args) -> Result<String, String> {
        let id = self.mint.uuid();
        if let Some(name) = args.text("name")? {
            self.names.insert(name, id.clone());
        }
        Ok(id)
    }

    /// Puts ids in the place of the texts that stand for them: `$session`, `$turn`, `$command`, and `$item:` with a name.
    ///
    /// # Errors
    /// A text that names what is unknown.
    pub fn fill_in(&self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(text) if text.starts_with('$') => {
                let id = match (text.as_str(), text.strip_prefix("$item:")) {
                    ("$session", _) => &self.state.header.session_id,
                    ("$turn", _) => &self.submit.turn_id,
                    ("$command", _) => &self.submit.command_id,
                    (_, Some(name)) => &self.id_of(name)?,
                    _ => return Ok(()),
                };
                *value = id.as_str().into();
            }
            Value::Array(values) => values.iter_mut().try_for_each(|value| self.fill_in(value))?,
            Value::Object(members) => members.values_mut().try_for_each(|value| self.fill_in(value))?,
            _ => {}
        }
        Ok(())
    }

    /// The id of the item that the step's `name` names.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn named(&self, args: &mut Args) -> Result<String, String> {
        let name = args.text("name")?.ok_or("`name` is missing")?;
        self.id_of(&name)
    }

    /// The id of an item with a name.
    ///
    /// # Errors
    /// A text that says that there is none.
    pub fn id_of(&self, name: &str) -> Result<String, String> {
        self.names.get(name).cloned().ok_or_else(|| format!("no item is named `{name}`"))
    }
}

/// The arguments of a step. Each is taken once; what is left over at the end is a mistake.
pub struct Args(Map<String, Value>);

impl Args {
    /// Arguments as written.
    pub fn new(args: Map<String, Value>) -> Self {
        Self(args)
    }

    /// Any value.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// A text, or `{"fill", "bytes"}`: a text that is as long as that, give or take a character.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Object(fill)) if fill.len() == 2 => {
                repeated(fill).map(Some).map_err(|why| format!("`{name}`: {why}"))
            }
            Some(other) => Err(format!("`{name}` is no text: {other}")),
        }
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| format!("`{name}` is no number from 0 on: {value}")),
        }
    }

    /// Yes or no.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, String> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(value) => {
                value.as_bool().map(Some).ok_or_else(|| format!("`{name}` is neither true nor false: {value}"))
            }
        }
    }

    /// An object.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn object(&mut self, name: &str) -> Result<Map<String, Value>, String> {
        match self.0.remove(name) {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(other) => Err(format!("`{name}` is no object: {other}")),
        }
    }

    /// All arguments were taken.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn end(&self) -> Result<(), String> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("no argument `{name}` here")),
        }
    }
}

/// `{"fill":"é","bytes":7}` as a text: the filling over and over, as often as it fits.
fn repeated(fill: Map<String, Value>) -> Result<String, String> {
    let mut fill = Args::new(fill);
    let text = fill.0.remove("fill").and_then(|text| text.as_str().map(str::to_owned)).filter(|text| !text.is_empty());
    let text = text.ok_or("`fill` is no text")?;
    let bytes = fill.number("bytes")?.filter(|bytes| *bytes <= MOST_FILL);
    let bytes = bytes.ok_or_else(|| format!("`bytes` is no number up to {MOST_FILL}"))?;
    Ok(text.repeat(usize::try_from(bytes).unwrap_or(0) / text.len()))
}

/// Cuts a text into so many pieces, on character boundaries, none of them empty.
pub(crate) fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(count.max(1)).max(1);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
