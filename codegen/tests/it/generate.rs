//! What becomes of a schema: one folder per question, with the Rust that answers it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use msp_codegen::diagnostic::Severity;
use msp_codegen::options::{Layout, Options};
use msp_codegen::{config, generate, input};

use crate::cases;

#[test]
fn each_question_has_its_answer() {
    for case in cases::all("generate") {
        let options = options(&case);
        let (schemas, mut diagnostics) = input::read_all(&[case.schema()], &options);
        let refused = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        let (files, more) = if refused { Default::default() } else { generate::generate(&schemas, &options) };
        diagnostics.extend(more);
        let mut text = String::new();
        for diagnostic in &diagnostics {
            let _ = writeln!(text, "{diagnostic}");
        }
        for (name, file) in files.iter().filter(|(name, _)| *name != WORDS) {
            let _ = write!(text, "==> {name}\n{}", without_digest(file));
        }
        case.assert("output", &text);
    }
}

/// The words are the same for all cases; they are left out by writing them to a file of their own.
const WORDS: &str = "words.rs";

/// The options of `msp-codegen.toml` in the folder, if there is one.
fn options(case: &cases::Case) -> Options {
    let options = match case.optional("msp-codegen.toml") {
        Some(path) => config::read(&path).unwrap_or_else(|error| panic!("{error}")).remove(0).options,
        None => Options::default(),
    };
    Options { words: Some(WORDS.to_owned()), ..options }
}

/// The digest covers the bytes of the input, so that it would change with every blank.
fn without_digest(file: &str) -> String {
    file.lines().filter(|line| !line.starts_with("// Digest: ")).fold(String::new(), |mut out, line| {
        out.push_str(line);
        out.push('\n');
        out
    })
}

#[test]
fn formatting_leaves_the_output_alone() {
    for case in cases::all("generate") {
        for layout in [Layout::Single, Layout::Files, Layout::Modules] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { layout, words: None, ..options(&case) };
            let Ok(schemas) = input::read(&[case.schema()], &options) else { continue };
            let (files, _) = generate::generate(&schemas, &options);
            for (name, text) in &files {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            let Some(root) = ["mod.rs", "types.rs"].into_iter().find(|name| files.contains_key(*name)) else {
                continue;
            };
            let mut rustfmt = Command::new("rustfmt");
            let output = rustfmt.args(["--edition", "2024", "--check"]).arg(folder.path().join(root)).output().unwrap();
            let (found, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{} {layout:?}: {found}{said}", case.folder.display());
        }
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/msp");
    let options = Options::default();
    let make = || generate::generate(&input::read(&[&schema], &options).unwrap(), &options).0;
    let (first, second) = (make(), make());
    assert!(!first.is_empty());
    assert_eq!(first, second);
}

#[test]
fn the_committed_types_are_what_the_generator_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for output in config::read(&root.join("msp-codegen.toml")).unwrap() {
        let schemas = input::read(&output.schema, &output.options).unwrap();
        let (files, diagnostics) = generate::generate(&schemas, &output.options);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        for (name, text) in &files {
            let path = output.out.join(name);
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            // Displayed source paths depend on where the test runs from.
            let same = |text: &str| {
                text.lines()
                    .filter(|line| !line.starts_with("// Source: "))
                    .eq(there.lines().filter(|line| !line.starts_with("// Source: ")))
            };
            assert!(same(text), "{} is not what the generator writes: run `cargo gen`", path.display());
        }
    }
}
