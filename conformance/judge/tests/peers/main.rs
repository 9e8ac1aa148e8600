//! What needs recordings that are not part of the repository. Without them it shows as ignored, with the reason.

#![allow(clippy::print_stdout, reason = "a test says what it saw")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use msp_judge::rules::table::Table;
use msp_judge::{Finding, Judge, Library, Profile, SessionSchema, Severity, Surface, judge_transcript};

fn main() -> ExitCode {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/msp");
    let required = std::env::var_os("REQUIRE_PEERS").is_some();
    let trial = |name: &str, path: PathBuf, what: &str, check: fn(&Path) -> Result<(), Failed>| {
        let absent = !path.exists();
        let kind = if absent { format!("no {what} beside the repository") } else { String::new() };
        let run = move || {
            if absent {
                return Err(Failed::from(format!("REQUIRE_PEERS is set, but {} is not there", path.display())));
            }
            check(&path)
        };
        Trial::test(name, run).with_kind(kind).with_ignored_flag(absent && !required)
    };
    let trials = vec![
        trial(
            "published_recordings_have_exactly_the_known_findings",
            shared.join("transcripts"),
            "published recordings",
            check,
        ),
        trial("every_rule_of_the_text_is_in_the_table", shared.join("behaviour.md"), "text of the rules", rules),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The table has the rules of the text, in its order, with its levels and whom they bind.
fn rules(text: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(text)?;
    let of_text: Vec<String> = text.lines().filter_map(tagged).collect();
    let of_table: Vec<String> = Table::msp()
        .rows()
        .iter()
        .map(|row| format!("{} {} {}", row.id(), row.level().word(), row.who().word()))
        .collect();
    println!("{} rules in the text, {} in the table", of_text.len(), of_table.len());
    match of_text.iter().zip(&of_table).find(|(text, table)| text != table) {
        Some((text, table)) => Err(format!("the text has {text} where the table has {table}").into()),
        None if of_text.len() != of_table.len() => Err("one of both goes on where the other ends".into()),
        None => Ok(()),
    }
}

/// Id, level and side of a line such as `- **CUR-1** [MUST, host] …`.
fn tagged(line: &str) -> Option<String> {
    let (id, rest) = line.strip_prefix("- **")?.split_once("** [")?;
    let (tag, _) = rest.split_once(']')?;
    let (level, who) = tag.split_once(", ")?;
    Some(format!("{id} {level} {who}"))
}

/// The findings that the published recordings are known to have, and nothing else.
const KNOWN: [(&str, Severity, &str); 5] = [
    (
        "tolerance-unknown-item-kind",
        Severity::Warning,
        "warning[OPEN-10]: item/completed /params/item/kind enum: expected a word of `ItemKind`, found `hologramPreview`",
    ),
    (
        "tolerance-unknown-state-method",
        Severity::Note,
        "note[OPEN-6]: session/auraChanged /method: expected a method that the bundle lists, found `session/auraChanged`",
    ),
    (
        "tolerance-unknown-stream-kind",
        Severity::Warning,
        "warning[CUR-10]: item/completed /params/sourceRange/stream/kind enum: expected a word of `StreamRef`, found `vendor.audit`",
    ),
    ("userinput-answer-round-trip", Severity::Error, "12 decidedAt; fits 1.3.1, 1.4.2"),
    ("userinput-cancel-round-trip", Severity::Error, "12 decidedAt; fits 1.3.1, 1.4.2"),
];

/// What is a rule of the newest revision and was none yet when the recording was made: scenario, line, rule.
const DRIFTS: &[(&str, u64, &str)] = &[
    ("gap-recovery-splice-fill", 6, "ITEM-52"),
    ("gap-recovery-splice-fill", 7, "ITEM-52"),
    ("gap-recovery-splice-fill", 8, "ITEM-52"),
    ("gap-recovery-splice-fill", 10, "ITEM-52"),
    ("gap-recovery-splice-fill", 11, "ITEM-52"),
    ("gap-recovery-splice-fill", 12, "ITEM-52"),
    ("gap-recovery-splice-fill", 13, "ITEM-52"),
    ("gap-recovery-splice-fill", 15, "ITEM-52"),
    ("gap-recovery-splice-fill", 15, "ITEM-52"),
    ("workflow-cancel-round-trip", 6, "ITEM-31"),
    ("workflow-cancel-round-trip", 13, "ITEM-31"),
    ("workflow-cancel-round-trip", 14, "ITEM-31"),
    ("workflow-child-control-skip", 6, "ITEM-31"),
    ("workflow-child-control-skip", 9, "ITEM-31"),
];

fn check(recordings: &Path) -> Result<(), Failed> {
    let library = Arc::new(Library::new(Surface::Experimental)?);
    let session = Arc::new(SessionSchema::published()?);
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(recordings)?.map(|entry| entry.map(|it| it.path())).collect::<Result<_, _>>()?;
    folders.sort();
    let (mut files, mut frames, mut asked, mut found) = (0, 0, 0, Vec::new());
    for folder in folders {
        let path = folder.join("transcript.ndjson");
        let Ok(file) = std::fs::File::open(&path) else { continue };
        let scenario = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut profile = Profile::default();
        profile.library = Some(Arc::clone(&library));
        profile.follow = true;
        profile.session = Some(Arc::clone(&session));
        let report = judge_transcript(file, Judge::new(library.newest()?, profile))?;
        files += 1;
        frames += report.counts.frames;
        asked += report.counts.asked;
        found.extend(report.findings.into_iter().map(|finding| (scenario.clone(), finding)));
    }
    println!("{files} recordings, {frames} frames, {asked} through the slow lane");
    let mut drifted: Vec<(String, u64, &str)> = Vec::new();
    found.retain(|(scenario, finding): &(String, Finding)| {
        let drift = (scenario.as_str(), finding.line, finding.rule.id());
        let is_drift = DRIFTS.contains(&drift);
        if is_drift {
            drifted.push((scenario.clone(), drift.1, drift.2));
        }
        !is_drift
    });
    let mut listed: Vec<(String, u64, &str)> = DRIFTS.iter().map(|it| (it.0.to_owned(), it.1, it.2)).collect();
    listed.sort();
    drifted.sort();
    if listed != drifted {
        return Err(format!("the list of drifts has {listed:?}, and found were {drifted:?}").into());
    }
    let text: Vec<String> =
        found.iter().map(|(scenario, finding)| format!("{scenario}:{} {}", finding.line, finding.line())).collect();
    if (files, frames) != (47, 562) || found.len() != KNOWN.len() {
        return Err(format!("{files} files, {frames} frames:\n{}", text.join("\n")).into());
    }
    for ((scenario, finding), (known, severity, words)) in found.iter().zip(KNOWN) {
        let line = finding.line();
        let fits = if severity == Severity::Error {
            finding.line == 12
                && finding.rule.id() == "UIN-6"
                && finding.method.as_deref() == Some("userInput/settled")
                && finding.expected == "member `decidedAt`"
                && finding.fits == ["1.3.1", "1.4.2"]
        } else {
            line.starts_with(words)
        };
        if !(scenario == known && finding.severity == severity && fits) {
            return Err(format!("expected {known}: {words}\nfound {scenario}:{} {line}", finding.line).into());
        }
    }
    Ok(())
}
