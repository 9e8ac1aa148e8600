//! The overlay: what a bundle cannot say, keyed by pointers into it.

use std::path::Path;

use msp_schema::Surface;
use msp_schema::annotations::Annotations;
use msp_schema::revisions;

use super::load;
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::options::Options;
use crate::pointer;
use crate::schemas::{DocumentId, Schemas};

/// Adds gates and texts of the overlay, where it is given or the bundle is the newest published one.
pub(super) fn apply(schemas: &mut Schemas, options: &Options, diagnostics: &mut Vec<Diagnostic>) {
    let overlay = match &options.annotations {
        Some(path) => match read(path) {
            Ok(overlay) => overlay,
            Err(found) => return diagnostics.extend(found),
        },
        None if is_newest(schemas) => Annotations::published().clone(),
        None => return,
    };
    let root = schemas.document(DocumentId(0)).root.clone();
    for (key, entry) in overlay.entries().filter(|(key, _)| has_target(&root, key)) {
        if entry.surface == Surface::Experimental {
            schemas.gated.insert(key.to_owned());
        }
        if let Some(text) = &entry.description {
            schemas.texts.insert(key.to_owned(), text.clone());
        }
        let below = pointer::join(key, "overrideKinds");
        for (kind, row) in &entry.override_kinds {
            schemas.texts.insert(pointer::join(&below, kind), row.description.clone());
        }
    }
    for error in schemas.errors.iter_mut().filter(|error| error.description.is_none()) {
        let key = error.code.map(|code| format!("/errors/{code}"));
        error.description = key.and_then(|key| schemas.texts.get(&key).cloned());
    }
    for (name, text) in schemas.capabilities.iter_mut().filter(|(_, text)| text.is_none()) {
        *text = schemas.texts.get(&pointer::join("/capabilities", name)).cloned();
    }
    schemas.overlay = Some(overlay);
}

fn read(path: &Path) -> Result<Annotations, Vec<Diagnostic>> {
    let document = load::read_document(path)?;
    Annotations::parse(&document.text).map_err(|error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let message = format!("not an overlay: {reason}");
        vec![Diagnostic::error("codegen/bad-overlay", document.at(""), message)]
    })
}

/// Whether a manifest says that this is the newest published bundle. The content is not compared: a newer overlay on the same
/// bundle stays possible.
pub(crate) fn is_newest(schemas: &Schemas) -> bool {
    let Some(newest) = revisions::index().last() else { return false };
    let is = |given: &str, surface: Surface| given == newest.fingerprint(surface);
    let known = |(stable, experimental): &(String, String)| {
        is(stable, Surface::Stable) || is(experimental, Surface::Experimental)
    };
    schemas.fingerprints.iter().any(known)
}

/// Whether the bundle has what an overlay key names.
pub(crate) fn has_target(root: &Node, key: &str) -> bool {
    let names = |list: Option<&Node>, wanted: &str| {
        list.map(Node::items).unwrap_or_default().iter().any(|value| value.as_str() == Some(wanted))
    };
    if let Some(code) = key.strip_prefix("/errors/") {
        let rows = root.get("errors").map(Node::items).unwrap_or_default();
        return rows.iter().filter_map(|row| row.get("code")?.as_i64()).any(|have| have.to_string() == code);
    }
    if let Some(name) = key.strip_prefix("/capabilities/") {
        return names(root.find("/capabilities/grantable"), &pointer::unescape(name));
    }
    // The last `/enum/` that a value follows; a member may be called `enum` too, and is found as a plain pointer.
    let (parent, last) = key.rsplit_once('/').unwrap_or(("", key));
    if parent.ends_with("/enum") && root.find(parent).is_some_and(|list| !list.is_object()) {
        return names(root.find(parent), &pointer::unescape(last));
    }
    root.find(key).is_some()
}
