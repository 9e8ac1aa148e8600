//! The packaged crate has every file that the library reads.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use super::{files_below, root};
use msp_schema::published;

fn data() -> BTreeSet<PathBuf> {
    files_below("msp").into_iter().chain(files_below("session")).collect()
}

#[test]
fn every_file_is_embedded() {
    let old = |path: &PathBuf| path.starts_with("msp/revisions") && path.ends_with("msp.schema.json");
    let on_disk: Vec<_> = data().into_iter().filter(|path| !old(path)).collect();
    let embedded: Vec<_> = published::files().iter().map(|(path, _)| PathBuf::from(path)).collect();
    assert_eq!(embedded, on_disk);
    for (path, text) in published::files() {
        assert!(*text == std::fs::read_to_string(root().join(path)).unwrap(), "{path}");
    }
}

#[test]
fn every_file_is_packaged() {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let listed: BTreeSet<_> = listed.lines().map(PathBuf::from).collect();
    let missing: Vec<_> = data().into_iter().filter(|path| !listed.contains(path)).collect();
    assert_eq!(missing, Vec::<PathBuf>::new());
}
