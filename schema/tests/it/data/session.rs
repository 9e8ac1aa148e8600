//! The session schemas: the manifest tells the truth, everything has a text, every reference has a target.

use std::collections::BTreeSet;

use msp_schema::session::{SessionSchemas, published};
use msp_schema::{bundle, digest};
use serde_json::Value;

use super::each_schema;

#[test]
fn the_manifest_tells_the_truth() {
    let schemas = published();
    let manifest = schemas.manifest.as_ref().unwrap();
    assert_eq!(manifest.schema_version, 1);
    assert_eq!(manifest.functions, schemas.functions.iter().map(|function| &*function.id).collect::<Vec<_>>());
    assert_eq!(manifest.triggers, schemas.triggers.iter().map(|trigger| &*trigger.id).collect::<Vec<_>>());
    assert_eq!(manifest.errors, schemas.errors.iter().map(|error| &*error.code).collect::<Vec<_>>());
    let files = msp_schema::published::files().iter().filter_map(|(path, text)| {
        let path = path.strip_prefix("session/").filter(|path| *path != "manifest.json")?;
        Some((path, text.as_bytes()))
    });
    assert_eq!(manifest.digest, digest::of_files(files));
    assert!(!manifest.upstream.commits.is_empty());
}

#[test]
fn a_file_is_named_after_what_it_holds() {
    for (path, text) in msp_schema::published::files() {
        let Some(name) = ["session/functions/", "session/triggers/"].iter().find_map(|at| path.strip_prefix(at)) else {
            continue;
        };
        let file: Value = serde_json::from_str(text).unwrap();
        let id = file["function_id"].as_str().or(file["trigger_type"].as_str()).unwrap();
        assert_eq!(name, id.replace("::", ".") + ".json");
    }
}

#[test]
fn everything_has_a_text() {
    let schemas = published();
    let functions = schemas.functions.iter().map(|function| (&function.id, &function.summary));
    for (id, summary) in functions.chain(schemas.triggers.iter().map(|trigger| (&trigger.id, &trigger.summary))) {
        assert!(summary.ends_with('.'), "{id}");
    }
    let document = schemas.definition_bundle().unwrap();
    for (name, schema) in document["$defs"].as_object().unwrap() {
        assert!(schema["description"].is_string(), "{name}");
        each_schema(schema, name, &mut |at, schema| {
            for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
                assert!(schema["description"].is_string(), "{at}/properties/{member}");
            }
            let texts = &schema["x-enumDescriptions"];
            for value in schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(texts[value].is_string(), "{at}/enum/{value}");
            }
        });
    }
}

#[test]
fn errors_name_functions_and_members_that_exist() {
    let schemas = published();
    for error in &schemas.errors {
        for id in error.raised_by.iter().filter(|id| *id != "*") {
            assert!(schemas.find_function(id).is_some(), "{}: {id}", error.code);
        }
        for (id, members) in &error.members {
            let properties = &schemas.find_function(id).unwrap().request["properties"];
            for member in members {
                assert!(properties.get(member).is_some(), "{}: {id} {member}", error.code);
            }
        }
        assert!(error.when.ends_with('.'), "{}", error.code);
    }
}

#[test]
fn the_bundle_has_every_part_under_a_name_of_its_own() {
    let schemas = published();
    let document = schemas.definition_bundle().unwrap();
    let names: BTreeSet<_> = document["$defs"].as_object().unwrap().keys().map(String::as_str).collect();
    for name in [
        "AppendRequest",
        "AppendResponse",
        "StorePutMetaRequest",
        "MentionGetResponse",
        "CreatedConfig",
        "CreatedPayload",
        "StoreEventsPayload",
        "SessionStatus",
    ] {
        assert!(names.contains(name), "{name}");
    }
    each_schema(&document, "", &mut |at, schema| {
        assert!(at.is_empty() || schema.get("$schema").is_none(), "{at}");
        assert!(schema.get("x-memberDescriptions").is_none(), "{at}");
        if let Some(reference) = schema["$ref"].as_str() {
            bundle::resolve(&document, reference).unwrap_or_else(|error| panic!("{at}: {error}"));
        }
    });
}

#[test]
fn a_folder_reads_like_the_embedded_files() {
    let read = SessionSchemas::read(super::root().join("session")).unwrap();
    assert_eq!(read.definition_bundle().unwrap(), published().definition_bundle().unwrap());
    assert_eq!(read.manifest, published().manifest);
    assert_eq!(read.errors.len(), published().errors.len());
}
