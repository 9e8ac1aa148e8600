//! `dispatch.rs` lists every generated type: read from the generated text, held against the committed list.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[test]
fn every_generated_type_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::from(
        "//! @generated from `src/gen/`: `UPDATE_EXPECTED=1 cargo test -p msp-types listing` writes it anew.\n\nuse crate::types::Type;\n",
    );
    for (family, doc) in [("msp", "MSP"), ("session", "session functions")] {
        let mut rows = Vec::new();
        for file in files(&root.join("src/gen").join(family)) {
            rows.extend(types(&fs::read_to_string(file).unwrap()));
        }
        rows.sort();
        writeln!(text, "\n/// Types of the {doc}.\npub(crate) static {}: &[Type] = &[", family.to_uppercase()).unwrap();
        for (definition, name, gated) in rows {
            if gated {
                text.push_str("    #[cfg(feature = \"experimental\")]\n");
            }
            writeln!(text, "    Type::of::<msp_types::{family}::{name}>(\"{definition}\"),").unwrap();
        }
        text.push_str("];\n");
    }
    let path = root.join("tests/it/dispatch.rs");
    if env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        text == fs::read_to_string(&path).unwrap(),
        "`dispatch.rs` is not what `src/gen/` asks for; UPDATE_EXPECTED=1 mends it"
    );
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Definition, Rust name and gate of `pub struct Name as "Definition"` inside a macro call.
pub(crate) fn types(text: &str) -> Vec<(String, String, bool)> {
    let mut found = Vec::new();
    let mut gated = false;
    for line in text.lines() {
        if line.starts_with("#[cfg(feature = \"experimental\")]") {
            gated = true;
        } else if line.is_empty() {
            gated = false;
        }
        let named = line.strip_prefix("    pub ").and_then(|line| line.split_once(" as \""));
        if let Some((before, after)) = named {
            let name = before.rsplit(' ').next().unwrap().to_owned();
            found.push((after[..after.find('"').unwrap()].to_owned(), name, gated));
        }
    }
    found
}
