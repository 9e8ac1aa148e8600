//! Reading: one folder per kind of input or question, with what it must come to as a snapshot.

use std::fmt::Write as _;
use std::path::Path;

use msp_codegen::diagnostic::{Colour, to_text};
use msp_codegen::input;
use msp_codegen::options::Options;
use msp_codegen::schemas::{DefinitionId, Schemas};

/// Each folder below `cases/input` is read: its only input is the file `schema.json`, or the folder `schema`.
#[test]
fn cases() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/input");
    let mut folders: Vec<_> = std::fs::read_dir(&cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    for folder in folders {
        let file = folder.join("schema.json");
        let path = if file.exists() { file } else { folder.join("schema") };
        let (schemas, diagnostics) = input::read_all(&[path], &Options::default());
        let mut text = describe(&schemas);
        for diagnostic in &diagnostics {
            writeln!(text, "\n{}", to_text(diagnostic, Colour::Never)).unwrap();
        }
        let text = text.replace(&*folder.to_string_lossy().replace('\\', "/"), "CASE");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(std::fs::read_to_string(folder.join("shows.txt")).unwrap().trim());
        settings.bind(|| insta::assert_snapshot!("read", text));
    }
}

/// What was read, in the order in which it stands.
fn describe(schemas: &Schemas) -> String {
    let mut text = format!("kind: {:?}\n", schemas.kind);
    let name = |id: DefinitionId| schemas.definition(id).name.clone();
    for document in &schemas.documents {
        writeln!(text, "document: {}", document.file).unwrap();
    }
    for definition in &schemas.definitions {
        writeln!(text, "definition: {} at {}", definition.name, definition.at).unwrap();
    }
    for ((document, reference), id) in &schemas.references {
        writeln!(text, "reference: {} `{reference}` -> {}", schemas.document(*document).file, name(*id)).unwrap();
    }
    for (registry, rows) in
        [("method", &schemas.methods), ("notification", &schemas.notifications), ("request", &schemas.requests)]
    {
        for row in rows {
            let (params, result) = (row.params.map(name), row.result.map(name));
            writeln!(text, "{registry}: {} {params:?} {result:?}", row.name).unwrap();
        }
    }
    for function in &schemas.functions {
        let (request, response) = (name(function.request), name(function.response));
        writeln!(text, "function: {} {request} {response} internal={}", function.id, function.internal).unwrap();
    }
    for trigger in &schemas.triggers {
        writeln!(text, "trigger: {} {} {}", trigger.trigger_type, name(trigger.config), name(trigger.payload)).unwrap();
    }
    for error in &schemas.errors {
        writeln!(text, "error: {:?} {} {:?} {:?}", error.code, error.kind, error.override_kinds, error.retryable)
            .unwrap();
    }
    for (capability, _) in &schemas.capabilities {
        writeln!(text, "capability: {capability}").unwrap();
    }
    for gate in &schemas.gated {
        writeln!(text, "gated: {gate}").unwrap();
    }
    for (key, value) in &schemas.texts {
        writeln!(text, "text: {key}: {value}").unwrap();
    }
    if !schemas.fingerprints.is_empty() {
        writeln!(text, "fingerprints: {:?}", schemas.fingerprints).unwrap();
    }
    text
}
