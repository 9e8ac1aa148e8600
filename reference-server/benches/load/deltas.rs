//! Turns of 1,000 deltas, beside a bare loop that writes the same lines to the same kind of pipe, one write a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::{median, rate, ratio};

/// Word that makes this program the bare loop.
pub(crate) const BARE: &str = "bare-lines";
const DELTAS: usize = 1000;
const TURNS: usize = 41;

pub(crate) fn run() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut client = Client::start(folder.path());
    let session = client.session();
    let script = format!("@script\nsay {{\"text\":\"{}\",\"chunks\":{DELTAS}}}", "word ".repeat(DELTAS));
    let (mut times, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let start = Instant::now();
        client.command("turn/start", json!({ "sessionId": session, "input": [{ "type": "text", "text": script }] }));
        lines = client.turn();
        times.push(start.elapsed());
    }
    client.finish();
    let deltas = lines.iter().filter(|line| line.contains(r#""method":"item/delta""#)).count();
    assert_eq!(deltas, DELTAS, "nothing is dropped");
    let file = folder.path().join("lines");
    std::fs::write(&file, lines.concat()).unwrap();
    let bare = median((0..TURNS).map(|_| bare(&file, lines.len())).collect());
    let ours = median(times);
    println!("  {TURNS} turns of {DELTAS} deltas, {} lines and {} bytes each", lines.len(), lines.concat().len());
    println!("  host           {ours:>10.1?} a turn  {:>10.0} deltas a second", rate(DELTAS, ours));
    println!("  bare loop      {bare:>10.1?}         {:>10.0} lines a second", rate(lines.len(), bare));
    println!("  ratio          {:>10.2}", ratio(ours, bare));
}

/// Time from the first to the last line of a child that does nothing but write them.
fn bare(file: &std::path::Path, count: usize) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(BARE)
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::with_capacity(1 << 16, child.stdout.take().unwrap());
    let (mut line, mut all) = (String::new(), Vec::new());
    output.read_line(&mut line).unwrap(); // it is ready
    let start = Instant::now();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    for _ in 0..count {
        line.clear();
        output.read_line(&mut line).unwrap();
        all.push(line.clone());
    }
    let time = start.elapsed();
    assert!(child.wait().unwrap().success());
    time
}

/// The bare loop: says that it is ready, waits for a line, writes those of the file.
pub(crate) fn write_bare(path: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut output = std::io::stdout().lock();
    writeln!(output, "ready").unwrap();
    output.flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    for line in text.split_inclusive('\n') {
        output.write_all(line.as_bytes()).unwrap();
        output.flush().unwrap();
    }
}
