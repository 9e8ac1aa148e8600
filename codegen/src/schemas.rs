//! What was read, before anything is decided: documents, the definitions in them, and the registries of a bundle.
//!
//! `input` fills this value; `lint`, `list` and the passes read it. Nothing here knows Rust.

use std::collections::{BTreeMap, BTreeSet};

use msp_schema::annotations::Annotations;

use crate::diagnostic::Diagnostic;
use crate::document::{Document, Location, Node};
use crate::pointer;

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
    /// Every `$ref` that was met: the document it stands in and its text, to the definition that it means.
    pub references: BTreeMap<(DocumentId, String), DefinitionId>,
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
    /// Published fingerprints (stable, experimental), where a manifest gives them; empty text for the one that is not known.
    pub fingerprints: Vec<(String, String)>,
    /// The overlay that applies: the one that was asked for, or the embedded one where the bundle is the newest published.
    pub overlay: Option<Annotations>,
    /// SHA-256 over the bytes of every document, lower-case hex.
    pub digest: String,
}

impl Schemas {
    /// The definition that the `$ref` with this text in this document means.
    ///
    /// The same text never means two things in one document: where embedded `$id`s would have it so, reading refuses the file.
    ///
    /// # Errors
    /// `codegen/unresolved-ref` for a text that no schema of the document has as its `$ref`, or whose target was not found.
    pub fn resolve(&self, document: DocumentId, reference: &str) -> Result<DefinitionId, Box<Diagnostic>> {
        self.references.get(&(document, reference.to_owned())).copied().ok_or_else(|| {
            let at = self.document(document).at("");
            let message = format!("`$ref` names `{reference}`, which is not defined");
            Box::new(Diagnostic::error("codegen/unresolved-ref", at, message))
        })
    }

    /// The document with this id.
    #[expect(clippy::indexing_slicing, reason = "ids are handed out by the value that they index")]
    pub fn document(&self, document: DocumentId) -> &Document {
        &self.documents[document.0]
    }

    /// The definition with this id.
    #[expect(clippy::indexing_slicing, reason = "ids are handed out by the value that they index")]
    pub fn definition(&self, definition: DefinitionId) -> &RawDefinition {
        &self.definitions[definition.0]
    }

    /// The schema of a definition.
    pub fn node(&self, definition: DefinitionId) -> &Node {
        let definition = self.definition(definition);
        // Reading makes a definition only of a place that exists.
        self.document(definition.document).find(&definition.at.pointer).unwrap_or(&Node::Null)
    }

    /// The definitions with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (DefinitionId, &RawDefinition)> {
        self.definitions.iter().enumerate().map(|(index, definition)| (DefinitionId(index), definition))
    }

    /// The key of a place in [`Schemas::gated`] and [`Schemas::texts`]: its pointer in the first document, and
    /// `file#pointer` in the others.
    pub fn key(&self, document: DocumentId, pointer: &str) -> String {
        if document.0 == 0 { pointer.to_owned() } else { format!("{}#{pointer}", self.document(document).file) }
    }

    /// Whether the place exists on the experimental surface only. Takes the pointer of a definition, member or row.
    pub fn is_gated(&self, document: DocumentId, pointer: &str) -> bool {
        self.gated.contains(&self.key(document, pointer))
    }

    /// Whether the value of the enum at `pointer` exists on the experimental surface only.
    pub fn is_value_gated(&self, document: DocumentId, pointer: &str, value: &str) -> bool {
        self.gated.contains(&self.value_key(document, pointer, value))
    }

    /// The text that the bundle has no room for, of the place `pointer`.
    pub fn text(&self, document: DocumentId, pointer: &str) -> Option<&str> {
        self.texts.get(&self.key(document, pointer)).map(String::as_str)
    }

    /// The text of one value of the enum at `pointer`.
    pub fn value_text(&self, document: DocumentId, pointer: &str, value: &str) -> Option<&str> {
        self.texts.get(&self.value_key(document, pointer, value)).map(String::as_str)
    }

    /// The key of a value of the enum at `pointer`.
    pub fn value_key(&self, document: DocumentId, pointer: &str, value: &str) -> String {
        pointer::join(&pointer::join(&self.key(document, pointer), "enum"), value)
    }
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
