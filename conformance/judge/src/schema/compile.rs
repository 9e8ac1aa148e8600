//! From the definitions of a bundle to a [`Program`].
//!
//! What the compiler does not know becomes [`Node::Ask`] at that very place: a keyword is never ignored, except for
//! the annotations of [`is_annotation`].

mod keywords;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::program::{Id, Kinds, Member, Names, Node, Object, Program};
use super::source::{Dialect, EventShape, referenced};
pub(crate) use keywords::is_annotation;
use keywords::{KNOWN, NUMERIC, OBJECT_KEYWORDS, count, is_plain, kinds, mask, merge_objects, number_node, text_node};

/// Compiles definitions on demand and keeps them.
pub(crate) struct Compiler<'v> {
    definitions: &'v Map<String, Value>,
    dialect: Dialect,
    event: Option<&'v EventShape>,
    nodes: Vec<Node>,
    done: HashMap<&'v str, Id>,
    /// Nodes that say nothing but the kind are made once, so that equal demands are equal nodes.
    plain: HashMap<u8, Id>,
}

impl<'v> Compiler<'v> {
    pub(crate) fn new(definitions: &'v Map<String, Value>, dialect: Dialect, event: Option<&'v EventShape>) -> Self {
        Self {
            definitions,
            dialect,
            event,
            nodes: vec![Node::Ask, Node::Kinds(Kinds::ALL)],
            done: HashMap::new(),
            plain: HashMap::new(),
        }
    }

    const ASK: Id = 0;
    const ANY: Id = 1;

    /// Ends the work: `events` are the stored events, by method, with the schema of their params.
    pub(crate) fn finish(mut self, events: &[(&'v str, Option<&'v Value>)]) -> Program {
        let shared = self
            .event
            .and_then(|event| self.definitions.get(&event.definition))
            .and_then(|event| event.pointer("/properties/params"))
            .map_or(Self::ANY, |params| self.schema(params));
        let event_params = events
            .iter()
            .map(|(_, params)| {
                let own = params.map_or(Self::ANY, |params| self.schema(params));
                self.merge(shared, own)
            })
            .collect();
        Program { nodes: self.nodes, events: Names::new(events.iter().map(|(name, _)| *name)), event_params }
    }

    fn push(&mut self, node: Node) -> Id {
        let id = Id::try_from(self.nodes.len()).unwrap_or(Self::ASK);
        self.nodes.push(node);
        id
    }

    fn kinds_node(&mut self, kinds: Kinds) -> Id {
        if let Some(id) = self.plain.get(&kinds.0) {
            return *id;
        }
        let id = self.push(Node::Kinds(kinds));
        self.plain.insert(kinds.0, id);
        id
    }

    /// The node of a definition, compiled once; a name that is not there asks.
    pub(crate) fn definition(&mut self, name: &str) -> Id {
        let Some((name, schema)) = self.definitions.get_key_value(name) else { return Self::ASK };
        if let Some(id) = self.done.get(name.as_str()) {
            return *id;
        }
        // The place is taken before the work, so that a definition can name itself.
        let id = self.push(Node::Ask);
        self.done.insert(name, id);
        if let Some(event) = self.event.filter(|event| event.definition == *name) {
            // The scanner knows the member names of MSP; events of another shape are left to the slow lane.
            if event.name == "method" && event.payload == "params" {
                self.nodes[id as usize] = Node::Event;
            }
            return id;
        }
        let inner = self.schema(schema);
        let moves = inner as usize + 1 == self.nodes.len()
            && !self.done.values().chain(self.plain.values()).any(|other| *other == inner);
        // A node that was just made and that nothing else names can move into the place that was kept for it.
        let node = if moves { self.nodes.pop() } else { None };
        self.nodes[id as usize] = node.unwrap_or(Node::Same(inner));
        id
    }

    /// The node of a schema.
    pub(crate) fn schema(&mut self, schema: &'v Value) -> Id {
        let object = match schema {
            Value::Bool(true) => return Self::ANY,
            Value::Bool(false) => return self.push(Node::Never),
            Value::Object(object) => object,
            _ => return Self::ASK,
        };
        let keywords: Vec<&str> = object.keys().map(String::as_str).filter(|key| !is_annotation(key)).collect();
        if keywords.is_empty() {
            return Self::ANY;
        }
        if !keywords.iter().all(|key| KNOWN.contains(key)) {
            return Self::ASK;
        }
        let mut parts = Vec::new();
        if object.contains_key("$ref") {
            let Some(name) = referenced(schema) else { return Self::ASK };
            // Draft 7 ignores what stands beside a reference, later drafts do not: where it matters, ask.
            if keywords.len() > 1 && self.dialect == Dialect::Draft7 {
                return Self::ASK;
            }
            parts.push(self.definition(name));
        }
        if let Some(Value::Array(all)) = object.get("allOf") {
            parts.extend(all.iter().map(|part| self.schema(part)));
        }
        for (keyword, exclusive) in [("anyOf", false), ("oneOf", true)] {
            if let Some(branches) = object.get(keyword) {
                parts.push(self.branches(branches, exclusive));
            }
        }
        if keywords.iter().any(|key| !matches!(*key, "$ref" | "allOf" | "anyOf" | "oneOf")) {
            parts.push(self.plain(object));
        }
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or(Self::ANY);
        parts.fold(first, |one, other| self.push(Node::Both(one, other)))
    }

