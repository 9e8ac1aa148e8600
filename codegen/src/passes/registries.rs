//! The tables of a bundle or of the session functions: rows that name types.

use msp_schema::annotations::{Annotations, Direction as Way};

use crate::ir::{Call, Direction, Effect, ErrorRow, Event, Expr, Gate, Ir, Named, Shape, TypeId};
use crate::pointer;
use crate::schemas::{DefinitionId, DocumentId, RawRow, Schemas};

/// Fills the registries of `ir`; the types of definitions have been read.
pub(crate) fn run(schemas: &Schemas, ir: &mut Ir) {
    let call = |row: &RawRow| Call {
        named: named(schemas, &row.name, row.description.as_ref(), &row.at.pointer),
        params: row.params.map(expr),
        result: row.result.map(expr),
        effect: effect(ir, row.params),
    };
    let methods = schemas.methods.iter().map(call).collect();
    let requests = schemas.requests.iter().map(call).collect();
    ir.notifications = schemas.notifications.iter().map(|row| notification(schemas, row)).collect();
    ir.methods = methods;
    ir.requests = requests;
    functions(schemas, ir);
    ir.errors = schemas.errors.iter().map(|row| error(schemas, row)).collect();
    ir.capabilities = schemas
        .capabilities
        .iter()
        .map(|(name, text)| named(schemas, name, text.as_ref(), &pointer::join("/capabilities", name)))
        .collect();
}

fn functions(schemas: &Schemas, ir: &mut Ir) {
    ir.functions = schemas
        .functions
        .iter()
        .map(|function| Call {
            named: named(schemas, &function.id, function.summary.as_ref(), &function.at.pointer),
            params: Some(expr(function.request)),
            result: Some(expr(function.response)),
            effect: Effect::Query,
        })
        .collect();
    ir.triggers = schemas
        .triggers
        .iter()
        .map(|trigger| Event {
            named: named(schemas, &trigger.trigger_type, trigger.summary.as_ref(), &trigger.at.pointer),
            params: Some(expr(trigger.payload)),
            config: Some(expr(trigger.config)),
            direction: Direction::ToClient,
        })
        .collect();
}

fn notification(schemas: &Schemas, row: &RawRow) -> Event {
    Event {
        named: named(schemas, &row.name, row.description.as_ref(), &row.at.pointer),
        params: row.params.map(expr),
        config: None,
        direction: match Annotations::published().direction(&row.name) {
            Way::ClientToHost => Direction::ToHost,
            Way::HostToClient => Direction::ToClient,
        },
    }
}

fn error(schemas: &Schemas, row: &crate::schemas::RawError) -> ErrorRow {
    let gated = row.code.is_some_and(|code| schemas.gated.contains(&format!("/errors/{code}")));
    ErrorRow {
        code: row.code,
        kind: row.kind.clone(),
        rust: String::new(),
        override_kinds: row.override_kinds.clone(),
        retryable: row.retryable,
        docs: row.description.clone(),
        gate: if gated { Gate::Experimental } else { Gate::Open },
    }
}

fn named(schemas: &Schemas, wire: &str, docs: Option<&String>, pointer: &str) -> Named {
    let gate = if schemas.is_gated(DocumentId(0), pointer) { Gate::Experimental } else { Gate::Open };
    let docs = docs.cloned().or_else(|| schemas.text(DocumentId(0), pointer).map(str::to_owned));
    Named { wire: wire.to_owned(), rust: String::new(), docs, gate }
}

fn expr(id: DefinitionId) -> Expr {
    Expr::Ref(TypeId(id.0))
}

/// A request is a command exactly when its params have a command id (CMD-1).
fn effect(ir: &Ir, params: Option<DefinitionId>) -> Effect {
    let shape = params.and_then(|id| ir.types.get(id.0)).map(|one| &one.shape);
    match shape {
        Some(Shape::Struct { members, .. }) if members.iter().any(|member| member.wire == "commandId") => {
            Effect::Command
        }
        _ => Effect::Query,
    }
}
