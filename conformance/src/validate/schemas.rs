//! What a run judges by.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use msp_judge::{Bench, Library, Profile, Schema, SchemaError, SessionSchema};
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
    #[error("`{given}` is neither a published revision nor a file; the revisions are {known}{like}")]
    NoRevision {
        /// What was given.
        given: String,
        /// The revisions that there are.
        known: String,
        /// The one that may have been meant, as words to put behind; empty where none is near.
        like: String,
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
            (None, Some(given)) => {
                library.revision(library.find_version(given).ok_or_else(|| no_revision(given, &library))?)?
            }
            (None, None) => library.newest()?,
        };
        let also: Vec<Arc<Schema>> =
            options.also.iter().map(|given| find(given, &library)).collect::<Result<_, _>>()?;
        if let (None, Some(useless)) =
            (&options.target, std::iter::once(&first).chain(&also).find(|schema| !schema.has_methods()))
        {
            return Err(SchemasError::NotASchema {
                path: useless.label().into(),
                message: "it lists no methods, so that no frame can be judged by it; single values can, with \
                          `--definition NAME`"
                    .to_owned(),
            });
        }
        let session = match session {
            Some(session) => session,
            None => Arc::new(SessionSchema::published()?),
        };
        Ok(Self { library, first, also, session, follow })
    }

    /// What single values are judged by.
    pub(super) fn bench(&self) -> Bench<'_> {
        Bench { schema: &self.first, library: Some(&self.library), session: Some(&self.session) }
    }

    pub(super) fn profile(&self, options: &Options) -> Profile {
        let mut profile = Profile::default();
        profile.rules = options.rules;
        profile.library = Some(Arc::clone(&self.library));
        profile.follow = self.follow;
        profile.session = Some(Arc::clone(&self.session));
        let given = options.frame_limit != msp_judge::transcript::FRAME_LIMIT;
        profile.frame_limit = given.then_some(options.frame_limit as u64);
        profile
    }
}

fn no_revision(given: &str, library: &Library) -> SchemasError {
    let like = match library.revision(given) {
        Err(SchemaError::Unknown { like: Some(like), .. }) => format!("; did you mean `{like}`?"),
        _ => String::new(),
    };
    SchemasError::NoRevision { given: given.to_owned(), known: library.versions().collect::<Vec<_>>().join(", "), like }
}

fn find(given: &str, library: &Library) -> Result<Arc<Schema>, SchemasError> {
    match library.find_version(given) {
        Some(version) => Ok(library.revision(version)?),
        None if Path::new(given).exists() => read_bundle(Path::new(given), library),
        None => Err(no_revision(given, library)),
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
