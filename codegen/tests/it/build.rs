//! The helper for build scripts, as a build script would call it.

use std::fs;

use msp_codegen::build::Builder;
use msp_codegen::options::{Layout, Options};

/// One file, of the name that was asked for; a second run leaves it alone.
#[test]
fn writes_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("in.json");
    fs::write(&schema, r#"{ "$defs": { "Account": { "type": "object" } } }"#).unwrap();
    let out = folder.path().join("out");
    let build = || Builder::new().schema(&schema).file("types.rs").out(&out).write().unwrap();
    assert_eq!(build(), out.join("types.rs"));
    assert!(fs::read_to_string(out.join("types.rs")).unwrap().contains("Account"));
    let before = fs::metadata(out.join("types.rs")).unwrap().modified().unwrap();
    build();
    assert_eq!(fs::metadata(out.join("types.rs")).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

/// A schema that is refused: every finding in the text that cargo shows, and no file.
#[test]
fn refuses_with_every_finding() {
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("in.json");
    fs::write(&schema, r##"{ "$defs": { "A": { "$ref": "#/$defs/B" }, "C": { "$ref": "#/$defs/D" } } }"##).unwrap();
    let out = folder.path().join("out");
    let error = Builder::new().schema(&schema).out(&out).write().unwrap_err();
    assert_eq!(error.diagnostics.len(), 2);
    let text = format!("{error:?}");
    assert!(text.contains("in.json#/$defs/A/$ref") && text.contains("in.json#/$defs/C/$ref"), "{text}");
    assert!(!out.exists());
}

/// Several files keep their names.
#[test]
fn writes_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/msp");
    let options = Options { layout: Layout::Files, ..Options::default() };
    let written = Builder::new().schema(bundle).options(options).out(folder.path()).write().unwrap();
    assert_eq!(written, folder.path());
    assert!(fs::read_dir(folder.path()).unwrap().count() > 1);
}

/// Two steps that would write the same file: the second is refused, the first stays; the same step may run again.
#[test]
fn a_second_schema_does_not_take_the_file_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let schema = |name: &str| {
        let path = folder.path().join(format!("{name}.json"));
        fs::write(&path, format!(r#"{{ "$defs": {{ "{name}": {{ "type": "object" }} }} }}"#)).unwrap();
        path
    };
    let (first, second) = (schema("First"), schema("Second"));
    let out = folder.path().join("out");
    let step = |schema: &std::path::Path| Builder::new().schema(schema).out(&out);
    step(&first).write().unwrap();
    let text = || fs::read_to_string(out.join("schema.rs")).unwrap();
    let before = text();

    let error = step(&second).write().unwrap_err();
    assert_eq!(error.diagnostics[0].code, "codegen/output-conflict");
    assert!(error.to_string().contains("schema.rs") && error.to_string().contains("Builder::file"), "{error}");
    // Other choices for the same schema are another text too, and several files would remove the one that is there.
    let options = Options { root: Some("Other".to_owned()), layout: Layout::Modules, ..Options::default() };
    assert!(step(&first).options(options).write().is_err());
    let options = Options { layout: Layout::Files, ..Options::default() };
    assert!(step(&second).options(options).write().is_err());
    assert_eq!(text(), before);

    step(&second).file("second.rs").write().unwrap();
    step(&first).write().unwrap();
    schema("First");
    assert_eq!(text(), before);
}
