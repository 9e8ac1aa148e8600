//! A case is a folder: its input, `shows.txt` with a sentence on what it shows, and the snapshots of what came out.

use std::path::{Path, PathBuf};

/// One folder below `tests/cases/<area>`.
pub(crate) struct Case {
    pub(crate) folder: PathBuf,
}

/// All cases of an area, by name.
pub(crate) fn all(area: &str) -> Vec<Case> {
    let area = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(area);
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&area).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty(), "no cases in {}", area.display());
    folders.into_iter().map(|folder| Case { folder }).collect()
}

impl Case {
    /// The input: the file `schema.json`, or the folder `schema`.
    pub(crate) fn schema(&self) -> PathBuf {
        let file = self.folder.join("schema.json");
        if file.exists() { file } else { self.folder.join("schema") }
    }

    /// The path of a file that the case may have.
    pub(crate) fn optional(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|path| path.exists())
    }

    /// `text` with `CASE` for the path of the folder.
    pub(crate) fn without_place(&self, text: &str) -> String {
        text.replace(&*self.folder.to_string_lossy().replace('\\', "/"), "CASE")
    }

    /// Compares `text` with the snapshot `name` in the folder; the path of the folder reads `CASE` there.
    #[track_caller]
    pub(crate) fn assert(&self, name: &str, text: &str) {
        let text = self.without_place(text);
        let shows = std::fs::read_to_string(self.folder.join("shows.txt"));
        let shows = shows.unwrap_or_else(|error| panic!("{}/shows.txt: {error}", self.folder.display()));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&self.folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(shows.trim());
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}
