//! Whether the choices of an output name what is there, and whether their Rust text is Rust: a choice that silently means nothing
//! is worse than none.

use syn::parse::Parser as _;

use crate::diagnostic::Diagnostic;
use crate::document::Location;
use crate::ir::{Ir, Member, Presence, Shape};
use crate::options::Options;
use crate::schemas::Schemas;
use crate::suggest;

/// All definitions in the place of one, for derives.
const ALL: &str = "*";

/// One error for each name of a definition that there is not, and for each text that is not Rust.
pub(crate) fn definitions(schemas: &Schemas, options: &Options) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let at = || schemas.documents.first().map_or_else(nowhere, |document| document.at(""));
    let derives = options.derives.keys().filter(|name| *name != ALL).map(|name| ("derives", name.as_str()));
    let attributes = options.attributes.iter().map(|attribute| ("attribute", split(&attribute.path).0));
    let named = options.replace.keys().map(|name| ("replace", name.as_str())).chain(derives).chain(attributes);
    for (choice, name) in named {
        if schemas.definitions.iter().all(|definition| definition.name != name) {
            let message = format!("`{choice}` names `{name}`, but no definition is called so");
            let near = suggest::nearest(name, schemas.definitions.iter().map(|definition| definition.name.as_str()));
            found.push(unknown(at(), message, near));
        }
    }
    let texts = options.replace.values().map(|text| ("replace", "type", text, syn::parse_str::<syn::Type>(text).err()));
    let derives = options.derives.values().flatten();
    let derives = derives.map(|text| ("derives", "path of a macro", text, syn::parse_str::<syn::Path>(text).err()));
    let attributes = options.attributes.iter().map(|one| {
        let parsed = syn::Attribute::parse_outer.parse_str(&one.attribute);
        ("attribute", "attribute such as `#[must_use]`", &one.attribute, parsed.err())
    });
    for (choice, what, text, error) in texts.chain(derives).chain(attributes) {
        if let Some(error) = error {
            let message = format!("`{choice}` has `{text}`, which is no Rust {what}: {error}");
            found.push(Diagnostic::error("codegen/choice-not-rust", at(), message));
        }
    }
    found
}

/// One error for each attribute of a member that its definition does not have.
pub(crate) fn members(ir: &Ir, options: &Options) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for path in options.attributes.iter().map(|attribute| attribute.path.as_str()) {
        let (definition, Some(wire)) = split(path) else { continue };
        let mut types = ir.types.iter().filter(|one| one.definition.as_deref() == Some(definition)).peekable();
        let Some(first) = types.peek() else { continue };
        let at = first.at.clone();
        let members: Vec<&Member> = types
            .flat_map(|one| match &one.shape {
                Shape::Struct { members, .. } => members.as_slice(),
                _ => &[],
            })
            .collect();
        let has_field = |member: &&&Member| !matches!(member.presence, Presence::Constant(_));
        let fields = members.iter().filter(has_field).map(|member| member.wire.as_str());
        if fields.clone().any(|field| field == wire) {
            continue;
        }
        let why = if members.iter().any(|member| member.wire == wire) {
            "whose text is always the same, so that it has no field".to_owned()
        } else {
            format!("but `{definition}` has no such member")
        };
        let message = format!("`attribute` names the member `{path}`, {why}");
        found.push(unknown(at, message, suggest::nearest(wire, fields)));
    }
    found
}

fn unknown(at: Location, message: String, near: Option<&str>) -> Diagnostic {
    let help = near.map_or_else(
        || "`msp-codegen list` shows the names of definitions; members have their names in the schema".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Diagnostic::error("codegen/choice-unknown", at, message).help(help)
}

/// `Item/text` is the member `text` of the definition `Item`.
fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(definition, member)| (definition, Some(member)))
}

fn nowhere() -> Location {
    Location { file: "".into(), pointer: String::new() }
}
