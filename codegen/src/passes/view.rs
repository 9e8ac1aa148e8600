//! One schema with its keywords sorted by what they say, and `null` taken out.

use crate::diagnostic::Diagnostic;
use crate::document::{Location, Node};
use crate::ir::JsonType;
use crate::schemas::DocumentId;

/// A schema and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) node: &'a Node,
    pub(crate) document: DocumentId,
    pub(crate) at: Location,
}

impl<'a> Place<'a> {
    /// A subschema below this one.
    pub(crate) fn below(&self, node: &'a Node, path: &[&str]) -> Self {
        let at = path.iter().fold(self.at.clone(), |at, segment| at.join(segment));
        Self { node, document: self.document, at }
    }
}

/// The keywords that a shape is made from; all are free of `null`.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    pub(crate) place: Place<'a>,
    /// Whether the schema says that `null` is allowed, in one of the ways there are.
    pub(crate) null: bool,
    /// `type` as a list; `None` where it is not given.
    pub(crate) types: Option<Vec<JsonType>>,
    /// `$ref`.
    pub(crate) reference: Option<&'a str>,
    /// `enum`, or `const` as an enum of one.
    pub(crate) values: Option<Vec<&'a Node>>,
    /// `anyOf` or `oneOf`.
    pub(crate) union: Option<Vec<Place<'a>>>,
    /// `allOf`.
    pub(crate) all_of: Vec<Place<'a>>,
    /// Has `properties`, `required` or `additionalProperties`.
    pub(crate) object: bool,
    /// Has `items`.
    pub(crate) array: bool,
}

/// Keywords that change what a schema accepts and that no type here can say.
const UNSUPPORTED: &[&str] = &[
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "$dynamicRef",
    "$recursiveRef",
];

impl<'a> View<'a> {
    /// Sorts the keywords of `place`, which is an object; booleans are the caller's.
    pub(crate) fn of(place: &Place<'a>) -> Result<Self, Vec<Diagnostic>> {
        let node = place.node;
        let mut diagnostics = unsupported(place);
        let types = types(place, &mut diagnostics);
        let values = match (node.get("const"), node.get("enum").and_then(list)) {
            (Some(value), _) => Some(vec![value]),
            (None, Some(values)) => Some(values.iter().collect::<Vec<_>>()),
            (None, None) => None,
        };
        let union = union(place, &mut diagnostics);
        if !diagnostics.is_empty() {
            return Err(diagnostics);
        }
        let null_in_types = types.as_ref().is_none_or(|types| types.contains(&JsonType::Null));
        let null_in_values = values.as_ref().is_none_or(|values| values.iter().any(|value| **value == Node::Null));
        let null_in_union = union.as_ref().is_none_or(|places| places.iter().any(is_null));
        let said = types.is_some() || values.is_some() || union.is_some();
        Ok(Self {
            place: place.clone(),
            null: said && null_in_types && null_in_values && null_in_union,
            types: types.map(|types| types.into_iter().filter(|one| *one != JsonType::Null).collect()),
            reference: node.get("$ref").and_then(Node::as_str),
            values: values.map(|values| values.into_iter().filter(|value| **value != Node::Null).collect()),
            union: union.map(|places| places.into_iter().filter(|place| !is_null(place)).collect()),
            all_of: all_of(place),
            object: ["properties", "required", "additionalProperties"].iter().any(|key| node.get(key).is_some()),
            array: node.get("items").is_some(),
        })
    }
}

impl View<'_> {
    /// Whether the schema itself says what the value is, beside `$ref` and `allOf`.
    pub(crate) fn has_structure(&self) -> bool {
        self.object || self.array || self.types.is_some() || self.values.is_some() || self.union.is_some()
    }
}

/// The elements, where the node is an array.
pub(crate) fn list(node: &Node) -> Option<&[Node]> {
    match node {
        Node::Array(items) => Some(items),
        _ => None,
    }
}

