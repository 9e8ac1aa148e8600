//! What a bundle says, made ready for both lanes: annotations gone, the overlay's places filled in.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::compile::is_annotation;
use crate::error::SchemaError;
use crate::transcript::Side;

/// Keyword that this crate puts beside an enum whose unknown words are reported under a rule of their own.
pub(crate) const RULE_KEYWORD: &str = "x-judge-rule";

/// Keyword that this crate puts beside branches of which the first is the one to speak of.
pub(crate) const FIRST_KEYWORD: &str = "x-judge-first";

/// Draft of JSON Schema in which a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Draft7,
    Draft202012,
}

/// What the overlay adds to a bundle for the judge.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Places that the bundle leaves as a bare object, with the definition that fits there.
    pub places: Vec<Place>,
    /// Strings that the bundle leaves free although their words are known.
    pub words: Vec<KnownWords>,
    /// How a stored event looks; none where nothing carries events.
    pub event: Option<EventShape>,
    /// Notifications that the client sends; the bundle's table does not say which way one goes.
    pub from_client: Vec<String>,
    /// What a stored event carries where no notification of the bundle says it: name of the event, and definition.
    pub carried: Vec<(String, String)>,
}

/// A definition whose values are events, each named by one member and carried by another.
#[derive(Debug, Clone)]
pub struct EventShape {
    /// Name of the definition.
    pub definition: String,
    /// Member that names the event.
    pub name: String,
    /// Member that carries it.
    pub payload: String,
}

/// A bare object of the bundle and what it really carries.
#[derive(Debug, Clone)]
pub struct Place {
    /// JSON Pointer into the bundle, such as `/$defs/LogRecordParams/properties/record`.
    pub pointer: String,
    /// Name of the definition that fits there.
    pub definition: String,
    /// A word that, as a name or a string at the top of the object, marks another shape that nobody published.
    pub unless_marked: Option<String>,
}

/// A free string of the bundle and its known words.
#[derive(Debug, Clone)]
pub struct KnownWords {
    /// JSON Pointer into the bundle, such as `/$defs/StreamRef/properties/kind`.
    pub pointer: String,
    /// The words that are known; another one is a warning.
    pub words: Vec<String>,
    /// Rule under which an unknown word is reported.
    pub rule: String,
}

/// What kind of frame carries a method, and who sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    ClientRequest,
    HostRequest,
    ClientNotification,
    HostNotification,
}

impl Carrier {
    /// Who sends it.
    pub(crate) const fn sender(self) -> Side {
        match self {
            Self::ClientRequest | Self::ClientNotification => Side::Client,
            Self::HostRequest | Self::HostNotification => Side::Server,
        }
    }

    /// Whether it has an id and an answer.
    pub(crate) const fn is_request(self) -> bool {
        matches!(self, Self::ClientRequest | Self::HostRequest)
    }
}

/// A method of the bundle.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) carrier: Carrier,
    pub(crate) params: Option<Value>,
    pub(crate) result: Option<Value>,
}

/// A bundle, ready.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) definitions: Map<String, Value>,
    pub(crate) dialect: Dialect,
    pub(crate) rows: Vec<Row>,
    /// Code and kind of each error, override kinds included.
    pub(crate) errors: Vec<(i64, String)>,
}

