//! One bundle: a file in the format that hosts export, read and indexed.

mod read;
mod rows;

use std::path::Path;

use serde_json::{Map, Value};

pub use self::read::{Manifest, locate};
pub(crate) use self::read::{from_json, in_backticks, is_json, read_text};
pub use self::rows::{Capabilities, ErrorRow, Reserved, Row};
use crate::{SchemaError, pointer};

/// A bundle as it stands in its file, with its tables read into rows.
///
/// Rows keep the order of their names (the published files are sorted), errors that of the registry.
#[derive(Debug, Clone)]
pub struct Bundle {
    value: Value,
    methods: Vec<Row>,
    notifications: Vec<Row>,
    requests: Vec<Row>,
    errors: Vec<ErrorRow>,
    capabilities: Capabilities,
    reserved: Vec<Reserved>,
}

impl Bundle {
    /// Reads the text of a bundle.
    ///
    /// Only what makes a bundle is asked for: `$defs` and `methods`. Other tables may be missing, as they are in older
    /// releases, and unknown members stay.
    ///
    /// # Errors
    /// `Json` for a text that is no JSON, `NotABundle` for a document of another kind, `Malformed` for a row of a wrong
    /// form. A `$ref` that leads nowhere is no error here; [`resolve`](Self::resolve) finds it.
    ///
    /// ```
    /// use msp_schema::bundle::Bundle;
    ///
    /// let error = Bundle::parse(r#"{"openapi": "3.1.0"}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "the given text is not a bundle: it has no `$defs` object at its root");
    /// ```
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        read::parse(text, "the given text")
    }

    /// Reads a file, or a folder as a host exports it: its `msp.schema.json`, else its only JSON file that is no
    /// manifest.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse) with the file named, and `Unreadable`, `NotUtf8`, `NoBundle`, `SeveralBundles`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SchemaError> {
        read::read(path.as_ref())
    }

    /// The whole document.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The schema of a definition.
    pub fn definition(&self, name: &str) -> Option<&Value> {
        self.definition_map()?.get(name)
    }

    /// All definitions in the order of their names.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.definition_map().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    fn definition_map(&self) -> Option<&Map<String, Value>> {
        self.value["$defs"].as_object()
    }

    /// What a client may ask of a host.
    pub fn methods(&self) -> &[Row] {
        &self.methods
    }

    /// What is said without an answer. A bundle does not say in which direction; see
    /// [`Annotations::direction`](crate::annotations::Annotations::direction).
    pub fn notifications(&self) -> &[Row] {
        &self.notifications
    }

    /// What a host may ask of a client.
    pub fn requests(&self) -> &[Row] {
        &self.requests
    }

    /// The row of a method.
    pub fn find_method(&self, name: &str) -> Option<&Row> {
        rows::find(&self.methods, name)
    }

    /// The row of a notification.
    pub fn find_notification(&self, name: &str) -> Option<&Row> {
        rows::find(&self.notifications, name)
    }

    /// The row of a host request.
    pub fn find_request(&self, name: &str) -> Option<&Row> {
        rows::find(&self.requests, name)
    }

    /// The registry of errors, in its own order.
    pub fn errors(&self) -> &[ErrorRow] {
        &self.errors
    }

    /// What a connection may be granted, and which names are set aside for that.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Codes and names that are set aside. Empty where a revision's list is not known.
    pub fn reserved(&self) -> &[Reserved] {
        &self.reserved
    }

    /// The value that a pointer names, in the form of the overlay; see [`pointer::find`].
    pub fn find(&self, pointer: &str) -> Option<&Value> {
        pointer::find(&self.value, pointer)
    }

    /// Follows a `$ref` inside this document, once: what it leads to may be a `$ref` again.
    ///
    /// # Errors
    /// `ForeignRef` for a reference that does not start with `#`, or to an anchor; `UnresolvedRef` naming the first part
    /// that is missing.
    pub fn resolve(&self, reference: &str) -> Result<&Value, SchemaError> {
        resolve(&self.value, reference)
    }
}

/// Follows a reference of the form `#/a/b` inside any document; see [`Bundle::resolve`].
///
/// # Errors
/// As [`Bundle::resolve`].
pub fn resolve<'a>(document: &'a Value, reference: &str) -> Result<&'a Value, SchemaError> {
    let foreign = || SchemaError::ForeignRef { reference: reference.to_owned() };
    let path = decode_percent(reference.strip_prefix('#').ok_or_else(foreign)?).ok_or_else(foreign)?;
    if !path.is_empty() && !path.starts_with('/') {
        return Err(foreign());
    }
    let mut value = document;
    let mut walked = String::from("#");
    for token in pointer::tokens(&path) {
        walked.push('/');
        walked.push_str(&pointer::escape(&token));
        value = match value {
            Value::Object(members) => members.get(token.as_ref()),
            Value::Array(items) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => None,
        }
        .ok_or_else(|| SchemaError::UnresolvedRef { reference: reference.to_owned(), missing: walked.clone() })?;
    }
    Ok(value)
}

/// A fragment may spell characters as `%XX`; none where that gives no UTF-8.
fn decode_percent(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
