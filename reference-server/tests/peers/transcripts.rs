//! The recorded conversations of another host: what its clients said is said again, and our frames are compared with its own, in order.
//! What may differ is in `transcripts/differences.json`: `ids` are unified one-to-one, `ignored` members are there on both sides with any
//! value, `added` members may be there on ours alone. `floor` is how many conversations match at least; it only rises.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

use crate::trial;

/// How long a frame that was recorded may take, and how long nothing has to come at the end.
const PATIENCE: Duration = Duration::from_secs(2);
const SILENCE: Duration = Duration::from_millis(300);

#[derive(Deserialize)]
struct Differences {
    ids: Vec<String>,
    ignored: Vec<String>,
    added: Vec<String>,
    floor: usize,
}

#[derive(Deserialize)]
struct Line {
    dir: String,
    raw: String,
}

/// Ids of the recording and ours, both ways.
#[derive(Default)]
struct Unified {
    ours: BTreeMap<String, String>,
    theirs: BTreeMap<String, String>,
}

/// One test over all conversations.
pub(crate) fn trials(required: bool) -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/msp/transcripts");
    let absent = (!folder.is_dir()).then_some("no ../shared");
    vec![trial("recorded_conversations".to_owned(), absent, required, move || all(&folder))]
}

fn all(folder: &Path) -> Result<(), Failed> {
    let differences: Differences = serde_json::from_str(include_str!("transcripts/differences.json"))?;
    let mut scenarios: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    scenarios.sort_by_key(fs::DirEntry::file_name);
    let (mut matching, mut report) = (0, String::new());
    for scenario in &scenarios {
        let name = scenario.file_name().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(scenario.path().join("transcript.ndjson")) else {
            report += &format!("{name}: without a recording\n");
            continue;
        };
        let lines: Vec<Line> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let expected: Vec<Value> = recorded(&lines)?;
        let actual = replay(&lines, &differences)?;
        match compare(&expected, &actual, &differences) {
            Err(difference) => report += &format!("{name}: {difference}\n"),
            Ok(_) => {
                matching += 1;
                report += &format!("{name}: matches\n");
                must_notice(&name, &expected, &actual, &differences)?;
            }
        }
    }
    println!("{report}{matching} of {} match", scenarios.len());
    if matching < differences.floor {
        return Err(format!("{matching} match, fewer than {}\n{report}", differences.floor).into());
    }
    Ok(())
}

/// Without a frame, or with two neighbours in the other order, a recording matches no more.
fn must_notice(name: &str, expected: &[Value], actual: &[Value], differences: &Differences) -> Result<(), Failed> {
    for at in 0..expected.len() {
        let mut dropped = expected.to_vec();
        dropped.remove(at);
        let mut swapped = expected.to_vec();
        swapped.swap(at, (at + 1).min(expected.len() - 1));
        if compare(&dropped, actual, differences).is_ok()
            || (at + 1 < expected.len() && compare(&swapped, actual, differences).is_ok())
        {
            return Err(format!("{name}: frame {at} dropped or swapped goes unnoticed").into());
        }
    }
    Ok(())
}

fn recorded(lines: &[Line]) -> Result<Vec<Value>, Failed> {
    let server = lines.iter().filter(|line| line.dir == "server");
    Ok(server.map(|line| serde_json::from_str(&line.raw)).collect::<Result<_, _>>()?)
}

/// Says what the client said, each line once all has come that came before it; gives what the server said.
fn replay(lines: &[Line], differences: &Differences) -> Result<Vec<Value>, Failed> {
    let folder = tempfile::tempdir()?;
    let (mut child, mut input, output) = spawn(folder.path())?;
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for line in lines {
        if line.dir == "server" {
            expected.push(serde_json::from_str::<Value>(&line.raw)?);
            let Ok(frame) = output.recv_timeout(PATIENCE) else { break };
            actual.push(serde_json::from_str(&frame)?);
            continue;
        }
        let mut unified = Unified::default();
        for (theirs, ours) in expected.iter().zip(&actual) {
            if unified.unify("", theirs, ours, differences).is_err() {
                break; // the comparison tells; until there the ids are known
            }
        }
        let raw = unified.ours.iter().fold(line.raw.clone(), |raw, (theirs, ours)| raw.replace(theirs, ours));
        input.write_all(format!("{raw}\n").as_bytes())?;
    }
    while let Ok(frame) = output.recv_timeout(SILENCE) {
        actual.push(serde_json::from_str(&frame)?);
    }
    child.kill()?;
    child.wait()?;
    Ok(actual)
}

fn spawn(sessions: &Path) -> Result<(Child, ChildStdin, Receiver<String>), Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
        .args(["serve", "--sessions-dir"])
        .arg(sessions)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let input = child.stdin.take().ok_or("no stdin")?;
    let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
    let (sender, receiver) = channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Ok((child, input, receiver))
}

/// The first difference as a text.
fn compare(expected: &[Value], actual: &[Value], differences: &Differences) -> Result<Unified, String> {
    let mut unified = Unified::default();
    for (at, (theirs, ours)) in expected.iter().zip(actual).enumerate() {
        unified.unify("", theirs, ours, differences).map_err(|text| format!("server frame {}: {text}", at + 1))?;
    }
    if expected.len() == actual.len() {
        Ok(unified)
    } else {
        Err(format!("{} frames recorded, {} came", expected.len(), actual.len()))
    }
}

impl Unified {
    fn unify(&mut self, member: &str, theirs: &Value, ours: &Value, differences: &Differences) -> Result<(), String> {
        let listed = |list: &[String], name: &str| list.iter().any(|entry| entry == name);
        match (theirs, ours) {
            _ if listed(&differences.ignored, member) => Ok(()),
            (Value::String(theirs), Value::String(ours)) if listed(&differences.ids, member) => {
                let known = self.ours.entry(theirs.clone()).or_insert_with(|| ours.clone());
                let back = self.theirs.entry(ours.clone()).or_insert_with(|| theirs.clone());
                if known == ours && back == theirs { Ok(()) } else { Err(format!("`{member}` names another")) }
            }
            (Value::Object(theirs), Value::Object(ours)) => {
                if let Some(extra) =
                    ours.keys().find(|key| !theirs.contains_key(*key) && !listed(&differences.added, key))
                {
                    return Err(format!("`{extra}` is ours alone"));
                }
                for (key, value) in theirs {
                    let ours = ours.get(key).ok_or_else(|| format!("`{key}` is missing"))?;
                    self.unify(key, value, ours, differences)?;
                }
                Ok(())
            }
            (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
                theirs.iter().zip(ours).try_for_each(|(theirs, ours)| self.unify(member, theirs, ours, differences))
            }
            _ if theirs == ours => Ok(()),
            _ => Err(format!("`{member}` is {ours}, recorded {theirs}")),
        }
    }
}
