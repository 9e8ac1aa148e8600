//! From the raw document to the plan.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fits::Lens;
use super::merge::merge;
use super::pattern::Pattern;
use super::plan::{Arm, Bounds, Choice, List, Member, Node, NodeId, Plan, Record, Rest, Shape, Tagged, Text, Values};
use crate::pointer::{self, escape};

/// Keywords that the maker does not follow. A schema with one of them is reported, never guessed at.
const BEYOND: [&str; 17] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentSchemas",
    "prefixItems",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
    "$id",
];

/// Keywords that say something about objects, arrays, strings and numbers alone.
const OF_OBJECTS: [&str; 6] =
    ["properties", "required", "additionalProperties", "dependentRequired", "minProperties", "maxProperties"];
const OF_ARRAYS: [&str; 4] = ["items", "minItems", "maxItems", "uniqueItems"];
const OF_STRINGS: [&str; 3] = ["minLength", "maxLength", "pattern"];
const OF_NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// Schemas made by merging nest at most this deep; deeper ones repeat themselves.
const DEEPEST_MERGE: usize = 24;

/// Reads every definition of `document`, and the root.
pub(super) fn compile(document: &Value) -> (Plan, BTreeMap<String, NodeId>) {
    let mut compiler = Compiler {
        document,
        siblings: !old_dialect(document),
        plan: Plan::default(),
        by_pointer: BTreeMap::new(),
        merges: 0,
    };
    for place in ["$defs", "definitions"] {
        let names = document.get(place).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        for name in names {
            compiler.target(&pointer::of(&[place, name]));
        }
    }
    compiler.target("");
    compiler.plan.measure();
    (compiler.plan, compiler.by_pointer)
}

/// Up to draft 7, whatever stands beside `$ref` is ignored.
pub(super) fn old_dialect(document: &Value) -> bool {
    let dialect = document.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| dialect.contains(old))
}

struct Compiler<'d> {
    document: &'d Value,
    siblings: bool,
    plan: Plan,
    by_pointer: BTreeMap<String, NodeId>,
    merges: usize,
}

