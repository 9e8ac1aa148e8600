//! Definitions that mean nothing but themselves: a `$ref` leads to a `$ref`, round and round.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::pointer;
use crate::schemas::{DefinitionId, DocumentId, Schemas};

/// Keywords whose schemas apply to the same value as the schema that holds them.
const IN_PLACE: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// One finding per cycle, at the definition of the cycle that comes first.
///
/// A cycle through members or items is a recursive type and fine. One in which no step goes down into the value has no meaning
/// and would send validators and decoders round for ever.
pub(super) fn find(schemas: &Schemas) -> Vec<Diagnostic> {
    let edges: BTreeMap<DefinitionId, Vec<DefinitionId>> = schemas
        .iter()
        .map(|(id, definition)| {
            let mut targets = Vec::new();
            collect(schemas, definition.document, schemas.node(id), &definition.at.pointer, &mut targets);
            (id, targets)
        })
        .collect();
    search(&edges).iter().map(|cycle| report(schemas, cycle)).collect()
}

/// The definitions that `schema` refers to without going down into the value. A schema inside it that is a definition itself
/// counts as one, so that its own references are not taken twice.
fn collect(schemas: &Schemas, document: DocumentId, schema: &Node, at: &str, targets: &mut Vec<DefinitionId>) {
    if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
        targets.extend(schemas.references.get(&(document, reference.to_owned())));
    }
    for (keyword, value) in schema.members().iter().filter(|(keyword, _)| IN_PLACE.contains(&keyword.as_str())) {
        let at = pointer::join(at, keyword);
        let mut below = |value: &Node, at: String| match schemas.by_location.get(&(document, at.clone())) {
            Some(id) => targets.push(*id),
            None => collect(schemas, document, value, &at, targets),
        };
        match value {
            Node::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    below(item, format!("{at}/{index}"));
                }
            }
            Node::Object(members) if keyword == "dependentSchemas" => {
                for (name, schema) in members {
                    below(schema, pointer::join(&at, name));
                }
            }
            _ => below(value, at),
        }
    }
}

/// Depth-first search with its own stack: a file may chain more definitions than a thread's stack holds.
fn search(edges: &BTreeMap<DefinitionId, Vec<DefinitionId>>) -> Vec<Vec<DefinitionId>> {
    let mut cycles = Vec::new();
    let mut done = BTreeSet::new();
    for root in edges.keys() {
        // The definitions on the way from the root, each with its targets that are still to be looked at.
        let mut path = Vec::new();
        let mut on_path = BTreeSet::new();
        let mut next = Some(*root);
        loop {
            if let Some(id) = next.take() {
                if on_path.contains(&id) {
                    let start = path.iter().position(|(on_path, _)| *on_path == id).unwrap_or_default();
                    cycles.push(path.iter().skip(start).map(|(id, _)| *id).collect());
                } else if !done.contains(&id) {
                    on_path.insert(id);
                    path.push((id, edges.get(&id).map(Vec::as_slice).unwrap_or_default().iter()));
                }
            }
            let Some((id, targets)) = path.last_mut() else { break };
            next = targets.next().copied();
            if next.is_none() {
                on_path.remove(id);
                done.insert(*id);
                path.pop();
            }
        }
    }
    cycles
}

fn report(schemas: &Schemas, cycle: &[DefinitionId]) -> Diagnostic {
    let first = cycle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(index, _)| index);
    let round = cycle.iter().cycle().skip(first).take(cycle.len() + 1);
    let names: Vec<String> = round.map(|id| format!("`{}`", schemas.definition(*id).name)).collect();
    let at = cycle
        .get(first)
        .map_or_else(|| schemas.document(DocumentId(0)).at(""), |id| schemas.definition(*id).at.clone());
    let message = format!("the definition refers to itself and says nothing else: {}", names.join(" → "));
    Diagnostic::error("codegen/ref-cycle", at, message).label("comes back to itself").help("give one of them a shape")
}
