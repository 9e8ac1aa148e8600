//! The verbs of the script language, one file per family.

mod admission;
mod ask;
mod compaction;
mod generic;
mod goal;
mod login;
mod message;
mod pace;
mod recap;
mod route;
mod subagent;
mod subscription;
mod task;
mod tool;
mod turn;
mod workflow;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::mint::Mint;
use crate::session::Action;
use crate::state::{State, Submit};

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
    generic::VERBS,
];

/// A verb: what a step of this name becomes.
pub struct Verb {
    /// First word of the line.
    pub name: &'static str,
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

    /// The id of the item that the step's `name` names.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn named(&self, args: &mut Args) -> Result<String, String> {
        let name = args.text("name")?.ok_or("`name` is missing")?;
        self.names.get(&name).cloned().ok_or_else(|| format!("no item is named `{name}`"))
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

    /// A text.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
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

/// Cuts a text into so many pieces, on character boundaries, none of them empty.
pub(crate) fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(count.max(1)).max(1);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
