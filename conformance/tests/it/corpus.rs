//! What the benchmark validates: the transcript that is made from the recordings.

use std::collections::BTreeSet;

use msp_conformance::validate::{Format, Options, Outcome, run};
use serde_json::Value;

#[path = "../../benches/validate/corpus.rs"]
mod maker;

use maker::{Form, write};

#[test]
fn a_made_transcript_is_good_and_never_needs_the_slow_lane() {
    let folder = tempfile::tempdir().unwrap();
    for form in [Form::Bare, Form::Wrapped] {
        let path = folder.path().join("corpus.ndjson");
        let mut text = Vec::new();
        let size = write(&mut text, form, 1_500_000).unwrap();
        assert!(size.bytes >= 1_500_000 && size.frame_bytes / size.frames > 500, "frames are too small on average");
        std::fs::write(&path, &text).unwrap();
        let mut options = Options::default();
        options.paths = vec![path];
        options.format = Format::Json;
        let mut out = Vec::new();
        assert_eq!(run(&options, &mut out, &mut Vec::new()).unwrap(), Outcome::Good);
        let report: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()));
        assert_eq!(report["counts"]["frames"], size.frames);
        for what in ["asked", "unpaired", "notes", "warnings"] {
            assert_eq!(report["counts"][what], 0, "{what}");
        }
        if form == Form::Bare {
            all_requests_have_ids_of_their_own(std::str::from_utf8(&text).unwrap());
        }
    }
}

fn all_requests_have_ids_of_their_own(text: &str) {
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        if let (Some(method), Some(id)) = (frame["method"].as_str(), frame.get("id")) {
            let host = ["approval/request", "userInput/request", "admission/request"].contains(&method);
            assert!(seen.insert((host, id.to_string())), "{method} {id}");
        }
    }
    assert!(seen.len() > 700);
}
