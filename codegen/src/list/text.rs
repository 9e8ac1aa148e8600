//! A table for people.

use serde_json::Value;

use super::Table;
use crate::diagnostic::one_line;

pub(super) fn to_text(table: &Table) -> String {
    if table.rows.is_empty() {
        return format!("{}: none\n", table.title);
    }
    let head: Vec<String> = table.columns.iter().map(|column| (*column).to_owned()).collect();
    let body = table.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<String>>());
    let lines: Vec<Vec<String>> = [head].into_iter().chain(body).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut text = format!("{} ({})\n", table.title, table.rows.len());
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str("  ");
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => one_line(text),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
