//! Session functions: one file per function and per trigger, definitions beside them, a table of error words.

use super::Reading;
use super::recognise::Session;
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::pointer;
use crate::schemas::{DefinitionId, DocumentId, Kind, RawError, RawFunction, RawTrigger, Schemas};

pub(super) fn read(reading: &mut Reading, session: &Session, schemas: &mut Schemas) {
    if let Some(id) = session.definitions {
        for keyword in ["$defs", "definitions"] {
            let folder = pointer::join("", keyword);
            let members = reading.loader.document(id).root.get(keyword).map(Node::members).unwrap_or_default();
            for (name, _) in members {
                reading.references.define((id, pointer::join(&folder, name)), name.clone());
            }
        }
    }
    let functions = define_all(reading, &session.functions, &FUNCTION);
    let triggers = define_all(reading, &session.triggers, &TRIGGER);
    reading.finish(schemas);
    schemas.kind = Some(Kind::Session);
    for (document, id) in functions {
        schemas.functions.extend(function(schemas, document, id));
    }
    for (document, trigger_type) in triggers {
        schemas.triggers.extend(trigger(schemas, document, trigger_type));
    }
    if let Some(id) = session.errors {
        let (errors, mut diagnostics) = errors(schemas, id);
        schemas.errors = errors;
        reading.loader.diagnostics.append(&mut diagnostics);
    }
}

/// How a file names its two schemas, and what is appended to the name of their types.
struct Form {
    id: &'static str,
    parts: [(&'static str, &'static str); 2],
}

const FUNCTION: Form =
    Form { id: "function_id", parts: [("request_schema", "Request"), ("response_schema", "Response")] };
const TRIGGER: Form = Form { id: "trigger_type", parts: [("config_schema", "Config"), ("payload_schema", "Payload")] };

/// Makes definitions of the schemas of each file; gives the files that are whole, with their ids.
fn define_all(reading: &mut Reading, documents: &[DocumentId], form: &Form) -> Vec<(DocumentId, String)> {
    let mut whole = Vec::new();
    for &document in documents {
        let root = &reading.loader.document(document).root;
        let Some(id) = root.get(form.id).and_then(Node::as_str).map(str::to_owned) else {
            let at = reading.loader.document(document).at("");
            let message = format!("the member `{}` is missing or no string", form.id);
            reading.loader.diagnostics.push(Diagnostic::error("codegen/bad-row", at, message));
            continue;
        };
        let missing: Vec<&str> = form
            .parts
            .iter()
            .map(|(member, _)| *member)
            .filter(|member| !root.get(member).is_some_and(Node::is_schema))
            .collect();
        for member in &missing {
            let at = reading.loader.document(document).at(pointer::join("", member));
            let message = format!("`{id}` has no schema `{member}`");
            reading.loader.diagnostics.push(Diagnostic::error("codegen/bad-row", at, message));
        }
        if missing.is_empty() {
            for (member, part) in form.parts {
                reading.references.define((document, pointer::join("", member)), type_name(&id, part));
            }
            whole.push((document, id));
        }
    }
    whole
}

/// `session::store::put-meta` and `Request` make `StorePutMetaRequest`. Titles would not do: several functions share theirs.
fn type_name(id: &str, part: &str) -> String {
    let own = id.split_once("::").map_or(id, |(_, rest)| rest);
    let words = own.split([':', '-', '_', '.', '/']).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    words.map(capital).chain([part.to_owned()]).collect()
}

fn part(schemas: &Schemas, document: DocumentId, member: &str) -> Option<DefinitionId> {
    schemas.by_location.get(&(document, pointer::join("", member))).copied()
}

fn function(schemas: &Schemas, document: DocumentId, id: String) -> Option<RawFunction> {
    let file = schemas.document(document);
    Some(RawFunction {
        id,
        at: file.at(""),
        summary: text(&file.root, "summary"),
        internal: file.root.get("internal").and_then(Node::as_bool).unwrap_or(false),
        request: part(schemas, document, "request_schema")?,
        response: part(schemas, document, "response_schema")?,
    })
}

fn trigger(schemas: &Schemas, document: DocumentId, trigger_type: String) -> Option<RawTrigger> {
    let file = schemas.document(document);
    Some(RawTrigger {
        trigger_type,
        at: file.at(""),
        summary: text(&file.root, "summary"),
        config: part(schemas, document, "config_schema")?,
        payload: part(schemas, document, "payload_schema")?,
    })
}

fn errors(schemas: &Schemas, id: DocumentId) -> (Vec<RawError>, Vec<Diagnostic>) {
    let document = schemas.document(id);
    let mut rows = Vec::new();
    let mut diagnostics = Vec::new();
    for (index, row) in document.root.get("errors").map(Node::items).unwrap_or_default().iter().enumerate() {
        let at = document.at(format!("/errors/{index}"));
        match row.get("code").and_then(Node::as_str) {
            Some(kind) => rows.push(RawError {
                code: None,
                kind: kind.to_owned(),
                override_kinds: Vec::new(),
                retryable: row.get("retryable").and_then(Node::as_bool),
                description: text(row, "when").or_else(|| text(row, "description")),
                at,
            }),
            None => {
                diagnostics.push(Diagnostic::error("codegen/bad-row", at, "the error has no `code` that is a string"));
            }
        }
    }
    (rows, diagnostics)
}

fn text(node: &Node, member: &str) -> Option<String> {
    node.get(member).and_then(Node::as_str).map(str::to_owned)
}
