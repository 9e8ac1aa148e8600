//! The rules, told to people: one in full, or all in a list.

use std::collections::BTreeSet;
use std::io::{self, Write};

use msp_judge::rules::table::{Row, Table};
use msp_judge::{Judge, Library, Profile, Rule, SchemaError, Surface};
use serde_json::{Value, json};

use crate::validate::Format;

/// What is known of a rule, for people or as JSON. `false`: there is no such rule.
///
/// # Errors
/// What writing gives.
pub fn explain(id: &str, format: Format, out: &mut dyn Write) -> io::Result<bool> {
    let (Some(rule), row) = (Rule::find(id), Table::msp().find(id)) else { return Ok(false) };
    match (format, row) {
        (Format::Json, Some(row)) => writeln!(out, "{:#}", whole(row))?,
        (Format::Json, None) => writeln!(out, "{:#}", json!({ "id": id, "statement": rule.statement() }))?,
        (Format::Text, Some(row)) => write_row(row, out)?,
        (Format::Text, None) => writeln!(
            out,
            "{id}: held by the judge itself, about shapes and transcripts as such\n\n{}",
            rule.statement()
        )?,
    }
    out.flush()?;
    Ok(true)
}

/// The id that somebody may have meant.
pub fn nearest(id: &str) -> Option<String> {
    let upper = id.to_uppercase();
    Rule::find(&upper).map(|rule| rule.id().to_owned()).or_else(|| Table::msp().nearest(&upper))
}

/// Lists the rules of the protocol, in the order of its text.
///
/// # Errors
/// What writing gives, or a packaged schema that cannot be read.
pub fn list(format: Format, out: &mut dyn Write) -> io::Result<()> {
    let judged = judged().map_err(io::Error::other)?;
    let rows = Table::msp().rows();
    let state = |row: &Row| match row.reason() {
        Some(reason) => reason.word(),
        None if judged.contains(row.id()) => "judged",
        None => "not yet",
    };
    if format == Format::Json {
        let rules: Vec<Value> = rows
            .iter()
            .map(|row| {
                let mut rule = whole(row);
                rule["judged"] = json!(judged.contains(row.id()));
                rule
            })
            .collect();
        writeln!(out, "{:#}", json!({ "rules": rules }))?;
        return out.flush();
    }
    for row in rows {
        let (id, level, who) = (row.id(), row.level().word(), row.who().word());
        writeln!(out, "{id:<9} {level:<6} {who:<6} {:<15} {}", state(row), row.statement())?;
    }
    let given_up = rows.iter().filter(|row| row.reason().is_some()).count();
    writeln!(
        out,
        "{} rules: {} have a judge, {given_up} cannot be judged from outside, {} have none yet",
        rows.len(),
        judged.len(),
        rows.len() - given_up - judged.len()
    )?;
    out.flush()
}

/// Ids of the rules that have a judge.
fn judged() -> Result<BTreeSet<&'static str>, SchemaError> {
    let report = Judge::new(Library::new(Surface::Stable)?.newest()?, Profile::default()).finish();
    Ok(report.verdicts.iter().map(|verdict| verdict.rule.id()).collect())
}

fn write_row(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let until = row.until().map_or_else(String::new, |until| format!(" until {until}"));
    writeln!(out, "{} [{}, {}], since {}{until}\n", row.id(), row.level().word(), row.who().word(), row.since())?;
    writeln!(out, "{}\n", row.statement())?;
    let visible: Vec<&str> = row.visible().iter().map(|it| it.word()).collect();
    let mut parts = vec![("source", row.source().to_owned()), ("visible in", visible.join(", "))];
    if let Some(reason) = row.reason() {
        parts.push(("not judged", reason.word().to_owned()));
    }
    let texts = [
        ("premise", row.premise()),
        ("check", row.check()),
        ("fault", row.fault()),
        ("scenario", row.scenario()),
        ("note", row.note()),
    ];
    parts.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text?.to_owned()))));
    for (name, list) in [("needs", row.needs()), ("claims", row.claims())] {
        if !list.is_empty() {
            parts.push((name, list.join(", ")));
        }
    }
    for (name, text) in parts {
        writeln!(out, "{name}: {text}")?;
    }
    Ok(())
}

fn whole(row: &Row) -> Value {
    json!({
        "id": row.id(),
        "level": row.level(),
        "who": row.who(),
        "statement": row.statement(),
        "source": row.source(),
        "visible": row.visible(),
        "since": row.since().to_string(),
        "until": row.until().map(|until| until.to_string()),
        "reason": row.reason(),
        "premise": row.premise(),
        "check": row.check(),
        "fault": row.fault(),
        "scenario": row.scenario(),
        "needs": row.needs(),
        "claims": row.claims(),
        "note": row.note(),
    })
}