    fn branches(&mut self, branches: &'v Value, exclusive: bool) -> Id {
        let Some(schemas) = branches.as_array() else { return Self::ASK };
        let kinds: Vec<Kinds> = schemas.iter().map(|branch| self.kinds_of(branch, 0)).collect();
        let apart = kinds.iter().enumerate().all(|(at, one)| kinds[..at].iter().all(|other| !one.holds(*other)));
        if exclusive && !apart && !Self::is_tagged(schemas) {
            // Only a proof that no second branch fits would do, and this lane never proves a misfit.
            return Self::ASK;
        }
        let ids: Vec<Id> = schemas.iter().map(|branch| self.schema(branch)).collect();
        if !apart || kinds.contains(&Kinds::EMPTY) {
            return self.push(Node::AnyOf(ids.into()));
        }
        let never = self.push(Node::Never);
        let mut by = [never; 7];
        for (kinds, id) in kinds.iter().zip(&ids) {
            for (bit, slot) in by.iter_mut().enumerate() {
                if kinds.0 & (1 << bit) != 0 {
                    *slot = *id;
                }
            }
        }
        // By its first byte every number looks like an integer.
        if by[Kinds::INTEGER.slot()] == never {
            by[Kinds::INTEGER.slot()] = by[Kinds::NUMBER.slot()];
        }
        self.push(Node::ByKind(by))
    }

    /// Kinds that a schema can accept at most; `ALL` where that is not plain to see. Integer and number count as one.
    fn kinds_of(&self, schema: &Value, depth: u32) -> Kinds {
        let Some(object) = schema.as_object() else { return Kinds::ALL };
        if let Some(target) = referenced(schema) {
            return match self.definitions.get(target) {
                Some(schema) if depth < 16 => self.kinds_of(schema, depth + 1),
                _ => Kinds::ALL,
            };
        }
        if let Some(Value::String(_)) = object.get("const") {
            return Kinds::STRING;
        }
        match object.get("type").map(kinds) {
            Some(Some(kinds)) if kinds.holds(NUMERIC) => kinds.with(NUMERIC),
            Some(Some(kinds)) => kinds,
            _ => Kinds::ALL,
        }
    }

    /// Whether the branches are objects that require one member with a word of their own, so that two never fit.
    fn is_tagged(branches: &[Value]) -> bool {
        let Some(first) = branches.first().and_then(|branch| branch.get("required")?.as_array()) else { return false };
        first.iter().filter_map(Value::as_str).any(|tag| {
            let mut seen: Vec<&Value> = Vec::new();
            branches.iter().all(|branch| {
                let requires =
                    branch.get("required").and_then(Value::as_array).is_some_and(|it| it.iter().any(|it| it == tag));
                let member = branch.pointer(&format!("/properties/{tag}"));
                let words: Vec<&Value> = match member.map(|member| (member.get("const"), member.get("enum"))) {
                    Some((Some(word), _)) => vec![word],
                    Some((None, Some(Value::Array(words)))) => words.iter().collect(),
                    _ => return false,
                };
                let fresh = words.iter().all(|word| word.is_string() && !seen.contains(word));
                seen.extend(words);
                requires && fresh && branch.get("type").is_some_and(|ty| ty == "object")
            })
        })
    }

    /// Everything but references and branches.
    fn plain(&mut self, object: &'v Map<String, Value>) -> Id {
        let allowed = match object.get("type") {
            None => Kinds::ALL,
            Some(ty) => match kinds(ty) {
                Some(kinds) => kinds,
                None => return Self::ASK,
            },
        };
        if object.contains_key("enum") || object.contains_key("const") {
            return self.words(object, allowed);
        }
        let Ok(number) = number_node(object, allowed) else { return Self::ASK };
        let Ok(text) = text_node(object) else { return Self::ASK };
        let array = object.contains_key("items") || object.contains_key("minItems") || object.contains_key("maxItems");
        let members = OBJECT_KEYWORDS.iter().any(|keyword| object.contains_key(*keyword));
        let special = [
            (NUMERIC, number.map(|node| self.push(node))),
            (Kinds::STRING, text.map(|node| self.push(node))),
            (Kinds::ARRAY, array.then(|| self.array(object))),
            (Kinds::OBJECT, members.then(|| self.object(object))),
        ];
        let special: Vec<(Kinds, Id)> = special
            .into_iter()
            .filter_map(|(kind, id)| Some((kind, id?)))
            .filter(|(kind, _)| allowed.holds(*kind))
            .collect();
        match special.as_slice() {
            [] => self.kinds_node(allowed),
            // The special node itself refuses all other kinds.
            [(kind, id)] if allowed.and(*kind) == allowed => *id,
            _ => {
                let plain = self.kinds_node(allowed);
                let mut by = [plain; 7];
                for (kind, id) in special {
                    for (bit, slot) in by.iter_mut().enumerate() {
                        if kind.0 & (1 << bit) != 0 {
                            *slot = id;
                        }
                    }
                }
                self.push(Node::ByKind(by))
            }
        }
    }

