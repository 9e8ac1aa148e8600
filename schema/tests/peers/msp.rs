//! The bundles, the revisions and the overlay.

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::Failed;
use msp_schema::annotations::{Annotations, Delivery, DescriptorBasis};
use msp_schema::bundle::{Bundle, Manifest};
use msp_schema::{Surface, keywords, pointer, published, revisions};
use serde_json::{Map, Value};

use crate::{Sources, equal};

/// A bundle without what its source does not have: texts, reserved names and the keywords of the table.
fn bare(bundle: &Bundle) -> Value {
    let mut value = bundle.value().clone();
    without(&mut value, &["description"], Within::Schema);
    if let Some(root) = value.as_object_mut() {
        root.remove("reserved");
        root["capabilities"].as_object_mut().map(|capabilities| capabilities.remove("reserved"));
    }
    for row in keywords::published().into_iter().flatten() {
        let tokens: Vec<_> = pointer::tokens(&row.at).collect();
        if tokens[0] == "errors" {
            let rows = value["errors"].as_array_mut().into_iter().flatten();
            for error in rows.filter(|error| error["code"].to_string() == tokens[1]) {
                error["retryable"] = false.into();
            }
        } else if let Some(Value::Object(schema)) = value.pointer_mut(&row.at) {
            schema.remove(&row.keyword);
        }
    }
    value
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    Schema,
    /// The members of this object are names, not keywords.
    Names,
}

