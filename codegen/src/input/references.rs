//! Follows every `$ref`, reads the files that they name, and makes a definition of each target.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::load::Loader;
use super::uri;
use crate::diagnostic::Diagnostic;
use crate::document::{Location, Node};
use crate::keywords;
use crate::pointer;
use crate::schemas::{DefinitionId, DocumentId, RawDefinition, Schemas};
use crate::suggest;

/// A place: document and pointer.
type Place = (DocumentId, String);

/// Definitions found so far and schemas still to be searched for references.
#[derive(Default)]
pub(super) struct References {
    /// Place → name.
    definitions: BTreeMap<Place, String>,
    /// Document and text of a `$ref` → its target.
    targets: BTreeMap<Place, Place>,
    /// First in, first out: files are read in the order in which they are named.
    waiting: VecDeque<Place>,
    walked: BTreeSet<Place>,
}

impl References {
    /// Makes the schema at `place` a definition, under `name` unless it has one already.
    pub(super) fn define(&mut self, place: Place, name: String) {
        self.waiting.push_back(place.clone());
        self.definitions.entry(place).or_insert(name);
    }

    /// Searches the schema at `place` without making it a definition.
    pub(super) fn search(&mut self, place: Place) {
        self.waiting.push_back(place);
    }

    /// Follows references until no new schema turns up.
    pub(super) fn follow(&mut self, loader: &mut Loader, roots: &BTreeMap<DocumentId, String>) {
        while let Some(place) = self.waiting.pop_front() {
            for (at, text) in self.collect(loader, &place) {
                let Some(target) = resolve(loader, place.0, &at, &text) else { continue };
                let known = self.targets.entry((place.0, text.clone())).or_insert_with(|| target.clone());
                if *known != target {
                    loader.diagnostics.push(ambiguous(loader.document(place.0).at(at), &text, known, &target));
                }
                if !self.definitions.contains_key(&target) {
                    let name = name(loader, &target, roots);
                    self.define(target, name);
                }
            }
        }
    }

    /// The references in the schema at `place`, with the pointer of the `$ref` member, leaving out what was searched before.
    fn collect(&mut self, loader: &mut Loader, (id, pointer): &Place) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut wrong = Vec::new();
        let document = loader.document(*id);
        if let Some(schema) = document.find(pointer) {
            keywords::walk(schema, pointer, &mut |schema, at| {
                if !self.walked.insert((*id, at.to_owned())) {
                    return;
                }
                let at = || pointer::join(at, "$ref");
                match schema.get("$ref") {
                    Some(Node::String(text)) => found.push((at(), text.clone())),
                    Some(other) => wrong.push((document.at(at()), other.json_type())),
                    None => {}
                }
            });
        }
        loader.diagnostics.extend(wrong.into_iter().map(|(at, found)| {
            Diagnostic::error("codegen/unresolved-ref", at, format!("`$ref` has to be a string, not of type {found}"))
        }));
        found
    }

    /// Hands the definitions over in document order.
    pub(super) fn fill(self, schemas: &mut Schemas) {
        let mut places: Vec<(Vec<usize>, Place, String)> = self
            .definitions
            .into_iter()
            .map(|(place, name)| (position(&schemas.document(place.0).root, &place.1), place, name))
            .collect();
        places.sort_by(|a, b| (a.1.0, &a.0).cmp(&(b.1.0, &b.0)));
        for (_, (document, pointer), name) in places {
            let id = DefinitionId(schemas.definitions.len());
            let at = schemas.document(document).at(pointer.as_str());
            schemas.definitions.push(RawDefinition { name, at, document });
            schemas.by_location.insert((document, pointer), id);
        }
        for (reference, target) in self.targets {
            if let Some(id) = schemas.by_location.get(&target) {
                schemas.references.insert(reference, *id);
            }
        }
    }
}

/// The index of each step from the root to the place, which sorts places as they stand in the file.
fn position(mut node: &Node, pointer: &str) -> Vec<usize> {
    let mut steps = Vec::new();
    for segment in pointer::segments(pointer) {
        let index = match node {
            Node::Object(members) => members.iter().position(|(name, _)| *name == segment),
            _ => segment.parse().ok(),
        };
        let next = match (node, index) {
            (Node::Object(members), Some(index)) => members.get(index).map(|(_, value)| value),
            (Node::Array(items), Some(index)) => items.get(index),
            _ => None,
        };
        let (Some(index), Some(next)) = (index, next) else { break };
        steps.push(index);
        node = next;
    }
    steps
}

/// A name for a target that has none: the key below `$defs`, or what leads to it.
fn name(loader: &Loader, (id, pointer): &Place, roots: &BTreeMap<DocumentId, String>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut named_from_root = true;
    let mut segments = pointer::segments(pointer);
    while let Some(segment) = segments.next() {
        if !keywords::MAPS.contains(&segment.as_ref()) {
            parts.push(segment.into_owned());
        } else if let Some(user_name) = segments.next() {
            if matches!(segment.as_ref(), "$defs" | "definitions") {
                named_from_root = false;
                parts.clear();
            }
            parts.push(user_name.into_owned());
        }
    }
    if named_from_root {
        let root = roots.get(id).cloned().unwrap_or_else(|| file_name(&loader.document(*id).file));
        parts.insert(0, root);
    }
    parts.join("-")
}

