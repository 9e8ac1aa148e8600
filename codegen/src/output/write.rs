//! Writing: every file beside its place first, then all renamed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Output, extra, read, spare, unusable, wanted};
use crate::diagnostic::Diagnostic;

/// What writing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that are new or have another text.
    pub written: Vec<PathBuf>,
    /// Files of an earlier run that this one does not have.
    pub removed: Vec<PathBuf>,
    /// Number of files that were right already; their time stamps stay.
    pub unchanged: usize,
}

/// Brings the files of all outputs to what is given, and removes those that an earlier run left in their folders.
///
/// Files of other people are not touched: only those that say in their first lines that this program made them are removed or
/// written over.
///
/// # Errors
/// `codegen/unwritable`, `codegen/foreign-file` for a file that is somebody else's, and `codegen/output-conflict` for a file that
/// two outputs have with different text. When a file cannot be
/// written, none was changed; a failure while renaming, for which the disk has to break between two files, leaves each file whole,
/// old or new.
pub fn write(outputs: &[Output]) -> Result<Written, Box<Diagnostic>> {
    let wanted = wanted(outputs)?;
    spare(&wanted)?;
    let mut result = Written::default();
    let mut staged = Staged::default();
    for (path, text) in &wanted {
        if read(path)?.as_deref() == Some(*text) {
            result.unchanged += 1;
        } else {
            staged.add(path.clone(), text)?;
        }
    }
    let extra = extra(outputs, &wanted)?;
    result.written = staged.commit()?;
    for (path, _) in extra {
        std::fs::remove_file(&path).map_err(|error| unusable(&path, "removed", &error))?;
        result.removed.push(path);
    }
    Ok(result)
}

/// Brings one file to `text`.
///
/// # Errors
/// `codegen/unwritable` and `codegen/foreign-file`; the file is as it was then.
pub fn write_one(path: &Path, text: &str) -> Result<(), Box<Diagnostic>> {
    if read(path)?.as_deref() == Some(text) {
        return Ok(());
    }
    spare(&BTreeMap::from([(path.to_owned(), text)]))?;
    let mut staged = Staged::default();
    staged.add(path.to_owned(), text)?;
    staged.commit().map(|_| ())
}

/// Files that are written but not yet in their place; those left over are removed on drop.
#[derive(Default)]
struct Staged {
    /// Temporary path and place.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Staged {
    fn add(&mut self, place: PathBuf, text: &str) -> Result<(), Box<Diagnostic>> {
        let folder = place.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder).map_err(|error| unusable(folder, "made", &error))?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        // The process id keeps two runs apart; cargo may start build scripts side by side.
        let temporary = place.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        // Known before it exists, so that a half-written one is removed too.
        self.files.push((temporary.clone(), place));
        std::fs::write(&temporary, text).map_err(|error| unusable(&temporary, "written", &error))
    }

    fn commit(mut self) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
        let mut written = Vec::new();
        // From the end, so that what is not renamed yet stays listed for removal.
        while let Some((temporary, place)) = self.files.last() {
            std::fs::rename(temporary, place).map_err(|error| unusable(place, "written", &error))?;
            written.extend(self.files.pop().map(|(_, place)| place));
        }
        written.reverse();
        Ok(written)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            // Nothing can be done about a file that cannot be removed, and the error that led here is the one to show.
            let _ = std::fs::remove_file(temporary);
        }
    }
}
