//! Each folder of `cases` holds something that is no bundle, and the error it gives.

use std::error::Error as _;
use std::fs;
use std::path::Path;

use msp_schema::bundle::Bundle;

#[test]
fn every_case_gives_its_error() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reading/cases");
    let mut seen = 0;
    for case in fs::read_dir(&cases).unwrap() {
        let case = case.unwrap().path();
        let input = case.join("input");
        let input = if input.exists() { input } else { case.join("input.json") };
        let expected = fs::read_to_string(case.join("error.txt")).unwrap();
        let error = Bundle::read(&input).expect_err(&case.display().to_string());
        let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        let actual = format!("{}\n{error}{source}\n", error.code());
        let actual = actual.replace(&case.display().to_string(), "CASE").replace('\\', "/");
        assert_eq!(actual, expected, "{}", case.display());
        seen += 1;
    }
    assert_eq!(seen, 15, "cases were read");
}

#[test]
fn a_folder_without_session_schemas_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = msp_schema::session::SessionSchemas::read(folder.path()).unwrap_err();
    assert_eq!(error.code(), "schema/not-session-schemas");
    fs::create_dir(folder.path().join("functions")).unwrap();
    fs::write(folder.path().join("functions/session.x.json"), "{").unwrap();
    let error = msp_schema::session::SessionSchemas::read(folder.path()).unwrap_err();
    assert!(error.to_string().contains("functions/session.x.json"), "{error}");
}

#[test]
fn a_surface_folder_and_its_file_read_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("msp/stable");
    let file = folder.join("msp.schema.json");
    assert_eq!(Bundle::read(&folder).unwrap().value(), Bundle::read(&file).unwrap().value());
    let manifest = msp_schema::bundle::Manifest::read_beside(&file).unwrap();
    assert_eq!(manifest, Some(msp_schema::published::manifest(msp_schema::Surface::Stable)));
    let alone = tempfile::tempdir().unwrap();
    fs::copy(&file, alone.path().join("mine.json")).unwrap();
    fs::write(alone.path().join("manifest.json"), "{}").unwrap();
    assert!(Bundle::read(alone.path()).is_ok());
}
