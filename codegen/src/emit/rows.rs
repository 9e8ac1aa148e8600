//! The small pieces that macro calls are made of: literals and limits.

use crate::ir::{Bound, Count, Limit};

/// A Rust string literal.
pub(crate) fn literal(text: &str) -> String {
    format!("{text:?}")
}

/// Limits as the words take them, between brackets.
pub(crate) fn limits(limits: &[Limit]) -> String {
    let rows: Vec<String> = limits.iter().map(limit).collect();
    format!("[{}]", rows.join(", "))
}

fn limit(limit: &Limit) -> String {
    match limit {
        Limit::Integer(bound, n) => format!("{}({n})", bound_name(*bound)),
        Limit::Real(bound, n) => format!("{}Real({n:?})", bound_name(*bound)),
        Limit::MultipleOf(n) => format!("MultipleOf({n:?})"),
        Limit::Count(count, n) => format!("{}({n})", count_name(*count)),
        Limit::Pattern(text) => format!("Pattern({})", literal(text)),
        Limit::UniqueItems => "UniqueItems".to_owned(),
        Limit::DependentRequired(name, needs) => {
            let needs: Vec<String> = needs.iter().map(|need| literal(need)).collect();
            format!("DependentRequired({}, &[{}])", literal(name), needs.join(", "))
        }
    }
}

fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Minimum => "Minimum",
        Bound::Maximum => "Maximum",
        Bound::ExclusiveMinimum => "ExclusiveMinimum",
        Bound::ExclusiveMaximum => "ExclusiveMaximum",
    }
}

fn count_name(count: Count) -> &'static str {
    match count {
        Count::MinLength => "MinLength",
        Count::MaxLength => "MaxLength",
        Count::MinItems => "MinItems",
        Count::MaxItems => "MaxItems",
        Count::MinProperties => "MinProperties",
        Count::MaxProperties => "MaxProperties",
    }
}
