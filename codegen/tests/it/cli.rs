//! The built program. A case has a file `commands` with one command line each line, run in a copy of the folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::cases;

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_msp-codegen"));
    command.args(arguments).current_dir(folder).env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder, arguments).output().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Exit code and both streams of every command line below `cases/cli`.
#[test]
fn cases() {
    for case in cases::all("cli") {
        let folder = tempfile::tempdir().unwrap();
        copy(&case.folder, folder.path());
        let commands = fs::read_to_string(case.folder.join("commands")).unwrap();
        let mut runs = Vec::new();
        for line in commands.lines() {
            let output = run(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
            let stream = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let (out, err) = (stream(output.stdout), stream(output.stderr));
            let code = output.status.code().unwrap();
            runs.push(format!("$ msp-codegen {line}\nexit {code}\n--- stdout\n{out}--- stderr\n{err}"));
            assert!(!err.contains("panicked"), "{line}: {err}");
        }
        case.assert("run", &runs.join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}

const SCHEMA: &str =
    r#"{ "$defs": { "Account": { "type": "object", "properties": { "id": { "type": "string" } } } } }"#;

/// Generating, then each kind of drift; `--check` never writes.
#[test]
fn generate_and_check() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("schema.json"), SCHEMA).unwrap();
    let generate = ["generate", "--schema", "schema.json", "--out", "out"];
    let check = ["generate", "--schema", "schema.json", "--out", "out", "--check"];

    let missing = run(folder.path(), &check);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8(missing.stdout).unwrap().starts_with("--- /dev/null\n+++ out/"));
    assert!(!folder.path().join("out").exists());

    assert_eq!(run(folder.path(), &generate).status.code(), Some(0));
    let same = run(folder.path(), &check);
    assert_eq!((same.status.code(), same.stdout.len()), (Some(0), 0));

    let first = fs::read_dir(folder.path().join("out")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, format!("{text}// edited\n")).unwrap();
    let edited = run(folder.path(), &check);
    assert_eq!(edited.status.code(), Some(1));
    assert!(String::from_utf8(edited.stdout).unwrap().contains("\n-// edited\n"));

    fs::write(&first, &text).unwrap();
    fs::write(folder.path().join("out/extra.rs"), &text).unwrap();
    let extra = run(folder.path(), &check);
    assert_eq!(extra.status.code(), Some(1));
    assert!(String::from_utf8(extra.stdout).unwrap().contains("--- out/extra.rs\n+++ /dev/null\n"));
    assert!(folder.path().join("out/extra.rs").exists());
}

/// A schema that is refused leaves the output as it was.
#[test]
fn refused_schemas_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("schema.json"), SCHEMA).unwrap();
    let generate = ["generate", "--schema", "schema.json", "--out", "out"];
    assert_eq!(run(folder.path(), &generate).status.code(), Some(0));
    let list = || fs::read_dir(folder.path().join("out")).unwrap().count();
    let before = list();
    for (text, code) in [("{ \"$defs\": { \"A\": { \"$ref\": \"#/no\" } } }", 1), ("{ \"$defs\"", 3), ("", 3)] {
        fs::write(folder.path().join("schema.json"), text).unwrap();
        assert_eq!(run(folder.path(), &generate).status.code(), Some(code), "{text}");
        assert_eq!(list(), before);
    }
}

/// The paths of a configuration file are relative to it, wherever the program is started, and the output is the same.
#[test]
fn configuration_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("schema.json"), SCHEMA).unwrap();
    let config = "[[output]]\nschema = [\"schema.json\"]\nout = \"out\"\n";
    fs::write(folder.path().join("msp-codegen.toml"), config).unwrap();
    let here = run(folder.path(), &["generate", "--config", "msp-codegen.toml"]);
    assert_eq!(here.status.code(), Some(0), "{}", String::from_utf8_lossy(&here.stderr));
    let there = run(&folder.path().join("sub"), &["generate", "--config", "../msp-codegen.toml", "--check"]);
    assert_eq!(String::from_utf8_lossy(&there.stdout), "");
    assert_eq!(there.status.code(), Some(0));
}

/// `msp-codegen list … | head -1` ends quietly.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/msp");
    let mut child = program(&bundle, &["list", ".", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
