//! What can go wrong while reading schemas.

use std::path::PathBuf;

/// Why a schema could not be read. `place` is the file, or `the given text` where there was none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The file or folder does not exist or may not be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// What was to be read.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file holds bytes that are no UTF-8.
    #[error("`{}` is not UTF-8: invalid byte at offset {offset}", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Bytes before the first invalid one.
        offset: usize,
    },
    /// The text is not JSON, perhaps because it is cut off, or not of the form asked for.
    #[error("{place} is not the JSON that was expected")]
    Json {
        /// File, or a word for it.
        place: String,
        /// Position and reason.
        #[source]
        source: serde_json::Error,
    },
    /// JSON, but not a bundle at all: a member that makes one is missing.
    #[error("{place} is not a bundle: it has no `{missing}` object at its root")]
    NotABundle {
        /// File, or a word for it.
        place: String,
        /// The member that is missing or no object.
        missing: &'static str,
    },
    /// A bundle in which one value has the wrong form.
    #[error("{place}#{pointer}: expected {expected}, found {found}")]
    Malformed {
        /// File, or a word for it.
        place: String,
        /// JSON Pointer to the value.
        pointer: String,
        /// What belongs there.
        expected: &'static str,
        /// The beginning of what stands there.
        found: String,
    },
    /// A folder without a bundle.
    #[error("`{}` holds no bundle: neither `msp.schema.json` nor a single other JSON file besides `manifest.json`", path.display())]
    NoBundle {
        /// The folder.
        path: PathBuf,
    },
    /// A folder with several JSON files, none of them called `msp.schema.json`.
    #[error("`{}` holds several JSON files, and none is called `msp.schema.json`: {}", path.display(), candidates.join(", "))]
    SeveralBundles {
        /// The folder.
        path: PathBuf,
        /// Names of the files, sorted.
        candidates: Vec<String>,
    },
    /// A `$ref` that leads nowhere.
    #[error("`$ref` names `{reference}`, and `{missing}` does not exist")]
    UnresolvedRef {
        /// The whole reference.
        reference: String,
        /// The first part of it that is not there.
        missing: String,
    },
    /// A `$ref` that leaves the document.
    #[error("`$ref` names `{reference}`, which is outside of this document")]
    ForeignRef {
        /// The whole reference.
        reference: String,
    },
    /// No revision of that version is known.
    #[error("no revision `{version}` is known; known are {}", known.join(", "))]
    UnknownRevision {
        /// What was asked for.
        version: String,
        /// All versions, oldest first.
        known: Vec<String>,
    },
    /// A folder that holds neither functions nor triggers.
    #[error("{place} holds no session schemas: there is no file in `functions` or `triggers`")]
    NotSessionSchemas {
        /// The folder.
        place: String,
    },
    /// Two parts of the session schemas would get the same name.
    #[error("{place}: two definitions would be called `{name}`")]
    NameTwice {
        /// Folder, or a word for it.
        place: String,
        /// The name.
        name: String,
    },
}

impl SchemaError {
    /// The stable code of this kind of error, for output that machines read.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "schema/unreadable",
            Self::NotUtf8 { .. } => "schema/not-utf8",
            Self::Json { .. } => "schema/not-json",
            Self::NotABundle { .. } => "schema/not-a-bundle",
            Self::Malformed { .. } => "schema/malformed",
            Self::NoBundle { .. } => "schema/no-bundle",
            Self::SeveralBundles { .. } => "schema/several-bundles",
            Self::UnresolvedRef { .. } => "schema/unresolved-ref",
            Self::ForeignRef { .. } => "schema/foreign-ref",
            Self::UnknownRevision { .. } => "schema/unknown-revision",
            Self::NotSessionSchemas { .. } => "schema/not-session-schemas",
            Self::NameTwice { .. } => "schema/name-twice",
        }
    }
}
