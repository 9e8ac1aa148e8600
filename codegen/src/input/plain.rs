//! Any JSON Schema: its definitions, and its root where that says something.

use super::Reading;
use super::references::file_name;
use crate::document::Node;
use crate::options::Options;
use crate::pointer;
use crate::schemas::{DocumentId, Kind, Schemas};

/// Keywords of a root that only holds definitions.
const NOT_A_SHAPE: [&str; 11] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$vocabulary",
    "title",
    "description",
    "$defs",
    "definitions",
    "examples",
    "deprecated",
];

pub(super) fn read(reading: &mut Reading, roots: &[DocumentId], schemas: &mut Schemas, options: &Options) {
    for (index, id) in roots.iter().enumerate() {
        let document = reading.loader.document(*id);
        let asked_for = options.root.clone().filter(|_| index == 0);
        let name = asked_for.unwrap_or_else(|| file_name(&document.file));
        let mut definitions = Vec::new();
        for keyword in ["$defs", "definitions"] {
            let folder = pointer::join("", keyword);
            let members = document.root.get(keyword).map(Node::members).unwrap_or_default();
            definitions.extend(members.iter().map(|(name, _)| (pointer::join(&folder, name), name.clone())));
        }
        if says_something(&document.root) || definitions.is_empty() {
            reading.references.define((*id, String::new()), name.clone());
        }
        for (pointer, name) in definitions {
            reading.references.define((*id, pointer), name);
        }
        reading.roots.insert(*id, name);
    }
    reading.finish(schemas);
    schemas.kind = Some(Kind::Plain);
}

/// Whether a root is a schema itself, rather than a place for definitions.
fn says_something(root: &Node) -> bool {
    let is_shape = |name: &str| !NOT_A_SHAPE.contains(&name) && !name.starts_with("x-");
    !root.is_object() || root.members().iter().any(|(name, _)| is_shape(name))
}
