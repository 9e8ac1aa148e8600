//! Keywords that bound values of a type. They speak of one JSON type each and let all others pass, so they can stand at the
//! outermost place of a schema.

use crate::document::Node;
use crate::ir::{Bound, Count, Limit};
use crate::passes::view::Place;

const BOUNDS: [(&str, Bound); 4] = [
    ("minimum", Bound::Minimum),
    ("maximum", Bound::Maximum),
    ("exclusiveMinimum", Bound::ExclusiveMinimum),
    ("exclusiveMaximum", Bound::ExclusiveMaximum),
];

const COUNTS: [(&str, Count); 6] = [
    ("minLength", Count::MinLength),
    ("maxLength", Count::MaxLength),
    ("minItems", Count::MinItems),
    ("maxItems", Count::MaxItems),
    ("minProperties", Count::MinProperties),
    ("maxProperties", Count::MaxProperties),
];

/// Every limit that the schema at `place` states, in a fixed order.
pub(crate) fn limits(place: &Place<'_>) -> Vec<Limit> {
    let node = place.node;
    let mut limits = Vec::new();
    for (key, bound) in BOUNDS {
        if let Some(Node::Number(number)) = node.get(key) {
            let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            let real = number.as_f64().unwrap_or_default();
            limits.push(match whole.or_else(|| whole_number(real)) {
                Some(whole) => Limit::Integer(bound, whole),
                None => Limit::Real(bound, real),
            });
        }
    }
    if let Some(Node::Number(number)) = node.get("multipleOf") {
        limits.extend(number.as_f64().map(Limit::MultipleOf));
    }
    for (key, count) in COUNTS {
        if let Some(Node::Number(number)) = node.get(key) {
            limits.extend(
                number
                    .as_f64()
                    .and_then(whole_number)
                    .and_then(|n| u64::try_from(n).ok())
                    .map(|n| Limit::Count(count, n)),
            );
        }
    }
    if let Some(pattern) = node.get("pattern").and_then(Node::as_str) {
        limits.push(Limit::Pattern(pattern.to_owned()));
    }
    if node.get("uniqueItems") == Some(&Node::Bool(true)) {
        limits.push(Limit::UniqueItems);
    }
    for key in ["dependentRequired", "dependencies"] {
        for (name, needs) in node.get(key).map(Node::members).unwrap_or_default() {
            let needs: Vec<String> = needs.items().iter().filter_map(Node::as_str).map(str::to_owned).collect();
            if !needs.is_empty() {
                limits.push(Limit::DependentRequired(name.clone(), needs));
            }
        }
    }
    limits
}

/// `1.0` and `1e3` are whole numbers to JSON Schema; beyond 2^53 a double says no exact integer.
fn whole_number(real: f64) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    (real.fract() == 0.0 && real.abs() <= EXACT).then_some(real as i128)
}

/// Whether the limits keep an integer from being negative.
pub(crate) fn not_negative(limits: &[Limit]) -> bool {
    limits.iter().any(|limit| match limit {
        Limit::Integer(Bound::Minimum, n) => *n >= 0,
        Limit::Integer(Bound::ExclusiveMinimum, n) => *n >= -1,
        Limit::Real(Bound::Minimum | Bound::ExclusiveMinimum, n) => *n > -1.0,
        _ => false,
    })
}
