//! Which schemas name themselves: `$id`, `$anchor`, and the fragment form of `$id` that draft 7 has.

use std::collections::BTreeMap;

use super::uri;
use crate::document::{Document, Node};
use crate::keywords;
use crate::pointer;
use crate::schemas::DocumentId;

/// The names of all schemas of all documents.
#[derive(Default)]
pub(super) struct Identities {
    /// Absolute `$id` → the schema that carries it.
    by_uri: BTreeMap<String, (DocumentId, String)>,
    /// Document, pointer of the resource, and anchor → the schema that carries it.
    anchors: BTreeMap<(DocumentId, String, String), String>,
    /// Document → its resources: pointer, and base where one is known. Outer ones come before inner ones.
    resources: BTreeMap<DocumentId, Vec<Resource>>,
}

struct Resource {
    pointer: String,
    base: Option<String>,
}

impl Identities {
    /// Takes in the names of one document.
    pub(super) fn add(&mut self, id: DocumentId, document: &Document) {
        let root = Resource { pointer: String::new(), base: None };
        self.resources.insert(id, vec![root]);
        let draft7 = document.root.get("$schema").and_then(Node::as_str).is_some_and(|uri| uri.contains("draft-07"));
        keywords::walk(&document.root, "", &mut |schema, at| {
            // What stands beside `$ref` does not count in draft 7.
            if !(draft7 && schema.get("$ref").is_some()) {
                self.add_schema(id, schema, at);
            }
        });
    }

    fn add_schema(&mut self, id: DocumentId, schema: &Node, at: &str) {
        if let Some(text) = schema.get("$id").and_then(Node::as_str) {
            if let Some(anchor) = text.strip_prefix('#').filter(|anchor| !anchor.is_empty()) {
                self.add_anchor(id, at, anchor);
            } else {
                let (_, base) = self.resource(id, at);
                let uri = match base {
                    Some(base) => uri::join(base, text),
                    None => uri::is_absolute(text).then(|| uri::without_fragment(text).to_owned()),
                };
                if let Some(uri) = &uri {
                    self.by_uri.entry(uri.clone()).or_insert_with(|| (id, at.to_owned()));
                }
                let resources = self.resources.entry(id).or_default();
                resources.push(Resource { pointer: at.to_owned(), base: uri });
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = schema.get(keyword).and_then(Node::as_str) {
                self.add_anchor(id, at, anchor);
            }
        }
    }

    fn add_anchor(&mut self, id: DocumentId, at: &str, anchor: &str) {
        let (resource, _) = self.resource(id, at);
        let key = (id, resource.to_owned(), anchor.to_owned());
        self.anchors.entry(key).or_insert_with(|| at.to_owned());
    }

    /// The innermost resource around `at`: its pointer, and its base where one is known.
    pub(super) fn resource(&self, id: DocumentId, at: &str) -> (&str, Option<&str>) {
        let resources = self.resources.get(&id).map(Vec::as_slice).unwrap_or_default();
        let innermost = resources.iter().rev().find(|resource| pointer::is_within(at, &resource.pointer));
        innermost.map_or(("", None), |resource| (&resource.pointer, resource.base.as_deref()))
    }

    /// The schema with this absolute `$id`.
    pub(super) fn find(&self, uri: &str) -> Option<(DocumentId, &str)> {
        self.by_uri.get(uri).map(|(id, pointer)| (*id, pointer.as_str()))
    }

    /// The pointer of an anchor in a resource.
    pub(super) fn find_anchor(&self, id: DocumentId, resource: &str, anchor: &str) -> Option<&str> {
        self.anchors.get(&(id, resource.to_owned(), anchor.to_owned())).map(String::as_str)
    }
}