/// Whether a branch says `null` and nothing else.
fn is_null(place: &Place<'_>) -> bool {
    let only_null = |node: &Node| node.items() == [Node::Null];
    place.node.get("type").and_then(Node::as_str) == Some("null")
        || place.node.get("const") == Some(&Node::Null)
        || place.node.get("enum").is_some_and(only_null)
}

fn types(place: &Place<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<JsonType>> {
    let node = place.node.get("type")?;
    let names: Vec<&str> = match node {
        Node::Array(list) => list.iter().filter_map(Node::as_str).collect(),
        _ => node.as_str().into_iter().collect(),
    };
    let mut types = Vec::new();
    for name in &names {
        match JsonType::from_name(name) {
            Some(json_type) if !types.contains(&json_type) => types.push(json_type),
            Some(_) => {}
            None => {
                let message = format!("`type` names `{name}`, which JSON Schema does not have");
                diagnostics.push(Diagnostic::error("codegen/unknown-type", place.at.join("type"), message));
            }
        }
    }
    if names.is_empty() {
        let message = "`type` is neither a name nor a list of names".to_owned();
        diagnostics.push(Diagnostic::error("codegen/unknown-type", place.at.join("type"), message));
    }
    if types.contains(&JsonType::Number) {
        types.retain(|json_type| *json_type != JsonType::Integer);
    }
    Some(types)
}

fn union<'a>(place: &Place<'a>, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Place<'a>>> {
    let lists: Vec<_> =
        ["anyOf", "oneOf"].into_iter().filter_map(|key| Some((key, list(place.node.get(key)?)?))).collect();
    if lists.len() > 1 {
        let message = "`anyOf` and `oneOf` stand beside each other".to_owned();
        diagnostics.push(
            Diagnostic::error("codegen/unsupported-keyword", place.at.clone(), message)
                .help("give each a definition of its own, or merge them"),
        );
    }
    let (key, list) = lists.first()?;
    Some(list.iter().enumerate().map(|(index, node)| place.below(node, &[key, &index.to_string()])).collect())
}

fn all_of<'a>(place: &Place<'a>) -> Vec<Place<'a>> {
    let branches = place.node.get("allOf").map(Node::items).unwrap_or_default();
    branches.iter().enumerate().map(|(index, node)| place.below(node, &["allOf", &index.to_string()])).collect()
}

fn unsupported(place: &Place<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for key in UNSUPPORTED.iter().filter(|key| place.node.get(key).is_some()) {
        found.push(refuse(place, key, "the types cannot say it"));
    }
    if place.node.get("items").is_some_and(|items| matches!(items, Node::Array(_))) {
        found.push(refuse(place, "items", "as a list of schemas it describes a tuple"));
    }
    if let Some(Node::Object(rows)) = place.node.get("dependencies") {
        if rows.iter().any(|(_, row)| list(row).is_none()) {
            found.push(refuse(place, "dependencies", "schemas that depend on a member"));
        }
    }
    found
}

fn refuse(place: &Place<'_>, key: &str, why: &str) -> Diagnostic {
    Diagnostic::error("codegen/unsupported-keyword", place.at.join(key), format!("`{key}` is not supported: {why}"))
        .help("leave it to a validator and take it out of the schema that types are made from")
}

impl JsonType {
    /// The type that JSON Schema calls so.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "null" => JsonType::Null,
            "boolean" => JsonType::Boolean,
            "integer" => JsonType::Integer,
            "number" => JsonType::Number,
            "string" => JsonType::String,
            "array" => JsonType::Array,
            "object" => JsonType::Object,
            _ => return None,
        })
    }

    /// What JSON Schema calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            JsonType::Null => "null",
            JsonType::Boolean => "boolean",
            JsonType::Integer => "integer",
            JsonType::Number => "number",
            JsonType::String => "string",
            JsonType::Array => "array",
            JsonType::Object => "object",
        }
    }
}
