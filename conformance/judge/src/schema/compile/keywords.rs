//! What the compiler knows about single keywords, and how two objects become one.

use serde_json::{Map, Value};

use crate::schema::pattern::Pattern;
use crate::schema::program::{Kinds, Member, Names, Node, Object};

/// Both objects in one, where no member is named by both with different demands.
pub(super) fn merge_objects(one: &Object, other: &Object) -> Option<Object> {
    if one.rest.is_some() || other.rest.is_some() || !one.dependent.is_empty() || !other.dependent.is_empty() {
        return None;
    }
    let mut members: Vec<Member> =
        other.members.iter().map(|it| Member { name: it.name.clone(), node: it.node }).collect();
    let mut required = other.required;
    for (index, member) in one.members.iter().enumerate() {
        let at = match members.iter().position(|it| it.name == member.name) {
            // Equal demands have equal nodes where they are one definition or plain kinds.
            Some(at) if members[at].node == member.node => at,
            Some(_) => return None,
            None => {
                members.push(Member { name: member.name.clone(), node: member.node });
                members.len() - 1
            }
        };
        if at >= 128 {
            return None;
        }
        if one.required & (1 << index) != 0 {
            required |= 1 << at;
        }
    }
    let names = Names::new(members.iter().map(|member| &*member.name));
    Some(Object { names, members: members.into(), required, dependent: Box::default(), rest: None })
}

pub(super) const NUMERIC: Kinds = Kinds::INTEGER.with(Kinds::NUMBER);

/// Keywords that the compiler follows; one that is not here makes the place ask.
pub(super) const KNOWN: [&str; 18] = [
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "dependentRequired",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "pattern",
];
pub(super) const OBJECT_KEYWORDS: [&str; 4] = ["properties", "required", "additionalProperties", "dependentRequired"];

/// Keywords that say nothing about an instance. `format` is one of them: the slow lane does not assert it either.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    keyword.starts_with("x-")
        || matches!(
            keyword,
            "title"
                | "description"
                | "default"
                | "examples"
                | "$comment"
                | "deprecated"
                | "readOnly"
                | "writeOnly"
                | "format"
                | "$schema"
                | "$id"
                | "$defs"
                | "definitions"
        )
}

pub(super) fn kinds(ty: &Value) -> Option<Kinds> {
    let one = |name: &Value| {
        Some(match name.as_str()? {
            "null" => Kinds::NULL,
            "boolean" => Kinds::BOOLEAN,
            "integer" => Kinds::INTEGER,
            "number" => NUMERIC,
            "string" => Kinds::STRING,
            "array" => Kinds::ARRAY,
            "object" => Kinds::OBJECT,
            _ => return None,
        })
    };
    match ty {
        Value::Array(names) => names.iter().try_fold(Kinds::EMPTY, |all, name| Some(all.with(one(name)?))),
        name => one(name),
    }
}

/// The node for bounds, where there are any. Only bounds on integers are followed.
pub(super) fn number_node(object: &Map<String, Value>, allowed: Kinds) -> Result<Option<Node>, ()> {
    if !object.contains_key("minimum") && !object.contains_key("maximum") {
        return Ok(None);
    }
    if allowed.holds(Kinds::NUMBER) {
        return Err(());
    }
    let bound = |keyword: &str, none: i64| match object.get(keyword) {
        None => Ok(none),
        // A bound such as `0.0` is the same as the integer.
        Some(value) => value.as_i64().or_else(|| value.as_f64().filter(|it| *it == 0.0).map(|_| 0)).ok_or(()),
    };
    Ok(Some(Node::Integer { least: bound("minimum", i64::MIN)?, most: bound("maximum", i64::MAX)? }))
}

pub(super) fn text_node(object: &Map<String, Value>) -> Result<Option<Node>, ()> {
    let not_empty = match count(object, "minLength", 0) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(()),
    };
    let pattern = match object.get("pattern") {
        None => None,
        Some(pattern) => Some(pattern.as_str().and_then(Pattern::parse).ok_or(())?),
    };
    Ok((not_empty || pattern.is_some()).then_some(Node::Text { not_empty, pattern }))
}

/// A keyword that counts, or `none` where it is absent; `None` where it is no count.
pub(super) fn count(object: &Map<String, Value>, keyword: &str, none: usize) -> Option<usize> {
    object.get(keyword).map_or(Some(none), |value| usize::try_from(value.as_u64()?).ok())
}

/// Whether a word is written in JSON without escapes; if it is, it can be compared byte by byte.
pub(super) fn is_plain(word: &str) -> bool {
    !word.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))
}

pub(super) fn mask(bits: &[usize]) -> u128 {
    bits.iter().fold(0, |mask, bit| mask | 1 << bit)
}
