//! Lists the data files for `published::files`, and deflates the older revisions behind the feature `revisions`.
//!
//! Everything comes from this package's own folders, so that the packaged crate builds without the repository.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo names no package folder")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no output folder")?);
    println_to_cargo("rerun-if-changed=build.rs");
    println_to_cargo("rerun-if-changed=msp");
    println_to_cargo("rerun-if-changed=session");

    let mut files = Vec::new();
    walk(&root, "msp", &mut files)?;
    walk(&root, "session", &mut files)?;
    files.sort();
    let (old, plain): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_old_bundle(file));

    fs::write(out.join("files.rs"), list_of_files(&root, &plain)?)?;
    #[cfg(feature = "revisions")]
    fs::write(out.join("revisions.rs"), deflate(&root, &out, &old)?)?;
    #[cfg(not(feature = "revisions"))]
    drop(old);
    Ok(())
}

fn println_to_cargo(line: &str) {
    println!("cargo::{line}");
}

/// The bundles of older releases; `index.json` beside their folders is always embedded.
fn is_old_bundle(file: &str) -> bool {
    file.starts_with("msp/revisions/") && file.ends_with("/msp.schema.json")
}

fn walk(root: &Path, relative: &str, files: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(root.join(relative))? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|name| format!("{name:?} is not UTF-8"))?;
        let path = format!("{relative}/{name}");
        if entry.file_type()?.is_dir() {
            walk(root, &path, files)?;
        } else if Path::new(&name).extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

fn list_of_files(root: &Path, files: &[String]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("&[\n");
    for file in files {
        let path = root.join(file);
        let path = path.to_str().ok_or("the package folder is not UTF-8")?;
        writeln!(text, "    ({file:?}, include_str!({path:?})),")?;
    }
    text.push_str("]\n");
    Ok(text)
}

#[cfg(feature = "revisions")]
fn deflate(root: &Path, out: &Path, files: &[String]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("&[\n");
    for file in files {
        let bytes = fs::read(root.join(file))?;
        // Level 6 is where a higher one stops paying: the texts are all alike.
        let packed = miniz_oxide::deflate::compress_to_vec(&bytes, 6);
        let target = out.join(format!("{}.deflate", file.replace('/', "_")));
        fs::write(&target, packed)?;
        let target = target.to_str().ok_or("the output folder is not UTF-8")?;
        writeln!(text, "    ({file:?}, include_bytes!({target:?})),")?;
    }
    text.push_str("]\n");
    Ok(text)
}
