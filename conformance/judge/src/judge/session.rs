//! Lines about session functions: calls, answers, deliveries and bindings. All of them take the slow lane.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Judge;
use super::parts::{findings, twice};
use crate::document;
use crate::report::Finding;
use crate::rules::Rule;
use crate::schema::explain::shorten;
use crate::transcript::Entry;

/// Open calls that are remembered for each transcript.
const MOST_CALLS: usize = 65_536;

/// The functions of the calls that have no answer yet, by connection and call.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<(String, String), String>);

impl Judge {
    pub(super) fn session_line(&mut self, entry: &Entry<'_>, bytes: &[u8]) {
        self.counts.frames += 1;
        self.counts.bytes += bytes.len() as u64;
        self.counts.asked += 1;
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => return self.broken_line(entry, &document::fault(bytes, &error)),
        };
        for finding in twice(bytes, |rule, expected, actual| self.session_finding(entry, rule, expected, actual)) {
            self.push(finding);
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        if let Some(call) = value.get("call") {
            self.session_call(entry, call, &value);
        } else if let Some(trigger) = text("trigger_type") {
            self.typed(entry, trigger, "Payload", value.get("payload"), "/payload");
        } else if let Some(bind) = value.get("bind") {
            match bind.get("trigger_type").and_then(Value::as_str) {
                Some(trigger) => self.typed(entry, trigger, "Config", bind.get("config"), "/bind/config"),
                None => self.broken_line(entry, "a `bind` without `trigger_type`"),
            }
        } else if value.get("unbind").is_none() {
            self.broken_line(entry, "none of `call`, `trigger_type`, `bind` and `unbind`");
        }
    }

    fn session_call(&mut self, entry: &Entry<'_>, call: &Value, line: &Value) {
        let key = (entry.conn.to_owned(), call.to_string());
        match (line.get("function_id").and_then(Value::as_str), line.get("result"), line.get("error")) {
            (Some(function), None, None) => {
                self.typed(entry, function, "Request", line.get("payload"), "/payload");
                if self.calls.0.len() < MOST_CALLS {
                    self.calls.0.insert(key, function.to_owned());
                }
            }
            (None, Some(result), None) => match self.calls.0.remove(&key) {
                Some(function) => self.typed(entry, &function, "Response", Some(result), "/result"),
                None => self.count_unpaired(entry.line),
            },
            (None, None, Some(_)) => {
                if self.calls.0.remove(&key).is_none() {
                    self.count_unpaired(entry.line);
                }
            }
            _ => self.broken_line(entry, "a `call` that is neither a request, nor a result, nor an error"),
        }
    }

    /// Judges a payload by its part of a function or trigger; a payload that is left out has no members.
    fn typed(&mut self, entry: &Entry<'_>, id: &str, part: &'static str, payload: Option<&Value>, at: &str) {
        let Some(session) = self.profile.session.clone() else { return };
        let Some(root) = session.find(id, part) else {
            let expected = "a function or trigger of the schemas";
            let mut finding =
                self.session_finding(entry, Rule::UNLISTED_FUNCTION, expected, format!("`{}`", shorten(id)));
            finding.method = Some(id.to_owned());
            return self.push(finding);
        };
        let empty = Value::Object(Map::new());
        let made = match session.schema().explain(root, payload.unwrap_or(&empty), at) {
            Ok(explained) => findings(
                explained,
                &[],
                |_| Rule::SCHEMA,
                |rule, expected, actual| {
                    let mut finding = self.session_finding(entry, rule, expected, actual);
                    finding.method = Some(id.to_owned());
                    finding
                },
            ),
            Err(message) => vec![self.session_finding(entry, Rule::SCHEMA, "a definition that can be used", message)],
        };
        for mut finding in made {
            // What an envelope of the store carries is named by a trigger, not by a notification.
            if finding.rule == Rule::UNLISTED_NOTIFICATION {
                (finding.rule, finding.severity) = (Rule::UNLISTED_FUNCTION, Rule::UNLISTED_FUNCTION.severity());
                "a trigger of the schemas".clone_into(&mut finding.expected);
            }
            self.push(finding);
        }
    }

    fn broken_line(&mut self, entry: &Entry<'_>, actual: &str) {
        let finding = self.session_finding(entry, Rule::TRANSCRIPT, "a line of a transcript", actual.to_owned());
        self.push(finding);
    }

    fn session_finding(&self, entry: &Entry<'_>, rule: Rule, expected: &str, actual: String) -> Finding {
        let revision = self.profile.session.as_ref().map_or("", |session| session.schema().label());
        let mut finding = Finding::new(rule, entry.line, expected, actual, revision);
        entry.conn.clone_into(&mut finding.conn);
        finding
    }
}
