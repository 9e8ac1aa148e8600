//! Finds and reads the file of a bundle.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bundle, rows};
use crate::SchemaError;

/// The small file that a host writes beside a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Manifest {
    /// Whether the bundle is the experimental surface.
    pub experimental: bool,
    /// `sha256:` and 64 digits; compare it, never compute it.
    pub fingerprint: String,
    /// Version of the envelope, 1 so far.
    pub schema_version: i64,
}

impl Manifest {
    /// Reads the text of a manifest; members beyond the three published ones are passed over.
    ///
    /// # Errors
    /// `Json` for a text of another form.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        from_json(text, "the given text")
    }

    /// Reads the `manifest.json` in the folder of a bundle, given as a file or as its folder; none where there is none.
    ///
    /// # Errors
    /// As [`Bundle::read`].
    pub fn read_beside(path: impl AsRef<Path>) -> Result<Option<Self>, SchemaError> {
        let path = path.as_ref();
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let file = folder.join("manifest.json");
        if !file.exists() {
            return Ok(None);
        }
        from_json(&read_text(&file)?, &in_backticks(&file)).map(Some)
    }
}

/// The file that [`Bundle::read`] would read for a path.
///
/// # Errors
/// `Unreadable`, or for a folder `NoBundle` and `SeveralBundles`.
pub fn locate(path: impl AsRef<Path>) -> Result<PathBuf, SchemaError> {
    let path = path.as_ref();
    let unreadable = |source| SchemaError::Unreadable { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(path.to_owned());
    }
    let mut candidates = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if file.is_file() && is_json(&file) && name != "manifest.json" {
            candidates.push(name);
        }
    }
    candidates.sort();
    let published = "msp.schema.json";
    match candidates.as_slice() {
        [only] => Ok(path.join(only)),
        all if all.iter().any(|name| name == published) => Ok(path.join(published)),
        [] => Err(SchemaError::NoBundle { path: path.to_owned() }),
        _ => Err(SchemaError::SeveralBundles { path: path.to_owned(), candidates }),
    }
}

pub(super) fn read(path: &Path) -> Result<Bundle, SchemaError> {
    let file = locate(path)?;
    parse(&read_text(&file)?, &in_backticks(&file))
}

pub(super) fn parse(text: &str, place: &str) -> Result<Bundle, SchemaError> {
    let value: Value = from_json(text, place)?;
    let missing = |missing| SchemaError::NotABundle { place: place.to_owned(), missing };
    let root = value.as_object().ok_or_else(|| missing("$defs"))?;
    for member in ["$defs", "methods"] {
        if !root.get(member).is_some_and(Value::is_object) {
            return Err(missing(member));
        }
    }
    let reader = rows::Reader { root, place };
    let (methods, notifications, requests) =
        (reader.rows("methods")?, reader.rows("notifications")?, reader.rows("requests")?);
    let (errors, capabilities, reserved) = (reader.errors()?, reader.capabilities()?, reader.reserved()?);
    Ok(Bundle { value, methods, notifications, requests, errors, capabilities, reserved })
}

/// Reads a whole text file, with an error that names it.
pub(crate) fn read_text(path: &Path) -> Result<String, SchemaError> {
    let unreadable = |source: io::Error| SchemaError::Unreadable { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes)
        .map_err(|error| SchemaError::NotUtf8 { path: path.to_owned(), offset: error.utf8_error().valid_up_to() })
}

/// Whether a file calls itself JSON.
pub(crate) fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Reads JSON of a known form, with an error that names the place.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str, place: &str) -> Result<T, SchemaError> {
    serde_json::from_str(text).map_err(|source| SchemaError::Json { place: place.to_owned(), source })
}

/// A path as it stands in messages.
pub(crate) fn in_backticks(path: &Path) -> String {
    format!("`{}`", path.display())
}
