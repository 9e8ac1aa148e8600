//! The recorded conversations of other hosts: what their clients said is said to ours, and the frames that come are compared with
//! the recorded ones, in order.
//!
//! `recorded/list.json` says of every conversation whether it matches, and what may differ in it: nothing else may, and everything
//! that is listed has to. `recorded/setups/` brings the host to the state in which a conversation begins, and says what the provider
//! plays in it. Everything happens in memory on a paused clock, so nothing depends on the speed of the machine.

mod compare;
mod list;
mod replay;
mod setup;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use serde::Deserialize;

use self::compare::{Expected, Played, compare};
use self::list::{Differences, List, Verdict};
use crate::trial;

/// The page that tells people what the list says.
const PAGE: &str = include_str!("../../RECORDINGS.md");

/// How many conversations match at least.
const FLOOR: usize = 32;

/// A line of a recording.
#[derive(Debug, Deserialize)]
struct Line {
    dir: String,
    raw: String,
}

/// One test per conversation, and those of the list itself.
pub(crate) fn trials(required: bool) -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/msp/transcripts");
    let absent = match (folder.is_dir(), cfg!(target_os = "linux")) {
        (true, true) => None,
        (false, _) => Some("no ../shared"),
        (true, false) => Some("the recorded hosts ran on Linux, and say so"),
    };
    let list = List::read();
    let mut trials: Vec<_> = list
        .scenarios
        .keys()
        .map(|name| {
            let (path, name) = (folder.join(name), name.clone());
            trial(format!("recorded::{name}"), absent, required, move || one(&path, &name))
        })
        .collect();
    trials.push(trial("recorded::list_is_whole".to_owned(), absent, required, move || is_whole(&folder)));
    trials.push(Trial::test("recorded::page_says_what_the_list_says", page_is_current));
    trials.push(Trial::test("recorded::what_came_since_is_no_older", came_since));
    trials
}

fn one(path: &Path, name: &str) -> Result<(), Failed> {
    let list = List::read();
    let lines = lines(path)?;
    let scenario = &list.scenarios[name];
    let differences = scenario.differences();
    let expected = expected(&lines, &differences)?;
    let played = play(&lines, name, &differences)?;
    match (&scenario.verdict, compare(&expected, &played, &differences)) {
        (Verdict::Matches, Err(difference)) => Err(format!("{name}: {difference}").into()),
        (Verdict::Matches, Ok(())) => {
            must_notice(name, &expected, &played, &differences)?;
            nothing_is_idle(name, &lines, &played, &differences)
        }
        (Verdict::Differs { .. }, Ok(())) => Err(format!("{name} is listed as differing, and matches").into()),
        (Verdict::Differs { at, .. }, Err(difference)) if difference.line == *at => Ok(()),
        (Verdict::Differs { at, .. }, Err(difference)) => {
            Err(format!("{name} is listed as differing at line {at}: {difference}").into())
        }
    }
}

/// Says a conversation.
fn play(lines: &[Line], name: &str, differences: &Differences) -> Result<Played, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(replay::replay(lines, &setup::Setup::read(name)?, differences))
}

fn lines(path: &Path) -> Result<Vec<Line>, Failed> {
    let text = fs::read_to_string(path.join("transcript.ndjson"))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The frames that are to come: the recorded ones, and between them those that are listed as having come since.
fn expected(lines: &[Line], differences: &Differences) -> Result<Vec<Expected>, Failed> {
    let mut expected = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.dir == "server" {
            expected.push(Expected::Recorded(at + 1, serde_json::from_str(&line.raw)?));
        }
        let since = differences.frames.iter().filter(|frame| frame.after == at + 1);
        expected.extend(since.map(|frame| Expected::Since(frame.clone())));
    }
    Ok(expected)
}

/// A recording without one of its frames, with two neighbours in the other order, or with one id in the place of another matches
/// no more.
fn must_notice(name: &str, expected: &[Expected], played: &Played, differences: &Differences) -> Result<(), Failed> {
    let recorded: Vec<usize> = (0..expected.len()).filter(|at| expected[*at].recorded().is_some()).collect();
    for at in &recorded {
        let mut dropped = expected.to_vec();
        dropped.remove(*at);
        if compare(&dropped, played, differences).is_ok() {
            return Err(format!("{name}: frame {at} dropped goes unnoticed").into());
        }
    }
    for pair in recorded.windows(2) {
        let differ = match (expected[pair[0]].recorded(), expected[pair[1]].recorded()) {
            (Some(one), Some(other)) => differences.masked(one) != differences.masked(other),
            _ => false,
        };
        let mut swapped = expected.to_vec();
        swapped.swap(pair[0], pair[1]);
        if differ && compare(&swapped, played, differences).is_ok() {
            return Err(format!("{name}: frames {} and {} swapped go unnoticed", pair[0], pair[1]).into());
        }
    }
    for (at, reused) in compare::with_a_reused_id(expected, differences) {
        if compare(&reused, played, differences).is_ok() {
            return Err(format!("{name}: another id in frame {at} goes unnoticed").into());
        }
    }
    Ok(())
}

/// Without any one of its entries, the list of a conversation does not do any more.
fn nothing_is_idle(name: &str, lines: &[Line], played: &Played, differences: &Differences) -> Result<(), Failed> {
    let mut idle = Vec::new();
    for (entry, fewer) in differences.without_each() {
        if compare(&expected(lines, &fewer)?, played, &fewer).is_ok() {
            idle.push(entry);
        }
    }
    if idle.is_empty() { Ok(()) } else { Err(format!("{name}: listed for nothing: {}", idle.join(", ")).into()) }
}

/// Every recording is in the list, and enough of them match.
fn is_whole(folder: &Path) -> Result<(), Failed> {
    let list = List::read();
    let mut recorded = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.join("transcript.ndjson").is_file() {
            recorded.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    let listed: BTreeSet<_> = list.scenarios.keys().cloned().collect();
    if listed != recorded {
        return Err(format!("listed or recorded alone: {:?}", listed.symmetric_difference(&recorded)).into());
    }
    let matching = list.matching();
    if matching < FLOOR { Err(format!("{matching} match, fewer than {FLOOR}").into()) } else { Ok(()) }
}

/// The page has the rows that the list makes, and no others.
fn page_is_current() -> Result<(), Failed> {
    let list = List::read();
    let rows = list.rows();
    let table = PAGE.split_once("|---|---|\n| approval-").map(|(_, table)| format!("| approval-{table}"));
    if table.as_ref() != Some(&rows) {
        return Err(format!("the table of RECORDINGS.md has to be\n{rows}").into());
    }
    let counted = format!("{} of the {} match.", list.matching(), list.scenarios.len());
    if PAGE.contains(&counted) { Ok(()) } else { Err(format!("RECORDINGS.md does not say `{counted}`").into()) }
}

/// What is listed as having come since is in the schema since the revision that the list names.
fn came_since() -> Result<(), Failed> {
    List::read().check_revisions().map_err(Failed::from)
}
