//! Fifty seeded edits of the generated Rust, compiled as modules of one scratch crate: the schema that the edited type tells
//! of itself must differ from its definition, and that of the same type without the edit must not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use msp_schema::{Surface, published, session};
use serde_json::Value;

use crate::blocks::{self, Block, Edit};
use crate::normal::normal;

const EDITS: usize = 50;

/// Where the search for a block with something to edit begins; any number does.
const SEED: usize = 20_250;

pub(crate) fn run() -> Result<(), Failed> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut blocks = Vec::new();
    for family in ["msp", "session"] {
        for file in files(&package.join("src/gen").join(family)) {
            blocks.extend(blocks::read(family, &fs::read_to_string(file).unwrap()));
        }
    }
    let edits = choose(&blocks);
    if edits.len() < EDITS {
        return Err(format!("only {} edits were found", edits.len()).into());
    }
    let schemas = compile(package, &edits)?;
    let documents = [
        ("msp", published::bundle(Surface::Experimental).value().clone()),
        ("session", session::published().definition_bundle()?),
    ];
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::<Edit, usize>::new();
    for (index, (edit, block, _)) in edits.iter().enumerate() {
        let document = &documents.iter().find(|(family, _)| *family == block.family).unwrap().1;
        let definition = normal(&document["$defs"][&block.definition]);
        let told = |name: &str| normal(&renamed(&schemas[&format!("{name}{index}")], &block.definition));
        if told("plain") != definition {
            wrong.push(format!("{} differs without an edit", block.definition));
        }
        if told("edit") == definition {
            wrong.push(format!("{edit:?} of {} is not found", block.definition));
        }
        *counts.entry(*edit).or_default() += 1;
    }
    println!("{} edits: {counts:?}", edits.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// A type that reaches itself meets its twin among the types as they are, which gets a number behind the same name.
fn renamed(schema: &Value, definition: &str) -> Value {
    let text = schema.to_string().replace(&format!("#/$defs/{definition}2\""), &format!("#/$defs/{definition}\""));
    serde_json::from_str(&text).unwrap()
}

type Chosen = (Edit, Block, Block);

/// Kinds of edit in turn, each on the next block that has something of the kind.
fn choose(blocks: &[Block]) -> Vec<Chosen> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut at = SEED;
    for round in 0..EDITS {
        for edit in Edit::ALL {
            if chosen.len() == EDITS {
                return chosen;
            }
            let found = (0..blocks.len()).find_map(|step| {
                let block = &blocks[(at + step * 7) % blocks.len()];
                let taken = chosen.iter().any(|(same, other, _)| *same == edit && other.definition == block.definition);
                let edited = block.edited(edit, round + step).filter(|_| !taken)?;
                Some((edit, block.clone(), edited))
            });
            at += 101;
            chosen.extend(found);
        }
    }
    chosen
}

/// Builds the crate and asks each module for the schema of its type.
fn compile(package: &Path, edits: &[Chosen]) -> Result<BTreeMap<String, Value>, Failed> {
    let scratch = tempfile::tempdir()?;
    let source = scratch.path().join("src");
    fs::create_dir_all(&source)?;
    fs::copy(package.join("src/words.rs"), source.join("words.rs"))?;
    for family in ["msp", "session"] {
        fs::create_dir(source.join(family))?;
        for file in files(&package.join("src/gen").join(family)) {
            fs::copy(&file, source.join(family).join(file.file_name().unwrap()))?;
        }
    }
    let mut root = String::from("#![allow(unused)]\n#[macro_use]\npub mod words;\npub mod msp;\npub mod session;\n\n");
    let mut rows = String::new();
    for (index, (_, block, edited)) in edits.iter().enumerate() {
        for (name, one) in [(format!("plain{index}"), block), (format!("edit{index}"), edited)] {
            root.push_str(&one.module(&name));
            writeln!(rows, "        (\"{name}\", schema::<{name}::{}>()),", one.name)?;
        }
    }
    write!(root, "{}", PROGRAM.replace("ROWS", &rows))?;
    fs::write(source.join("main.rs"), root)?;
    fs::write(scratch.path().join("Cargo.toml"), MANIFEST)?;
    fs::copy(package.join("../Cargo.lock"), scratch.path().join("Cargo.lock"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| package.join("../target"), PathBuf::from);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet"]).current_dir(scratch.path());
    command.env("CARGO_TARGET_DIR", target.join("peers/edits")).env("CARGO_NET_OFFLINE", "true");
    let output = command.output()?;
    if !output.status.success() {
        let said: String = String::from_utf8_lossy(&output.stderr).chars().take(6_000).collect();
        return Err(format!("the edited types do not compile:\n{said}").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

const MANIFEST: &str = r#"[package]
name = "edits-scratch"
edition = "2024"

[features]
default = ["strict", "experimental", "schemars"]
strict = []
experimental = []
schemars = []

[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["float_roundtrip"] }
regex-lite = "0.1"
schemars = { version = "1", default-features = false }

[workspace]
"#;

const PROGRAM: &str = r##"
fn schema<T: schemars::JsonSchema>() -> serde_json::Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let used = serde_json::Value::from(generator.subschema_for::<T>());
    let name = used.get("$ref").and_then(serde_json::Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.and_then(|name| generator.definitions().get(name).cloned()).unwrap_or(used)
}

fn main() {
    let all: std::collections::BTreeMap<&str, serde_json::Value> = [
ROWS    ].into();
    println!("{}", serde_json::to_string(&all).unwrap());
}
"##;
