//! What is experimental: marks in the bundle, and what the stable surface lacks.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::load;
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::pointer;
use crate::schemas::{DocumentId, Schemas};

/// Member of a manifest that names the published bundle.
const FINGERPRINT: &str = "fingerprint";

/// Fills [`Schemas::gated`] from the marks of `main` and from its difference to `stable`.
pub(super) fn mark(schemas: &mut Schemas, main: DocumentId, stable: Option<DocumentId>) {
    let mut gated = BTreeSet::new();
    let root = &schemas.document(main).root;
    for section in ["$defs", "methods", "notifications", "requests"] {
        if let Some(node) = root.get(section) {
            marks(node, &pointer::join("", section), &mut gated);
        }
    }
    for row in root.get("errors").map(Node::items).unwrap_or_default() {
        if is_marked(row) {
            gated.extend(error_key(row));
        }
    }
    if let Some(stable) = stable {
        let stable = &schemas.document(stable).root;
        for section in ["$defs", "methods", "notifications", "requests"] {
            if let (Some(ours), Some(theirs)) = (root.get(section), stable.get(section)) {
                members(ours, theirs, &pointer::join("", section), &mut gated);
            }
        }
        errors(root, stable, &mut gated);
        let grantable = |root: &Node| strings(root.find("/capabilities/grantable"));
        for name in grantable(root).difference(&grantable(stable)) {
            gated.insert(pointer::join("/capabilities", name));
        }
    }
    schemas.gated.append(&mut gated);
}

fn is_marked(node: &Node) -> bool {
    node.get("x-msp-stability").and_then(Node::as_str) == Some("experimental")
}

fn marks(node: &Node, at: &str, gated: &mut BTreeSet<String>) {
    if is_marked(node) {
        gated.insert(at.to_owned());
    }
    for (name, value) in node.members() {
        marks(value, &pointer::join(at, name), gated);
    }
    for (index, value) in node.items().iter().enumerate() {
        marks(value, &format!("{at}/{index}"), gated);
    }
}

/// Marks the members of an object of definitions, properties or rows that the stable side lacks.
fn members(ours: &Node, stable: &Node, at: &str, gated: &mut BTreeSet<String>) {
    for (name, value) in ours.members() {
        let at = pointer::join(at, name);
        match stable.get(name) {
            Some(stable) => schemas_differ(value, stable, &at, gated),
            None => {
                gated.insert(at);
            }
        }
    }
}

/// Marks members and enum values of a schema that the stable side lacks.
fn schemas_differ(ours: &Node, stable: &Node, at: &str, gated: &mut BTreeSet<String>) {
    for (keyword, value) in ours.members() {
        let Some(stable) = stable.get(keyword) else { continue };
        let at = pointer::join(at, keyword);
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", _) => members(value, stable, &at, gated),
            ("enum", _) => {
                let values = strings(Some(value));
                gated.extend(values.difference(&strings(Some(stable))).map(|value| pointer::join(&at, value)));
            }
            (_, Node::Array(items)) => {
                for (index, (item, stable)) in items.iter().zip(stable.items()).enumerate() {
                    schemas_differ(item, stable, &format!("{at}/{index}"), gated);
                }
            }
            _ => schemas_differ(value, stable, &at, gated),
        }
    }
}

fn errors(root: &Node, stable: &Node, gated: &mut BTreeSet<String>) {
    let rows = |root: &Node| root.get("errors").map(Node::items).unwrap_or_default().to_vec();
    let stable_rows = rows(stable);
    for row in rows(root) {
        let Some(key) = error_key(&row) else { continue };
        let same = stable_rows.iter().find(|stable| error_key(stable).as_ref() == Some(&key));
        let Some(stable) = same else {
            gated.insert(key);
            continue;
        };
        let kinds = strings(row.get("overrideKinds"));
        let new = kinds.difference(&strings(stable.get("overrideKinds"))).cloned().collect::<Vec<_>>();
        let at = pointer::join(&key, "overrideKinds");
        gated.extend(new.iter().map(|kind| pointer::join(&at, kind)));
    }
}

/// Errors are keyed by their code.
fn error_key(row: &Node) -> Option<String> {
    row.get("code").and_then(Node::as_i64).map(|code| format!("/errors/{code}"))
}

fn strings(list: Option<&Node>) -> BTreeSet<String> {
    list.map(Node::items).unwrap_or_default().iter().filter_map(Node::as_str).map(str::to_owned).collect()
}

/// The fingerprints in the manifests that exist, as one pair of stable and experimental; the text is empty where one is missing.
pub(super) fn fingerprints(manifests: &[PathBuf], diagnostics: &mut Vec<Diagnostic>) -> Vec<(String, String)> {
    let mut pair = (String::new(), String::new());
    for path in manifests.iter().filter(|path| path.is_file()) {
        match load::read_document(path) {
            Ok(manifest) => {
                // Another program's `manifest.json` is none of our business.
                let Some(fingerprint) = manifest.root.get(FINGERPRINT).and_then(Node::as_str) else { continue };
                let experimental = manifest.root.get("experimental").and_then(Node::as_bool) == Some(true);
                let side = if experimental { &mut pair.1 } else { &mut pair.0 };
                fingerprint.clone_into(side);
            }
            Err(found) => diagnostics.extend(found),
        }
    }
    if pair.0.is_empty() && pair.1.is_empty() { Vec::new() } else { vec![pair] }
}
