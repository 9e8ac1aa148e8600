//! `--only`: what was asked for, with everything that it reaches.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::document::Location;
use crate::ir::{Arm, Call, Event, Expr, Ir, Member, Rest, Shape, TypeId};
use crate::suggest;

/// Drops all types and rows that `only` does not name or reach; an empty list keeps everything.
pub(crate) fn run(ir: &mut Ir, only: &[String]) -> Vec<Diagnostic> {
    if only.is_empty() {
        return Vec::new();
    }
    let wanted = |name: &str| only.iter().any(|one| one == name);
    let mut met: BTreeSet<&str> = BTreeSet::new();
    let mut todo: Vec<TypeId> = Vec::new();
    for (index, one) in ir.types.iter().enumerate() {
        if let Some(name) = only.iter().find(|name| one.definition.as_ref() == Some(name)) {
            met.insert(name);
            todo.push(TypeId(index));
        }
    }
    let calls = [&ir.methods, &ir.requests, &ir.functions].into_iter().flatten();
    let rows = calls.map(|row| (&row.named.wire, [row.params.as_ref(), row.result.as_ref()]));
    let events = [&ir.notifications, &ir.triggers].into_iter().flatten();
    for (name, exprs) in rows.chain(events.map(|row| (&row.named.wire, [row.params.as_ref(), row.config.as_ref()]))) {
        if let Some(name) = only.iter().find(|one| *one == name) {
            met.insert(name);
            todo.extend(exprs.into_iter().flatten().flat_map(Expr::references));
        }
    }
    let unknown = only.iter().filter(|name| !met.contains(name.as_str())).map(|name| not_found(ir, name)).collect();
    let kept = reach(ir, todo);
    for calls in [&mut ir.methods, &mut ir.requests, &mut ir.functions] {
        calls.retain(|row: &Call| wanted(&row.named.wire));
    }
    for events in [&mut ir.notifications, &mut ir.triggers] {
        events.retain(|row: &Event| wanted(&row.named.wire));
    }
    renumber(ir, &kept);
    unknown
}

/// Everything that the given types reach, themselves included.
pub(crate) fn reach(ir: &Ir, mut todo: Vec<TypeId>) -> BTreeSet<TypeId> {
    let mut kept = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if kept.insert(id) {
            todo.extend(ir.types[id.0].exprs().into_iter().flat_map(Expr::references));
        }
    }
    kept
}

fn not_found(ir: &Ir, name: &str) -> Diagnostic {
    let file = ir.sources.first().map(String::as_str).unwrap_or_default();
    let at = Location { file: file.into(), pointer: String::new() };
    let calls = [&ir.methods, &ir.requests, &ir.functions].into_iter().flatten().map(|row| &row.named);
    let events = [&ir.notifications, &ir.triggers].into_iter().flatten().map(|row| &row.named);
    let known = ir.types.iter().filter_map(|one| one.definition.as_deref());
    let near = suggest::nearest(name, known.chain(calls.chain(events).map(|named| named.wire.as_str())));
    let help = near.map_or("`msp-codegen list` shows the names".to_owned(), |near| format!("did you mean `{near}`?"));
    Diagnostic::error("codegen/only-unknown", at, format!("no definition, method or function is called `{name}`"))
        .help(help)
}

/// Takes out the types that are not kept and renumbers the references.
pub(super) fn renumber(ir: &mut Ir, kept: &BTreeSet<TypeId>) {
    let old: Vec<TypeId> = kept.iter().copied().collect();
    let new = |id: TypeId| TypeId(old.binary_search(&id).unwrap_or_default());
    let mut index = 0;
    ir.types.retain(|_| {
        index += 1;
        kept.contains(&TypeId(index - 1))
    });
    for one in &mut ir.types {
        // A part whose parent is gone cannot be: the parent reaches it, and nothing else does.
        one.parent = one.parent.map(new);
        each_expr(&mut one.shape, &mut |expr| map(expr, &new));
    }
    let calls = [&mut ir.methods, &mut ir.requests, &mut ir.functions].into_iter().flatten();
    calls.flat_map(|row| row.params.iter_mut().chain(row.result.iter_mut())).for_each(|expr| map(expr, &new));
    let events = [&mut ir.notifications, &mut ir.triggers].into_iter().flatten();
    events.flat_map(|row| row.params.iter_mut().chain(row.config.iter_mut())).for_each(|expr| map(expr, &new));
}

fn each_expr(shape: &mut Shape, visit: &mut dyn FnMut(&mut Expr)) {
    match shape {
        Shape::Struct { members, rest } => {
            for Member { expr, .. } in members.iter_mut() {
                visit(expr);
            }
            if let Rest::Typed(expr) = rest {
                visit(expr);
            }
        }
        Shape::Tagged { arms, other, .. } => arms.iter_mut().chain(other).for_each(|Arm { expr, .. }| visit(expr)),
        Shape::Either { arms } => arms.iter_mut().for_each(|arm| visit(&mut arm.expr)),
        Shape::Newtype(expr) => visit(expr),
        Shape::Enum { .. } | Shape::Values(_) => {}
    }
}

fn map(expr: &mut Expr, new: &dyn Fn(TypeId) -> TypeId) {
    match expr {
        Expr::Array(inner) | Expr::Map(inner) | Expr::Nullable(inner) => map(inner, new),
        Expr::Ref(id) => *id = new(*id),
        Expr::Any | Expr::Null | Expr::Bool | Expr::Signed | Expr::Unsigned | Expr::Number | Expr::String => {}
    }
}