impl Compiler<'_> {
    /// The node at a pointer of the document, made on first sight.
    fn target(&mut self, pointer: &str) -> NodeId {
        if let Some(id) = self.by_pointer.get(pointer) {
            return *id;
        }
        let id = self.reserve(pointer);
        self.by_pointer.insert(pointer.to_owned(), id);
        match self.document.pointer(pointer) {
            Some(schema) => self.fill(id, &schema.clone()),
            None => self.plan.nodes[id].shape = Shape::Unmakable(format!("nothing stands at `{pointer}`")),
        }
        id
    }

    fn reserve(&mut self, at: &str) -> NodeId {
        self.plan.nodes.push(Node { shape: Shape::Never, at: at.to_owned(), implied: false });
        self.plan.nodes.len() - 1
    }

    fn node(&mut self, schema: &Value, at: &str) -> NodeId {
        let id = self.reserve(at);
        self.fill(id, schema);
        id
    }

    fn fill(&mut self, id: NodeId, schema: &Value) {
        let at = self.plan.nodes[id].at.clone();
        let shape = match schema {
            Value::Bool(true) => Shape::Any,
            Value::Bool(false) => Shape::Never,
            Value::Object(keywords) => self.keywords(id, keywords, &at).unwrap_or_else(Shape::Unmakable),
            _ => Shape::Unmakable("a schema is an object or a boolean".into()),
        };
        self.plan.nodes[id].shape = shape;
    }

    fn keywords(&mut self, id: NodeId, schema: &Map<String, Value>, at: &str) -> Result<Shape, String> {
        if let Some(reference) = schema.get("$ref") {
            if !self.siblings || !schema.keys().any(|key| key != "$ref" && constrains(key)) {
                return self.reference(reference);
            }
            return self.merged(id, schema, at);
        }
        let beyond = |key: &&str| schema.contains_key(*key) && !(**key == *"$id" && at.is_empty());
        if let Some(keyword) = BEYOND.iter().find(|key| beyond(key)) {
            return Err(format!("keyword `{keyword}`"));
        }
        let alone = schema.keys().filter(|key| constrains(key)).count() == 1;
        if let Some(parts) = schema.get("allOf") {
            return match parts.as_array().map(Vec::as_slice) {
                Some([Value::Object(only)]) if alone => self.keywords(id, only, &format!("{at}/allOf/0")),
                Some(_) => self.merged(id, schema, at),
                None => Err("`allOf` is an array".into()),
            };
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(keyword) {
                let branches = branches.as_array().ok_or_else(|| format!("`{keyword}` is an array"))?;
                return Ok(self.union(schema, keyword, branches, at));
            }
        }
        if schema.contains_key("const") || schema.contains_key("enum") {
            return self.values(schema, at);
        }
        self.typed(id, schema, at)
    }

    fn reference(&mut self, reference: &Value) -> Result<Shape, String> {
        let text = reference.as_str().ok_or("`$ref` is a string")?;
        let pointer = find_pointer(text)
            .ok_or_else(|| format!("`$ref` to `{text}`, which is not a pointer into the document"))?;
        Ok(Shape::Ref(self.target(&pointer)))
    }

    /// Several schemas at once become one, where their keywords allow it.
    fn merged(&mut self, id: NodeId, schema: &Map<String, Value>, at: &str) -> Result<Shape, String> {
        if self.merges >= DEEPEST_MERGE {
            return Err("schemas that hold at once nest too deep".into());
        }
        self.merges += 1;
        let merged = merge(self.document, self.siblings, schema);
        let shape = merged.and_then(|merged| match &merged {
            Value::Object(keywords) => self.keywords(id, keywords, at),
            Value::Bool(false) => Ok(Shape::Never),
            _ => Ok(Shape::Any),
        });
        self.merges -= 1;
        shape
    }

    fn union(&mut self, schema: &Map<String, Value>, keyword: &str, branches: &[Value], at: &str) -> Shape {
        let exclusive = keyword == "oneOf";
        let base: Map<String, Value> = schema
            .iter()
            .filter(|(key, _)| *key != keyword && constrains(key))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let mut ids = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let place = format!("{at}/{keyword}/{index}");
            let whole = if base.is_empty() { branch.clone() } else { serde_json::json!({ "allOf": [base, branch] }) };
            ids.push(self.node(&whole, &place));
        }
        self.tell_apart(ids, exclusive, at)
    }

    /// Object alternatives with a tag become [`Shape::Tagged`], with `null` beside them where it is allowed.
    fn tell_apart(&mut self, ids: Vec<NodeId>, exclusive: bool, at: &str) -> Shape {
        let null = |plan: &Plan, id: NodeId| plan.resolve(id).is_some_and(|id| matches!(plan.shape(id), Shape::Null));
        let (nulls, objects): (Vec<_>, Vec<_>) = ids.iter().partition(|id| null(&self.plan, **id));
        match self.find_tag(&objects, exclusive) {
            Some(tagged) if nulls.is_empty() => Shape::Tagged(tagged),
            Some(tagged) => {
                let inner = self.reserve(at);
                self.plan.nodes[inner].shape = Shape::Tagged(tagged);
                Shape::Choice(Choice { branches: std::iter::once(inner).chain(nulls).collect(), exclusive })
            }
            None => Shape::Choice(Choice { branches: ids, exclusive }),
        }
    }

    fn find_tag(&self, branches: &[NodeId], exclusive: bool) -> Option<Tagged> {
        let record = |id: &NodeId| match self.plan.shape(self.plan.resolve(*id)?) {
            Shape::Record(record) => Some(record),
            _ => None,
        };
        let records: Vec<&Record> = branches.iter().map(record).collect::<Option<_>>()?;
        let (first, others) = records.split_first()?;
        if others.is_empty() {
            return None;
        }
        first.members.iter().find_map(|member| {
            let mut tagged = Tagged { tag: member.name.clone(), arms: Vec::new(), other: None, exclusive };
            for (at, record) in records.iter().enumerate() {
                let member = record.find_member(&tagged.tag).filter(|member| member.required)?;
                match self.plan.shape(self.plan.resolve(member.node)?) {
                    Shape::Values(values) if !values.open && values.known.iter().all(Value::is_string) => {
                        if values.known.iter().any(|tag| tagged.find_arm(tag).is_some()) {
                            return None;
                        }
                        tagged.arms.push(Arm { tags: values.known.clone(), node: branches[at] });
                    }
                    Shape::Text(text)
                        if at + 1 == records.len()
                            && text.least == 0
                            && text.most.is_none()
                            && text.pattern.is_none() =>
                    {
                        tagged.other = Some(branches[at]);
                    }
                    _ => return None,
                }
            }
            Some(tagged)
        })
    }

    fn values(&mut self, schema: &Map<String, Value>, at: &str) -> Result<Shape, String> {
        let mut values = match (schema.get("enum"), schema.get("const")) {
            (None, Some(one)) => vec![one.clone()],
            (Some(Value::Array(all)), one) => {
                all.iter().filter(|value| one.is_none_or(|one| super::fits::equal(one, value))).cloned().collect()
            }
            _ => return Err("`enum` is an array".into()),
        };
        let open = schema.get("x-msp-openness").is_some_and(|openness| openness == "open");
        let constant = schema.contains_key("const") || values.len() == 1;
        let rest: Map<String, Value> = schema
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "enum" | "const") && constrains(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !rest.is_empty() {
            let beside = self.node(&Value::Object(rest), at);
            values.retain(|value| self.plan.fits(beside, value, Lens::Schema));
        }
        Ok(if values.is_empty() && !open {
            Shape::Never
        } else {
            Shape::Values(Values { known: values, open, constant })
        })
    }

    fn typed(&mut self, id: NodeId, schema: &Map<String, Value>, at: &str) -> Result<Shape, String> {
        let has = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            Some(_) => return Err("`type` is a string or an array".into()),
            None => {
                let families = [
                    ("object", has(&OF_OBJECTS)),
                    ("array", has(&OF_ARRAYS)),
                    ("string", has(&OF_STRINGS)),
                    ("number", has(&OF_NUMBERS)),
                ];
                let named: Vec<_> = families.iter().filter(|(_, present)| *present).map(|(name, _)| *name).collect();
                match named.as_slice() {
                    [] => return Ok(Shape::Any),
                    [_] => self.plan.nodes[id].implied = true,
                    _ => return Err("keywords of several types without a `type`".into()),
                }
                named
            }
        };
        if let [only] = types.as_slice() {
            return self.of_type(only, schema, at);
        }
        let mut branches = Vec::new();
        for name in types {
            let branch = self.reserve(at);
            let shape = self.of_type(name, schema, at)?;
            self.plan.nodes[branch].shape = shape;
            branches.push(branch);
        }
        Ok(Shape::Choice(Choice { branches, exclusive: false }))
    }

    fn of_type(&mut self, name: &str, schema: &Map<String, Value>, at: &str) -> Result<Shape, String> {
        Ok(match name {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer(bounds(schema)),
            "number" => Shape::Number(bounds(schema)),
            "string" => Shape::Text(text(schema)?),
            "array" => {
                let items = match schema.get("items") {
                    Some(Value::Array(_)) => return Err("`items` with a schema for each place".into()),
                    Some(items) => self.node(items, &format!("{at}/items")),
                    None => self.node(&Value::Bool(true), &format!("{at}/items")),
                };
                let unique = schema.get("uniqueItems").is_some_and(|unique| *unique == true);
                Shape::List(List {
                    items,
                    least: count(schema, "minItems").unwrap_or(0),
                    most: count(schema, "maxItems"),
                    unique,
                })
            }
            "object" => Shape::Record(self.record(schema, at)?),
            _ => return Err(format!("type `{name}`")),
        })
    }

    fn record(&mut self, schema: &Map<String, Value>, at: &str) -> Result<Record, String> {
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut members = Vec::new();
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let node = self.node(member, &format!("{at}/properties/{}", escape(name)));
            members.push(Member { name: name.clone(), node, required: required.contains(&name.as_str()) });
        }
        let rest = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Rest::Open,
            Some(Value::Bool(false)) => Rest::Closed,
            Some(other) => Rest::Typed(self.node(other, &format!("{at}/additionalProperties"))),
        };
        for name in required {
            if members.iter().all(|member| member.name != name) {
                let beside = schema.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
                let node = self.node(&beside, &format!("{at}/additionalProperties"));
                members.push(Member { name: name.to_owned(), node, required: true });
            }
        }
        Ok(Record {
            members,
            rest,
            dependent: dependent(schema)?,
            least: count(schema, "minProperties").unwrap_or(0),
            most: count(schema, "maxProperties"),
        })
    }
}

