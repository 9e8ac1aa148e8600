//! What holds for the workspace as a whole: the Rust version that each crate asks for, and who may see whom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The libraries that others build on, with the newest Rust that they may ask for.
const PROMISED: [(&str, &str); 2] = [("msp-types", "1.85"), ("msp-judge", "1.85")];

/// Arrows that must not be, however many steps they take: the judge sees neither types nor server nor generator, and the types bring
/// nothing of ours.
const FORBIDDEN: [(&str, &[&str]); 3] = [
    ("msp-judge", &["msp-types", "msp-reference-server", "msp-codegen", "typify"]),
    ("msp-types", &["msp-schema", "msp-codegen", "typify", "syn"]),
    ("msp-schema", &["msp-codegen", "msp-types", "msp-judge", "jsonschema"]),
];

#[test]
fn each_crate_asks_for_the_rust_that_its_dependencies_ask_for() {
    let workspace = Workspace::read();
    for name in &workspace.members {
        let declared = workspace.rust_versions[name].as_deref().unwrap_or_else(|| panic!("{name} has no rust-version"));
        for dependency in workspace.reach(name) {
            if let Some(needed) = &workspace.rust_versions[&dependency] {
                assert!(
                    version(needed) <= version(declared),
                    "{name} declares Rust {declared}, but {dependency} needs {needed}"
                );
            }
        }
    }
    for (name, promised) in PROMISED {
        assert_eq!(workspace.rust_versions[name].as_deref(), Some(promised), "{name}");
    }
}

#[test]
fn no_arrow_leads_where_it_must_not() {
    let workspace = Workspace::read();
    for (name, forbidden) in FORBIDDEN {
        let reached = workspace.reach(name);
        for other in forbidden {
            assert!(!reached.contains(*other), "{name} depends on {other}");
        }
    }
}

struct Workspace {
    members: Vec<String>,
    /// Package to its `rust-version`; of two versions of one package, the later ask counts.
    rust_versions: BTreeMap<String, Option<String>>,
    /// Package to what it needs when it is built with its default features as a library.
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Workspace {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let metadata = cargo(&root, &["metadata", "--format-version", "1", "--locked", "--filter-platform", host()]);
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        let mut rust_versions: BTreeMap<String, Option<String>> = BTreeMap::new();
        for package in metadata["packages"].as_array().unwrap() {
            let asked = package["rust_version"].as_str().map(str::to_owned);
            let entry = rust_versions.entry(package["name"].as_str().unwrap().to_owned()).or_default();
            if asked.as_deref().map(version) > entry.as_deref().map(version) {
                *entry = asked;
            }
        }
        let members: Vec<String> = metadata["packages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|package| package["source"].is_null())
            .map(|package| package["name"].as_str().unwrap().to_owned())
            .collect();
        // `cargo tree` knows features, which the resolved graph of the metadata does not tell apart.
        let needs = members.iter().map(|name| (name.clone(), tree(&root, name))).collect();
        Self { members, rust_versions, needs }
    }

    fn reach(&self, name: &str) -> BTreeSet<String> {
        self.needs[name].iter().filter(|dependency| *dependency != name).cloned().collect()
    }
}

fn tree(root: &Path, name: &str) -> BTreeSet<String> {
    let arguments = ["tree", "-p", name, "--edges", "normal,build", "--prefix", "none", "--format", "{p}", "--locked"];
    let text = cargo(root, &arguments);
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).filter(|name| !name.is_empty()).collect()
}

#[track_caller]
fn cargo(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The platform that the test runs on, as cargo calls it.
fn host() -> &'static str {
    match (std::env::consts::ARCH, std::env::consts::OS) {
        ("aarch64", "linux") => "aarch64-unknown-linux-gnu",
        ("aarch64", "macos") => "aarch64-apple-darwin",
        ("x86_64", "macos") => "x86_64-apple-darwin",
        ("x86_64", "windows") => "x86_64-pc-windows-msvc",
        _ => "x86_64-unknown-linux-gnu",
    }
}

fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    parts.resize(3, 0);
    parts
}
