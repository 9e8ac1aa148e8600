//! Places of a bundle that need an entry in the overlay and have none: texts for which the bundle has no room, who carries a
//! member of `Item`, what a method does, who receives a notification.

use msp_schema::annotations::{Annotations, Entry};

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::document::{Location, Node};
use crate::pointer;
use crate::schemas::{DocumentId, Kind, Schemas};

pub(super) const CODE: &str = "codegen/missing-overlay-entry";

/// The bundle that the overlay is for: an error each. Other published bundles: one note with the number, against
/// the embedded overlay.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    if context.kind != Kind::Bundle {
        return;
    }
    let schemas = context.schemas;
    let Some(overlay) = &schemas.overlay else {
        // A bundle without a manifest may be anybody's, and has nothing to do with our overlay.
        if schemas.fingerprints.is_empty() {
            return;
        }
        let published = Annotations::published();
        let missing = missing(context, published);
        if let Some(first) = missing.first() {
            let (version, count, key) = (published.host_version(), missing.len(), &first.key);
            let message =
                format!("places here that the overlay for {version} does not describe: {count}, such as `{key}`");
            out.push(Diagnostic::note(CODE, schemas.document(DocumentId(0)).at(""), message));
        }
        return;
    };
    for need in missing(context, overlay) {
        let message = format!("the overlay does not say {} (`{}`)", need.what, need.key);
        let diagnostic = Diagnostic::error(CODE, need.at, message).label("not in the overlay");
        out.push(diagnostic.help(format!("add the entry `{}` with `{}`", need.entry, need.member)));
    }
}

/// Something that an overlay has to say.
struct Need {
    /// What is to be described.
    key: String,
    /// The entry that has to do it.
    entry: String,
    /// Its member.
    member: &'static str,
    /// The same in words.
    what: &'static str,
    at: Location,
}

fn missing(context: &Context<'_>, overlay: &Annotations) -> Vec<Need> {
    let schemas = context.schemas;
    let mut missing = Vec::new();
    let mut need = |key: String, member: &'static str, what: &'static str, at: Location, has: fn(&Entry) -> bool| {
        if !overlay.entry(&key).is_some_and(has) {
            missing.push(Need { entry: key.clone(), key, member, what, at });
        }
    };
    let has_text = |entry: &Entry| entry.description.is_some();
    for (at, value) in enum_values(context) {
        let key = pointer::join(&at.pointer, value);
        need(key, "description", "what the enum value means", at, has_text);
    }
    for row in &schemas.methods {
        need(row.at.pointer.clone(), "role", "what the method does", row.at.clone(), |entry| entry.role.is_some());
    }
    for row in schemas.notifications.iter().chain(&schemas.requests) {
        need(row.at.pointer.clone(), "classes", "who receives it", row.at.clone(), |entry| !entry.classes.is_empty());
    }
    let document = schemas.document(DocumentId(0));
    for (name, _) in &schemas.capabilities {
        let key = pointer::join("/capabilities", name);
        need(key, "description", "what the capability opens", document.at("/capabilities/grantable"), has_text);
    }
    for (name, _) in document.find("/$defs/Item/properties").map(Node::members).unwrap_or_default() {
        let key = pointer::join("/$defs/Item/properties", name);
        let at = document.at(key.clone());
        need(key, "itemKinds", "which kinds of item carry the member", at, |entry| !entry.item_kinds.is_empty());
    }
    for error in &schemas.errors {
        let Some(code) = error.code else { continue };
        need(format!("/errors/{code}"), "description", "what the error means", error.at.clone(), has_text);
    }
    missing.extend(override_kinds(schemas, overlay));
    missing
}

/// The string values of all enums that stand in a definition of the bundle, with the place of the list.
fn enum_values<'a>(context: &Context<'a>) -> Vec<(Location, &'a str)> {
    let mut values = Vec::new();
    for schema in context.all.iter().filter(|schema| schema.document == DocumentId(0)) {
        let list = schema.node.get("enum").map(Node::items).unwrap_or_default();
        values.extend(list.iter().filter_map(Node::as_str).map(|value| (schema.at.join("enum"), value)));
    }
    values
}

fn override_kinds(schemas: &Schemas, overlay: &Annotations) -> Vec<Need> {
    let mut missing = Vec::new();
    for error in &schemas.errors {
        let Some(code) = error.code else { continue };
        let entry = format!("/errors/{code}");
        for kind in &error.override_kinds {
            if !overlay.entry(&entry).is_some_and(|entry| entry.override_kinds.contains_key(kind)) {
                missing.push(Need {
                    key: pointer::join(&pointer::join(&entry, "overrideKinds"), kind),
                    entry: entry.clone(),
                    member: "overrideKinds",
                    what: "what the override kind means",
                    at: error.at.clone(),
                });
            }
        }
    }
    missing
}
