//! Which JSON types each alternative of a union may have, through references.

use std::collections::BTreeSet;

use crate::ir::{Expr, Gate, Ir, JsonType, Presence, Shape, TypeId};

/// Fills [`crate::ir::Arm::kinds`].
pub(crate) fn run(ir: &mut Ir) {
    for index in 0..ir.types.len() {
        let Shape::Either { arms } = &ir.types[index].shape else { continue };
        let found: Vec<_> = arms.iter().map(|arm| (of(ir, &arm.expr), needs(ir, &arm.expr, 0))).collect();
        if let Shape::Either { arms } = &mut ir.types[index].shape {
            for (arm, (kinds, needs)) in arms.iter_mut().zip(found) {
                arm.kinds = kinds;
                arm.needs = needs;
            }
        }
    }
}

/// How many wrappers may lie around an object.
const DEPTH: usize = 16;

/// The members that every object of this type has to have.
fn needs(ir: &Ir, expr: &Expr, depth: usize) -> Vec<String> {
    let Expr::Ref(TypeId(index)) = expr else { return Vec::new() };
    match &ir.types[*index].shape {
        Shape::Struct { members, .. } => {
            let required = members.iter().filter(|member| {
                member.gate == Gate::Open
                    && matches!(member.presence, Presence::Required | Presence::Nullable | Presence::Constant(_))
            });
            required.map(|member| member.wire.clone()).collect()
        }
        Shape::Newtype(inner) if depth < DEPTH => needs(ir, inner, depth + 1),
        _ => Vec::new(),
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
