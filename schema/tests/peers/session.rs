//! The session schemas.

use std::path::Path;

use libtest_mimic::Failed;

use crate::{Sources, equal};

/// Every file has the value of its source, and there is no other.
pub(crate) fn files(sources: &Sources) -> Result<(), Failed> {
    let mut ours = 0;
    for (path, text) in msp_schema::published::files() {
        if !path.starts_with("session/") || path.ends_with("/manifest.json") {
            continue;
        }
        let value: serde_json::Value = serde_json::from_str(text)?;
        equal(&value, &sources.json(path)?, path)?;
        let compact = |text: &str| text.split_whitespace().collect::<String>();
        let source = std::fs::read_to_string(sources.0.join(path))?;
        equal(&compact(text), &compact(&source), &format!("order of members in {path}"))?;
        ours += 1;
    }
    let mut theirs = 2; // defs.json and errors.json
    for folder in ["functions", "triggers"] {
        theirs += std::fs::read_dir(Path::new(&sources.0).join("session").join(folder))?.count();
    }
    equal(&ours, &theirs, "files")
}
