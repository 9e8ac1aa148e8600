//! Which types can break a limit, their own or one further inside: only those need code that looks.

use crate::ir::{Ir, Rest, Shape};
use crate::options::Options;

/// Fills [`crate::ir::Type::strict`]. A type that the caller replaced is taken at its word.
pub(crate) fn run(ir: &mut Ir, options: &Options) {
    let replaced = |name: Option<&String>| name.is_some_and(|name| options.replace.contains_key(name));
    let mut strict: Vec<bool> = ir
        .types
        .iter()
        .map(|one| !replaced(one.definition.as_ref()) && has_limits(&one.shape, one.limits.is_empty()))
        .collect();
    loop {
        let mut grown = false;
        for (index, one) in ir.types.iter().enumerate() {
            let reaches = || one.exprs().into_iter().flat_map(crate::ir::Expr::references).any(|id| strict[id.0]);
            if !strict[index] && !replaced(one.definition.as_ref()) && reaches() {
                strict[index] = true;
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    for (one, strict) in ir.types.iter_mut().zip(strict) {
        one.strict = strict;
    }
}

fn has_limits(shape: &Shape, none_of_its_own: bool) -> bool {
    let inside = match shape {
        Shape::Struct { members, rest } => {
            matches!(rest, Rest::Closed) || members.iter().any(|member| !member.limits.is_empty())
        }
        _ => false,
    };
    inside || !none_of_its_own
}
