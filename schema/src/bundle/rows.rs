//! The tables of a bundle, read into rows.

use serde_json::{Map, Value};

use crate::{SchemaError, pointer};

/// One row of `methods`, `notifications` or `requests`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Name on the wire, such as `turn/start`.
    pub name: String,
    /// What the bundle says about it.
    pub description: Option<String>,
    /// Definition of its params; none where it takes none.
    pub params: Option<String>,
    /// Definition of its result; none for notifications.
    pub result: Option<String>,
}

/// One row of the registry of errors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorRow {
    /// JSON-RPC error code.
    pub code: i64,
    /// The word that `data.kind` has as a rule.
    pub kind: String,
    /// Words that `data.kind` may have instead.
    pub override_kinds: Vec<String>,
    /// Whether the same call may be tried again; none where the registry does not say.
    pub retryable: Option<bool>,
}

impl ErrorRow {
    /// The kind and the override kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.kind).chain(&self.override_kinds).map(String::as_str)
    }
}

/// The list of capabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Names that a connection may ask for on this surface.
    pub grantable: Vec<String>,
    /// Names that are set aside, each with a reference; empty where a revision's list is not known.
    pub reserved: Vec<Reserved>,
}

/// A name or code that is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reserved {
    /// A code (`-32012`), a range of codes (`-32060..-32069`) or a name.
    pub identifier: String,
    /// Why.
    pub reference: String,
}

/// Looks a row up by name. Rows are sorted, because JSON objects are read into sorted maps.
pub(super) fn find<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    rows.binary_search_by(|row| row.name.as_str().cmp(name)).ok().map(|index| &rows[index])
}

/// Reads the tables of one document; knows the document's name for its errors.
pub(super) struct Reader<'a> {
    pub(super) root: &'a Map<String, Value>,
    pub(super) place: &'a str,
}

impl Reader<'_> {
    pub(super) fn rows(&self, table: &'static str) -> Result<Vec<Row>, SchemaError> {
        let Some(value) = self.root.get(table) else { return Ok(Vec::new()) };
        let rows = value.as_object().ok_or_else(|| self.malformed(&[table], "an object of rows", value))?;
        rows.iter().map(|(name, row)| self.row(table, name, row)).collect()
    }

    fn row(&self, table: &str, name: &str, row: &Value) -> Result<Row, SchemaError> {
        let members = row.as_object().ok_or_else(|| self.malformed(&[table, name], "an object", row))?;
        let description = match members.get("description") {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => return Err(self.malformed(&[table, name, "description"], "a string", other)),
        };
        let definition = |part: &str| match members.get(part) {
            None => Ok(None),
            Some(value) => value["$ref"]
                .as_str()
                .and_then(|reference| reference.strip_prefix("#/$defs/"))
                .map(|token| Some(pointer::unescape(token).into_owned()))
                .ok_or_else(|| self.malformed(&[table, name, part], "a `$ref` to a definition", value)),
        };
        Ok(Row { name: name.to_owned(), description, params: definition("params")?, result: definition("result")? })
    }

    pub(super) fn errors(&self) -> Result<Vec<ErrorRow>, SchemaError> {
        let Some(value) = self.root.get("errors") else { return Ok(Vec::new()) };
        let rows = value.as_array().ok_or_else(|| self.malformed(&["errors"], "a list of rows", value))?;
        rows.iter().enumerate().map(|(index, row)| self.error(&index.to_string(), row)).collect()
    }

    fn error(&self, index: &str, row: &Value) -> Result<ErrorRow, SchemaError> {
        let wrong = |member, expected| self.malformed(&["errors", index, member], expected, &row[member]);
        Ok(ErrorRow {
            code: row["code"].as_i64().ok_or_else(|| wrong("code", "an integer"))?,
            kind: row["kind"].as_str().ok_or_else(|| wrong("kind", "a string"))?.to_owned(),
            override_kinds: match &row["overrideKinds"] {
                Value::Null => Vec::new(),
                list => strings(list).ok_or_else(|| wrong("overrideKinds", "a list of strings"))?,
            },
            retryable: match &row["retryable"] {
                Value::Null => None,
                value => Some(value.as_bool().ok_or_else(|| wrong("retryable", "true or false"))?),
            },
        })
    }

    pub(super) fn capabilities(&self) -> Result<Capabilities, SchemaError> {
        let Some(value) = self.root.get("capabilities") else { return Ok(Capabilities::default()) };
        let grantable = match &value["grantable"] {
            Value::Null => Vec::new(),
            list => strings(list)
                .ok_or_else(|| self.malformed(&["capabilities", "grantable"], "a list of strings", list))?,
        };
        let reserved = self.reserved_list(&value["reserved"], &["capabilities", "reserved"], "name")?;
        Ok(Capabilities { grantable, reserved })
    }

    pub(super) fn reserved(&self) -> Result<Vec<Reserved>, SchemaError> {
        self.reserved_list(self.root.get("reserved").unwrap_or(&Value::Null), &["reserved"], "identifier")
    }

    fn reserved_list(&self, value: &Value, at: &[&str], name: &str) -> Result<Vec<Reserved>, SchemaError> {
        const EXPECTED: &str = "a list of names with their references";
        if value.is_null() {
            return Ok(Vec::new());
        }
        let read = |row: &Value| {
            let identifier = row[name].as_str()?.to_owned();
            Some(Reserved { identifier, reference: row["reference"].as_str()?.to_owned() })
        };
        let rows: Option<Vec<_>> = value.as_array().and_then(|rows| rows.iter().map(read).collect());
        rows.ok_or_else(|| self.malformed(at, EXPECTED, value))
    }

    fn malformed(&self, at: &[&str], expected: &'static str, found: &Value) -> SchemaError {
        let place = self.place.to_owned();
        SchemaError::Malformed { place, pointer: pointer::of(at), expected, found: excerpt(found) }
    }
}

fn strings(list: &Value) -> Option<Vec<String>> {
    list.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// The beginning of a value, short enough for a message of one line.
fn excerpt(value: &Value) -> String {
    const LONGEST: usize = 60; // characters; a message should fit a line of a terminal
    let text = if value.is_null() { "nothing".to_owned() } else { format!("`{value}`") };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…`", &text[..end]),
        None => text,
    }
}
