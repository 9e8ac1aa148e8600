//! Which published release a fingerprint or a host version belongs to, and the bundles of the older ones.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::Surface;
use crate::bundle::from_json;

/// One published release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Revision {
    /// The release its bundles came with, such as `1.4.2`.
    pub version: String,
    /// What a host of that release reports as its version; not always the same.
    pub host_version: String,
    fingerprints: Fingerprints,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Fingerprints {
    stable: String,
    experimental: String,
}

impl Revision {
    /// The published fingerprint of a surface.
    pub fn fingerprint(&self, surface: Surface) -> &str {
        match surface {
            Surface::Stable => &self.fingerprints.stable,
            Surface::Experimental => &self.fingerprints.experimental,
        }
    }
}

/// All published revisions, oldest first; the last is the one of [`published`](crate::published).
#[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "the text is embedded and a test reads it")]
pub fn index() -> &'static [Revision] {
    #[derive(Deserialize)]
    struct Index {
        revisions: Vec<Revision>,
    }
    static INDEX: OnceLock<Vec<Revision>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let text = include_str!("../msp/revisions/index.json");
        from_json::<Index>(text, "`msp/revisions/index.json`").expect("the embedded index is whole").revisions
    })
}

/// The revision of a version, such as `1.4.2`.
pub fn find(version: &str) -> Option<&'static Revision> {
    index().iter().find(|revision| revision.version == version)
}

/// The revisions with a fingerprint, of whichever surface. Several where releases share it, none where it is unknown.
///
/// ```
/// let shared = "sha256:5d3b43e5ccdb7dc4f5a32c380f5f2cde0f10e3059b93610afb2e73f73b1d914c";
/// let found = msp_schema::revisions::find_by_fingerprint(shared);
/// assert_eq!(found.iter().map(|revision| revision.version.as_str()).collect::<Vec<_>>(), ["1.4.9", "1.4.10"]);
/// ```
pub fn find_by_fingerprint(fingerprint: &str) -> Vec<&'static Revision> {
    let has = |revision: &&Revision| Surface::ALL.iter().any(|&surface| revision.fingerprint(surface) == fingerprint);
    index().iter().filter(has).collect()
}

/// The revisions whose hosts report a version. Several in principle; none where it is unknown.
pub fn find_by_host_version(version: &str) -> Vec<&'static Revision> {
    index().iter().filter(|revision| revision.host_version == version).collect()
}

#[cfg(feature = "revisions")]
pub use self::embedded::{bundle, text};

#[cfg(feature = "revisions")]
mod embedded {
    //! The deflated bundles.

    use super::index;
    use crate::bundle::Bundle;
    use crate::{SchemaError, Surface, published};

    /// Path and deflated text.
    static BUNDLES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/revisions.rs"));

    /// The text of a revision's bundle, the newest included. Takes about a millisecond for an older one.
    ///
    /// # Errors
    /// `UnknownRevision` for a version that is not in the index.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the build script made these bytes and a test reads them all"
    )]
    pub fn text(version: &str, surface: Surface) -> Result<String, SchemaError> {
        if version == published::HOST_VERSION {
            return Ok(published::text(surface).to_owned());
        }
        let path = format!("msp/revisions/{version}/{surface}/msp.schema.json");
        let (_, packed) = BUNDLES.iter().find(|(name, _)| *name == path).ok_or_else(|| unknown(version))?;
        let bytes = miniz_oxide::inflate::decompress_to_vec(packed).expect("the build script deflated this text");
        Ok(String::from_utf8(bytes).expect("the file is JSON"))
    }

    /// The bundle of a revision, the newest included. Its definitions have no descriptions where it is an older one:
    /// they are not known.
    ///
    /// # Errors
    /// `UnknownRevision` for a version that is not in the index.
    pub fn bundle(version: &str, surface: Surface) -> Result<Bundle, SchemaError> {
        Bundle::parse(&text(version, surface)?)
    }

    fn unknown(version: &str) -> SchemaError {
        let known = index().iter().map(|revision| revision.version.clone()).collect();
        SchemaError::UnknownRevision { version: version.to_owned(), known }
    }
}
