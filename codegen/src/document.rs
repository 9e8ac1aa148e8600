//! One JSON file: its text, its tree with members in file order, and where in the text a pointer stands.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Number;

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
    /// The text as read.
    pub text: Arc<str>,
    /// The tree.
    pub root: Node,
}

impl Document {
    /// The byte range of the value at `pointer` in [`Document::text`]; `None` where the pointer leads nowhere.
    pub fn locate(&self, _pointer: &str) -> Option<Range<usize>> {
        None
    }
}
