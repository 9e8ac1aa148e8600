//! The filter of `session/list`: its canonical form, which is answered, and what it matches (LIST-5, LIM-2).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::refusal::Refusal;

/// The canonical form: sets sorted without doubles, terms trimmed and in lower case.
///
/// # Errors
/// −32602 for counts and lengths out of range.
pub(super) fn canonical(filter: &Value) -> Result<Value, Refusal> {
    let mut applied = json!({});
    if let Some(branch) = filter.get("branch") {
        let any = list(branch, "anyOf", 1, 32)?;
        check_lengths(&any, 256, "branch.anyOf")?;
        applied["branch"] = json!({ "anyOf": set(any) });
    }
    if let Some(ids) = filter.get("sessionId") {
        applied["sessionId"] = json!({ "anyOf": set(list(ids, "anyOf", 1, 200)?) });
    }
    if let Some(text) = filter.get("text") {
        let fields = list(text, "fields", 1, 2)?;
        if fields.iter().map(Value::to_string).collect::<BTreeSet<_>>().len() != fields.len() {
            return Err(Refusal::invalid_params("`filter.text.fields` names a field twice"));
        }
        let order = ["name", "title"].iter().filter(|field| fields.iter().any(|given| given == *field));
        let mut canonical = json!({ "fields": order.collect::<Vec<_>>() });
        let mut count = 0;
        for member in ["allOf", "anyOf"] {
            if text.get(member).is_some() {
                let terms: Vec<_> = list(text, member, 0, 16)?.iter().map(term).collect();
                check_lengths(&terms, 128, "text terms")?;
                count += terms.len();
                canonical[member] = set(terms);
            }
        }
        if !(1..=16).contains(&count) {
            return Err(Refusal::invalid_params("`filter.text` has not 1…16 terms"));
        }
        applied["text"] = canonical;
    }
    Ok(applied)
}

/// Whether a row passes a canonical filter: members AND together, values of a list OR.
pub(super) fn matches(filter: &Value, session: &Value) -> bool {
    let any = |of: &str, member: &str| {
        filter
            .get(of)
            .and_then(|part| part["anyOf"].as_array())
            .is_none_or(|values| values.iter().any(|value| *value == session.get(member).cloned().unwrap_or_default()))
    };
    any("branch", "branch") && any("sessionId", "sessionId") && matches_text(filter, session)
}

fn matches_text(filter: &Value, session: &Value) -> bool {
    let Some(text) = filter.get("text") else { return true };
    let fields = text["fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let tokens: Vec<String> = fields
        .filter_map(|field| session.get(field)?.as_str())
        .flat_map(|value| {
            value.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let holds = |term: &Value| {
        let words = term.as_str().unwrap_or_default();
        words.split(|c: char| !c.is_alphanumeric()).all(|word| tokens.iter().any(|token| token.starts_with(word)))
    };
    let all = text["allOf"].as_array().is_none_or(|terms| terms.iter().all(holds));
    let any = text["anyOf"].as_array().is_none_or(|terms| terms.is_empty() || terms.iter().any(holds));
    all && any
}

fn list(value: &Value, member: &str, least: usize, most: usize) -> Result<Vec<Value>, Refusal> {
    let values = value.get(member).and_then(Value::as_array).cloned().unwrap_or_default();
    if (least..=most).contains(&values.len()) {
        return Ok(values);
    }
    Err(Refusal::invalid_params(format!("`filter`: `{member}` has not {least}…{most} entries")))
}

fn check_lengths(values: &[Value], most: usize, what: &str) -> Result<(), Refusal> {
    let fits = |value: &Value| value.as_str().is_none_or(|text| (1..=most).contains(&text.len()));
    if values.iter().all(fits) {
        return Ok(());
    }
    Err(Refusal::invalid_params(format!("`filter`: an entry of {what} has not 1…{most} bytes")))
}

fn term(value: &Value) -> Value {
    value.as_str().unwrap_or_default().trim().to_lowercase().into()
}

/// Sorted, without doubles; null first.
fn set(values: Vec<Value>) -> Value {
    let mut values = values;
    values.sort_by_key(|value| value.as_str().map(str::to_owned));
    values.dedup();
    values.into()
}
