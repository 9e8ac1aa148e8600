//! What the committed files must hold.

mod counts;
mod descriptions;
mod format;
mod keywords;
mod overlay;
mod package;
mod revisions;
mod session;
mod surfaces;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of this crate.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder of this crate, sorted, relative to the crate.
fn files_below(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() { files.extend(files_below(&path)) } else { files.push(path.into()) }
    }
    files.sort();
    files
}

fn read_json(path: impl AsRef<Path>) -> Value {
    let path = root().join(path);
    serde_json::from_str(&fs::read_to_string(&path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Calls for a schema and each schema inside it, with its pointer below `at`.
fn each_schema(schema: &Value, at: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(at, schema);
    for keyword in ["properties", "$defs", "definitions", "patternProperties"] {
        for (name, inner) in schema[keyword].as_object().into_iter().flatten() {
            each_schema(inner, &format!("{at}/{keyword}/{}", msp_schema::pointer::escape(name)), visit);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for (index, inner) in schema[keyword].as_array().into_iter().flatten().enumerate() {
            each_schema(inner, &format!("{at}/{keyword}/{index}"), visit);
        }
    }
    for keyword in ["items", "additionalProperties", "not"] {
        if schema[keyword].is_object() {
            each_schema(&schema[keyword], &format!("{at}/{keyword}"), visit);
        }
    }
}
