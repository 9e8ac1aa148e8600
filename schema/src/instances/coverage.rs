//! Counts what there is to reach in a definition, straight from the raw JSON, and what a set of values reached.
//!
//! It shares nothing with the maker: no plan, no walk. A part that the maker overlooks shows here as never reached.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

/// What a definition offers, and how often values took it.
///
/// References are not followed: what lies behind them counts for the definition that they name. Schemas that hold at once
/// (`allOf`, alternatives beside members) are counted each on its own, even where one rules out what another offers.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    facts: BTreeMap<Fact, u64>,
}

/// One thing to reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// What kind of thing.
    pub aspect: Aspect,
    /// JSON pointer of the subschema that offers it.
    pub at: String,
    /// Which of several: a member name, an enum value, the number of a branch.
    pub which: String,
}

/// Kinds of [`Fact`], in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// A member is there.
    Present,
    /// A member that may be left out is not there.
    Absent,
    /// `null` where it is allowed.
    Null,
    /// An empty string, array or object where it is allowed.
    Empty,
    /// A value of an enum, the value of a `const`, `true` and `false`.
    Value,
    /// An alternative of `anyOf` or `oneOf`, or a type of a list of types.
    Branch,
    /// A word that an open enum does not list.
    OpenUnknown,
    /// A member that the schema does not name, or an entry of a map.
    Unknown,
    /// A number at an end of its range, beyond doubles, with a fraction, with an exponent.
    Number,
}

impl Aspect {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Present,
        Self::Absent,
        Self::Null,
        Self::Empty,
        Self::Value,
        Self::Branch,
        Self::OpenUnknown,
        Self::Unknown,
        Self::Number,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Present => "member present",
            Self::Absent => "member absent",
            Self::Null => "null where allowed",
            Self::Empty => "empty where allowed",
            Self::Value => "enum value, const, boolean",
            Self::Branch => "union branch, type of a list",
            Self::OpenUnknown => "unknown word in an open enum",
            Self::Unknown => "unknown member, map entry",
            Self::Number => "number edge",
        }
    }
}

/// Judges whether the subschema at a pointer accepts a value; decides which alternative a value belongs to.
pub type Accepts<'a> = &'a dyn Fn(&str, &Value) -> bool;

impl Coverage {
    /// Everything that the definition at `pointer` offers, nothing of it reached.
    pub fn count(document: &Value, pointer: &str) -> Self {
        let mut coverage = Self::default();
        if let Some(schema) = document.pointer(pointer) {
            coverage.offer(schema, pointer);
        }
        coverage
    }

    /// Marks what `value` reaches.
    pub fn mark(&mut self, document: &Value, pointer: &str, value: &Value, accepts: Accepts) {
        if let Some(schema) = document.pointer(pointer) {
            self.reach(schema, pointer, value, accepts);
        }
    }

    /// Adds what another definition offers and reached.
    pub fn merge(&mut self, other: Self) {
        for (fact, hits) in other.facts {
            *self.facts.entry(fact).or_default() += hits;
        }
    }

