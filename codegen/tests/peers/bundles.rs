//! Every published revision generates, the same twice, and compiles without a warning.
//!
//! All of them are generated in every run. Clippy on all outputs takes minutes, so without `FULL=1` it sees the newest ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use msp_codegen::diagnostic::Severity;
use msp_codegen::generate::generate;
use msp_codegen::input;
use msp_codegen::options::Options;

use crate::scratch::{Scratch, full, options, workspace};

/// Reads and generates; all diagnostics that are errors, as text.
pub(crate) fn files_of(path: &Path, options: &Options) -> Result<BTreeMap<String, String>, String> {
    let said = |all: &[msp_codegen::diagnostic::Diagnostic]| {
        let errors = all.iter().filter(|one| one.severity == Severity::Error);
        errors.map(|one| format!("{}: {} at {}", one.code, one.message, one.at.pointer)).collect::<Vec<_>>().join("\n")
    };
    let schemas = input::read(&[path], options).map_err(|all| said(&all))?;
    let (files, diagnostics) = generate(&schemas, options);
    if diagnostics.iter().any(|one| one.severity == Severity::Error) { Err(said(&diagnostics)) } else { Ok(files) }
}

pub(crate) fn compile(shared: &Path) -> Result<(), Failed> {
    let mut scratch = Scratch::new("bundle-scratch");
    let mut inputs = Vec::new();
    let mut revisions: Vec<_> =
        fs::read_dir(shared.join("msp/structure")).unwrap().map(|entry| entry.unwrap().path()).collect();
    revisions.sort();
    for revision in revisions {
        for surface in ["stable", "experimental"] {
            let version = revision.file_name().unwrap().to_string_lossy().replace('.', "_");
            inputs.push((format!("msp_{version}_{surface}"), revision.join(surface).join("msp.structure.json")));
        }
    }
    let bundles = inputs.len();
    inputs.push(("msp_newest".into(), workspace().join("schema/msp")));
    inputs.push(("session".into(), workspace().join("schema/session")));
    for (module, path) in inputs {
        let once = files_of(&path, &options()).map_err(|error| format!("{}: {error}", path.display()))?;
        let twice = files_of(&path, &options())?;
        if once != twice {
            return Err(format!("{}: the second output differs from the first", path.display()).into());
        }
        if full() || path.starts_with(workspace().join("schema")) {
            scratch.add(&module, &once);
        }
    }
    scratch.write();
    let types = scratch.types.values().map(BTreeMap::len).sum::<usize>();
    println!("{bundles} published bundles generate; {} modules with {types} types to compile", scratch.types.len());
    scratch.pass(&["clippy", "--quiet", "--lib", "--", "-D", "warnings"])?;
    Ok(())
}
