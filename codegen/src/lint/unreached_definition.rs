//! Definitions that nothing refers to, and that are no entry points either.

use std::collections::BTreeSet;

use super::Context;
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::Node;
use crate::keywords;
use crate::pointer;
use crate::schemas::{DefinitionId, Kind, Schemas};

pub(super) const CODE: &str = "codegen/unreached-definition";

/// The newest bundle and session schemas: a warning; other bundles: a note. Plain schemas: a note where the root is a schema, for
/// otherwise every definition is there to be used from outside.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    let schemas = context.schemas;
    let severity = match context.kind {
        Kind::Bundle if schemas.overlay.is_some() => Severity::Warning,
        Kind::Session => Severity::Warning,
        Kind::Bundle | Kind::Plain => Severity::Note,
    };
    let Some(roots) = roots(context) else { return };
    let reached = reach(schemas, roots);
    for (id, definition) in schemas.iter().filter(|(id, _)| !reached.contains(id)) {
        let message = format!("nothing refers to the definition `{}`", definition.name);
        let mut diagnostic =
            Diagnostic::new(severity, CODE, schemas.definition(id).at.clone(), message).label("not reached");
        if context.kind == Kind::Bundle {
            diagnostic.help = Some("if it is meant to be used alone, say so in the overlay (`root`)".to_owned());
        }
        out.push(diagnostic);
    }
}

/// Where reaching starts; `None` where everything is an entry point.
fn roots(context: &Context<'_>) -> Option<Vec<DefinitionId>> {
    let schemas = context.schemas;
    match context.kind {
        Kind::Bundle => {
            let rows = [&schemas.methods, &schemas.notifications, &schemas.requests].into_iter().flatten();
            let parts = rows.flat_map(|row| [row.params, row.result]).flatten();
            let overlay = schemas.overlay.as_ref();
            let named: BTreeSet<&str> = overlay
                .into_iter()
                .flat_map(|overlay| overlay.roots(msp_schema::Surface::Experimental))
                .map(|(name, _)| name)
                .collect();
            let by_overlay = schemas.iter().filter(|(_, definition)| named.contains(definition.name.as_str()));
            Some(parts.chain(by_overlay.map(|(id, _)| id)).collect())
        }
        Kind::Session => {
            let functions = schemas.functions.iter().flat_map(|function| [function.request, function.response]);
            let triggers = schemas.triggers.iter().flat_map(|trigger| [trigger.config, trigger.payload]);
            Some(functions.chain(triggers).collect())
        }
        Kind::Plain => {
            let roots: Vec<DefinitionId> =
                schemas.iter().filter(|(_, definition)| definition.at.pointer.is_empty()).map(|(id, _)| id).collect();
            (!roots.is_empty()).then_some(roots)
        }
    }
}

/// Everything that the roots refer to, at any distance. A definition that stands inside a reached one is reached too, unless it
/// stands in its `$defs`.
fn reach(schemas: &Schemas, roots: Vec<DefinitionId>) -> BTreeSet<DefinitionId> {
    let mut reached = BTreeSet::new();
    let mut waiting = roots;
    while let Some(id) = waiting.pop() {
        if !reached.insert(id) {
            continue;
        }
        let definition = schemas.definition(id);
        let document = definition.document;
        visit(schemas.node(id), &definition.at.pointer, &mut |schema, at| {
            waiting.extend(schemas.by_location.get(&(document, at.to_owned())));
            if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
                waiting.extend(schemas.references.get(&(document, reference.to_owned())));
            }
        });
    }
    reached
}

/// Walks a schema without what it only stores.
fn visit(schema: &Node, at: &str, take: &mut dyn FnMut(&Node, &str)) {
    take(schema, at);
    let stores = [pointer::join(at, "$defs"), pointer::join(at, "definitions")];
    for (pointer, subschema) in keywords::subschemas(schema, at) {
        if !stores.iter().any(|store| pointer::is_within(&pointer, store)) {
            visit(subschema, &pointer, take);
        }
    }
}
