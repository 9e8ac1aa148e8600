//! What was caused, and what of the bundle is missing in it. Every denominator is counted from the bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use msp_judge::transcript::Side;
use msp_schema::annotations::{Annotations, Direction};
use msp_schema::{Surface, published};
use serde_json::Value;

use super::data::{Reason, Row};

/// What was caused, by the names that `reasons.json` uses.
#[derive(Debug, Default)]
pub(super) struct Caused(BTreeSet<String>);

impl Caused {
    pub(super) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Looks through what a client sent and got.
    pub(super) fn hear(&mut self, transcript: &[(Side, String)]) {
        let mut asked = BTreeMap::new();
        for (side, text) in transcript {
            let Ok(frame) = serde_json::from_str::<Value>(text) else { continue };
            let method = frame["method"].as_str().map(str::to_owned);
            match (side, method, frame.get("id")) {
                (Side::Client, Some(method), Some(id)) => {
                    asked.insert(id.to_string(), method);
                }
                (_, Some(method), None) => self.note(format!("notification {method}")),
                (Side::Server, Some(method), Some(_)) => self.note(format!("request {method}")),
                (Side::Server, None, Some(id)) => {
                    let method = asked.remove(&id.to_string());
                    match frame.get("error") {
                        Some(error) => self.refused(method.as_deref(), error),
                        None => self.note(format!("method {}", method.unwrap_or_default())),
                    }
                }
                _ => {}
            }
        }
    }

    /// An error of a method, or of a line that was no request.
    pub(super) fn refused(&mut self, method: Option<&str>, error: &Value) {
        let (code, data) = (&error["code"], &error["data"]);
        self.note(format!("error {code}"));
        for word in [data["kind"].as_str(), data["reason"].as_str()].into_iter().flatten() {
            self.note(format!("error {code} {word}"));
            self.note(format!("refusal {} {code} {word}", method.unwrap_or("-")));
        }
        self.note(format!("refusal {} {code}", method.unwrap_or("-")));
    }

    fn note(&mut self, what: String) {
        self.0.insert(what);
    }
}

/// How much of each part there is.
#[derive(Debug, Default)]
pub(super) struct Counts(Vec<Count>);

#[derive(Debug)]
struct Count {
    part: &'static str,
    all: usize,
    caused: usize,
    reasoned: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.0.iter().map(|Count { part, all, caused, reasoned }| match reasoned {
            0 => format!("{caused} of {all} {part}"),
            _ => format!("{caused} of {all} {part} ({reasoned} with a reason)"),
        });
        write!(f, "{}", told.collect::<Vec<_>>().join(", "))
    }
}

/// What is neither caused nor excused, and what is excused without need; and the counts.
pub(super) fn compare(caused: &Caused, rows: &[Row], reasons: &[Reason]) -> (Vec<String>, Counts) {
    let (mut open, mut counts, mut known) = (Vec::new(), Counts::default(), BTreeSet::new());
    for (part, wanted) in wanted(rows) {
        let mut count = Count { part, all: wanted.len(), caused: 0, reasoned: 0 };
        for name in wanted {
            let reason = reasons.iter().find(|reason| reason.of == name);
            match (caused.0.contains(&name), reason) {
                (true, None) => count.caused += 1,
                (true, Some(reason)) => {
                    open.push(format!("{name} was caused, so its reason is none: {}", reason.reason));
                }
                (false, Some(reason)) if reason.reason.is_empty() => open.push(format!("{name}: an empty reason")),
                (false, Some(_)) => count.reasoned += 1,
                (false, None) => open.push(format!("{name} was not caused, and no reason is given")),
            }
            known.insert(name);
        }
        counts.0.push(count);
    }
    let strays = reasons.iter().filter(|reason| !known.contains(&reason.of));
    open.extend(strays.map(|reason| format!("{}: a reason for what nobody asks for", reason.of)));
    open.extend(unlike_bundle(rows));
    (open, counts)
}

/// Everything that has to be caused, part by part.
fn wanted(rows: &[Row]) -> Vec<(&'static str, Vec<String>)> {
    let (bundle, overlay) = (published::bundle(Surface::Experimental), Annotations::published());
    let (host, client): (Vec<_>, Vec<_>) = bundle
        .notifications()
        .iter()
        .map(|row| row.name.as_str())
        .partition(|name| overlay.direction(name) != Direction::ClientToHost);
    let kinds = bundle
        .errors()
        .iter()
        .flat_map(|row| row.override_kinds.iter().map(|kind| format!("error {} {kind}", row.code)));
    let own = rows.iter().flat_map(|row| row.errors.iter().map(|error| format!("refusal {} {error}", row.method)));
    let named = |kind: &'static str| move |name: &str| format!("{kind} {name}");
    vec![
        ("methods", bundle.methods().iter().map(|row| named("method")(&row.name)).collect()),
        ("notifications of the host", host.into_iter().map(named("notification")).collect()),
        ("notifications of the client", client.into_iter().map(named("notification")).collect()),
        ("host requests", bundle.requests().iter().map(|row| named("request")(&row.name)).collect()),
        ("error rows", bundle.errors().iter().map(|row| format!("error {}", row.code)).collect()),
        ("override kinds", kinds.collect()),
        ("refusals of their own", own.collect()),
    ]
}

/// Where `methods.json` is not the list of the bundle.
fn unlike_bundle(rows: &[Row]) -> Vec<String> {
    let (all, stable) = (published::bundle(Surface::Experimental), published::bundle(Surface::Stable));
    let mut wrong = Vec::new();
    for method in all.methods() {
        match rows.iter().filter(|row| row.method == method.name).count() {
            1 => {}
            count => wrong.push(format!("{}: {count} rows in methods.json", method.name)),
        }
    }
    for row in rows {
        if all.find_method(&row.method).is_none() {
            wrong.push(format!("{}: a row for no method", row.method));
        }
        if row.experimental == stable.find_method(&row.method).is_some() {
            wrong.push(format!("{}: on the other surface", row.method));
        }
    }
    wrong
}
