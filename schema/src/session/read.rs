//! Reads the files of a folder of session schemas.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::SessionSchemas;
use crate::SchemaError;
use crate::bundle::{from_json, in_backticks, is_json, read_text};

#[derive(Deserialize)]
struct Definitions {
    definitions: Map<String, Value>,
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<super::SessionError>,
}

pub(super) fn from_folder(folder: &Path) -> Result<SessionSchemas, SchemaError> {
    let mut files = Vec::new();
    for part in ["", "functions", "triggers"] {
        let directory = folder.join(part);
        if !part.is_empty() && !directory.is_dir() {
            continue;
        }
        let unreadable = |source| SchemaError::Unreadable { path: directory.clone(), source };
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = if part.is_empty() { name } else { format!("{part}/{name}") };
            let ours = !part.is_empty() || ["defs.json", "errors.json", "manifest.json"].contains(&name.as_str());
            if ours && path.is_file() && is_json(&path) {
                files.push((name, read_text(&path)?));
            }
        }
    }
    let place = in_backticks(folder);
    from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str())), &place)
}

/// Reads files by their names relative to the folder.
pub(super) fn from_files<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
    place: &str,
) -> Result<SessionSchemas, SchemaError> {
    let mut schemas = SessionSchemas {
        functions: Vec::new(),
        triggers: Vec::new(),
        definitions: Map::new(),
        errors: Vec::new(),
        manifest: None,
        place: place.to_owned(),
    };
    for (name, text) in files {
        let at = format!("`{}/{name}`", place.trim_matches('`'));
        match name {
            "defs.json" => schemas.definitions = from_json::<Definitions>(text, &at)?.definitions,
            "errors.json" => schemas.errors = from_json::<Errors>(text, &at)?.errors,
            "manifest.json" => schemas.manifest = Some(from_json(text, &at)?),
            _ if name.starts_with("functions/") => schemas.functions.push(from_json(text, &at)?),
            _ if name.starts_with("triggers/") => schemas.triggers.push(from_json(text, &at)?),
            _ => {}
        }
    }
    if schemas.functions.is_empty() && schemas.triggers.is_empty() {
        return Err(SchemaError::NotSessionSchemas { place: place.to_owned() });
    }
    schemas.functions.sort_by(|one, other| one.id.cmp(&other.id));
    schemas.triggers.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(schemas)
}
