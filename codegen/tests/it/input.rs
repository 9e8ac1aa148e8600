//! Reading: one folder per kind of input or question, with what it must come to as a snapshot.

use std::collections::BTreeMap;

use msp_codegen::diagnostic::{Colour, to_text};
use msp_codegen::input;
use msp_codegen::options::Options;
use msp_codegen::schemas::{DefinitionId, Schemas};

use crate::cases::{self, Case};

/// Each folder below `cases/input` is read.
#[test]
fn cases() {
    for case in cases::all("input") {
        let (schemas, diagnostics) = input::read_all(&[case.schema()], &Options::default());
        let found = diagnostics.iter().map(|diagnostic| to_text(diagnostic, Colour::Never));
        let text: Vec<String> = [describe(&schemas, &case)].into_iter().chain(found).collect();
        case.assert("read", &text.join("\n"));
    }
}

/// What was read, in the order in which it stands; texts in that of their keys, wherever the checkout lies.
fn describe(schemas: &Schemas, case: &Case) -> String {
    let mut lines = vec![format!("kind: {:?}", schemas.kind)];
    let name = |id: DefinitionId| schemas.definition(id).name.clone();
    for document in &schemas.documents {
        lines.push(format!("document: {}", document.file));
    }
    for definition in &schemas.definitions {
        lines.push(format!("definition: {} at {}", definition.name, definition.at));
    }
    for ((document, reference), id) in &schemas.references {
        lines.push(format!("reference: {} `{reference}` -> {}", schemas.document(*document).file, name(*id)));
    }
    for (registry, rows) in
        [("method", &schemas.methods), ("notification", &schemas.notifications), ("request", &schemas.requests)]
    {
        for row in rows {
            let (params, result) = (row.params.map(name), row.result.map(name));
            lines.push(format!("{registry}: {} {params:?} {result:?}", row.name));
        }
    }
    for function in &schemas.functions {
        let (request, response) = (name(function.request), name(function.response));
        lines.push(format!("function: {} {request} {response} internal={}", function.id, function.internal));
    }
    for trigger in &schemas.triggers {
        lines.push(format!("trigger: {} {} {}", trigger.trigger_type, name(trigger.config), name(trigger.payload)));
    }
    for error in &schemas.errors {
        lines.push(format!("error: {:?} {} {:?} {:?}", error.code, error.kind, error.override_kinds, error.retryable));
    }
    for (capability, _) in &schemas.capabilities {
        lines.push(format!("capability: {capability}"));
    }
    for gate in &schemas.gated {
        lines.push(format!("gated: {gate}"));
    }
    let texts: BTreeMap<String, &String> =
        schemas.texts.iter().map(|(key, value)| (case.without_place(key), value)).collect();
    for (key, value) in texts {
        lines.push(format!("text: {key}: {value}"));
    }
    if !schemas.fingerprints.is_empty() {
        lines.push(format!("fingerprints: {:?}", schemas.fingerprints));
    }
    lines.push(String::new());
    lines.join("\n")
}
