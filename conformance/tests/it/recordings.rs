//! Every recording of the kit is good, every broken one gives the report that lies beside it.
//!
//! `UPDATE_EXPECT=1` writes the reports anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use msp_conformance::recordings;
use msp_conformance::validate::{Options, Outcome, run};
use msp_judge::Rule;
use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn scenarios(name: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder(name)).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
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
    [(Rule::FORGOTTEN, "judge, pairing::tests"), (Rule::ERROR_KIND, "command::single_values, values only")];

#[test]
fn every_rule_has_a_broken_recording() {
    let reports: String = scenarios("recordings-broken")
        .iter()
        .map(|scenario| fs::read_to_string(folder("recordings-broken").join(scenario).join("report.txt")).unwrap())
        .collect();
    for rule in Rule::OWN {
        let shown = reports.contains(&format!("[{}]:", rule.id()));
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == rule);
        assert!(shown != elsewhere, "{}: shown {shown}, named as shown elsewhere {elsewhere}", rule.id());
    }
}

/// Everything that the recordings use, by what it is.
#[derive(Default, Debug)]
struct Used {
    called: BTreeSet<String>,
    answered: BTreeSet<String>,
    notified: BTreeSet<String>,
    item_kinds: BTreeSet<String>,
    error_kinds: BTreeSet<String>,
    functions: BTreeSet<String>,
    triggers: BTreeSet<String>,
}

impl Used {
    fn read(&mut self, text: &str) {
        let mut open: BTreeMap<String, String> = BTreeMap::new();
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            if let Some(function) = record["function_id"].as_str() {
                open.insert(record["call"].to_string(), function.to_owned());
            } else if record.get("result").is_some() {
                self.functions.insert(open[&record["call"].to_string()].clone());
            }
            self.triggers.extend(record["trigger_type"].as_str().map(str::to_owned));
            let Some(raw) = record["raw"].as_str() else { continue };
            let frame: Value = serde_json::from_str(raw).unwrap();
            self.frame(record["dir"].as_str().unwrap(), &frame, &mut open);
        }
    }

    fn frame(&mut self, side: &str, frame: &Value, open: &mut BTreeMap<String, String>) {
        self.items(frame);
        match (frame["method"].as_str(), frame.get("id")) {
            (Some(method), Some(id)) => {
                open.insert(format!("{side} {id}"), method.to_owned());
                self.called.insert(method.to_owned());
            }
            (Some(method), None) => drop(self.notified.insert(method.to_owned())),
            (None, id) if frame.get("result").is_some() => {
                let asker = if side == "client" { "server" } else { "client" };
                self.answered.insert(open[&format!("{asker} {}", id.unwrap())].clone());
            }
            _ => self.error_kinds.extend(frame.pointer("/error/data/kind").and_then(Value::as_str).map(str::to_owned)),
        }
    }

    fn items(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                if members.contains_key("itemId") && members.contains_key("revision") {
                    self.item_kinds.extend(members.get("kind").and_then(Value::as_str).map(str::to_owned));
                }
                members.values().for_each(|member| self.items(member));
            }
            Value::Array(list) => list.iter().for_each(|item| self.items(item)),
            _ => {}
        }
    }
}

#[test]
fn the_recordings_use_everything_that_the_schemas_have() {
    let mut used = Used::default();
    for recording in recordings::ALL {
        used.read(recording.text);
    }
    let bundle = msp_schema::published::bundle(msp_judge::Surface::Experimental);
    let names = |rows: &[msp_schema::bundle::Row]| rows.iter().map(|row| row.name.clone()).collect::<BTreeSet<_>>();
    let requests: BTreeSet<String> = names(bundle.methods()).union(&names(bundle.requests())).cloned().collect();
    let words = bundle.definition("ItemKind").unwrap()["enum"].as_array().unwrap();
    let kinds: BTreeSet<String> = words.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let errors: BTreeSet<String> =
        bundle.errors().iter().flat_map(|row| row.kinds().map(str::to_owned).collect::<Vec<_>>()).collect();
    let session = msp_schema::session::published();
    for (what, has, wanted) in [
        ("requests", &used.called, requests.clone()),
        ("results", &used.answered, requests),
        ("notifications", &used.notified, names(bundle.notifications())),
        ("item kinds", &used.item_kinds, kinds),
        ("error kinds", &used.error_kinds, errors),
        ("functions", &used.functions, session.functions.iter().map(|function| function.id.clone()).collect()),
        ("deliveries", &used.triggers, session.triggers.iter().map(|trigger| trigger.id.clone()).collect()),
    ] {
        let missing: Vec<&String> = wanted.difference(has).collect();
        assert!(missing.is_empty(), "{what}: {missing:?}");
    }
}
