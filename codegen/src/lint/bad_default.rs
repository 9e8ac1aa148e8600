//! A `default` that the schema beside it refuses.
//!
//! Nothing is ever filled in from a default, so the types are not wrong; the schema is. The check is a small one (type, enum,
//! const, bounds, through `$ref`); a date-time that is none is a warning, because formats are annotations.

use super::{Context, shown};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::Node;
use crate::schemas::{DocumentId, Schemas};

pub(super) const CODE: &str = "codegen/bad-default";

/// How many schemas one default is held against; beyond that nobody can say. Branches that name each other would go on for ever.
const MOST_SCHEMAS: usize = 1000;

/// Bundles and session schemas: an error. Elsewhere: a warning.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for schema in &context.all {
        let Some(default) = schema.node.get("default") else { continue };
        let at = schema.at.join("default");
        let mut fit = Fit { schemas: context.schemas, left: MOST_SCHEMAS };
        if let Some(expected) = fit.misfit(schema.document, schema.node, default) {
            let message = format!("the default {} is not {expected}", shown(default));
            out.push(
                Diagnostic::new(context.severity_of_form(), CODE, at, message)
                    .label(format!("expected {expected}"))
                    .help("absent members are never filled in; mend or remove the default"),
            );
        } else if schema.node.get("format").and_then(Node::as_str) == Some("date-time")
            && default.as_str().is_some_and(|text| !is_date_time(text))
        {
            let message = format!("the default {} is not a date-time", shown(default));
            out.push(
                Diagnostic::new(Severity::Warning, CODE, at, message)
                    .label("expected a date-time")
                    .help("it looks like `2026-12-01T09:30:00Z` (RFC 3339)"),
            );
        }
    }
}

/// One default against its schema.
struct Fit<'a> {
    schemas: &'a Schemas,
    /// How many schemas may still be looked at.
    left: usize,
}

impl Fit<'_> {
    /// What was expected, where `value` does not fit; `None` where it fits or nobody can say.
    fn misfit(&mut self, document: DocumentId, schema: &Node, value: &Node) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        if *schema == Node::Bool(false) {
            return Some("allowed at all".to_owned());
        }
        if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
            let target = self.schemas.references.get(&(document, reference.to_owned()))?;
            let document = self.schemas.definition(*target).document;
            return self.misfit(document, self.schemas.node(*target), value);
        }
        wrong_type(schema, value)
            .or_else(|| wrong_choice(schema, value))
            .or_else(|| out_of_bounds(schema, value))
            .or_else(|| self.wrong_branch(document, schema, value))
    }

    fn wrong_branch(&mut self, document: DocumentId, schema: &Node, value: &Node) -> Option<String> {
        let branches = |keyword: &str| schema.get(keyword).map(Node::items).unwrap_or_default().iter();
        if let Some(expected) = branches("allOf").find_map(|branch| self.misfit(document, branch, value)) {
            return Some(expected);
        }
        ["anyOf", "oneOf"].iter().find_map(|keyword| {
            let misfits: Option<Vec<String>> =
                branches(keyword).map(|branch| self.misfit(document, branch, value)).collect();
            misfits.filter(|misfits| !misfits.is_empty()).map(|misfits| misfits.join(" or "))
        })
    }
}

fn wrong_type(schema: &Node, value: &Node) -> Option<String> {
    let types: Vec<&str> = match schema.get("type")? {
        Node::String(one) => vec![one],
        Node::Array(several) => several.iter().filter_map(Node::as_str).collect(),
        _ => return None,
    };
    let is_whole =
        |node: &Node| node.as_number().and_then(serde_json::Number::as_f64).is_some_and(|n| n.fract() == 0.0);
    let fits = |wanted: &&str| match (*wanted, value.json_type()) {
        ("number", "integer") => true,
        ("integer", "number") => is_whole(value),
        (wanted, found) => wanted == found,
    };
    if types.iter().any(fits) { None } else { Some(format!("of type {}", types.join(" or "))) }
}

fn wrong_choice(schema: &Node, value: &Node) -> Option<String> {
    if let Some(constant) = schema.get("const").filter(|constant| !same(constant, value)) {
        return Some(shown(constant));
    }
    let open = schema.get("x-msp-openness").and_then(Node::as_str) == Some("open") && value.as_str().is_some();
    match schema.get("enum") {
        Some(Node::Array(values)) if !open && !values.iter().any(|known| same(known, value)) => {
            Some(format!("one of {}", values.iter().map(shown).collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    }
}

fn out_of_bounds(schema: &Node, value: &Node) -> Option<String> {
    let number = value.as_number()?.as_f64()?;
    let bound = |keyword: &str| schema.get(keyword).and_then(Node::as_number).and_then(serde_json::Number::as_f64);
    let broken = |keyword: &str, ok: fn(f64, f64) -> bool, words: &str| {
        bound(keyword).filter(|bound| !ok(number, *bound)).map(|bound| format!("{words} {bound}"))
    };
    broken("minimum", |n, b| n >= b, "at least")
        .or_else(|| broken("maximum", |n, b| n <= b, "at most"))
        .or_else(|| broken("exclusiveMinimum", |n, b| n > b, "more than"))
        .or_else(|| broken("exclusiveMaximum", |n, b| n < b, "less than"))
}

/// Equality of JSON Schema, for which `1` and `1.0` are one number.
fn same(a: &Node, b: &Node) -> bool {
    match (a.as_number().and_then(serde_json::Number::as_f64), b.as_number().and_then(serde_json::Number::as_f64)) {
        (Some(a), Some(b)) => a.to_bits() == b.to_bits(),
        _ => a.to_value() == b.to_value(),
    }
}

/// Whether the text has the form of a date-time of RFC 3339, with numbers that a calendar has.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let number = |text: &str, width: usize, range: std::ops::RangeInclusive<u32>| {
        text.len() == width
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && text.parse().is_ok_and(|number| range.contains(&number))
    };
    let parts = |text: &str, separator: char, widths: &[(usize, std::ops::RangeInclusive<u32>)]| {
        text.split(separator).count() == widths.len()
            && text.split(separator).zip(widths).all(|(part, (width, range))| number(part, *width, range.clone()))
    };
    let Some(end) = time.find(['Z', 'z', '+', '-']) else { return false };
    let (clock, zone) = time.split_at(end);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    parts(date, '-', &[(4, 0..=9999), (2, 1..=12), (2, 1..=31)])
        && parts(clock, ':', &[(2, 0..=23), (2, 0..=59), (2, 0..=60)])
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && (zone.eq_ignore_ascii_case("z")
            || zone.strip_prefix(['+', '-']).is_some_and(|zone| parts(zone, ':', &[(2, 0..=23), (2, 0..=59)])))
}

#[cfg(test)]
mod tests {
    use super::is_date_time;

    #[test]
    fn date_times() {
        for good in ["2026-12-01T09:30:00Z", "1990-12-31t23:59:60.25+01:00", "0000-01-01 00:00:00-00:00"] {
            assert!(is_date_time(good), "{good}");
        }
        for bad in [
            "not a date",
            "2026-12-01",
            "2026-13-01T00:00:00Z",
            "2026-12-01T24:00:00Z",
            "2026-12-01T00:00:00",
            "2026-12-01T00:00:00.Z",
            "2026-12-01T00:00:00+1:00",
        ] {
            assert!(!is_date_time(bad), "{bad}");
        }
    }
}
