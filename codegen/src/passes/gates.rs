//! What cannot be written without a gated type is gated itself, whether or not the input says so; and what only the experimental
//! surface requires is no requirement of a type that serves both.

use crate::ir::{Expr, Gate, Ir, Presence, Rest, Shape};
use crate::options::{Options, When};

/// Gates members, alternatives, rows and whole types that name a gated type, and relaxes gated members of open types.
pub(crate) fn run(ir: &mut Ir, options: &Options) {
    while spread(ir) {}
    let gated: Vec<bool> = ir.types.iter().map(|one| one.gate == Gate::Experimental).collect();
    let names_gated = |expr: &Expr| expr.references().iter().any(|id| gated[id.0]);
    for row in [&mut ir.methods, &mut ir.requests, &mut ir.functions].into_iter().flatten() {
        if row.params.iter().chain(&row.result).any(names_gated) {
            row.named.gate = Gate::Experimental;
        }
    }
    for row in [&mut ir.notifications, &mut ir.triggers].into_iter().flatten() {
        if row.params.iter().chain(&row.config).any(names_gated) {
            row.named.gate = Gate::Experimental;
        }
    }
    if options.experimental == When::Feature {
        relax(ir);
    }
}

/// One round; tells whether it gated a type that was open.
fn spread(ir: &mut Ir) -> bool {
    let gated: Vec<bool> = ir.types.iter().map(|one| one.gate == Gate::Experimental).collect();
    let names_gated = |expr: &Expr| expr.references().iter().any(|id| gated[id.0]);
    let mut grown = false;
    for one in ir.types.iter_mut().filter(|one| one.gate == Gate::Open) {
        let whole = match &mut one.shape {
            Shape::Struct { members, rest } => {
                members
                    .iter_mut()
                    .filter(|member| names_gated(&member.expr))
                    .for_each(|member| member.gate = Gate::Experimental);
                matches!(rest, Rest::Typed(expr) if names_gated(expr))
            }
            Shape::Tagged { arms, other, .. } => {
                arms.iter_mut().filter(|arm| names_gated(&arm.expr)).for_each(|arm| arm.gate = Gate::Experimental);
                let open = arms.iter().any(|arm| arm.gate == Gate::Open);
                other.as_ref().map_or(!open, |other| names_gated(&other.expr))
            }
            Shape::Either { arms } => {
                arms.iter_mut().filter(|arm| names_gated(&arm.expr)).for_each(|arm| arm.gate = Gate::Experimental);
                arms.iter().all(|arm| arm.gate == Gate::Experimental)
            }
            Shape::Newtype(expr) => names_gated(expr),
            Shape::Enum { openness: crate::ir::Openness::Closed, values } => {
                !values.is_empty() && values.iter().all(|value| value.gate == Gate::Experimental)
            }
            Shape::Enum { .. } | Shape::Values(_) => false,
        };
        if whole {
            one.gate = Gate::Experimental;
            grown = true;
        }
    }
    grown
}

/// A gated member of an open type is absent on the stable surface, so the type cannot require it, and `new` stays the same whatever
/// is switched on.
fn relax(ir: &mut Ir) {
    for one in ir.types.iter_mut().filter(|one| one.gate == Gate::Open) {
        let Shape::Struct { members, .. } = &mut one.shape else { continue };
        for member in members.iter_mut().filter(|member| member.gate == Gate::Experimental) {
            member.presence = match std::mem::replace(&mut member.presence, Presence::Optional) {
                Presence::Required | Presence::Optional | Presence::Constant(_) => Presence::Optional,
                Presence::Nullable | Presence::OptionalNullable => Presence::OptionalNullable,
            };
        }
    }
}
