//! Reading and linting of real schemas.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use msp_codegen::diagnostic::{Diagnostic, Severity};
use msp_codegen::options::Options;
use msp_codegen::schemas::Schemas;
use msp_codegen::{input, lint};

use crate::equal;

/// Number of published revisions; each has two surfaces.
const REVISIONS: usize = 11;

fn read(path: &Path) -> Result<Schemas, Failed> {
    input::read(&[path], &Options::default()).map_err(|found| format!("{}: {found:#?}", path.display()).into())
}

fn at_least(weight: Severity, found: &[Diagnostic]) -> Vec<String> {
    found.iter().filter(|diagnostic| diagnostic.severity <= weight).map(ToString::to_string).collect()
}

fn folders(of: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(of)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    folders.sort();
    Ok(folders)
}

/// All 22 bundles, one by one and merged, have no fault that counts.
pub(crate) fn published_bundles(shared: &Path) -> Result<(), Failed> {
    let revisions = folders(&shared.join("msp/structure"))?;
    equal(&revisions.len(), &REVISIONS, "revisions")?;
    for revision in &revisions {
        for path in [revision.clone(), revision.join("stable"), revision.join("experimental")] {
            let schemas = read(&path)?;
            let found = at_least(Severity::Warning, &lint::lint(&schemas));
            equal(&found, &Vec::new(), &path.display().to_string())?;
        }
    }
    let newest = shared.join("msp/structure/1.4.13");
    equal(&sizes(&read(&newest)?), &[498, 102, 55, 3, 50], "the newest, merged")?;
    equal(&sizes(&read(&newest.join("stable"))?), &[380, 70, 45, 2, 37], "the newest, stable")
}

fn sizes(schemas: &Schemas) -> [usize; 5] {
    let Schemas { definitions, methods, notifications, requests, errors, .. } = schemas;
    [definitions.len(), methods.len(), notifications.len(), requests.len(), errors.len()]
}

/// The structure files mark what is experimental, and the stable files lack it: two ways to the same gates. Marks cannot stand on
/// enum values, errors and capabilities; there only the difference speaks.
pub(crate) fn marks_and_surfaces_agree(shared: &Path) -> Result<(), Failed> {
    for revision in folders(&shared.join("msp/structure"))? {
        let gates = |schemas: &Schemas| -> BTreeSet<String> {
            let markable =
                |key: &&String| !["/enum/", "/errors/", "/capabilities/"].iter().any(|part| key.contains(part));
            // Inside of what is gated as a whole, a mark says nothing more.
            let inside = |key: &&String| {
                schemas.gated.iter().any(|outer| outer != *key && msp_codegen::pointer::is_within(key, outer))
            };
            schemas.gated.iter().filter(markable).filter(|key| !inside(key)).cloned().collect()
        };
        // Copies without marks, so that only the difference is left.
        let plain = tempfile::tempdir()?;
        for surface in ["stable", "experimental"] {
            let text = fs::read_to_string(revision.join(surface).join("msp.structure.json"))?;
            let mut bundle: serde_json::Value = serde_json::from_str(&text)?;
            remove(&mut bundle, "x-msp-stability");
            fs::create_dir(plain.path().join(surface))?;
            fs::write(plain.path().join(surface).join("msp.schema.json"), bundle.to_string())?;
        }
        let by_difference = gates(&read(plain.path())?);
        let by_marks = gates(&read(&revision.join("experimental"))?);
        let one_sided: Vec<&String> = by_difference.symmetric_difference(&by_marks).collect();
        equal(&one_sided, &Vec::new(), &revision.display().to_string())?;
        if by_marks.is_empty() {
            return Err(format!("{} has no gate", revision.display()).into());
        }
    }
    Ok(())
}

fn remove(value: &mut serde_json::Value, name: &str) {
    match value {
        serde_json::Value::Object(members) => {
            members.remove(name);
            members.values_mut().for_each(|value| remove(value, name));
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|value| remove(value, name)),
        _ => {}
    }
}

pub(crate) fn session(shared: &Path) -> Result<(), Failed> {
    let schemas = read(&shared.join("session"))?;
    let found = at_least(Severity::Warning, &lint::lint(&schemas));
    equal(&found, &Vec::new(), "session schemas")?;
    let sizes = [schemas.functions.len(), schemas.triggers.len(), schemas.errors.len()];
    equal(&sizes, &[43, 7, 11], "functions, triggers, errors")?;
    let names: BTreeSet<&str> = schemas.definitions.iter().map(|definition| definition.name.as_str()).collect();
    equal(&names.len(), &schemas.definitions.len(), "distinct names")
}

/// Each fault is wrapped in a file that says what it shows; a default that does not fit is named with pointer, value and type.
pub(crate) fn faults(shared: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let faults = folders(&shared.join("faults/codegen"))?;
    equal(&faults.len(), &8, "faults")?;
    for fault in faults {
        let wrapped: serde_json::Value = serde_json::from_str(&fs::read_to_string(&fault)?)?;
        let path = folder.path().join(fault.file_name().unwrap());
        fs::write(&path, serde_json::to_string_pretty(&wrapped["schema"])?)?;
        let found = lint::lint(&read(&path)?);
        let defaults: Vec<(&str, &str)> = found
            .iter()
            .filter(|diagnostic| diagnostic.code == "codegen/bad-default")
            .map(|diagnostic| (diagnostic.at.pointer.as_str(), diagnostic.message.as_str()))
            .collect();
        let expected: &[(&str, &str)] = if fault.ends_with("bad-default.json") {
            &[
                ("/$defs/D/properties/m/default", "the default \"not a date\" is not a date-time"),
                ("/$defs/D/properties/n/default", "the default \"ten\" is not of type integer"),
            ]
        } else {
            &[]
        };
        equal(&defaults.as_slice(), &expected, &fault.display().to_string())?;
    }
    Ok(())
}
