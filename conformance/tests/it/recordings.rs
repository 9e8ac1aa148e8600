//! Every recording of the kit is good, every broken one gives the report that lies beside it.
//!
//! `UPDATE_EXPECT=1` writes the reports anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use msp_conformance::recordings;
use msp_conformance::validate::{Options, Outcome, run};
use msp_judge::Rule;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn scenarios(name: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder(name)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Validates one path; its name is cut out of the report.
fn validate(path: &Path, mut options: Options) -> (Outcome, String) {
    options.paths = vec![path.to_owned()];
    let (mut out, mut trouble) = (Vec::new(), Vec::new());
    let outcome = run(&options, &mut out, &mut trouble).unwrap();
    let text = String::from_utf8([out, trouble].concat()).unwrap();
    (outcome, text.replace(path.to_str().unwrap(), "transcript.ndjson"))
}

#[test]
fn the_list_of_recordings_is_the_folder() {
    let listed: BTreeSet<String> = recordings::ALL.iter().map(|recording| recording.scenario.to_owned()).collect();
    assert_eq!(listed, scenarios("recordings"));
}

#[test]
fn the_recordings_of_the_kit_have_no_finding() {
    for scenario in scenarios("recordings") {
        let path = folder("recordings").join(&scenario).join("transcript.ndjson");
        let (outcome, text) = validate(&path, Options::default());
        assert_eq!((outcome, text.lines().count()), (Outcome::Good, 1), "{scenario}: {text}");
        assert!(text.ends_with(": 0 errors, 0 warnings, 0 notes\n"), "{scenario}: {text}");
    }
}

#[test]
fn every_broken_recording_gives_its_report() {
    let mut wrong = Vec::new();
    for scenario in scenarios("recordings-broken") {
        let here = folder("recordings-broken").join(&scenario);
        let mut options = Options::default();
        if let Ok(limit) = fs::read_to_string(here.join("frame-limit")) {
            options.frame_limit = limit.trim().parse().unwrap();
        }
        let (outcome, text) = validate(&here.join("transcript.ndjson"), options);
        assert_ne!(outcome, Outcome::CouldNotTell, "{scenario}: {text}");
        let report = here.join("report.txt");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&report, &text).unwrap();
        }
        if fs::read_to_string(&report).unwrap_or_default() != text {
            wrong.push(format!("{scenario}:\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules that no recording of a sensible size can show, with where they are shown.
const ELSEWHERE: [(Rule, &str); 2] =
    [(Rule::Forgotten, "judge, pairing::tests"), (Rule::ErrorKind, "command::single_values, values only")];

#[test]
fn every_rule_has_a_broken_recording() {
    let reports: String = scenarios("recordings-broken")
        .iter()
        .map(|scenario| fs::read_to_string(folder("recordings-broken").join(scenario).join("report.txt")).unwrap())
        .collect();
    for rule in Rule::ALL {
        let shown = reports.contains(&format!("[{}]:", rule.id()));
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == rule);
        assert!(shown != elsewhere, "{}: shown {shown}, named as shown elsewhere {elsewhere}", rule.id());
    }
}
