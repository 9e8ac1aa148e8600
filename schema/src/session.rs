//! The schemas of the session functions and their triggers.

mod bundle;
mod read;

use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

pub use self::bundle::part_name;
use crate::{SchemaError, published};

/// The functions, triggers, shared definitions and errors of one folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionSchemas {
    /// Sorted by id.
    pub functions: Vec<Function>,
    /// Sorted by type.
    pub triggers: Vec<Trigger>,
    /// What the schemas refer to, by name.
    pub definitions: Map<String, Value>,
    /// In the order of the file; empty where there is none.
    pub errors: Vec<SessionError>,
    /// None where the folder has none.
    pub manifest: Option<SessionManifest>,
    place: String,
}

/// One function.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Function {
    /// Id on the wire, such as `session::append`.
    #[serde(rename = "function_id")]
    pub id: String,
    /// What it does.
    pub summary: String,
    /// Whether only other instances and the engine are to call it.
    #[serde(default)]
    pub internal: bool,
    /// What it takes.
    #[serde(rename = "request_schema")]
    pub request: Value,
    /// What it answers.
    #[serde(rename = "response_schema")]
    pub response: Value,
}

/// One type of event.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Trigger {
    /// Type on the wire, such as `session::created`.
    #[serde(rename = "trigger_type")]
    pub id: String,
    /// When it is sent.
    pub summary: String,
    /// What a binding may ask for.
    #[serde(rename = "config_schema")]
    pub config: Value,
    /// What a delivery brings.
    #[serde(rename = "payload_schema")]
    pub payload: Value,
}

/// One error code.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionError {
    /// Such as `session/not_found`.
    pub code: String,
    /// Ids of the functions that raise it; `*` for all.
    pub raised_by: Vec<String>,
    /// What it means.
    pub when: String,
    /// Members of the request that cause it, by function.
    #[serde(default)]
    pub members: std::collections::BTreeMap<String, Vec<String>>,
    /// What exactly breaks, by function.
    #[serde(default)]
    pub cases: std::collections::BTreeMap<String, Vec<String>>,
    /// Whether the unchanged call may succeed later; none where no rule settles it.
    pub retryable: Option<bool>,
    /// Rules that say so.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// What the folder says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionManifest {
    /// Version of the layout of these files, 1 so far.
    pub schema_version: i64,
    /// Function ids, sorted.
    pub functions: Vec<String>,
    /// Trigger types, sorted.
    pub triggers: Vec<String>,
    /// Error codes, in the order of the table.
    pub errors: Vec<String>,
    /// Where the facts come from.
    pub upstream: Upstream,
    /// [`digest::of_files`](crate::digest::of_files) over all other files of the folder. It stands in for a fingerprint:
    /// upstream publishes none.
    pub digest: String,
}

/// The source of the facts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Upstream {
    /// Repository, as owner and name.
    pub repository: String,
    /// Folder inside it.
    pub folder: String,
    /// What was read, and of which commit.
    pub commits: Vec<UpstreamCommit>,
}

/// One commit that was read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct UpstreamCommit {
    /// The beginning of its hash.
    pub commit: String,
    /// What was read there.
    pub part: String,
}

/// The schemas of this crate, read once per process.
#[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "the files are embedded and a test reads them")]
pub fn published() -> &'static SessionSchemas {
    static PUBLISHED: OnceLock<SessionSchemas> = OnceLock::new();
    PUBLISHED.get_or_init(|| {
        let files = published::files().iter().filter_map(|(path, text)| Some((path.strip_prefix("session/")?, *text)));
        read::from_files(files, "`session`").expect("the embedded files are whole")
    })
}

impl SessionSchemas {
    /// Reads a folder: `defs.json` (if the schemas share definitions), `functions/*.json`, `triggers/*.json`, and
    /// `errors.json` and `manifest.json` where they are.
    ///
    /// # Errors
    /// `Unreadable`, `NotUtf8`, and `Json` naming the file; `NotSessionSchemas` for a folder without functions and triggers.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, SchemaError> {
        read::from_folder(folder.as_ref())
    }

    /// A function by id.
    pub fn find_function(&self, id: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.id == id)
    }

    /// A trigger by type.
    pub fn find_trigger(&self, id: &str) -> Option<&Trigger> {
        self.triggers.iter().find(|trigger| trigger.id == id)
    }

    /// An error by code.
    pub fn find_error(&self, code: &str) -> Option<&SessionError> {
        self.errors.iter().find(|error| error.code == code)
    }

    /// One schema with everything under `$defs`: the shared definitions by their names, each part of a function or
    /// trigger by its [`part_name`], every `$ref` rewritten to `#/$defs/…`, and the texts of `x-memberDescriptions` moved to their members.
    ///
    /// # Errors
    /// `NameTwice` where two of them would get the same name, `ForeignRef` and `UnresolvedRef` for a `$ref` that leads
    /// neither to `defs.json` nor into its own file.
    pub fn definition_bundle(&self) -> Result<Value, SchemaError> {
        bundle::definition_bundle(self)
    }
}
