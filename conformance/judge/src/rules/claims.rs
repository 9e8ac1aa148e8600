//! Places of the schema at which a fault is a breach of a rule of the protocol, not of `SCHEMA`.
//!
//! A claim is one of these:
//!
//! | claim | claims |
//! |---|---|
//! | `/$defs/ViewPageParams/properties/limit/maximum` | breaches of that keyword |
//! | `/$defs/ItemStatus/enum` | words that an open enum does not list, as warnings |
//! | `/$defs/ViewPageResult/properties/nextCursor` | every fault at that member, its absence too |
//! | `/$defs/ClientInfo` | every fault in a value of that definition |
//! | `session/listChanged#/params/session` | every fault at that place of a frame of that method, and below |
//! | `/$defs/TurnError?kind=launchError` | the same where the value, or an object around it, has that member |
//! | `@required-nullable` | the absence of a required member that may be null, where no other rule claims it |
//! | `@null` | null at an optional member that may not be null, where no other rule claims it |

use serde_json::Value;

use super::Rule;
use super::table::{Row, Table};
use crate::schema::Schema;

/// A fault, as far as claims go.
pub(crate) struct Place<'f> {
    /// Method of the frame; empty for single values.
    pub(crate) method: &'f str,
    /// Place in the frame.
    pub(crate) pointer: &'f str,
    /// Definition in which the keyword stands.
    pub(crate) definition: &'f str,
    /// Place of the keyword in the bundle.
    pub(crate) schema: &'f str,
    /// The member that is missing, for `required`.
    pub(crate) missing: Option<&'f str>,
    /// What is there, as JSON.
    pub(crate) actual: &'f str,
    /// The value that was judged, and its place in the frame.
    pub(crate) value: &'f Value,
    pub(crate) at: &'f str,
}

/// The rule that claims the place of a fault; `SCHEMA` where none does.
pub(crate) fn rule_of(schema: &Schema, place: &Place<'_>) -> Rule {
    // Whether the place is there in a revision, the schema of that revision says.
    let of = |claims: fn(&Schema, &str, &Place<'_>) -> bool| {
        let mut rows = Table::msp().rows().iter();
        rows.find(|row| row.claims().iter().any(|claim| claims(schema, claim, place))).map(Row::rule)
    };
    of(conditional).or_else(|| of(plain)).or_else(|| of(marks)).unwrap_or(Rule::SCHEMA)
}

/// The rule that claims the words of an open enum, by the place of that enum.
pub(crate) fn of_word(schema: &str) -> Option<Rule> {
    let mut rows = Table::msp().rows().iter();
    rows.find(|row| row.claims().iter().any(|claim| claim == schema)).map(Row::rule)
}

fn conditional(schema: &Schema, claim: &str, place: &Place<'_>) -> bool {
    let Some((claim, condition)) = claim.split_once('?') else { return false };
    let Some((member, word)) = condition.split_once('=') else { return false };
    plain(schema, claim, place) && around(place, member).is_some_and(|value| value == word)
}

/// The member of the value at the place, or of the nearest object around it that has one.
fn around<'f>(place: &Place<'f>, member: &str) -> Option<&'f Value> {
    let mut pointer = place.pointer.strip_prefix(place.at)?;
    loop {
        if let Some(found) = place.value.pointer(pointer).and_then(|value| value.get(member)) {
            return Some(found);
        }
        pointer = pointer.rsplit_once('/')?.0;
    }
}

fn plain(_: &Schema, claim: &str, place: &Place<'_>) -> bool {
    if claim.contains('?') {
        return false;
    }
    if let Some((method, pointer)) = claim.split_once('#') {
        return place.method == method && is_below(place.pointer, pointer);
    }
    if is_below(place.schema, claim) {
        return true;
    }
    let Some(missing) = place.missing else { return false };
    claim.strip_suffix(missing).is_some_and(|object| {
        object.strip_suffix("/properties/").is_some_and(|object| place.schema == format!("{object}/required"))
    })
}

fn is_below(pointer: &str, above: &str) -> bool {
    pointer.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn marks(schema: &Schema, claim: &str, place: &Place<'_>) -> bool {
    let definition = schema.source.definitions.get(place.definition);
    match claim {
        "@required-nullable" => place.missing.is_some_and(|missing| {
            let member = definition.and_then(|definition| definition.pointer(&format!("/properties/{missing}")));
            member.is_some_and(is_nullable)
        }),
        "@null" => {
            let member = place.pointer.rsplit('/').next().unwrap_or_default();
            let at = format!("/$defs/{}/properties/{member}/", place.definition);
            let required = definition.and_then(|it| it.get("required")).and_then(Value::as_array);
            let is_required = required.is_some_and(|list| list.iter().any(|name| name == member));
            place.actual == "null" && place.schema.starts_with(&at) && !is_required
        }
        _ => false,
    }
}

/// Whether a member may be null, as far as its own keywords say.
fn is_nullable(member: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match member.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_null),
        Some(kind) => is_null(kind),
        None => member.get("anyOf").and_then(Value::as_array).is_some_and(|branches| branches.iter().any(is_nullable)),
    }
}
