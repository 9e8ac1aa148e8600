//! The JSON schema of the transcript format, held against the recordings and against the recogniser.

use std::path::Path;

use msp_judge::transcript::{Damage, FORMAT, Line, Recogniser, What};
use serde_json::Value;

fn format() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(FORMAT).unwrap()).unwrap()
}

/// Whether the recogniser takes a line for one of the format.
fn is_known(line: &[u8]) -> bool {
    let mut recogniser = Recogniser::new();
    let entry = recogniser.recognise(1, Line::Whole(line)).unwrap();
    !matches!(entry.what, What::Damaged { damage: Damage::UnknownForm | Damage::NotARecord { .. }, .. })
}

#[test]
fn every_line_of_the_recordings_is_of_the_format() {
    let format = format();
    let mut count = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings")).unwrap() {
        let Ok(text) = std::fs::read_to_string(entry.unwrap().path().join("transcript.ndjson")) else { continue };
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert!(format.is_valid(&value), "{line}");
            assert!(is_known(line.as_bytes()), "{line}");
            count += 1;
        }
    }
    assert!(count > 700);
}

#[test]
fn schema_and_recogniser_agree_on_each_form() {
    let format = format();
    for (line, good) in [
        (r#"{"dir":"client","raw":"{}"}"#, true),
        (r#"{"dir":"server","rawBase64":"e30K","conn":"a","atMs":12.5}"#, true),
        (r#"{"raw":"{}","dir":"server","conn":3}"#, true),
        (r#"{"dir":"host","raw":"{}"}"#, false),
        (r#"{"dir":"client"}"#, false),
        (r#"{"raw":"{}"}"#, false),
        (r#"{"dir":"client","raw":{}}"#, false),
        (r#"{"dir":"client","raw":"{}","conn":[]}"#, false),
        (r#"{"dir":"client","raw":"{}","atMs":"now"}"#, false),
        (r#"{"jsonrpc":"2.0","method":"initialized"}"#, true),
        (r#"{"later":1,"jsonrpc":"2.0","method":"initialized"}"#, true),
        (r#"{"id":1,"result":{}}"#, true),
        (r#"{"event":"spawn","conn":"a","host":"h","version":"1"}"#, true),
        (r#"{"event":7}"#, false),
        (r#"{"call":1,"function_id":"session::get","payload":{}}"#, true),
        (r#"{"call":1,"result":null}"#, true),
        (r#"{"result":null,"call":"x","conn":"a"}"#, true),
        (r#"{"trigger_type":"session::created","payload":{}}"#, true),
        (r#"{"conn":"a","bind":{"id":"b","trigger_type":"session::created"}}"#, true),
        (r#"{"unbind":"b"}"#, true),
        (r#"{"weather":"dry"}"#, false),
        ("[]", false),
        ("7", false),
    ] {
        assert_eq!(format.is_valid(&serde_json::from_str(line).unwrap()), good, "schema: {line}");
        assert_eq!(is_known(line.as_bytes()), good, "recogniser: {line}");
    }
}
