//! Bytes to a tree, with every duplicate name reported at its place.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::{Document, Location, Node};
use crate::diagnostic::{Diagnostic, Excerpt};
use crate::pointer;

/// How `serde_json` hands over a number when somebody in the build has switched `arbitrary_precision` on.
const PRECISE_NUMBER: &str = "$serde_json::private::Number";

pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Document, Vec<Diagnostic>> {
    let file: Arc<str> = file.into();
    let whole = Location { file: Arc::clone(&file), pointer: String::new() };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let message = format!("not UTF-8 from byte {} on (line {line})", error.valid_up_to());
        vec![Diagnostic::error("codegen/not-utf8", whole.clone(), message)]
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);

    let mut state = State::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let parsed = Seed(&mut state).deserialize(&mut reader).and_then(|root| reader.end().map(|()| root));
    let root = parsed.map_err(|error| vec![syntax(&error, text, whole.clone())])?;
    let document = Document { file, text: text.into(), root };
    if state.duplicates.is_empty() {
        return Ok(document);
    }
    Err(state.duplicates.into_iter().map(|pointer| duplicate(&document, pointer)).collect())
}

fn syntax(error: &serde_json::Error, text: &str, at: Location) -> Diagnostic {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let full = error.to_string();
    let reason = match full.strip_suffix(&place).unwrap_or(&full) {
        "recursion limit exceeded" => "nested deeper than 127 levels",
        reason => reason,
    };
    let message = format!("not JSON: {reason}{place}");
    let diagnostic = Diagnostic::error("codegen/syntax", at, message).label(reason).excerpt(Excerpt::at_line(
        text,
        error.line(),
        error.column(),
    ));
    if error.is_eof() { diagnostic.help("the file ends early; is it complete?") } else { diagnostic }
}

fn duplicate(document: &Document, pointer: String) -> Diagnostic {
    let name = pointer::segments(&pointer).next_back().unwrap_or_default().into_owned();
    // The last one is found and shown, since names further down hide those before them.
    let excerpt = Excerpt::of(document, &pointer);
    let message = format!("the object has the member `{name}` more than once");
    Diagnostic::error("codegen/duplicate-member", document.at(pointer), message)
        .label("the name stands before this too")
        .excerpt(excerpt)
        .help("readers disagree on which one counts; keep one")
}

#[derive(Default)]
struct State {
    path: String,
    duplicates: BTreeSet<String>,
}

impl State {
    /// Reads a value one segment further down.
    fn below<T>(&mut self, segment: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&pointer::escape(segment));
        let value = read(self);
        self.path.truncate(length);
        value
    }
}

struct Seed<'a>(&'a mut State);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        loop {
            let index = items.len().to_string();
            match self.0.below(&index, |state| elements.next_element_seed(Seed(state)))? {
                Some(item) => items.push(item),
                None => return Ok(Node::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members: Vec<(String, Node)> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == PRECISE_NUMBER && members.is_empty() {
                let spelling: String = map.next_value()?;
                return spelling.parse().map(Node::Number).map_err(A::Error::custom);
            }
            let value = self.0.below(&name, |state| map.next_value_seed(Seed(state)))?;
            if names.insert(name.clone()) {
                members.push((name, value));
            } else {
                self.0.below(&name, |state| state.duplicates.insert(state.path.clone()));
            }
        }
        Ok(Node::Object(members))
    }
}
