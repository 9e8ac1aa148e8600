//! The schemas of the session functions, compiled.

use std::collections::BTreeMap;

use msp_schema::session::{SessionSchemas, part_name};

use crate::error::SchemaError;
use crate::schema::{EventShape, Overlay, Schema};

/// The session functions and triggers, to judge their payloads by.
///
/// ```
/// let session = msp_judge::SessionSchema::published()?;
/// assert_eq!(session.find("session::append", "Request"), Some("AppendRequest"));
/// assert_eq!(session.find("session::nothing", "Request"), None);
/// # Ok::<(), msp_judge::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct SessionSchema {
    schema: Schema,
    /// Definition of each part, by function id or trigger type and part.
    parts: BTreeMap<(String, &'static str), String>,
}

impl SessionSchema {
    /// The schemas that ship with this build.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn published() -> Result<Self, SchemaError> {
        Self::new("session", msp_schema::session::published())
    }

    /// Schemas of one's own, read from a folder; `label` is how findings name them.
    ///
    /// # Errors
    /// When they cannot be joined in one document, or not be used.
    pub fn new(label: &str, schemas: &SessionSchemas) -> Result<Self, SchemaError> {
        let bundle =
            schemas.definition_bundle().map_err(|error| SchemaError::Packaged { message: error.to_string() })?;
        let mut parts = BTreeMap::new();
        for function in &schemas.functions {
            for part in ["Request", "Response"] {
                parts.insert((function.id.clone(), part), part_name(&function.id, part));
            }
        }
        let mut carried = Vec::new();
        for trigger in &schemas.triggers {
            for part in ["Config", "Payload"] {
                parts.insert((trigger.id.clone(), part), part_name(&trigger.id, part));
            }
            carried.push((trigger.id.clone(), part_name(&trigger.id, "Payload")));
        }
        let event =
            EventShape { definition: "EventEnvelope".into(), name: "trigger_type".into(), payload: "payload".into() };
        let overlay = Overlay { event: Some(event), carried, ..Overlay::default() };
        Ok(Self { schema: Schema::new(label, &bundle, &overlay)?, parts })
    }

    /// The compiled document.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The functions or triggers that have a part.
    pub(crate) fn ids(&self, part: &str) -> impl Iterator<Item = &str> {
        self.parts.keys().filter(move |(_, kind)| *kind == part).map(|(id, _)| id.as_str())
    }

    /// The definition of a part: `Request` or `Response` of a function, `Config` or `Payload` of a trigger.
    pub fn find(&self, id: &str, part: &str) -> Option<&str> {
        self.parts.iter().find(|((known, kind), _)| known == id && *kind == part).map(|(_, name)| name.as_str())
    }
}
