//! Comparing: what writing would change, as a unified diff.

use similar::TextDiff;

use super::{Output, extra, read, shown, spare, wanted};
use crate::diagnostic::Diagnostic;

/// How a diff names the side that does not exist.
const NOTHING: &str = "/dev/null";

/// What [`write`](super::write()) would change, as a unified diff from the files on disk to those given; empty where all is as it
/// should be. Writes nothing.
///
/// # Errors
/// `codegen/unwritable` for a file or folder that cannot be read, `codegen/output-conflict`, and `codegen/foreign-file` as
/// [`write`](super::write()) has it.
pub fn check(outputs: &[Output]) -> Result<String, Box<Diagnostic>> {
    let wanted = wanted(outputs)?;
    spare(&wanted)?;
    let mut changes = String::new();
    for (path, text) in &wanted {
        match read(path)? {
            Some(on_disk) if on_disk == *text => {}
            Some(on_disk) => changes.push_str(&diff(&on_disk, text, &shown(path), &shown(path))),
            None => changes.push_str(&diff("", text, NOTHING, &shown(path))),
        }
    }
    for (path, on_disk) in extra(outputs, &wanted)? {
        changes.push_str(&diff(&on_disk, "", &shown(&path), NOTHING));
    }
    Ok(changes)
}

fn diff(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    if old.is_empty() && new.is_empty() {
        // An empty file that is missing has no lines to show.
        return format!("--- {old_name}\n+++ {new_name}\n");
    }
    TextDiff::from_lines(old, new).unified_diff().header(old_name, new_name).to_string()
}