fn without(value: &mut Value, keywords: &[&str], within: Within) {
    const NAMED: [&str; 5] = ["properties", "$defs", "methods", "notifications", "requests"];
    match value {
        Value::Object(members) => {
            if within == Within::Schema {
                members.retain(|keyword, _| !keywords.contains(&keyword.as_str()));
            }
            for (name, member) in members {
                let names = within == Within::Schema && NAMED.contains(&name.as_str());
                without(member, keywords, if names { Within::Names } else { Within::Schema });
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without(item, keywords, Within::Schema)),
        _ => {}
    }
}

fn source(sources: &Sources, version: &str, surface: Surface) -> Result<(Value, Value), Failed> {
    let folder = format!("msp/structure/{version}/{surface}");
    let mut structure = sources.json(&format!("{folder}/msp.structure.json"))?;
    without(&mut structure, &["x-msp-stability"], Within::Schema);
    Ok((structure, sources.json(&format!("{folder}/manifest.json"))?))
}

pub(crate) fn facts(sources: &Sources) -> Result<(), Failed> {
    for surface in Surface::ALL {
        let (structure, manifest) = source(sources, published::HOST_VERSION, surface)?;
        equal(&bare(published::bundle(surface)), &structure, surface.name())?;
        equal(&published::manifest(surface), &Manifest::parse(&manifest.to_string())?, surface.name())?;
    }
    Ok(())
}

pub(crate) fn revisions(sources: &Sources) -> Result<(), Failed> {
    let folders = std::fs::read_dir(sources.0.join("msp/structure"))?.count();
    equal(&revisions::index().len(), &folders, "revisions")?;
    for revision in revisions::index() {
        for surface in Surface::ALL {
            let at = format!("{} {surface}", revision.version);
            let (structure, manifest) = source(sources, &revision.version, surface)?;
            equal(&Some(revision.fingerprint(surface)), &manifest["fingerprint"].as_str(), &at)?;
            equal(&Some(revision.host_version.as_str()), &manifest["hostVersion"].as_str(), &at)?;
            if revision.version != published::HOST_VERSION {
                let folder = format!("{}/msp/revisions/{}/{surface}", env!("CARGO_MANIFEST_DIR"), revision.version);
                equal(&bare(&Bundle::read(folder)?), &structure, &at)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn keywords(sources: &Sources) -> Result<(), Failed> {
    let closed = &sources.json("msp/marks.json")?["schemaKeywords"];
    let mut theirs = BTreeSet::new();
    for row in list(&closed["definitions"]) {
        let member = row["member"].as_str().map(|member| format!("/properties/{member}")).unwrap_or_default();
        let at = format!("/$defs/{}{member}", text(&row["definition"]));
        theirs.insert((at, text(&row["keyword"]), row["value"].to_string(), row["seen"] == true));
    }
    for row in list(&closed["errors"]) {
        let at = format!("/errors/{}", row["code"]);
        theirs.insert((at, text(&row["member"]), "absent".to_owned(), row["seen"] == true));
    }
    let ours = keywords::published()?.into_iter().map(|row| {
        let value = row.value.map_or("absent".to_owned(), |value| value.to_string());
        (row.at, row.keyword, value, row.seen)
    });
    equal(&ours.collect(), &theirs, "keywords")
}

/// Names only: the texts were mended since.
pub(crate) fn descriptions(sources: &Sources) -> Result<(), Failed> {
    let texts = sources.json("msp/descriptions.json")?;
    let bundle = published::bundle(Surface::Experimental);
    for (name, members) in object(&texts["definitions"]) {
        for key in object(members).keys() {
            let described = match key.strip_prefix('=') {
                Some(value) => Annotations::published().enum_value(name, value).is_some(),
                None if key.is_empty() => bundle.definition(name).is_some(),
                None => {
                    let schema = bundle.definition(name).unwrap_or(&Value::Null);
                    let branches = std::iter::once(schema).chain(list(&schema["anyOf"]));
                    branches.into_iter().any(|branch| branch["properties"].get(key).is_some())
                }
            };
            equal(&described, &true, &format!("{name} {key}"))?;
        }
    }
    equal(&object(&texts["methods"]).len(), &bundle.methods().len(), "methods")?;
    equal(&object(&texts["notifications"]).len(), &bundle.notifications().len(), "notifications")?;
    equal(&object(&texts["capabilities"]).len(), &bundle.capabilities().grantable.len(), "capabilities")?;
    let kinds: BTreeSet<_> = bundle.errors().iter().flat_map(msp_schema::bundle::ErrorRow::kinds).collect();
    equal(&object(&texts["errors"]).keys().map(String::as_str).collect(), &kinds, "errors")
}

pub(crate) fn items(sources: &Sources) -> Result<(), Failed> {
    let table = sources.json("msp/item-members.json")?;
    equal(&object(&table).len(), &104, "members")?;
    let overlay: Value = serde_json::from_str(published::ANNOTATIONS)?;
    for (member, row) in object(&table) {
        let entry = &overlay["entries"][format!("/$defs/Item/properties/{member}")];
        equal(&entry["itemKinds"], &row["presence"], member)?;
        equal(&entry["surface"], &row["surface"], member)?;
    }
    Ok(())
}

pub(crate) fn marks(sources: &Sources) -> Result<(), Failed> {
    let marks = sources.json("msp/marks.json")?;
    let mut theirs = BTreeSet::new();
    let mut add = |tokens: &[&str]| theirs.insert(pointer::of(tokens));
    for name in strings(&marks["types"]) {
        add(&["$defs", &name]);
    }
    for (keyword, table) in [("properties", "members"), ("enum", "enumValues")] {
        for (definition, names) in object(&marks[table]) {
            for name in strings(names) {
                add(&["$defs", definition, keyword, &name]);
            }
        }
    }
    for table in ["methods", "notifications", "requests"] {
        for name in strings(&marks[table]) {
            add(&[table, &name]);
        }
    }
    for row in list(&marks["errors"]) {
        add(&["errors", &row["code"].to_string()]);
    }
    for name in strings(&marks["capabilities"]["experimentalOnly"]) {
        add(&["capabilities", &name]);
    }
    let overlay = Annotations::published();
    let experimental = |at: &str| overlay.entry(at).is_some_and(|entry| entry.surface == Surface::Experimental);
    // What is inside of a marked definition needs no mark of its own.
    let inside = |at: &str| at.match_indices('/').skip(2).any(|(end, _)| experimental(&at[..end]));
    let ours = overlay.entries().map(|(at, _)| at).filter(|at| experimental(at) && !inside(at));
    equal(&ours.map(str::to_owned).collect(), &theirs, "experimental")?;
    for (basis, table) in [(DescriptorBasis::Published, "known"), (DescriptorBasis::Inferred, "inferred")] {
        for (name, row) in object(&marks["descriptors"][table]) {
            let entry = match row["method"].as_str() {
                Some(method) => overlay.method(method),
                None => overlay.member(&text(&row["type"]), &text(&row["member"])),
            };
            let ours = entry.and_then(|entry| entry.descriptor.as_ref()).map(|one| (one.name.as_str(), one.basis));
            equal(&ours, &Some((name.as_str(), basis)), name)?;
        }
    }
    Ok(())
}

pub(crate) fn error_data(sources: &Sources) -> Result<(), Failed> {
    let marks = sources.json("msp/marks.json")?;
    for (kind, row) in object(&marks["errorData"]).iter().filter(|(kind, _)| !kind.starts_with('_')) {
        let rows: Vec<_> = Annotations::published().error_data(kind).collect();
        equal(&rows.is_empty(), &false, kind)?;
        for (_, data) in rows {
            equal(&data.always, &strings(&row["always"]), kind)?;
            equal(&data.optional, &strings(&row["optional"]), kind)?;
            equal(&data.nullable, &strings(&row["nullable"]), kind)?;
        }
    }
    Ok(())
}

pub(crate) fn deliveries(sources: &Sources) -> Result<(), Failed> {
    let marks = sources.json("msp/marks.json")?;
    let overlay = Annotations::published();
    let letters: BTreeMap<_, _> = [
        ("V", Delivery::View),
        ("E", Delivery::Ephemeral),
        ("B", Delivery::Broadcast),
        ("S", Delivery::Subscribers),
        ("R", Delivery::Requester),
        ("L", Delivery::RawLog),
        ("C", Delivery::Client),
    ]
    .into();
    for table in ["notificationDelivery", "requestDelivery"] {
        for (name, row) in object(&marks[table]) {
            let entry = overlay.notification(name).or_else(|| overlay.request(name)).ok_or(name.as_str())?;
            let classes: Vec<_> = strings(&row["class"]).iter().map(|letter| letters[letter.as_str()]).collect();
            equal(&(&entry.classes, entry.protected), &(&classes, row["protected"].as_bool()), name)?;
        }
    }
    for (name, row) in object(&marks["capabilities"]["gates"]) {
        let entry = overlay.capability(name).ok_or(name.as_str())?;
        equal(&entry.refusal, &row["refusal"].as_i64(), name)?;
        let places: Vec<_> = entry.opens.iter().filter_map(|gate| pointer::tokens(&gate.at).last()).collect();
        let methods: Vec<_> = list(&row["opens"]).map(|gate| text(&gate["method"]).into()).collect();
        equal(&places, &methods, name)?;
    }
    let roots: BTreeMap<_, _> = overlay.roots(Surface::Experimental).collect();
    let theirs = object(&marks["roots"]["definitions"]);
    equal(&roots, &theirs.iter().filter_map(|(name, row)| Some((&**name, row["what"].as_str()?))).collect(), "roots")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("{value} is no object"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn strings(value: &Value) -> Vec<String> {
    list(value).map(text).collect()
}
