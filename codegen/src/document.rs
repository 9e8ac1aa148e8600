//! One JSON file: its text, its tree with members in file order, and where in the text a pointer stands.

mod locate;
mod parse;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Number, Value};

use crate::diagnostic::Diagnostic;
use crate::pointer;

/// A JSON value that keeps the order of members.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in its own spelling.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object; names are unique (duplicates are refused on reading).
    Object(Vec<(String, Node)>),
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Display path of the document.
    pub file: Arc<str>,
    /// JSON pointer; empty for the root.
    pub pointer: String,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Document {
    /// Display path.
    pub file: Arc<str>,
    /// The text as read, without a byte order mark.
    pub text: Arc<str>,
    /// The tree.
    pub root: Node,
}

impl Document {
    /// Parses `bytes`; `file` is the path that people see, with `/` between its parts.
    ///
    /// # Errors
    /// `codegen/not-utf8` and `codegen/syntax` with line and column (a file that ends early, and nesting deeper than 128
    /// levels, are syntax too), and `codegen/duplicate-member` for every name that an object has twice.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        parse::parse(file, bytes)
    }

    /// The byte range of the value at `pointer` in [`Document::text`]; `None` where the pointer leads nowhere.
    pub fn locate(&self, pointer: &str) -> Option<Range<usize>> {
        locate::locate(&self.text, pointer)
    }

    /// The value at `pointer`.
    pub fn find(&self, pointer: &str) -> Option<&Node> {
        self.root.find(pointer)
    }

    /// The place `pointer` in this document.
    pub fn at(&self, pointer: impl Into<String>) -> Location {
        Location { file: Arc::clone(&self.file), pointer: pointer.into() }
    }
}

impl Location {
    /// The place one segment further down.
    #[must_use]
    pub fn join(&self, segment: &str) -> Self {
        Self { file: Arc::clone(&self.file), pointer: pointer::join(&self.pointer, segment) }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.file, self.pointer)
    }
}

impl Node {
    /// The value at `pointer`, which is relative to this value.
    pub fn find(&self, pointer: &str) -> Option<&Node> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return None;
        }
        pointer::segments(pointer).try_fold(self, |node, segment| match node {
            Node::Object(_) => node.get(&segment),
            Node::Array(items) => array_index(&segment).and_then(|index| items.get(index)),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => None,
        })
    }

    /// The member `name`; `None` where there is none, or where this is no object.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.members().iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The members in file order; empty where this is no object.
    pub fn members(&self) -> &[(String, Node)] {
        match self {
            Node::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements; empty where this is no array.
    pub fn items(&self) -> &[Node] {
        match self {
            Node::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Node::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Node::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number as an integer, where it is written as one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Node::Object(_))
    }

    /// Whether this can be a schema: an object or a boolean.
    pub fn is_schema(&self) -> bool {
        matches!(self, Node::Object(_) | Node::Bool(_))
    }

    /// The JSON type in the words of JSON Schema: `null`, `boolean`, `integer`, `number`, `string`, `array`, `object`.
    pub fn json_type(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "boolean",
            Node::Number(number) if number.is_f64() => "number",
            Node::Number(_) => "integer",
            Node::String(_) => "string",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
        }
    }

    /// The same value as `serde_json` has it, which loses the order of members.
    pub fn to_value(&self) -> Value {
        match self {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(*value),
            Node::Number(number) => Value::Number(number.clone()),
            Node::String(text) => Value::String(text.clone()),
            Node::Array(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Node::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), value.to_value())).collect())
            }
        }
    }
}

/// An array index as pointers write it: digits without a leading zero.
fn array_index(segment: &str) -> Option<usize> {
    let plain = segment == "0" || (!segment.starts_with(['0', '+']) && !segment.is_empty());
    if plain { segment.parse().ok() } else { None }
}