/// The name of a root schema after its file: without folder, `.json` and `.schema`.
pub(super) fn file_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let name = name.strip_suffix(".json").unwrap_or(name);
    let name = name.strip_suffix(".schema").unwrap_or(name);
    if name.is_empty() { "Root".to_owned() } else { name.to_owned() }
}

/// The place that `text`, the `$ref` at `at`, names; `None` where there is none, which is reported.
fn resolve(loader: &mut Loader, id: DocumentId, at: &str, text: &str) -> Option<Place> {
    let place = loader.document(id).at(at);
    let (reference, fragment) = text.split_once('#').unwrap_or((text, ""));
    let fragment = uri::decode(fragment);
    let (target, resource) = find_resource(loader, id, at, reference, &place)?;
    let pointer = if fragment.is_empty() || fragment.starts_with('/') {
        // Joined anew, so that one place has one spelling.
        Some(pointer::segments(&fragment).fold(resource.clone(), |pointer, segment| pointer::join(&pointer, &segment)))
    } else {
        loader.identities.find_anchor(target, &resource, &fragment).map(str::to_owned)
    };
    let document = loader.document(target);
    let found = pointer.as_deref().and_then(|pointer| document.find(pointer));
    match (pointer, found) {
        (Some(pointer), Some(node)) if node.is_schema() => return Some((target, pointer)),
        (Some(pointer), Some(node)) => {
            let message = format!("`$ref` names `{text}`, which is of type {} and no schema", node.json_type());
            let diagnostic = Diagnostic::error("codegen/unresolved-ref", place, message).label("no schema");
            loader.diagnostics.push(diagnostic.help(format!("see `{}#{pointer}`", document.file)));
        }
        (pointer, _) => {
            let message = format!("`$ref` names `{text}`, which is not defined");
            let mut diagnostic = Diagnostic::error("codegen/unresolved-ref", place, message).label("not defined");
            diagnostic.help = pointer.and_then(|pointer| similar(&document.root, &pointer)).map(|near| {
                let file = if target == id { "" } else { reference };
                format!("did you mean `{file}#{near}`?")
            });
            loader.diagnostics.push(diagnostic);
        }
    }
    None
}

/// The document and resource that the part of a `$ref` before `#` names.
fn find_resource(
    loader: &mut Loader,
    id: DocumentId,
    at: &str,
    reference: &str,
    place: &Location,
) -> Option<(DocumentId, String)> {
    let (resource, base) = loader.identities.resource(id, at);
    if reference.is_empty() {
        return Some((id, resource.to_owned()));
    }
    let absolute = match base {
        Some(base) => uri::join(base, reference),
        None => uri::is_absolute(reference).then(|| reference.to_owned()),
    };
    if let Some((document, pointer)) = absolute.as_deref().and_then(|uri| loader.identities.find(uri)) {
        return Some((document, pointer.to_owned()));
    }
    let path = loader.beside(id, &uri::decode(reference));
    // A file beside its neighbours is found although its `$id` says that they live elsewhere.
    if uri::is_absolute(reference) || (absolute.is_some() && !path.exists()) {
        let uri = absolute.unwrap_or_else(|| reference.to_owned());
        let message = format!("`$ref` names `{uri}`, which is outside of the files given; nothing is fetched");
        let diagnostic = Diagnostic::error("codegen/remote-ref", place.clone(), message).label("not fetched");
        loader.diagnostics.push(diagnostic.help("save it beside this file and name it by a relative path"));
        return None;
    }
    if !path.is_file() {
        let message = format!("`$ref` names the file `{}`, which does not exist", super::load::display(&path));
        loader
            .diagnostics
            .push(Diagnostic::error("codegen/unresolved-ref", place.clone(), message).label("no such file"));
        return None;
    }
    loader.load(&path).map(|document| (document, String::new()))
}

/// The pointer of something near to a target that does not exist: beside it, or among the definitions of its document.
fn similar(root: &Node, pointer: &str) -> Option<String> {
    let wanted = pointer::segments(pointer).next_back()?;
    let beside = pointer::parent(pointer).filter(|parent| root.find(parent).is_some_and(Node::is_object));
    [beside, Some("/$defs"), Some("/definitions")].into_iter().flatten().find_map(|folder| {
        let names = root.find(folder)?.members().iter().map(|(name, _)| name.as_str());
        suggest::nearest(&wanted, names).map(|near| pointer::join(folder, near))
    })
}

fn ambiguous(at: Location, text: &str, first: &Place, second: &Place) -> Diagnostic {
    let message = format!("`$ref` names `{text}`, which means `#{}` here and `#{}` elsewhere", second.1, first.1);
    Diagnostic::error("codegen/ambiguous-ref", at, message)
        .label("another `$id` applies here")
        .help("name the target by a pointer from the root of the file")
}
