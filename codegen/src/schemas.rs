//! What was read, before anything is decided: documents, the definitions in them, and the registries of a bundle.
//!
//! `input` fills this value; `lint`, `list` and the passes read it. Nothing here knows Rust.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Document, Location};

/// Index into [`Schemas::documents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(pub usize);

/// Index into [`Schemas::definitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub usize);

/// The kinds of input that the generator tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bundle with registries (`methods`, `notifications`, …): one surface, or two merged.
    Bundle,
    /// A folder of session functions.
    Session,
    /// Any other JSON Schema.
    Plain,
}

/// Everything that one input holds.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    /// Kind of input.
    pub kind: Option<Kind>,
    /// Every file that was read, in reading order.
    pub documents: Vec<Document>,
    /// Every schema that has a name of its own or is the target of a `$ref`, in document order.
    pub definitions: Vec<RawDefinition>,
    /// `(document, pointer)` of a reference target → definition.
    pub by_location: BTreeMap<(DocumentId, String), DefinitionId>,
    /// Client requests of a bundle.
    pub methods: Vec<RawRow>,
    /// Notifications of a bundle, both directions.
    pub notifications: Vec<RawRow>,
    /// Server requests of a bundle.
    pub requests: Vec<RawRow>,
    /// Functions of a session input.
    pub functions: Vec<RawFunction>,
    /// Triggers of a session input.
    pub triggers: Vec<RawTrigger>,
    /// Error table.
    pub errors: Vec<RawError>,
    /// Capability names that can be granted, in file order, with their text.
    pub capabilities: Vec<(String, Option<String>)>,
    /// What exists on the experimental surface only, as overlay keys (`/$defs/X`, `/$defs/X/properties/m`,
    /// `/$defs/X/enum/v`, `/methods/<escaped name>`, `/errors/<code>`, `/capabilities/<name>`): union of
    /// `x-msp-stability`, the difference of the surfaces, and the overlay.
    pub gated: BTreeSet<String>,
    /// Texts that a bundle has no room for, by overlay key (enum values, errors by `/errors/<code>` and
    /// `/errors/<code>/overrideKinds/<kind>`, capabilities).
    pub texts: BTreeMap<String, String>,
    /// Published fingerprints (stable, experimental), where a manifest gives them.
    pub fingerprints: Vec<(String, String)>,
    /// SHA-256 over the bytes of every document, lower-case hex.
    pub digest: String,
}

/// A schema with a name.
#[derive(Clone, Debug)]
pub struct RawDefinition {
    /// Name in the input: the key below `$defs` or `definitions`, or one made from function id and part, from `--root`, or
    /// from the file name. Not yet a Rust name, and not necessarily unique.
    pub name: String,
    /// Where the schema stands.
    pub at: Location,
    /// Which document.
    pub document: DocumentId,
}

/// A row of `methods`, `notifications` or `requests`.
#[derive(Clone, Debug)]
pub struct RawRow {
    /// Wire name.
    pub name: String,
    /// Where the row stands.
    pub at: Location,
    /// Text of the row.
    pub description: Option<String>,
    /// Definition of the params; absent where the row has none.
    pub params: Option<DefinitionId>,
    /// Definition of the result; absent for notifications.
    pub result: Option<DefinitionId>,
}

/// A session function.
#[derive(Clone, Debug)]
pub struct RawFunction {
    /// Function id, `session::append`.
    pub id: String,
    /// Where it stands.
    pub at: Location,
    /// Text of the function.
    pub summary: Option<String>,
    /// Whether people are meant to call it.
    pub internal: bool,
    /// Definition of the request.
    pub request: DefinitionId,
    /// Definition of the response.
    pub response: DefinitionId,
}

/// A trigger (event type) of the session functions.
#[derive(Clone, Debug)]
pub struct RawTrigger {
    /// Trigger type, `session::created`.
    pub trigger_type: String,
    /// Where it stands.
    pub at: Location,
    /// Text of the trigger.
    pub summary: Option<String>,
    /// Definition of the binding config.
    pub config: DefinitionId,
    /// Definition of the payload.
    pub payload: DefinitionId,
}

/// A row of the error table.
#[derive(Clone, Debug)]
pub struct RawError {
    /// JSON-RPC code; none for the session functions, whose codes are words.
    pub code: Option<i64>,
    /// Error kind, or the code word of a session function (`session/not_found`).
    pub kind: String,
    /// Other kinds that travel under the same code.
    pub override_kinds: Vec<String>,
    /// Whether a retry of the same request may help; `None` where the table does not say.
    pub retryable: Option<bool>,
    /// Text.
    pub description: Option<String>,
    /// Where the row stands.
    pub at: Location,
}
