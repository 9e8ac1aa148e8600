//! Durable commands of 16 sessions, one of each always in flight, beside a bare loop that writes and syncs as many bytes a command.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, id_of};
use crate::rate;

const SESSIONS: usize = 16;
const COMMANDS: usize = 6000;
const ROUNDS: usize = 5;

pub(crate) fn run() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut client = Client::start(folder.path());
    let sessions: Vec<String> = (0..SESSIONS).map(|_| client.session()).collect();
    let before = log_bytes(folder.path());
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let time = drive(&mut client, &sessions);
        let bytes = (log_bytes(folder.path()) - before) / ((round + 1) * COMMANDS);
        rounds.push((time, bare(&folder.path().join("bare"), bytes), bytes));
    }
    client.finish();
    // Both sides of the round in the middle: what else the disk does changes from one second to the next.
    rounds.sort_by(|a, b| share(a).total_cmp(&share(b)));
    let (time, bare, bytes) = rounds[ROUNDS / 2];
    println!("  {COMMANDS} `session/rename`, {SESSIONS} sessions in flight, {bytes} bytes of log each");
    println!("  host           {:>10.0} commands a second", rate(COMMANDS, time));
    println!("  write and sync {:>10.0} a second", rate(COMMANDS, bare));
    println!("  share          {:>10.2}", share(&(time, bare, bytes)));
}

/// The host's rate as a part of the disk's.
fn share((time, bare, _): &(Duration, Duration, usize)) -> f64 {
    bare.as_secs_f64() / time.as_secs_f64()
}

/// Keeps one command of each session in flight until all were answered.
fn drive(client: &mut Client, sessions: &[String]) -> Duration {
    let start = Instant::now();
    let (mut flying, mut sent, mut line) = (HashMap::new(), 0, String::new());
    let next = |client: &mut Client, session: usize, sent: &mut usize| {
        *sent += 1;
        let params = json!({ "sessionId": sessions[session], "name": format!("name {sent}") });
        client.command("session/rename", params)
    };
    for session in 0..sessions.len() {
        flying.insert(next(client, session, &mut sent), session);
    }
    while !flying.is_empty() {
        client.line(&mut line);
        let Some(session) = id_of(&line).and_then(|id| flying.remove(&id)) else { continue };
        assert!(line.contains(r#""result""#), "{line}");
        if sent < COMMANDS {
            flying.insert(next(client, session, &mut sent), session);
        }
    }
    start.elapsed()
}

fn bare(path: &Path, bytes: usize) -> Duration {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    let record = vec![b'x'; bytes];
    let start = Instant::now();
    for _ in 0..COMMANDS {
        file.write_all(&record).unwrap();
        file.sync_data().unwrap();
    }
    let time = start.elapsed();
    drop(file);
    File::create(path).unwrap(); // empty again: it is no log
    time
}

/// Bytes of all logs below a folder.
fn log_bytes(folder: &Path) -> usize {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            sum += log_bytes(&entry.path());
        } else if entry.file_name() == "session.jsonl" {
            sum += usize::try_from(entry.metadata().unwrap().len()).unwrap();
        }
    }
    sum
}
