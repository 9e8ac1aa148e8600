//! What a run judges by.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use msp_judge::{Library, Profile, Schema, SchemaError, SessionSchema};
use msp_schema::bundle::locate;
use msp_schema::session::SessionSchemas;

use super::Options;

/// A schema that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemasError {
    /// The path leads to no bundle.
    #[error("`{path}` is no schema to judge by: {message}")]
    NotASchema {
        /// The path as given.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// Neither a revision nor a path.
    #[error("`{given}` is neither a published revision nor a file; the revisions are {known}")]
    NoRevision {
        /// What was given.
        given: String,
        /// The revisions that there are.
        known: String,
    },
    /// What ships with the kit cannot be used.
    #[error(transparent)]
    Packaged(#[from] SchemaError),
}

pub(super) struct Schemas {
    pub(super) library: Arc<Library>,
    pub(super) first: Arc<Schema>,
    pub(super) also: Vec<Arc<Schema>>,
    pub(super) session: Arc<SessionSchema>,
    follow: bool,
}

impl Schemas {
    pub(super) fn load(options: &Options) -> Result<Self, SchemasError> {
        let library = Arc::new(Library::new(options.surface)?);
        let mut session = None;
        let mut first = None;
        if let Some(path) = &options.schema {
            if path.join("functions").is_dir() {
                session = Some(read_session(path)?);
            } else {
                first = Some(read_bundle(path, &library)?);
            }
        }
        let follow = first.is_none() && options.revision.is_none();
        let first = match (first, &options.revision) {
            (Some(first), _) => first,
            (None, Some(version)) => library.revision(version).map_err(|_| no_revision(version, &library))?,
            (None, None) => library.newest()?,
        };
        let also = options.also.iter().map(|given| find(given, &library)).collect::<Result<_, _>>()?;
        let session = match session {
            Some(session) => session,
            None => Arc::new(SessionSchema::published()?),
        };
        Ok(Self { library, first, also, session, follow })
    }

    pub(super) fn profile(&self, _options: &Options) -> Profile {
        let mut profile = Profile::default();
        profile.library = Some(Arc::clone(&self.library));
        profile.follow = self.follow;
        profile.session = Some(Arc::clone(&self.session));
        profile
    }
}

fn no_revision(given: &str, library: &Library) -> SchemasError {
    SchemasError::NoRevision { given: given.to_owned(), known: library.versions().collect::<Vec<_>>().join(", ") }
}

fn find(given: &str, library: &Library) -> Result<Arc<Schema>, SchemasError> {
    match library.revision(given) {
        Ok(schema) => Ok(schema),
        Err(_) if Path::new(given).exists() => read_bundle(Path::new(given), library),
        Err(_) => Err(no_revision(given, library)),
    }
}

fn read_bundle(path: &Path, library: &Library) -> Result<Arc<Schema>, SchemasError> {
    let refuse = |message: String| SchemasError::NotASchema { path: path.to_owned(), message };
    let file = locate(path).map_err(|error| refuse(error.to_string()))?;
    let bytes = std::fs::read(&file).map_err(|error| refuse(format!("it cannot be read: {error}")))?;
    let document = serde_json::from_slice(&bytes).map_err(|error| refuse(format!("it is no JSON: {error}")))?;
    let schema = Schema::new(path.display().to_string(), &document, library.overlay())
        .map_err(|error| refuse(error.to_string()))?;
    schema.check().map_err(|error| refuse(error.to_string()))?;
    Ok(Arc::new(schema))
}

fn read_session(path: &Path) -> Result<Arc<SessionSchema>, SchemasError> {
    let refuse = |message: String| SchemasError::NotASchema { path: path.to_owned(), message };
    let schemas = SessionSchemas::read(path).map_err(|error| refuse(error.to_string()))?;
    let schema =
        SessionSchema::new(&path.display().to_string(), &schemas).map_err(|error| refuse(error.to_string()))?;
    schema.schema().check().map_err(|error| refuse(error.to_string()))?;
    Ok(Arc::new(schema))
}
