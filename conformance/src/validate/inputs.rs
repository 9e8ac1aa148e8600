//! What the paths of the command line stand for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::recordings::{self, Recording};

/// Something to validate.
#[derive(Debug, Clone)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
    /// A recording of the kit.
    Own(Recording),
}

impl Input {
    /// How reports name it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Own(recording) => format!("recordings/{}/transcript.ndjson", recording.scenario),
        }
    }

    pub(super) fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::Stdin => Box::new(io::stdin()),
            Self::File(path) => Box::new(File::open(path)?),
            Self::Own(recording) => Box::new(recording.text.as_bytes()),
        })
    }
}

/// The inputs of some paths, folders walked in the order of their names; a path that cannot be looked at, and why.
pub(super) fn collect(paths: &[PathBuf]) -> Vec<Result<Input, (String, String)>> {
    if paths.is_empty() {
        return recordings::ALL.iter().map(|recording| Ok(Input::Own(*recording))).collect();
    }
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Ok(Input::Stdin));
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk(path, &mut inputs),
            Ok(_) => inputs.push(Ok(Input::File(path.clone()))),
            Err(error) => inputs.push(Err((path.display().to_string(), format!("cannot be opened: {error}")))),
        }
    }
    inputs
}

/// The transcripts of a folder. Links to folders are not followed, so that a circle ends.
fn walk(folder: &Path, inputs: &mut Vec<Result<Input, (String, String)>>) {
    let trouble = |error: io::Error| (folder.display().to_string(), format!("cannot be read: {error}"));
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).and_then(Iterator::collect);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return inputs.push(Err(trouble(error))),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, inputs),
            Ok(_) if path.extension().is_some_and(|it| it == "ndjson") && path.is_file() => {
                inputs.push(Ok(Input::File(path)));
            }
            Ok(_) => {}
            Err(error) => inputs.push(Err(trouble(error))),
        }
    }
}
