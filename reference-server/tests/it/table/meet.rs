//! Whether a value is what a row expects, and the variables of a row.

use std::collections::BTreeMap;

use msp_schema::annotations::Annotations;
use msp_schema::{Surface, published};
use serde_json::{Map, Value};

use super::data::Expected;

/// Stands for anything that is there and not null.
const ANYTHING: &str = "*";
/// Stands for a member that is not there.
const ABSENT: &str = "-";
/// First of a list that names some elements, not all.
const AMONG: &str = "...";

/// Values by name; `$name` stands for one as it is, `${name}` for its text inside a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| panic!("no variable `{name}` was saved"))
    }

    /// A value with its variables filled in.
    pub(super) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(name) if !name.starts_with('{') => self.get(name).clone(),
                _ => self.text(text).into(),
            },
            Value::Array(values) => values.iter().map(|value| self.fill(value)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect::<Map<_, _>>().into()
            }
            other => other.clone(),
        }
    }

    /// A text with its variables filled in.
    pub(super) fn text(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').unwrap_or_else(|| panic!("`{text}` has an open variable"));
            filled.push_str(before);
            match self.get(name) {
                Value::String(value) => filled.push_str(value),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        }
        filled + rest
    }
}

/// A member by dotted path; an index is a number.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, step| match step.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[step],
    })
}

/// Whether `actual` has what `expected` names, and the first place where not.
pub(super) fn part(expected: &Value, actual: &Value, path: &str) -> Result<(), String> {
    let differ = || Err(format!("{path} is {actual}, expected {expected}"));
    match (expected, actual) {
        (Value::String(text), _) if text == ANYTHING => {
            if actual.is_null() {
                differ()
            } else {
                Ok(())
            }
        }
        (Value::Object(expected), Value::Object(actual)) => expected.iter().try_for_each(|(name, expected)| {
            let path = format!("{path}/{name}");
            match actual.get(name) {
                None if expected == ABSENT => Ok(()),
                None => Err(format!("{path} is not there, expected {expected}")),
                Some(actual) => part(expected, actual, &path),
            }
        }),
        (Value::Array(expected), Value::Array(all)) if expected.first().is_some_and(|first| first == AMONG) => {
            let missing = expected[1..].iter().find(|wanted| !all.iter().any(|value| part(wanted, value, "").is_ok()));
            missing.map_or(Ok(()), |missing| Err(format!("{path} is {actual}, without {missing}")))
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let mut pairs = expected.iter().zip(actual).enumerate();
            pairs.try_for_each(|(index, (expected, actual))| part(expected, actual, &format!("{path}/{index}")))
        }
        _ if expected == actual => Ok(()),
        _ => differ(),
    }
}

/// Whether an error is the expected one, and has the data that the overlay gives its kind (ERR-1, ERR-3, ERR-5).
pub(super) fn error(expected: &Expected, actual: &Value, variables: &Variables) -> Result<(), String> {
    let (code, kind, data) = expected.parts();
    if actual["code"] != code || kind.is_some_and(|kind| actual["data"]["kind"] != kind) {
        return Err(format!("{actual}, expected {code} {}", kind.unwrap_or_default()));
    }
    data.map_or(Ok(()), |data| part(&variables.fill(data), &actual["data"], "data"))?;
    well_formed(actual)
}

/// Whether an error is one that the bundle and its overlay know.
pub(super) fn well_formed(error: &Value) -> Result<(), String> {
    let code = error["code"].as_i64().unwrap_or_default();
    let row = published::bundle(Surface::Experimental).errors().iter().find(|row| row.code == code);
    let row = row.ok_or_else(|| format!("{error} is in no row of the bundle"))?;
    let data = error["data"].as_object().ok_or_else(|| format!("{error} has no data"))?;
    let kind = data.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !row.kinds().any(|known| known == kind) {
        return Err(format!("{error} has a kind of another row"));
    }
    let entry = Annotations::published().error(code).ok_or_else(|| format!("{code} has no entry in the overlay"))?;
    let members = match entry.override_kinds.get(kind) {
        Some(other) => &other.data,
        None => entry.data.as_ref().ok_or_else(|| format!("{code} has no data in the overlay"))?,
    };
    for always in &members.always {
        match data.get(always) {
            None => return Err(format!("{error} lacks `{always}`")),
            Some(Value::Null) if !members.nullable.contains(always) => return Err(format!("{error}: null `{always}`")),
            Some(_) => {}
        }
    }
    match data.keys().find(|member| !members.always.contains(member) && !members.optional.contains(member)) {
        Some(more) => Err(format!("{error} has `{more}`, which is no member of its kind")),
        None => Ok(()),
    }
}
