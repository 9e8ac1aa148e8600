//! Reads files once each and remembers where they came from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::identities::Identities;
use crate::diagnostic::Diagnostic;
use crate::document::{Document, Location};
use crate::schemas::DocumentId;

/// The documents read so far, and what was wrong with those that could not be.
#[derive(Default)]
pub(super) struct Loader {
    pub(super) documents: Vec<Document>,
    pub(super) identities: Identities,
    pub(super) diagnostics: Vec<Diagnostic>,
    paths: Vec<PathBuf>,
    /// `None` for a file that was refused, so that it is reported once.
    by_path: BTreeMap<PathBuf, Option<DocumentId>>,
}

impl Loader {
    /// Reads the file, unless it was read before. `None` where it cannot be read, which is reported.
    pub(super) fn load(&mut self, path: &Path) -> Option<DocumentId> {
        let path = normalize(path);
        if let Some(known) = self.by_path.get(&path) {
            return *known;
        }
        let loaded = self.read(&path).map(|document| {
            let id = DocumentId(self.documents.len());
            self.identities.add(id, &document);
            self.documents.push(document);
            self.paths.push(path.clone());
            id
        });
        self.by_path.insert(path, loaded);
        loaded
    }

    fn read(&mut self, path: &Path) -> Option<Document> {
        match read_document(path) {
            Ok(document) => Some(document),
            Err(diagnostics) => {
                self.diagnostics.extend(diagnostics);
                None
            }
        }
    }

    /// The document with this id.
    #[expect(clippy::indexing_slicing, reason = "ids are handed out by this value")]
    pub(super) fn document(&self, id: DocumentId) -> &Document {
        &self.documents[id.0]
    }

    /// The path of a file named in a document, relative to that document.
    pub(super) fn beside(&self, id: DocumentId, relative: &str) -> PathBuf {
        let folder = self.paths.get(id.0).and_then(|path| path.parent()).unwrap_or(Path::new(""));
        normalize(&folder.join(relative))
    }
}

/// Longest file that is read, in bytes; a published bundle has half a million.
const LONGEST_FILE: u64 = 64 << 20;

/// Reads and parses one file.
pub(super) fn read_document(path: &Path) -> Result<Document, Vec<Diagnostic>> {
    let mut bytes = Vec::new();
    // Reads one byte more than is allowed, so that a file without an end does not fill the memory.
    let read = File::open(path).and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|error| vec![unreadable(path, &error)])?;
    if bytes.len() as u64 > LONGEST_FILE {
        let message = format!("`{}` is longer than {} MiB, the most that is read", display(path), LONGEST_FILE >> 20);
        return Err(vec![Diagnostic::error("codegen/unreadable", whole(path), message)]);
    }
    Document::parse(&display(path), &bytes)
}

/// The finding for a file or folder that cannot be read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let message = match error.kind() {
        io::ErrorKind::NotFound => format!("`{}` does not exist", display(path)),
        _ => format!("`{}` cannot be read: {error}", display(path)),
    };
    Diagnostic::error("codegen/unreadable", whole(path), message)
}

/// The place "all of this file".
pub(super) fn whole(path: &Path) -> Location {
    Location { file: Arc::from(display(path)), pointer: String::new() }
}

/// A path as people see it: as they gave it, with `/` on every platform.
pub(crate) fn display(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// Takes `.` and `..` out of a path by its text alone, so that one file has one path.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            _ => plain.push(component),
        }
    }
    plain
}