    /// What was never reached.
    pub fn missing(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|(_, hits)| **hits == 0).map(|(fact, _)| fact)
    }

    /// How many facts of a kind were reached, of how many.
    pub fn total(&self, aspect: Aspect) -> (usize, usize) {
        let all = self.facts.iter().filter(|(fact, _)| fact.aspect == aspect);
        all.fold((0, 0), |(reached, of), (_, hits)| (reached + usize::from(*hits > 0), of + 1))
    }

    fn add(&mut self, aspect: Aspect, at: &str, which: impl Into<String>) {
        self.facts.insert(Fact { aspect, at: at.to_owned(), which: which.into() }, 0);
    }

    fn add_all(&mut self, aspect: Aspect, at: &str, all: impl IntoIterator<Item = impl ToString>) {
        for which in all {
            self.add(aspect, at, which.to_string());
        }
    }

    fn hit(&mut self, aspect: Aspect, at: &str, which: impl Into<String>) {
        if let Some(hits) = self.facts.get_mut(&Fact { aspect, at: at.to_owned(), which: which.into() }) {
            *hits += 1;
        }
    }

    fn offer(&mut self, schema: &Value, at: &str) {
        let Some(schema) = schema.as_object() else {
            if *schema == Value::Bool(true) {
                self.add(Aspect::Null, at, "");
            }
            return;
        };
        if schema.contains_key("$ref") {
            return;
        }
        for (place, alternative, part) in parts(schema, at) {
            if alternative {
                self.add(Aspect::Branch, at, place.clone());
            }
            self.offer(part, &place);
        }
        if let Some(values) = listed(schema) {
            for value in values {
                self.add(Aspect::Value, at, value.to_string());
                if value.is_null() {
                    self.add(Aspect::Null, at, "");
                }
            }
            if is_open(schema) {
                self.add(Aspect::OpenUnknown, at, "");
            }
            return;
        }
        let types = types(schema);
        if types.len() > 1 {
            for name in &types {
                self.add(Aspect::Branch, at, *name);
            }
        }
        for name in types {
            match name {
                "null" => self.add(Aspect::Null, at, ""),
                "boolean" => self.add_all(Aspect::Value, at, ["true", "false"]),
                "integer" => {
                    self.add_all(Aspect::Number, at, integer_edges(schema));
                }
                "number" => {
                    self.add_all(Aspect::Number, at, ["whole", "fraction", "exponent"]);
                }
                "string" if !schema.contains_key("pattern") && limit(schema, "minLength") == 0 => {
                    self.add(Aspect::Empty, at, "string");
                }
                "array" => {
                    if limit(schema, "minItems") == 0 {
                        self.add(Aspect::Empty, at, "array");
                    }
                    if let Some(items) = schema.get("items") {
                        self.offer(items, &format!("{at}/items"));
                    }
                }
                "object" => self.offer_object(schema, at),
                _ => {}
            }
        }
        if is_anything(schema) {
            self.add(Aspect::Null, at, "");
        }
    }

    fn offer_object(&mut self, schema: &Map<String, Value>, at: &str) {
        let required = required(schema);
        for (name, member) in properties(schema) {
            if *member != Value::Bool(false) {
                self.add(Aspect::Present, at, name);
            }
            if !required.contains(&name.as_str()) {
                self.add(Aspect::Absent, at, name);
            }
            self.offer(member, &format!("{at}/properties/{}", name.replace('~', "~0").replace('/', "~1")));
        }
        match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => self.add(Aspect::Unknown, at, "member"),
            Some(Value::Bool(false)) => {}
            Some(rest) => {
                self.add(Aspect::Unknown, at, "entry");
                self.offer(rest, &format!("{at}/additionalProperties"));
            }
        }
        if required.is_empty() && limit(schema, "minProperties") == 0 {
            self.add(Aspect::Empty, at, "object");
        }
    }

    fn reach(&mut self, schema: &Value, at: &str, value: &Value, accepts: Accepts) {
        if value.is_null() {
            self.hit(Aspect::Null, at, "");
        }
        let Some(schema) = schema.as_object().filter(|schema| !schema.contains_key("$ref")) else { return };
        let mut taken = false;
        for (place, alternative, part) in parts(schema, at) {
            if alternative && (taken || !accepts(&place, value)) {
                continue;
            }
            taken |= alternative;
            self.hit(Aspect::Branch, at, place.clone());
            self.reach(part, &place, value, accepts);
        }
        if let Some(values) = listed(schema) {
            if values.contains(value) {
                self.hit(Aspect::Value, at, value.to_string());
            } else if value.is_string() {
                self.hit(Aspect::OpenUnknown, at, "");
            }
            return;
        }
        for name in ["null", "boolean", "integer", "number", "string", "array", "object"] {
            if is_of(value, name) {
                self.hit(Aspect::Branch, at, name);
            }
        }
        match value {
            Value::Bool(truth) => self.hit(Aspect::Value, at, truth.to_string()),
            Value::Number(number) => {
                let text = number.to_string();
                let form = if text.contains(['e', 'E']) {
                    "exponent"
                } else if text.contains('.') {
                    "fraction"
                } else {
                    "whole"
                };
                self.hit(Aspect::Number, at, form);
                self.hit(Aspect::Number, at, text);
            }
            Value::String(text) if text.is_empty() => self.hit(Aspect::Empty, at, "string"),
            Value::Null | Value::String(_) => {}
            Value::Array(items) => {
                if items.is_empty() {
                    self.hit(Aspect::Empty, at, "array");
                }
                if let Some(of) = schema.get("items") {
                    for item in items {
                        self.reach(of, &format!("{at}/items"), item, accepts);
                    }
                }
            }
            Value::Object(object) => self.reach_object(schema, at, object, accepts),
        }
    }

    fn reach_object(&mut self, schema: &Map<String, Value>, at: &str, object: &Map<String, Value>, accepts: Accepts) {
        if object.is_empty() {
            self.hit(Aspect::Empty, at, "object");
        }
        let named: BTreeMap<&String, &Value> = properties(schema).collect();
        for (name, member) in &named {
            match object.get(*name) {
                None => self.hit(Aspect::Absent, at, *name),
                Some(value) => {
                    self.hit(Aspect::Present, at, *name);
                    self.reach(
                        member,
                        &format!("{at}/properties/{}", name.replace('~', "~0").replace('/', "~1")),
                        value,
                        accepts,
                    );
                }
            }
        }
        for (_, value) in object.iter().filter(|(name, _)| !named.contains_key(name)) {
            self.hit(Aspect::Unknown, at, "member");
            self.hit(Aspect::Unknown, at, "entry");
            if let Some(rest) = schema.get("additionalProperties") {
                self.reach(rest, &format!("{at}/additionalProperties"), value, accepts);
            }
        }
    }
}

