//! Each rule that has a judge, against transcripts that keep it and transcripts that break it.
//!
//! A case is a file `tests/cases/RULE-ID/KIND*.ndjson`; its kind says what has to come of it:
//!
//! | kind | the rule | findings |
//! |---|---|---|
//! | `pass` | pass | none |
//! | `fail` | fail | errors of this rule alone, each where an `expect` line says |
//! | `warn` | warn | warnings of this rule alone, each where an `expect` line says |
//! | `unseen` | not-observed | none |
//! | `lacks` | not-applicable | none |
//!
//! Notes are free, but for those that an `expect` line names. What a line may be: [`script`].

mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use msp_judge::rules::table::{Level, Row, Table};
use msp_judge::transcript::{Line, Recogniser};
use msp_judge::{Finding, Judge, Library, Profile, Report, Severity, Surface, UnderTest, Verdict};

use script::{Expected, Script};

static LIBRARY: LazyLock<Arc<Library>> = LazyLock::new(|| Arc::new(Library::new(Surface::Experimental).unwrap()));

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// Rules with their cases; `CASE` narrows them down to those whose path has that text in it.
fn cases() -> BTreeMap<String, Vec<PathBuf>> {
    let mut cases: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for rule in fs::read_dir(folder()).unwrap() {
        let rule = rule.unwrap();
        let mut files: Vec<PathBuf> = fs::read_dir(rule.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        cases.insert(rule.file_name().to_str().unwrap().to_owned(), files);
    }
    cases
}

/// Rules that have a judge.
fn judged() -> BTreeSet<&'static str> {
    let report = Judge::new(LIBRARY.newest().unwrap(), Profile::default()).finish();
    report.verdicts.iter().map(|verdict| verdict.rule.id()).collect()
}

fn judge(script: &Script) -> Report {
    let mut profile = Profile::default();
    profile.library = Some(Arc::clone(&LIBRARY));
    profile.follow = script.revision.is_none();
    profile.under_test = script.under_test;
    profile.client_run = script.under_test == UnderTest::Client;
    profile.frame_limit = script.frame_limit;
    let schema = match &script.revision {
        Some(revision) => LIBRARY.revision(revision).unwrap(),
        None => LIBRARY.newest().unwrap(),
    };
    let mut judge = Judge::new(schema, profile);
    let mut recogniser = Recogniser::new();
    for (number, line) in &script.lines {
        if let Some(entry) = recogniser.recognise(*number, Line::Whole(line.as_bytes())) {
            judge.observe(&entry);
        }
    }
    judge.finish()
}

/// What is wrong with a case, in words.
fn check(rule: &str, path: &Path) -> Result<(), String> {
    let kind = path.file_stem().unwrap().to_str().unwrap();
    let script = Script::read(&fs::read_to_string(path).unwrap())?;
    let report = judge(&script);
    let verdict = report.verdicts.iter().find(|verdict| verdict.rule.id() == rule).map(|verdict| &verdict.verdict);
    let Some(verdict) = verdict else { return Err("the rule has no judge".to_owned()) };
    let kinds = ["pass", "fail", "warn", "unseen", "lacks"];
    let Some(kind) = kinds.into_iter().find(|it| kind.starts_with(it)) else {
        return Err(format!("a case is one of {kinds:?}"));
    };
    let (fits, severity) = match kind {
        "pass" => (*verdict == Verdict::Pass, None),
        "fail" => (*verdict == Verdict::Fail, Some(Severity::Error)),
        "warn" => (*verdict == Verdict::Warn, Some(Severity::Warning)),
        "unseen" => (*verdict == Verdict::NotObserved, None),
        _ => (matches!(verdict, Verdict::NotApplicable { .. }), None),
    };
    let mut wrong = Vec::new();
    if !fits {
        wrong.push(format!("the verdict is {}", verdict.word()));
    }
    if severity.is_some() && script.expected.is_empty() {
        wrong.push("no `expect` line says where the finding is".to_owned());
    }
    let counted = report.findings.iter().filter(|finding| finding.severity > Severity::Note);
    let mut left: Vec<&Finding> = counted.collect();
    for expected in &script.expected {
        let is_it = |finding: &&Finding| {
            expected.is(finding) && finding.rule.id() == rule && severity.is_none_or(|it| finding.severity == it)
        };
        let found = report.findings.iter().find(is_it);
        match found {
            Some(found) => left.retain(|finding| !std::ptr::eq(*finding, found)),
            None => wrong.push(format!("nothing was found that is {expected:?}")),
        }
    }
    for finding in left {
        wrong.push(format!("found, and not expected: {}", show(finding)));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

fn show(finding: &Finding) -> String {
    let expect = Expected::of(finding);
    format!("line {}: {}\n    {}", finding.line, finding.line(), expect.line())
}

#[test]
fn every_case_comes_out_as_it_says() {
    let only = std::env::var("CASE").unwrap_or_default();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (rule, files) in cases() {
        for file in files {
            let name = format!("{rule}/{}", file.file_name().unwrap().to_str().unwrap());
            if !name.contains(&only) {
                continue;
            }
            count += 1;
            if let Err(what) = check(&rule, &file) {
                wrong.push(format!("{name}:\n  {what}"));
            }
        }
    }
    println!("{count} cases");
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_judged_rule_has_a_case_that_passes_and_one_that_fails() {
    let (cases, judged) = (cases(), judged());
    let mut wrong = Vec::new();
    for rule in &judged {
        let names: Vec<&str> =
            cases.get(*rule).into_iter().flatten().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        let has = |kind: &str| names.iter().any(|name| name.starts_with(kind));
        let warns = Table::msp().find(rule).unwrap().level() != Level::Must;
        if !has("pass") || !(has("fail") || has("warn") && (warns || ONLY_WARN.contains(rule))) {
            wrong.push(format!("{rule}: {names:?}"));
        }
    }
    let strangers: Vec<&String> = cases.keys().filter(|rule| !judged.contains(rule.as_str())).collect();
    let without: Vec<&str> = Table::msp()
        .rows()
        .iter()
        .filter(|row| row.reason().is_none() && !judged.contains(row.id()))
        .map(Row::id)
        .collect();
    println!("{} rules have a judge, {} have none yet: {}", judged.len(), without.len(), without.join(" "));
    assert!(wrong.is_empty(), "without a passing or a failing case:\n{}", wrong.join("\n"));
    assert!(strangers.is_empty(), "cases of rules without a judge: {strangers:?}");
}

/// Rules of level MUST whose every breach is a warning, because the text leaves room.
const ONLY_WARN: &[&str] = &["ITEM-7", "GAP-6"];