    fn words(&mut self, object: &'v Map<String, Value>, allowed: Kinds) -> Id {
        // With both keywords, or with others beside them, somebody else has to think.
        let beside = object
            .keys()
            .filter(|key| !is_annotation(key))
            .any(|key| !matches!(key.as_str(), "type" | "enum" | "const"));
        let values: Vec<&Value> = match (object.get("enum"), object.get("const")) {
            (Some(Value::Array(values)), None) if !beside => values.iter().collect(),
            (None, Some(value)) if !beside => vec![value],
            _ => return Self::ASK,
        };
        let mut words: Vec<&str> = Vec::new();
        let mut also = Kinds::EMPTY;
        for value in values {
            match value {
                Value::String(word) if allowed.holds(Kinds::STRING) && is_plain(word) => {
                    words.push(word);
                }
                Value::Null if allowed.holds(Kinds::NULL) => also = also.with(Kinds::NULL),
                Value::String(_) | Value::Null => {} // cannot come: the type forbids it, or it is written with escapes
                _ => return Self::ASK,
            }
        }
        self.push(Node::Words { words: Names::new(words), also })
    }

    fn array(&mut self, object: &'v Map<String, Value>) -> Id {
        let item = match object.get("items") {
            Some(Value::Array(_)) => return Self::ASK,
            Some(items) => self.schema(items),
            None => Self::ANY,
        };
        let (Some(least), Some(most)) = (count(object, "minItems", 0), count(object, "maxItems", usize::MAX)) else {
            return Self::ASK;
        };
        self.push(Node::Array { item, least, most })
    }

    fn object(&mut self, object: &'v Map<String, Value>) -> Id {
        let rest = match object.get("additionalProperties") {
            None | Some(Value::Bool(true)) => None,
            Some(schema) => Some(self.schema(schema)),
        };
        let mut members: Vec<Member> = Vec::new();
        if let Some(properties) = object.get("properties").and_then(Value::as_object) {
            for (name, schema) in properties {
                if !is_plain(name) {
                    return Self::ASK;
                }
                members.push(Member { name: name.as_str().into(), node: self.schema(schema) });
            }
        }
        let bit = |members: &mut Vec<Member>, name: &Value| -> Option<usize> {
            let name = name.as_str().filter(|name| is_plain(name))?;
            if let Some(index) = members.iter().position(|member| *member.name == *name) {
                return Some(index);
            }
            members.push(Member { name: name.into(), node: rest.unwrap_or(Self::ANY) });
            Some(members.len() - 1)
        };
        let mut required = Vec::new();
        for name in object.get("required").and_then(Value::as_array).into_iter().flatten() {
            required.push(bit(&mut members, name));
        }
        let mut dependent = Vec::new();
        for (name, needs) in object.get("dependentRequired").and_then(Value::as_object).into_iter().flatten() {
            let needs: Option<Vec<usize>> =
                needs.as_array().and_then(|needs| needs.iter().map(|it| bit(&mut members, it)).collect());
            dependent.push(bit(&mut members, &Value::String(name.clone())).zip(needs));
        }
        let required: Option<Vec<usize>> = required.into_iter().collect();
        let dependent: Option<Vec<(usize, Vec<usize>)>> = dependent.into_iter().collect();
        // One bit for each member has to do; the largest type that is known has 104.
        let (Some(required), Some(dependent), true) = (required, dependent, members.len() <= 128) else {
            return Self::ASK;
        };
        let names = Names::new(members.iter().map(|member| &*member.name));
        self.push(Node::Object(Box::new(Object {
            names,
            members: members.into(),
            required: mask(&required),
            dependent: dependent.into_iter().map(|(index, needs)| (index, mask(&needs))).collect(),
            rest,
        })))
    }

    /// One node that demands what both demand: a single object where that can be had, so that nothing is read twice.
    fn merge(&mut self, one: Id, other: Id) -> Id {
        if one == Self::ANY {
            return other;
        }
        let merged = match (&self.nodes[one as usize], &self.nodes[other as usize]) {
            (Node::Object(one), Node::Object(other)) => merge_objects(one, other),
            _ => None,
        };
        self.push(merged.map_or(Node::Both(one, other), |object| Node::Object(Box::new(object))))
    }
}
