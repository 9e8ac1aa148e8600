//! One schema in several layers, all of which hold: `allOf`, and `$ref` beside other structure.

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::ir::JsonType;
use crate::passes::limits::limits;
use crate::passes::objects;
use crate::passes::read::{Found, Owner, Reader, Said};
use crate::passes::view::{Place, View};

/// What several layers turned out to be.
pub(crate) enum Layers<'a> {
    /// Only one of them says what the value is; the others bound it.
    One(Place<'a>),
    /// They are one thing together.
    Found(Found),
}

/// Reads the layers of `view`; limits of all of them are added to `said`. `None` where a diagnostic was reported.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, view: &View<'a>, owner: &Owner, said: &mut Said) -> Option<Layers<'a>> {
    let mut structural: Vec<Place<'a>> = Vec::new();
    for branch in &view.all_of {
        if bounds_only(reader, branch)? {
            said.limits.extend(limits(branch));
        } else {
            structural.push(branch.clone());
        }
    }
    // A lone `$ref` among the layers is the same as an `allOf` of it.
    let reference = match view.reference {
        Some(reference) => Some(reader.target(&view.place, reference)?),
        None => None,
    };
    let of_its_own = view.object || view.array || view.values.is_some() || view.union.is_some();
    match (structural.as_slice(), &reference, of_its_own) {
        ([], None, false) => return Some(Layers::Found(reader.own_structure(view, owner, said)?)),
        ([only], None, false) => return Some(Layers::One(only.clone())),
        _ => {}
    }
    let mut objects = Vec::new();
    for place in structural.iter().chain(&reference) {
        collect(reader, place, &mut objects, said, 0)?;
    }
    if view.has_structure() {
        objects.push(object(reader, view)?);
    }
    let layers: Vec<&View<'a>> = objects.iter().collect();
    objects::shape(reader, &layers, owner).map(|shape| Layers::Found(Found::Own(shape)))
}

/// Whether a schema only bounds values and says nothing of their structure.
fn bounds_only(reader: &mut Reader<'_>, place: &Place<'_>) -> Option<bool> {
    if *place.node == Node::Bool(true) {
        return Some(true);
    }
    if !place.node.is_object() {
        return Some(false);
    }
    match View::of(place) {
        Ok(view) => Some(view.reference.is_none() && view.all_of.is_empty() && !view.has_structure()),
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                reader.report(diagnostic);
            }
            None
        }
    }
}

/// How many layers may lie inside each other; a circle of references has no end.
const DEPTH: usize = 32;

/// The object layers of a schema, through references and nested `allOf`s.
fn collect<'a>(
    reader: &mut Reader<'a>,
    place: &Place<'a>,
    objects: &mut Vec<View<'a>>,
    said: &mut Said,
    depth: usize,
) -> Option<()> {
    if depth > DEPTH {
        let message = "layers refer to each other in a circle".to_owned();
        reader.report(Diagnostic::error("codegen/ref-cycle", place.at.clone(), message));
        return None;
    }
    if bounds_only(reader, place)? {
        said.limits.extend(limits(place));
        return Some(());
    }
    let view = View::of(place).ok()?;
    if let Some(reference) = view.reference {
        let target = reader.target(place, reference)?;
        collect(reader, &target, objects, said, depth + 1)?;
        if reader.is_draft7(place) {
            return Some(());
        }
    }
    for branch in &view.all_of {
        collect(reader, branch, objects, said, depth + 1)?;
    }
    said.limits.extend(limits(place));
    if view.has_structure() {
        objects.push(object(reader, &view)?);
    }
    Some(())
}

/// The view, if it describes an object and nothing else.
fn object<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Option<View<'a>> {
    let other = view.array || view.values.is_some() || view.union.is_some();
    let types = view.types.as_deref().is_none_or(|types| types == [JsonType::Object]);
    if types && !other {
        return Some(view.clone());
    }
    let message = "layers that are not all objects".to_owned();
    let help = "merge `allOf`, or `$ref` and what stands beside it, into one schema";
    reader.report(Diagnostic::error("codegen/unsupported-keyword", view.place.at.clone(), message).help(help));
    None
}
