//! Which JSON types each alternative of a union may have, through references; and what has to be gated because what it names is.

use std::collections::BTreeSet;

use crate::ir::{Expr, Gate, Ir, JsonType, Shape, TypeId};

/// Fills [`crate::ir::Arm::kinds`].
pub(crate) fn run(ir: &mut Ir) {
    let kinds: Vec<Vec<Vec<JsonType>>> = ir
        .types
        .iter()
        .map(|one| match &one.shape {
            Shape::Either { arms } => arms.iter().map(|arm| of(ir, &arm.expr)).collect(),
            _ => Vec::new(),
        })
        .collect();
    let gated: Vec<bool> = ir.types.iter().map(|one| one.gate == Gate::Experimental).collect();
    let names_gated = |expr: &Expr| expr.references().iter().any(|id| gated.get(id.0).copied().unwrap_or_default());
    for (one, kinds) in ir.types.iter_mut().zip(kinds) {
        let whole = one.gate;
        let gate = |expr: &Expr, gate: &mut Gate| {
            if whole == Gate::Open && names_gated(expr) {
                *gate = Gate::Experimental;
            }
        };
        match &mut one.shape {
            Shape::Struct { members, .. } => members.iter_mut().for_each(|member| gate(&member.expr, &mut member.gate)),
            Shape::Tagged { arms, .. } => arms.iter_mut().for_each(|arm| gate(&arm.expr, &mut arm.gate)),
            Shape::Either { arms } => {
                for (arm, kinds) in arms.iter_mut().zip(kinds) {
                    gate(&arm.expr, &mut arm.gate);
                    arm.kinds = kinds;
                }
            }
            Shape::Enum { .. } | Shape::Newtype(_) | Shape::Values(_) => {}
        }
    }
}

const ALL: [JsonType; 6] =
    [JsonType::Null, JsonType::Boolean, JsonType::Number, JsonType::String, JsonType::Array, JsonType::Object];

/// The JSON types of an expression.
fn of(ir: &Ir, expr: &Expr) -> Vec<JsonType> {
    let mut found = BTreeSet::new();
    collect(ir, expr, &mut found, &mut BTreeSet::new());
    if found.contains(&JsonType::Number) {
        found.remove(&JsonType::Integer);
    }
    found.into_iter().collect()
}

fn collect(ir: &Ir, expr: &Expr, found: &mut BTreeSet<JsonType>, seen: &mut BTreeSet<TypeId>) {
    match expr {
        Expr::Any => found.extend(ALL),
        Expr::Nullable(inner) => {
            found.insert(JsonType::Null);
            collect(ir, inner, found, seen);
        }
        Expr::Ref(id) if seen.insert(*id) => {
            let Some(one) = ir.types.get(id.0) else { return };
            match &one.shape {
                Shape::Struct { .. } | Shape::Tagged { .. } => {
                    found.insert(JsonType::Object);
                }
                Shape::Enum { .. } => {
                    found.insert(JsonType::String);
                }
                Shape::Either { arms } => arms.iter().for_each(|arm| collect(ir, &arm.expr, found, seen)),
                Shape::Newtype(inner) => collect(ir, inner, found, seen),
                Shape::Values(_) => found.extend(ALL),
            }
        }
        Expr::Ref(_) => {}
        Expr::Null => {
            found.insert(JsonType::Null);
        }
        Expr::Bool => {
            found.insert(JsonType::Boolean);
        }
        Expr::Signed | Expr::Unsigned => {
            found.insert(JsonType::Integer);
        }
        Expr::Number => {
            found.insert(JsonType::Number);
        }
        Expr::String => {
            found.insert(JsonType::String);
        }
        Expr::Array(_) => {
            found.insert(JsonType::Array);
        }
        Expr::Map(_) => {
            found.insert(JsonType::Object);
        }
    }
}
