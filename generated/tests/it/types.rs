//! Every generated type behind one signature, found by the name of its definition.

use msp_types::Checked;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One type, with what the tests ask of it.
pub(crate) struct Type {
    /// Name of the definition.
    pub(crate) name: &'static str,
    text: fn(&str) -> Result<String, String>,
    value: fn(Value) -> Result<Value, String>,
    strict: fn(&str) -> Result<(), String>,
    /// The schema that the type tells of itself.
    #[cfg(feature = "schemars")]
    pub(crate) schema: fn() -> Value,
}

/// What a generated type can do.
#[cfg(feature = "schemars")]
pub(crate) trait Generated: Serialize + DeserializeOwned + Checked + schemars::JsonSchema {}
#[cfg(feature = "schemars")]
impl<T: Serialize + DeserializeOwned + Checked + schemars::JsonSchema> Generated for T {}

/// What a generated type can do.
#[cfg(not(feature = "schemars"))]
pub(crate) trait Generated: Serialize + DeserializeOwned + Checked {}
#[cfg(not(feature = "schemars"))]
impl<T: Serialize + DeserializeOwned + Checked> Generated for T {}

impl Type {
    pub(crate) const fn of<T: Generated>(name: &'static str) -> Self {
        Self {
            name,
            text: text::<T>,
            value: value::<T>,
            strict: strict::<T>,
            #[cfg(feature = "schemars")]
            schema: schema::<T>,
        }
    }

    /// Decodes a text and encodes it again.
    pub(crate) fn through_text(&self, text: &str) -> Result<String, String> {
        (self.text)(text)
    }

    /// Decodes a tree and encodes it again.
    pub(crate) fn through_value(&self, value: Value) -> Result<Value, String> {
        (self.value)(value)
    }

    /// Decodes a text and holds it against the whole schema.
    pub(crate) fn strictly(&self, text: &str) -> Result<(), String> {
        (self.strict)(text)
    }
}

fn text<T: Generated>(text: &str) -> Result<String, String> {
    let decoded: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_string(&decoded).map_err(|error| error.to_string())
}

fn value<T: Generated>(value: Value) -> Result<Value, String> {
    let decoded: T = serde_json::from_value(value).map_err(|error| error.to_string())?;
    serde_json::to_value(&decoded).map_err(|error| error.to_string())
}

fn strict<T: Generated>(text: &str) -> Result<(), String> {
    msp_types::from_json_strict::<T>(text).map(drop).map_err(|error| error.to_string())
}

/// The schema of a type where it is named, not where it is used: the entry that it makes among the definitions.
#[cfg(feature = "schemars")]
fn schema<T: Generated>() -> Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let used = Value::from(generator.subschema_for::<T>());
    let name = used.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
    let name = name.map(|name| name.replace("~1", "/").replace("~0", "~"));
    name.and_then(|name| generator.definitions().get(&name).cloned()).unwrap_or(used)
}
