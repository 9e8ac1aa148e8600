//! What names a gated type is gated itself, whether or not the input says so: it could not be written without it.

use crate::ir::{Expr, Gate, Ir, Shape};

/// Gates members and alternatives of open types that name a gated one.
pub(crate) fn run(ir: &mut Ir) {
    let gated: Vec<bool> = ir.types.iter().map(|one| one.gate == Gate::Experimental).collect();
    let gate = |expr: &Expr, gate: &mut Gate| {
        if expr.references().iter().any(|id| gated.get(id.0).copied().unwrap_or_default()) {
            *gate = Gate::Experimental;
        }
    };
    for one in ir.types.iter_mut().filter(|one| one.gate == Gate::Open) {
        match &mut one.shape {
            Shape::Struct { members, .. } => members.iter_mut().for_each(|member| gate(&member.expr, &mut member.gate)),
            Shape::Tagged { arms, .. } | Shape::Either { arms } => {
                for arm in arms {
                    gate(&arm.expr, &mut arm.gate);
                }
            }
            Shape::Enum { .. } | Shape::Newtype(_) | Shape::Values(_) => {}
        }
    }
}
