//! Lints: one folder per code, each with the smallest schemas that show when it speaks and how much it weighs.

use std::collections::BTreeSet;

use msp_codegen::diagnostic::{Colour, Diagnostic, to_text};
use msp_codegen::options::Options;
use msp_codegen::{input, lint};

use crate::cases::{self, Case};

/// Each folder below `cases/lint` is read and linted; an `annotations.json` in it is its overlay.
#[test]
fn cases() {
    for case in cases::all("lint") {
        let text: Vec<String> = findings(&case).iter().map(|finding| to_text(finding, Colour::Never)).collect();
        case.assert("found", &without_numbers(&text.join("\n")));
    }
}

/// The notes against the embedded overlay change with every entry that it gains; only that they are there is of interest.
fn without_numbers(text: &str) -> String {
    let cut = |line: &str| match line.split_once(": ").filter(|_| line.starts_with("note[codegen/")) {
        Some((code, message)) if message.contains(", such as") => {
            format!("{code}: {} …", message.split(':').next().unwrap_or_default())
        }
        _ => line.to_owned(),
    };
    text.split('\n').map(cut).collect::<Vec<_>>().join("\n")
}

/// A lint that nothing shows could be gone without a test turning red.
#[test]
fn every_code_is_shown() {
    let shown: BTreeSet<&str> = cases::all("lint").iter().flat_map(findings).map(|finding| finding.code).collect();
    let missing: Vec<&str> = lint::codes().filter(|code| !shown.contains(code)).collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
}

/// A case is named after the code that it shows, so that one search finds lint, case and report.
#[test]
fn cases_are_named_by_code() {
    for case in cases::all("lint") {
        let name = case.folder.file_name().unwrap().to_str().unwrap();
        let slug = name.split('+').next().unwrap();
        let findings = findings(&case);
        assert!(
            findings.iter().any(|finding| finding.code == format!("codegen/{slug}")),
            "{name} does not show its code"
        );
    }
}

/// What the repository ships has no fault.
#[test]
fn our_schemas_are_clean() {
    let schema = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema");
    let mut paths =
        vec![schema.join("msp"), schema.join("msp/stable"), schema.join("msp/experimental"), schema.join("session")];
    for revision in msp_schema::revisions::index() {
        let folder = schema.join("msp/revisions").join(&revision.version);
        paths.extend(
            ["stable", "experimental"].map(|surface| folder.join(surface)).into_iter().filter(|path| path.exists()),
        );
    }
    assert!(paths.len() >= 4 + 20, "the revisions are gone");
    for path in paths {
        let schemas = input::read(&[&path], &Options::default()).unwrap_or_else(|found| panic!("{found:#?}"));
        let refusals = lint::refusals(&schemas, &[], &Options::default());
        let found: Vec<String> = lint::lint(&schemas)
            .iter()
            .chain(&refusals)
            .filter(|finding| finding.severity != msp_codegen::diagnostic::Severity::Note)
            .map(ToString::to_string)
            .collect();
        assert!(found.is_empty(), "{}: {found:#?}", path.display());
    }
}

fn findings(case: &Case) -> Vec<Diagnostic> {
    let options = Options { annotations: case.optional("annotations.json"), ..Options::default() };
    let (schemas, mut findings) = input::read_all(&[case.schema()], &options);
    findings.extend(lint::lint(&schemas));
    findings
}
