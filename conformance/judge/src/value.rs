//! Single values: one JSON text against one definition.

use serde_json::Value;

use crate::document;
use crate::error::SchemaError;
use crate::judge::parts::{Part, Same, accepts, claimed, findings, twice};
use crate::library::Library;
use crate::nearest::nearest;
use crate::report::Finding;
use crate::rules::Rule;
use crate::schema::source::Carrier;
use crate::schema::{Method, Schema};
use crate::sessions::SessionSchema;

/// What a single value is meant to be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A value of a definition.
    Definition(String),
    /// Params or result of a method.
    Method(String, CallPart),
    /// Params of a notification.
    Notification(String),
    /// Params or result of a host request.
    Request(String, CallPart),
    /// The member `error` of a response whose `data.kind` is this one.
    Error(String),
    /// `Request` or `Response` of a session function.
    Function(String, &'static str),
    /// `Config` or `Payload` of a trigger.
    Trigger(String, &'static str),
}

/// Which half of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPart {
    /// What is sent.
    Params,
    /// What is answered.
    Result,
}

/// What single values are judged by.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'s> {
    /// The bundle.
    pub schema: &'s Schema,
    /// Revisions that are asked where a value does not fit.
    pub library: Option<&'s Library>,
    /// Schemas of the session functions.
    pub session: Option<&'s SessionSchema>,
}