/// A table of all kinds: reached, of how many.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for aspect in Aspect::ALL {
            let (reached, of) = self.total(aspect);
            writeln!(f, "{:<30} {reached:>6} of {of:>6}", aspect.name())?;
        }
        Ok(())
    }
}

/// The parts of `anyOf`, `oneOf` (alternatives) and `allOf` (all at once), with their pointers.
fn parts<'s>(schema: &'s Map<String, Value>, at: &str) -> Vec<(String, bool, &'s Value)> {
    let of = |keyword: &'static str| {
        let parts = schema.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate();
        parts.map(move |(index, part)| (format!("{at}/{keyword}/{index}"), keyword != "allOf", part))
    };
    of("anyOf").chain(of("oneOf")).chain(of("allOf")).collect()
}

/// The values of `const` or `enum`.
fn listed(schema: &Map<String, Value>) -> Option<Vec<Value>> {
    schema.get("const").map(|one| vec![one.clone()]).or_else(|| schema.get("enum")?.as_array().cloned())
}

fn is_open(schema: &Map<String, Value>) -> bool {
    schema.get("x-msp-openness").is_some_and(|openness| openness == "open")
}

fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        // Without a `type`, values are made of the type that the keywords speak of.
        _ if schema.contains_key("properties") => vec!["object"],
        _ => Vec::new(),
    }
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn required(schema: &Map<String, Value>) -> Vec<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn limit(schema: &Map<String, Value>, keyword: &str) -> u64 {
    schema.get(keyword).and_then(Value::as_u64).unwrap_or(0)
}

/// A schema that says nothing about values.
fn is_anything(schema: &Map<String, Value>) -> bool {
    schema
        .keys()
        .all(|key| matches!(key.as_str(), "description" | "title" | "default" | "examples") || key.starts_with("x-"))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// Integers that must come up: the ends of the range, and those that a careless reader changes.
fn integer_edges(schema: &Map<String, Value>) -> Vec<i128> {
    let bound = |keyword: &str| {
        schema.get(keyword).and_then(|bound| bound.as_i64().map(i128::from).or_else(|| bound.as_u64().map(i128::from)))
    };
    let exclusive = |keyword: &str, step: i128| bound(keyword).map(|bound| bound + step);
    let low = bound("minimum").or_else(|| exclusive("exclusiveMinimum", 1)).unwrap_or(i128::from(i64::MIN));
    let unsigned = bound("minimum").is_some_and(|low| low >= 0);
    let widest = if unsigned { i128::from(u64::MAX) } else { i128::from(i64::MAX) };
    let high = bound("maximum").or_else(|| exclusive("exclusiveMaximum", -1)).unwrap_or(widest);
    let mut edges = vec![low, high, 0, -1, (1 << 53) + 1, -(1 << 53) - 1];
    edges.retain(|edge| (low..=high).contains(edge) && !schema.contains_key("multipleOf"));
    edges
}
