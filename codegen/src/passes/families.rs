//! Which file a type goes to: the family whose methods alone reach it, or the one for what several share.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Expr, Ir, TypeId};
use crate::passes::{keep, names, snake};
use crate::schemas::Kind;

/// The family of what several families reach, or none.
const SHARED: &str = "shared";

/// Modules of an output that hold something else.
const TAKEN: &[&str] = &[
    "capabilities",
    "errors",
    "frames",
    "functions",
    "methods",
    "std",
    "core",
    "alloc",
    "serde",
    "serde_json",
    "schemars",
    "regex_lite",
    "notifications",
    "requests",
    "triggers",
    "words",
    SHARED,
];

/// Fills [`Ir::families`] and [`crate::ir::Type::family`]. Families are sorted; the shared one comes last.
pub(crate) fn run(ir: &mut Ir) {
    let mut roots: BTreeMap<String, Vec<TypeId>> = BTreeMap::new();
    let calls = [&ir.methods, &ir.requests, &ir.functions].into_iter().flatten();
    for row in calls {
        let exprs = row.params.iter().chain(&row.result);
        roots.entry(family(ir, &row.named.wire)).or_default().extend(exprs.flat_map(Expr::references));
    }
    for row in &ir.notifications {
        roots.entry(family(ir, &row.named.wire)).or_default().extend(row.params.iter().flat_map(Expr::references));
    }
    for row in &ir.triggers {
        let exprs = row.params.iter().chain(&row.config);
        roots.entry("events".to_owned()).or_default().extend(exprs.flat_map(Expr::references));
    }
    let mut reached: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); ir.types.len()];
    for (family, types) in &roots {
        for id in keep::reach(ir, types.clone()) {
            reached[id.0].insert(family);
        }
    }
    let homes: Vec<String> = reached
        .iter()
        .map(|families| match families.iter().next() {
            Some(only) if families.len() == 1 => (*only).to_owned(),
            _ => SHARED.to_owned(),
        })
        .collect();
    let mut families: Vec<String> = homes.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    families.sort_by_key(|family| family == SHARED);
    for (index, home) in homes.iter().enumerate() {
        // A part lives with what it is part of.
        let owner = ir.types[index].parent.map_or(home, |parent| &homes[parent.0]);
        ir.types[index].family = families.iter().position(|family| family == owner).unwrap_or_default();
    }
    ir.families = families;
}

/// `turn/start` belongs to `turn`; of the functions only the groups have a name: `session::store::put-meta` belongs to `store`.
fn family(ir: &Ir, wire: &str) -> String {
    let name = match ir.kind {
        Some(Kind::Session) => match wire.split("::").collect::<Vec<_>>().as_slice() {
            [_, group, _, ..] => *group,
            _ => "sessions",
        },
        _ => wire.split_once('/').map_or("connection", |(family, _)| family),
    };
    let name = snake(name);
    if TAKEN.contains(&name.as_str()) || names::is_keyword(&name) { format!("{name}_types") } else { name }
}
