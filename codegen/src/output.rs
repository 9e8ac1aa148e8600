//! Generated files on disk: written whole or not at all, or compared with what is there.

mod check;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::document::Location;

pub use check::check;
pub use write::{Written, write, write_one};

/// Relative path, with `/` between its parts, to text.
pub type Files = BTreeMap<String, String>;

/// What a file of ours has in one of its first lines, both words in the same line; only such files are ever removed.
const MARKS: [&str; 2] = ["@generated", "msp-codegen"];
/// How many lines are searched for the mark: attributes may stand before it.
const MARKED_LINES: usize = 5;

/// Whether the text says that this program made it.
fn is_ours(text: &str) -> bool {
    text.lines().take(MARKED_LINES).any(|line| MARKS.iter().all(|mark| line.contains(mark)))
}

/// The files below `folder` that are ours and that `files` does not have, sorted.
fn extra(folder: &Path, files: &Files) -> Result<Vec<(PathBuf, String)>, Box<Diagnostic>> {
    let wanted: Vec<PathBuf> = files.keys().map(|name| folder.join(name)).collect();
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unusable(&folder, "read", &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| unusable(&folder, "read", &error))?;
            let kind = entry.file_type().map_err(|error| unusable(&entry.path(), "read", &error))?;
            let path = entry.path();
            // Links are not followed: what they lead to is somebody else's.
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|extension| extension == "rs")
                && !wanted.contains(&path)
            {
                let text = read(&path)?.unwrap_or_default();
                if is_ours(&text) {
                    found.push((path, text));
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file; `None` where there is none. What is not UTF-8 comes out changed, and so differs from what we write.
fn read(path: &Path) -> Result<Option<String>, Box<Diagnostic>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, "read", &error)),
    }
}

/// A path as people see it, with `/` on every platform.
fn shown(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

fn unusable(path: &Path, verb: &str, error: &io::Error) -> Box<Diagnostic> {
    let at = Location { file: shown(path).into(), pointer: String::new() };
    Box::new(Diagnostic::error("codegen/unwritable", at, format!("`{}` cannot be {verb}: {error}", shown(path))))
}
