//! The bundles of all published revisions, compiled when they are first needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use msp_schema::annotations::{Annotations, Carried, Direction};
use msp_schema::{Surface, published, revisions};

use crate::error::SchemaError;
use crate::nearest::nearest;
use crate::schema::{EventShape, KnownWords, Overlay, Place, Schema};

/// The revisions that this build knows: all published ones with the feature `revisions`, else the newest.
#[derive(Debug)]
pub struct Library {
    surface: Surface,
    overlay: Overlay,
    compiled: Mutex<BTreeMap<String, Arc<Schema>>>,
}

impl Library {
    /// The published revisions of a surface.
    ///
    /// # Errors
    /// When the packaged overlay cannot be read.
    pub fn new(surface: Surface) -> Result<Self, SchemaError> {
        Ok(Self { surface, overlay: Overlay::published(surface)?, compiled: Mutex::default() })
    }

    /// The surface.
    pub fn surface(&self) -> Surface {
        self.surface
    }

    /// What the overlay adds to a bundle; of use for bundles of one's own too.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The known revisions, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> {
        let known = |version: &&str| cfg!(feature = "revisions") || *version == published::HOST_VERSION;
        revisions::index().iter().map(|revision| revision.version.as_str()).filter(known)
    }

    /// The known revision that somebody means by a version: the release of that name, else the one whose hosts report
    /// it as their own (`1.3.0` is 1.3.1).
    pub fn find_version(&self, given: &str) -> Option<&'static str> {
        let host = || revisions::find_by_host_version(given).last().map(|revision| revision.version.as_str());
        self.versions().find(|version| *version == given).or_else(|| {
            let version = host()?;
            self.versions().find(|known| *known == version)
        })
    }

    /// The newest revision.
    ///
    /// # Errors
    /// When the packaged bundle cannot be read.
    pub fn newest(&self) -> Result<Arc<Schema>, SchemaError> {
        self.revision(published::HOST_VERSION)
    }

    /// A revision, such as `1.4.2`.
    ///
    /// # Errors
    /// `Unknown` for a version that is not published or not part of this build.
    pub fn revision(&self, version: &str) -> Result<Arc<Schema>, SchemaError> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(version) {
            return Ok(Arc::clone(known));
        }
        let text = text(version, self.surface).map_err(|error| match error {
            SchemaError::Unknown { what, name, .. } => {
                let like = nearest(version, self.versions());
                SchemaError::Unknown { what, name, like }
            }
            other => other,
        })?;
        let bundle =
            serde_json::from_str(&text).map_err(|error| SchemaError::Packaged { message: error.to_string() })?;
        let schema = Arc::new(Schema::new(version, &bundle, &self.overlay)?);
        compiled.insert(version.to_owned(), Arc::clone(&schema));
        Ok(schema)
    }

    /// The revision of a host, by the fingerprint and the version that it reports: the one with that fingerprint (the
    /// newest of several), else the one of that host version or the nearest older one; none where neither says
    /// anything, as in recordings that a test host made.
    pub fn find_reported(&self, fingerprint: &str, host_version: &str) -> Option<&'static str> {
        if let Some(revision) = revisions::find_by_fingerprint(fingerprint).last() {
            return Some(&revision.version);
        }
        let reported = numbers(host_version)?;
        let not_newer =
            |revision: &&revisions::Revision| numbers(&revision.host_version).is_some_and(|it| it <= reported);
        revisions::index().iter().rfind(not_newer).map(|revision| revision.version.as_str())
    }
}

impl Library {
    /// What [`find_reported`](Self::find_reported) gives, and why that may not be what the host speaks.
    ///
    /// Versions below `0.0.1`, and a host that reports nothing, raise no doubt: test hosts are meant to be of the newest.
    pub(crate) fn find_reported_with_doubt(
        &self,
        fingerprint: &str,
        host_version: &str,
    ) -> (Option<&'static str>, Option<&'static str>) {
        let found = self.find_reported(fingerprint, host_version);
        let of_fingerprint = revisions::find_by_fingerprint(fingerprint);
        let is_test_host = host_version.starts_with("0.0.0");
        let doubt = if is_test_host || fingerprint.is_empty() && host_version.is_empty() {
            None
        } else if of_fingerprint.is_empty() {
            match found {
                None => Some("neither is known"),
                Some(_) if revisions::find_by_host_version(host_version).is_empty() => {
                    Some("neither is known, and that is the nearest older version")
                }
                // Nothing but the version was said.
                Some(_) if fingerprint.is_empty() => None,
                Some(_) => Some("the version is known, but not with this fingerprint"),
            }
        } else {
            let by_version = self.find_reported("", host_version);
            let agree = by_version.is_none_or(|version| of_fingerprint.iter().any(|it| it.version == version));
            (!agree).then_some("the fingerprint is that of another version, and counts")
        };
        (found, doubt)
    }
}

/// The numbers of a version such as `1.4.2`; none for any other form.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() == 3)
}

#[cfg(feature = "revisions")]
fn text(version: &str, surface: Surface) -> Result<String, SchemaError> {
    revisions::text(version, surface).map_err(|_| SchemaError::Unknown {
        what: "revision",
        name: version.to_owned(),
        like: None,
    })
}

#[cfg(not(feature = "revisions"))]
fn text(version: &str, surface: Surface) -> Result<String, SchemaError> {
    if version != published::HOST_VERSION {
        return Err(SchemaError::Unknown { what: "revision", name: version.to_owned(), like: None });
    }
    Ok(published::text(surface).to_owned())
}

impl Overlay {
    /// What the packaged overlay says for a surface.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn published(surface: Surface) -> Result<Self, SchemaError> {
        // Parsed and dropped again: the copy that the schema crate keeps for the life of the process is not needed.
        let annotations = Annotations::parse(published::ANNOTATIONS)
            .map_err(|error| SchemaError::Packaged { message: error.to_string() })?;
        let mut overlay = Self::default();
        for (pointer, entry) in annotations.entries_of(surface) {
            match entry.carries.as_ref().map(|carries| &carries.what) {
                Some(Carried::Definition { definition, unless_marked }) => overlay.places.push(Place {
                    pointer: pointer.to_owned(),
                    definition: definition.clone(),
                    unless_marked: unless_marked.clone(),
                }),
                Some(Carried::Notification { name, .. }) if !pointer.starts_with("/$defs/Notification/") => {
                    if let Some((definition, payload)) =
                        pointer.strip_prefix("/$defs/").and_then(|it| it.split_once("/properties/"))
                    {
                        overlay.event = Some(EventShape {
                            definition: definition.to_owned(),
                            name: name.clone(),
                            payload: payload.to_owned(),
                        });
                    }
                }
                _ => {}
            }
            if !entry.known_values.is_empty() && pointer.starts_with("/$defs/") {
                overlay.words.push(KnownWords {
                    pointer: pointer.to_owned(),
                    words: entry.known_values.clone(),
                    rule: entry.basis.clone().unwrap_or_default(),
                });
            }
            if let (Some(name), Some(Direction::ClientToHost)) =
                (pointer.strip_prefix("/notifications/"), entry.direction)
            {
                overlay.from_client.push(name.replace("~1", "/"));
            }
        }
        Ok(overlay)
    }
}
