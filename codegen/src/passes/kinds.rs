//! Which JSON types each alternative of a union may have, through references.

use std::collections::BTreeSet;

use crate::ir::{Expr, Ir, JsonType, Shape, TypeId};

/// Fills [`crate::ir::Arm::kinds`].
pub(crate) fn run(ir: &mut Ir) {
    for index in 0..ir.types.len() {
        let Shape::Either { arms } = &ir.types[index].shape else { continue };
        let kinds: Vec<Vec<JsonType>> = arms.iter().map(|arm| of(ir, &arm.expr)).collect();
        if let Shape::Either { arms } = &mut ir.types[index].shape {
            arms.iter_mut().zip(kinds).for_each(|(arm, kinds)| arm.kinds = kinds);
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
