//! The keywords that our source of names and types lacks and that were put into every revision; `msp/keywords.json`.

use serde::Deserialize;
use serde_json::Value;

use crate::bundle::from_json;
use crate::{SchemaError, pointer, published};

/// One keyword at one place.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Keyword {
    /// Pointer to the schema, or to the error row as `/errors/<code>`.
    pub at: String,
    /// The keyword, or for an error row the member.
    pub keyword: String,
    /// Its value; none where the keyword is absent in published bundles.
    pub value: Option<Value>,
    /// True where a published bundle was read, false where only prose says so.
    pub seen: bool,
    /// Rules and observations that it rests on.
    pub source: String,
    /// What else is to be known.
    pub note: Option<String>,
}

impl Keyword {
    /// Whether a bundle has the place, and if so whether the place has what this row says.
    pub fn holds_in(&self, bundle: &Value) -> Option<bool> {
        let schema = pointer::find(bundle, &self.at)?;
        Some(schema.get(&self.keyword) == self.value.as_ref())
    }
}

/// The published table, sorted by place.
///
/// # Errors
/// None with the embedded table; the type leaves room for another.
pub fn published() -> Result<Vec<Keyword>, SchemaError> {
    #[derive(Deserialize)]
    struct Table {
        rows: Vec<Keyword>,
    }
    from_json::<Table>(published::KEYWORDS, "`msp/keywords.json`").map(|table| table.rows)
}