/// `dependentRequired`, and the array form of the older `dependencies`.
fn dependent(schema: &Map<String, Value>) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut all = Vec::new();
    for keyword in ["dependentRequired", "dependencies"] {
        for (name, needs) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            let needs = needs.as_array().ok_or_else(|| format!("`{keyword}` with a schema"))?;
            all.push((name.clone(), needs.iter().filter_map(Value::as_str).map(str::to_owned).collect()));
        }
    }
    Ok(all)
}

fn text(schema: &Map<String, Value>) -> Result<Text, String> {
    let pattern = match schema.get("pattern").and_then(Value::as_str) {
        Some(text) => Some(Pattern::parse(text).ok_or_else(|| format!("pattern `{text}`"))?),
        None => None,
    };
    Ok(Text { least: count(schema, "minLength").unwrap_or(0), most: count(schema, "maxLength"), pattern })
}

fn bounds(schema: &Map<String, Value>) -> Bounds {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    Bounds {
        low: number("minimum"),
        high: number("maximum"),
        above: number("exclusiveMinimum"),
        below: number("exclusiveMaximum"),
        step: number("multipleOf"),
    }
}

/// A count may be written `2.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small range first")]
fn count(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_f64).map(|count| count.clamp(0.0, 1e9) as usize)
}

/// Whether a keyword says something about values, so that it may not be left aside.
pub(super) fn constrains(key: &str) -> bool {
    const OTHERS: [&str; 8] = ["type", "const", "enum", "anyOf", "oneOf", "allOf", "$ref", "dependencies"];
    OTHERS.contains(&key)
        || [&OF_OBJECTS[..], &OF_ARRAYS, &OF_STRINGS, &OF_NUMBERS, &BEYOND].iter().any(|family| family.contains(&key))
}

/// The JSON pointer of a reference that stays in the document.
pub(super) fn find_pointer(reference: &str) -> Option<String> {
    let fragment = reference.strip_prefix('#')?;
    if !(fragment.is_empty() || fragment.starts_with('/')) {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = if *first == b'%' { tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()) } else { None };
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