impl Source {
    /// Reads a bundle document: `$defs` or `definitions`, and `methods`, `notifications` and `requests` where there.
    pub(crate) fn new(bundle: &Value, overlay: &Overlay) -> Result<Self, SchemaError> {
        let object = bundle.as_object().ok_or(SchemaError::NotABundle { what: "the document is no object" })?;
        let definitions = object.get("$defs").or_else(|| object.get("definitions")).and_then(Value::as_object);
        let definitions =
            definitions.ok_or(SchemaError::NotABundle { what: "it has neither `$defs` nor `definitions`" })?;
        let dialect = match object.get("$schema").and_then(Value::as_str) {
            Some(uri) if uri.contains("draft-07") || uri.contains("draft-06") || uri.contains("draft-04") => {
                Dialect::Draft7
            }
            _ => Dialect::Draft202012,
        };
        let mut whole = json!({ "$defs": strip_named(definitions) });
        for place in &overlay.places {
            fill(&mut whole, place);
        }
        for known in &overlay.words {
            if let Some(Value::Object(target)) = whole.pointer_mut(&known.pointer) {
                target.insert("enum".into(), json!(known.words));
                target.insert("x-msp-openness".into(), json!("open"));
                target.insert(RULE_KEYWORD.into(), json!(known.rule));
            }
        }
        let definitions = match whole.get_mut("$defs").map(Value::take) {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        };
        check_references(&definitions)?;
        check_aliases(&definitions)?;
        let mut rows = Vec::new();
        for (table, carrier) in [
            ("methods", Carrier::ClientRequest),
            ("requests", Carrier::HostRequest),
            ("notifications", Carrier::HostNotification),
        ] {
            for (name, entry) in object.get(table).and_then(Value::as_object).into_iter().flatten() {
                let carrier = if carrier == Carrier::HostNotification && overlay.from_client.contains(name) {
                    Carrier::ClientNotification
                } else {
                    carrier
                };
                let (params, result) = (entry.get("params").map(strip), entry.get("result").map(strip));
                rows.push(Row { name: name.clone(), carrier, params, result });
            }
        }
        let errors =
            object.get("errors").and_then(Value::as_array).map(|rows| rows.iter().flat_map(kinds_of_row).collect());
        Ok(Self { definitions, dialect, rows, errors: errors.unwrap_or_default() })
    }

    /// The definitions in whose values a value of `target` may be, itself included.
    pub(crate) fn reaching(&self, target: &str) -> BTreeSet<String> {
        let mut reaching: BTreeSet<String> = [target.to_owned()].into();
        loop {
            let before = reaching.len();
            for (name, schema) in &self.definitions {
                if !reaching.contains(name) {
                    let mut hit = false;
                    for_each_reference(schema, &mut |to| hit |= reaching.contains(to));
                    if hit {
                        reaching.insert(name.clone());
                    }
                }
            }
            if reaching.len() == before {
                return reaching;
            }
        }
    }

    /// A document with this schema at its root and only the definitions that it reaches.
    pub(crate) fn document(&self, schema: &Value) -> Value {
        let mut reached: BTreeMap<&str, &Value> = BTreeMap::new();
        let mut open = vec![schema];
        while let Some(next) = open.pop() {
            for_each_reference(next, &mut |name| {
                let name = name.split('/').next().unwrap_or(name);
                if let Some((name, definition)) = self.definitions.get_key_value(name) {
                    if reached.insert(name, definition).is_none() {
                        open.push(definition);
                    }
                }
            });
        }
        let dialect = match self.dialect {
            Dialect::Draft7 => "http://json-schema.org/draft-07/schema#",
            Dialect::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
        };
        // Draft 7 ignores what stands beside a reference, so the root is wrapped.
        let mut document = json!({ "$schema": dialect, "allOf": [schema] });
        document["$defs"] =
            reached.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect::<Map<_, _>>().into();
        document
    }
}

fn kinds_of_row(row: &Value) -> Vec<(i64, String)> {
    let Some(code) = row.get("code").and_then(Value::as_i64) else { return Vec::new() };
    let own = row.get("kind").into_iter();
    let kinds = own.chain(row.get("overrideKinds").and_then(Value::as_array).into_iter().flatten());
    kinds.filter_map(Value::as_str).map(|kind| (code, kind.to_owned())).collect()
}

/// Puts the definition at its place; an object with the private marks fits as it is.
fn fill(whole: &mut Value, place: &Place) {
    if whole.pointer(&format!("/$defs/{}", place.definition)).is_none() {
        return;
    }
    let Some(target) = whole.pointer_mut(&place.pointer) else { return };
    let reference = json!({ "$ref": format!("#/$defs/{}", place.definition) });
    *target = match &place.unless_marked {
        None => reference,
        Some(mark) => json!({
            FIRST_KEYWORD: true,
            "anyOf": [
                reference,
                { "type": "object", "required": [mark] },
                { "type": "object", "not": { "additionalProperties": { "not": { "const": mark } } } },
            ],
        }),
    };
}

fn strip_named(members: &Map<String, Value>) -> Map<String, Value> {
    members.iter().map(|(name, schema)| (name.clone(), strip(schema))).collect()
}

