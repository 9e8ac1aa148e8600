//! Generated files on disk: written whole or not at all, or compared with what is there.

mod check;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::document::Location;
use crate::input::load::normalize;

pub use check::check;
pub use write::{Written, write, write_one};

/// The files of one output, and the folder that they belong in.
pub type Output = (PathBuf, Files);

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

/// The files of all outputs by path. Two outputs may have the same file (the words, say), but not with two texts.
fn wanted(outputs: &[Output]) -> Result<BTreeMap<PathBuf, &str>, Box<Diagnostic>> {
    let mut wanted = BTreeMap::new();
    for (folder, files) in outputs {
        for (name, text) in files {
            let path = normalize(&folder.join(name));
            if wanted.insert(path.clone(), text.as_str()).is_some_and(|other| other != text) {
                let at = Location { file: shown(&path).into(), pointer: String::new() };
                let message = format!("two outputs write `{}`, with different text", shown(&path));
                let help = "give each output a folder of its own";
                return Err(Box::new(Diagnostic::error("codegen/output-conflict", at, message).help(help)));
            }
        }
    }
    Ok(wanted)
}

/// Refuses to write over files that are there, hold something, and do not say that this program made them.
fn spare(wanted: &BTreeMap<PathBuf, &str>) -> Result<(), Box<Diagnostic>> {
    let mut foreign = Vec::new();
    for (path, text) in wanted {
        let there = read(path)?.filter(|there| there != text && !there.trim().is_empty());
        if there.is_some_and(|there| !is_ours(&there)) {
            foreign.push(format!("`{}`", shown(path)));
        }
    }
    let Some(first) = foreign.first() else { return Ok(()) };
    let at = Location { file: first.trim_matches('`').into(), pointer: String::new() };
    let message = format!("{} would be overwritten, but this program did not make it", foreign.join(", "));
    let help = "generate into a folder of its own, or remove the file first";
    Err(Box::new(Diagnostic::error("codegen/foreign-file", at, message).help(help)))
}

/// The files below the folders of all outputs that are ours and that none of them has, sorted.
fn extra(outputs: &[Output], wanted: &BTreeMap<PathBuf, &str>) -> Result<Vec<(PathBuf, String)>, Box<Diagnostic>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = outputs.iter().map(|(folder, _)| normalize(folder)).collect();
    while let Some(folder) = folders.pop() {
        // The folder "here" is empty text as a path.
        let readable = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let entries = match std::fs::read_dir(readable) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unusable(&folder, "read", &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| unusable(&folder, "read", &error))?;
            let kind = entry.file_type().map_err(|error| unusable(&entry.path(), "read", &error))?;
            let path = folder.join(entry.file_name());
            // Links are not followed: what they lead to is somebody else's.
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|extension| extension == "rs")
                && !wanted.contains_key(&path)
            {
                let text = read(&path)?.unwrap_or_default();
                if is_ours(&text) {
                    found.push((path, text));
                }
            }
        }
    }
    // Folders of outputs may stand inside each other.
    found.sort();
    found.dedup();
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
