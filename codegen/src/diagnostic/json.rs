//! Findings for programs.

use serde_json::{Value, json};

use super::Diagnostic;

/// The findings as an array with the same fields as the text has; fields without a value are left out.
pub fn to_json(diagnostics: &[Diagnostic]) -> Value {
    Value::Array(diagnostics.iter().map(one).collect())
}

fn one(diagnostic: &Diagnostic) -> Value {
    let mut value = json!({
        "code": diagnostic.code,
        "severity": diagnostic.severity.word(),
        "message": diagnostic.message,
        "file": &*diagnostic.at.file,
        "pointer": diagnostic.at.pointer,
    });
    let mut put = |name: &str, field: Option<Value>| {
        if let Some(field) = field {
            value[name] = field;
        }
    };
    put("label", diagnostic.label.as_ref().map(|label| json!(label)));
    put("help", diagnostic.help.as_ref().map(|help| json!(help)));
    put("line", diagnostic.excerpt.as_ref().map(|excerpt| json!(excerpt.line)));
    put("column", diagnostic.excerpt.as_ref().map(|excerpt| json!(excerpt.column)));
    put("excerpt", diagnostic.excerpt.as_ref().map(|excerpt| json!(excerpt.text)));
    value
}