/// A schema without its annotations; openness stays, because both lanes need it.
fn strip(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !is_annotation(key) || *key == "x-msp-openness")
            .map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("properties" | "patternProperties" | "dependentSchemas", Value::Object(members)) => {
                        strip_named(members).into()
                    }
                    (
                        "items"
                        | "additionalProperties"
                        | "not"
                        | "if"
                        | "then"
                        | "else"
                        | "propertyNames"
                        | "contains",
                        _,
                    ) => strip(value),
                    ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                        list.iter().map(strip).collect()
                    }
                    // The definitions stand under one name here, whatever the document called them.
                    ("$ref", Value::String(reference)) => match reference.strip_prefix("#/definitions/") {
                        Some(name) => json!(format!("#/$defs/{name}")),
                        None => value.clone(),
                    },
                    // Words, names and numbers.
                    _ => value.clone(),
                };
                (key.clone(), value)
            })
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// The same schema with every open enum as a plain string: what a value has to be so as not to be bad.
pub(crate) fn relax(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let open = members.get("x-msp-openness").is_some_and(|it| it == "open");
            let kept = members.iter().filter(|(key, _)| !(open && *key == "enum"));
            let mut relaxed: Map<String, Value> = kept.map(|(key, value)| (key.clone(), relax(value))).collect();
            if open && !relaxed.contains_key("type") {
                relaxed.insert("type".into(), json!("string"));
            }
            relaxed.into()
        }
        Value::Array(list) => list.iter().map(relax).collect(),
        other => other.clone(),
    }
}

/// Name of the definition that a reference names.
pub(crate) fn referenced(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn for_each_reference<'v>(schema: &'v Value, each: &mut impl FnMut(&'v str)) {
    if let Some(name) = referenced(schema) {
        each(name);
    }
    match schema {
        Value::Object(members) => members.values().for_each(|value| for_each_reference(value, each)),
        Value::Array(list) => list.iter().for_each(|value| for_each_reference(value, each)),
        _ => {}
    }
}

/// Refuses references that lead nowhere, or out of the document: nothing is ever fetched.
fn check_references(definitions: &Map<String, Value>) -> Result<(), SchemaError> {
    fn walk(name: &str, schema: &Value, definitions: &Map<String, Value>) -> Result<(), SchemaError> {
        let unusable = |message: String| SchemaError::Unusable { definition: name.to_owned(), message };
        if let Some(Value::String(text)) = schema.get("$ref") {
            let target = referenced(schema)
                .ok_or_else(|| unusable(format!("`$ref` names `{text}`, which is outside of the definitions")))?;
            if !definitions.contains_key(target.split('/').next().unwrap_or(target)) {
                return Err(unusable(format!("`$ref` names `{text}`, which is not defined")));
            }
        }
        match schema {
            Value::Object(members) => members.values().try_for_each(|value| walk(name, value, definitions)),
            Value::Array(list) => list.iter().try_for_each(|value| walk(name, value, definitions)),
            _ => Ok(()),
        }
    }
    definitions.iter().try_for_each(|(name, schema)| walk(name, schema, definitions))
}

/// Refuses definitions that mean themselves, with no value in between: no lane would come to an end.
fn check_aliases(definitions: &Map<String, Value>) -> Result<(), SchemaError> {
    fn walk<'v>(schema: &'v Value, each: &mut Vec<&'v str>) {
        each.extend(referenced(schema));
        for keyword in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(list)) = schema.get(keyword) {
                for part in list {
                    walk(part, each);
                }
            }
        }
        for keyword in ["not", "if", "then", "else"] {
            if let Some(part) = schema.get(keyword) {
                walk(part, each);
            }
        }
    }
    let edges: BTreeMap<&str, Vec<&str>> = definitions
        .iter()
        .map(|(name, schema)| {
            let mut to = Vec::new();
            walk(schema, &mut to);
            (name.as_str(), to)
        })
        .collect();
    // Take away, again and again, what leads only to places that are gone; a circle is what stays.
    let mut left: BTreeMap<&str, usize> =
        edges.iter().map(|(name, to)| (*name, to.iter().filter(|it| edges.contains_key(*it)).count())).collect();
    let mut ready: Vec<&str> = left.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    let mut back: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, to) in &edges {
        for target in to {
            back.entry(*target).or_default().push(*name);
        }
    }
    while let Some(done) = ready.pop() {
        left.remove(done);
        for from in back.get(done).into_iter().flatten() {
            if let Some(count) = left.get_mut(from) {
                *count -= 1;
                if *count == 0 {
                    ready.push(*from);
                }
            }
        }
    }
    match left.keys().next() {
        None => Ok(()),
        Some(_) => Err(SchemaError::AliasCycle { definitions: left.keys().map(|name| (*name).to_owned()).collect() }),
    }
}
