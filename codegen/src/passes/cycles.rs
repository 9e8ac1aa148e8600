//! Definitions that are nothing but each other: no value ends such a chain.

use crate::diagnostic::Diagnostic;
use crate::ir::{Expr, Ir, Shape, TypeId};

/// One error for each circle of wrappers, at its first definition.
pub(crate) fn run(ir: &Ir) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for start in 0..ir.types.len() {
        let mut chain = vec![TypeId(start)];
        while let Some(next) = chain.last().and_then(|id| inner(ir, *id)) {
            if next.0 < start || chain[1..].contains(&next) {
                break;
            }
            if next.0 == start {
                found.push(report(ir, &chain));
                break;
            }
            chain.push(next);
        }
    }
    found
}

/// What a wrapper wraps without anything in between.
fn inner(ir: &Ir, id: TypeId) -> Option<TypeId> {
    match &ir.types.get(id.0)?.shape {
        Shape::Newtype(Expr::Ref(next)) => Some(*next),
        Shape::Newtype(Expr::Nullable(wrapped)) => match **wrapped {
            Expr::Ref(next) => Some(next),
            _ => None,
        },
        _ => None,
    }
}

fn report(ir: &Ir, chain: &[TypeId]) -> Diagnostic {
    let name = |id: &TypeId| ir.types[id.0].definition.clone().unwrap_or_default();
    let names: Vec<String> = chain.iter().chain(chain.first()).map(|id| format!("`{}`", name(id))).collect();
    let message = format!("a circle of references that describes no value: {}", names.join(" → "));
    Diagnostic::error("codegen/ref-cycle", ir.types[chain[0].0].at.clone(), message)
        .help("let one of them describe a value of its own")
}
