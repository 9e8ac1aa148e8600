//! The stable surface of an input that marks its experimental parts instead of leaving them out.

use std::collections::BTreeSet;

use crate::ir::{Gate, Ir, Shape, TypeId};
use crate::passes::keep;

/// Drops everything gated: types, members, values, alternatives and rows. What a type names is never gated while it is not itself.
pub(crate) fn run(ir: &mut Ir) {
    for one in &mut ir.types {
        match &mut one.shape {
            Shape::Struct { members, .. } => members.retain(|member| member.gate == Gate::Open),
            Shape::Enum { values, .. } => values.retain(|value| value.gate == Gate::Open),
            Shape::Tagged { arms, .. } | Shape::Either { arms } => arms.retain(|arm| arm.gate == Gate::Open),
            Shape::Newtype(_) | Shape::Values(_) => {}
        }
    }
    for calls in [&mut ir.methods, &mut ir.requests, &mut ir.functions] {
        calls.retain(|row| row.named.gate == Gate::Open);
    }
    for events in [&mut ir.notifications, &mut ir.triggers] {
        events.retain(|row| row.named.gate == Gate::Open);
    }
    ir.errors.retain(|row| row.gate == Gate::Open);
    ir.capabilities.retain(|row| row.gate == Gate::Open);
    let open = |index: &usize| ir.types[*index].gate == Gate::Open;
    let kept: BTreeSet<TypeId> = (0..ir.types.len()).filter(open).map(TypeId).collect();
    keep::renumber(ir, &kept);
}
