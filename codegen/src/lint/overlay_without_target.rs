//! Overlay entries that name nothing in the bundle.

use msp_schema::Surface;
use msp_schema::annotations::Annotations;

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::input::overlay;
use crate::pointer;
use crate::schemas::{DocumentId, Kind, Schemas};

pub(super) const CODE: &str = "codegen/overlay-without-target";

/// The bundle that the overlay is for: an error each. Other published bundles: one note with the number, against
/// the embedded overlay.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    if context.kind != Kind::Bundle {
        return;
    }
    let schemas = context.schemas;
    let document = schemas.document(DocumentId(0));
    let Some(overlay) = &schemas.overlay else {
        // A bundle without a manifest may be anybody's, and has nothing to do with our overlay.
        if schemas.fingerprints.is_empty() {
            return;
        }
        let published = Annotations::published();
        let stale = stale(schemas, published);
        if let Some(first) = stale.first() {
            let (version, count) = (published.host_version(), stale.len());
            let message =
                format!("entries of the overlay for {version} without a target here: {count}, such as `{first}`");
            out.push(Diagnostic::note(CODE, document.at(""), message));
        }
        return;
    };
    for key in stale(schemas, overlay) {
        let message = format!("the overlay has an entry for `{key}`, which the bundle does not have");
        let help = advice(schemas, overlay, &key);
        out.push(Diagnostic::error(CODE, document.at(key), message).label("would stand in here").help(help));
    }
}

/// The keys whose target is missing. What the overlay knows to be experimental is not missed on a stable surface.
fn stale(schemas: &Schemas, overlay: &Annotations) -> Vec<String> {
    let root = &schemas.document(DocumentId(0)).root;
    let surface = surface(schemas);
    let keys = overlay.entries_of(surface).map(|(key, _)| key);
    keys.filter(|key| !overlay::has_target(root, key)).map(str::to_owned).collect()
}

/// The surface of the main document: stable where only that manifest is there, or where nothing gated is present.
pub(super) fn surface(schemas: &Schemas) -> Surface {
    let only_stable = schemas.fingerprints.iter().all(|(_, experimental)| experimental.is_empty());
    if only_stable && schemas.gated.is_empty() { Surface::Stable } else { Surface::Experimental }
}

fn advice(schemas: &Schemas, overlay: &Annotations, key: &str) -> String {
    let gone = pointer::parent(key).filter(|parent| overlay.entry(parent).is_some());
    match gone {
        Some(parent) if !overlay::has_target(&schemas.document(DocumentId(0)).root, parent) => {
            format!("`{parent}` is gone as well; remove both entries")
        }
        _ => "remove the entry, or move it to the new name".to_owned(),
    }
}