/// A text that is not JSON, or a target that the schema does not have.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The text is no JSON.
    #[error("the value cannot be read: {0}")]
    NotJson(String),
    /// There is no such target.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Bench<'_> {
    /// Judges a JSON text. No findings: it fits.
    ///
    /// # Errors
    /// When the text is no JSON, or the schema has no such target.
    ///
    /// ```
    /// use msp_judge::{Bench, Library, Surface, Target};
    ///
    /// let schema = Library::new(Surface::Stable)?.newest()?;
    /// let bench = Bench { schema: &schema, library: None, session: None };
    /// let target = Target::Definition("SourceRange".into());
    /// assert_eq!(bench.judge(&target, b"{}")?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge(&self, target: &Target, text: &[u8]) -> Result<Vec<Finding>, ValueError> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        if let Err(error) = std::str::from_utf8(text) {
            return Err(ValueError::NotJson(format!("a byte that is no UTF-8, after {} bytes", error.valid_up_to())));
        }
        let value: Value =
            serde_json::from_slice(text).map_err(|error| ValueError::NotJson(document::fault(text, &error)))?;
        let mut found =
            twice(text, |rule, expected, actual| Finding::new(rule, 0, expected, actual, self.schema.label()));
        self.check(target)?;
        match target {
            Target::Function(id, part) | Target::Trigger(id, part) => self.session(id, part, &value, &mut found)?,
            Target::Error(kind) => self.error(kind, &value, &mut found)?,
            Target::Definition(name) => {
                let part = Part { method: "", root: name, value: &value, at: "", same: Same::Definition };
                self.part(&part, &mut found)?;
            }
            Target::Method(name, part) => {
                self.call(name, Carrier::ClientRequest, *part, &value, &mut found)?;
            }
            Target::Request(name, part) => {
                self.call(name, Carrier::HostRequest, *part, &value, &mut found)?;
            }
            Target::Notification(name) => {
                let client = self.row(name, Carrier::ClientNotification).is_some();
                let carrier = if client { Carrier::ClientNotification } else { Carrier::HostNotification };
                self.call(name, carrier, CallPart::Params, &value, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Whether the schema has a target, before there is a value.
    ///
    /// # Errors
    /// `Unknown` where it has not, with the name that may have been meant.
    pub fn check(&self, target: &Target) -> Result<(), SchemaError> {
        let rows = |wanted: &'static [Carrier]| {
            let rows = self.schema.methods.iter().filter(|row| wanted.contains(&row.carrier));
            rows.map(|row| row.name.as_str()).collect::<Vec<_>>()
        };
        let (what, name, names) = match target {
            Target::Definition(name) => {
                ("definition", name, self.schema.source.definitions.keys().map(String::as_str).collect())
            }
            Target::Method(name, _) => ("method", name, rows(&[Carrier::ClientRequest])),
            Target::Request(name, _) => ("host request", name, rows(&[Carrier::HostRequest])),
            Target::Notification(name) => {
                ("notification", name, rows(&[Carrier::HostNotification, Carrier::ClientNotification]))
            }
            Target::Error(kind) => {
                ("error kind", kind, self.schema.source.errors.iter().map(|(_, kind)| kind.as_str()).collect())
            }
            Target::Function(id, part) | Target::Trigger(id, part) => {
                let what = if matches!(target, Target::Function(..)) { "function" } else { "trigger" };
                (what, id, self.session.map_or_else(Vec::new, |session| session.ids(part).collect()))
            }
        };
        if names.contains(&name.as_str()) {
            return Ok(());
        }
        Err(SchemaError::Unknown { what, name: name.clone(), like: nearest(name, names.into_iter()) })
    }

    fn row(&self, name: &str, carrier: Carrier) -> Option<&Method> {
        self.schema.methods.iter().find(|row| row.name == name && row.carrier == carrier)
    }

    fn call(
        &self,
        name: &str,
        carrier: Carrier,
        part: CallPart,
        value: &Value,
        found: &mut Vec<Finding>,
    ) -> Result<(), ValueError> {
        // That it is there was looked at before.
        let Some(row) = self.row(name, carrier) else { return Ok(()) };
        let (root, same) = match part {
            CallPart::Params => (&row.params, Same::Params(carrier)),
            CallPart::Result => (&row.result, Same::Result(carrier)),
        };
        match root {
            Some(root) => self.part(&Part { method: name, root: &root.name, value, at: "", same }, found),
            None if value.is_object() => Ok(()),
            None => {
                let rule = if part == CallPart::Params { Rule::PARAMS_OBJECT } else { Rule::RESULT_OBJECT };
                found.push(Finding::new(
                    rule,
                    0,
                    "an object",
                    crate::schema::explain::shorten(&value.to_string()),
                    self.schema.label(),
                ));
                Ok(())
            }
        }
    }

    fn part(&self, part: &Part<'_>, found: &mut Vec<Finding>) -> Result<(), ValueError> {
        let explained =
            self.schema.explain(part.root, part.value, part.at).map_err(|message| unusable(part.root, message))?;
        let fits: Vec<String> = match self.library {
            Some(library) if !explained.faults.is_empty() => library
                .versions()
                .filter(|version| *version != self.schema.label())
                .filter(|version| library.revision(version).is_ok_and(|other| accepts(&other, part)))
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        };
        let method = (!part.method.is_empty()).then(|| part.method.to_owned());
        found.extend(findings(explained, &fits, claimed(self.schema, part), |rule, expected, actual| {
            let mut finding = Finding::new(rule, 0, expected, actual, self.schema.label());
            finding.method.clone_from(&method);
            finding
        }));
        Ok(())
    }

    fn session(&self, id: &str, part: &'static str, value: &Value, found: &mut Vec<Finding>) -> Result<(), ValueError> {
        // That it is there was looked at before.
        let Some((session, root)) = self.session.and_then(|it| Some((it, it.find(id, part)?))) else { return Ok(()) };
        let schema = session.schema();
        let explained = schema.explain(root, value, "").map_err(|message| unusable(root, message))?;
        found.extend(findings(
            explained,
            &[],
            |_| Rule::SCHEMA,
            |rule, expected, actual| {
                let mut finding = Finding::new(rule, 0, expected, actual, schema.label());
                finding.method = Some(id.to_owned());
                finding
            },
        ));
        Ok(())
    }

    /// The error object, its kind, and whether the kind belongs to the code.
    fn error(&self, kind: &str, value: &Value, found: &mut Vec<Finding>) -> Result<(), ValueError> {
        let rows: Vec<i64> = self.schema.codes_of(kind);
        self.part(&Part { method: "", root: "ErrorObject", value, at: "", same: Same::Definition }, found)?;
        let mut expect = |pointer: &str, fits: bool, expected: String| {
            if !fits {
                let actual = value.pointer(pointer).map_or_else(|| "nothing".to_owned(), Value::to_string);
                let mut finding = Finding::new(Rule::ERROR_KIND, 0, &expected, actual, self.schema.label());
                pointer.clone_into(&mut finding.pointer);
                found.push(finding);
            }
        };
        let code = value.get("code").and_then(Value::as_i64);
        let codes: Vec<String> = rows.iter().map(i64::to_string).collect();
        expect("/code", code.is_some_and(|code| rows.contains(&code)), codes.join(" or "));
        expect("/data/kind", value.pointer("/data/kind").is_some_and(|it| it == kind), format!("\"{kind}\""));
        Ok(())
    }
}

fn unusable(definition: &str, message: String) -> SchemaError {
    SchemaError::Unusable { definition: definition.to_owned(), message }
}
