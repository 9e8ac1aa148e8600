//! A bundle: definitions and the registries beside them.

use super::Reading;
use super::recognise::Bundle;
use super::{overlay, surfaces};
use crate::diagnostic::Diagnostic;
use crate::document::{Document, Node};
use crate::options::Options;
use crate::pointer;
use crate::schemas::{DefinitionId, DocumentId, Kind, RawError, RawRow, Schemas};

/// The registries that are objects of rows.
const REGISTRIES: [&str; 3] = ["methods", "notifications", "requests"];

pub(super) fn read(reading: &mut Reading, bundle: &Bundle, schemas: &mut Schemas, options: &Options) {
    let main = bundle.main;
    for (name, _) in reading.loader.document(main).root.get("$defs").map(Node::members).unwrap_or_default() {
        reading.references.define((main, pointer::join("/$defs", name)), name.clone());
    }
    for registry in REGISTRIES {
        define_parts(reading, main, registry);
    }
    reading.finish(schemas);
    schemas.kind = Some(Kind::Bundle);

    let mut diagnostics = Vec::new();
    let document = schemas.document(main);
    let [methods, notifications, requests] = REGISTRIES.map(|registry| rows(schemas, main, registry));
    let errors = errors(document, &mut diagnostics);
    let capabilities = capabilities(document);
    schemas.methods = methods;
    schemas.notifications = notifications;
    schemas.requests = requests;
    schemas.errors = errors;
    schemas.capabilities = capabilities;

    surfaces::mark(schemas, main, bundle.stable);
    schemas.fingerprints = surfaces::fingerprints(&bundle.manifests, &mut diagnostics);
    overlay::apply(schemas, options, &mut diagnostics);
    reading.loader.diagnostics.append(&mut diagnostics);
}

/// Searches params and results of a registry; those that are no `$ref` become definitions.
fn define_parts(reading: &mut Reading, main: DocumentId, registry: &str) {
    let document = reading.loader.document(main);
    let mut wrong = Vec::new();
    for (name, row) in document.root.get(registry).map(Node::members).unwrap_or_default() {
        let at = pointer::join(&pointer::join("", registry), name);
        if !row.is_object() {
            wrong.push((at, format!("the row `{name}` is of type {}, not an object", row.json_type())));
            continue;
        }
        for (part, suffix) in [("params", "Params"), ("result", "Result")] {
            let at = pointer::join(&at, part);
            match row.get(part) {
                None => {}
                Some(schema) if schema.get("$ref").is_some() => reading.references.search((main, at)),
                Some(schema) if schema.is_schema() => {
                    reading.references.define((main, at), format!("{}-{suffix}", name.replace('/', "-")));
                }
                Some(other) => {
                    wrong.push((at, format!("`{part}` of `{name}` is of type {}, not a schema", other.json_type())));
                }
            }
        }
    }
    for (at, message) in wrong {
        let at = reading.loader.document(main).at(at);
        reading.loader.diagnostics.push(Diagnostic::error("codegen/bad-row", at, message));
    }
}

fn rows(schemas: &Schemas, main: DocumentId, registry: &str) -> Vec<RawRow> {
    let document = schemas.document(main);
    let rows = document.root.get(registry).map(Node::members).unwrap_or_default();
    let row = |(name, row): &(String, Node)| {
        let at = document.at(pointer::join(&pointer::join("", registry), name));
        let part = |member: &str| part(schemas, main, row, &at.pointer, member);
        let (params, result) = (part("params"), part("result"));
        RawRow { name: name.clone(), description: text(row, "description"), params, result, at }
    };
    rows.iter().filter(|(_, row)| row.is_object()).map(row).collect()
}

fn part(schemas: &Schemas, main: DocumentId, row: &Node, at: &str, member: &str) -> Option<DefinitionId> {
    match row.get(member)?.get("$ref").and_then(Node::as_str) {
        Some(reference) => schemas.references.get(&(main, reference.to_owned())).copied(),
        None => schemas.by_location.get(&(main, pointer::join(at, member))).copied(),
    }
}

fn errors(document: &Document, diagnostics: &mut Vec<Diagnostic>) -> Vec<RawError> {
    let mut rows = Vec::new();
    for (index, row) in document.root.get("errors").map(Node::items).unwrap_or_default().iter().enumerate() {
        let at = document.at(format!("/errors/{index}"));
        let (code, kind) = (row.get("code").and_then(Node::as_i64), row.get("kind").and_then(Node::as_str));
        let (Some(code), Some(kind)) = (code, kind) else {
            let message = "the error has no integer `code` or no string `kind`";
            diagnostics.push(Diagnostic::error("codegen/bad-row", at, message));
            continue;
        };
        let override_kinds = row.get("overrideKinds").map(Node::items).unwrap_or_default();
        rows.push(RawError {
            code: Some(code),
            kind: kind.to_owned(),
            override_kinds: override_kinds.iter().filter_map(Node::as_str).map(str::to_owned).collect(),
            retryable: row.get("retryable").and_then(Node::as_bool),
            description: text(row, "description"),
            at,
        });
    }
    rows
}

fn capabilities(document: &Document) -> Vec<(String, Option<String>)> {
    let grantable = document.find("/capabilities/grantable").map(Node::items).unwrap_or_default();
    grantable.iter().filter_map(Node::as_str).map(|name| (name.to_owned(), None)).collect()
}

fn text(node: &Node, member: &str) -> Option<String> {
    node.get(member).and_then(Node::as_str).map(str::to_owned)
}
