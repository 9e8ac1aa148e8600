//! The program `git`, with which a host makes the worktree that a session asks for.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::trial;

pub(crate) fn trials(required: bool) -> Vec<Trial> {
    let there = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    let absent = (!there).then_some("no program `git`");
    vec![trial("git::a_session_gets_a_worktree_of_its_own".to_owned(), absent, required, a_worktree)]
}

fn a_worktree() -> Result<(), Failed> {
    let dir = TempDir::new()?;
    let main = dir.path().canonicalize()?.join("main");
    fs::create_dir(&main)?;
    fs::write(main.join("file.txt"), "one\n")?;
    git(&main, &["init", "--quiet"])?;
    git(&main, &["add", "file.txt"])?;
    git(&main, &["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "--quiet", "-m", "one"])?;
    fs::write(main.join("file.txt"), "not committed\n")?;

    let create = |base: &str| json!({ "workspaceRoot": main, "worktree": { "mode": "create", "baseRef": base } });
    let answers = serve(&[create("HEAD"), create("no-such-revision"), create("--force")])?;
    let session = &answers[0]["result"]["session"];
    let path = session["worktree"]["path"].as_str().ok_or_else(|| format!("no worktree in {}", answers[0]))?;
    let told = (&session["worktree"]["origin"], &session["workspaceRoot"]);
    if told != (&json!("created"), &json!(path)) || fs::read_to_string(Path::new(path).join("file.txt"))? != "one\n" {
        return Err(format!("the session is not in a clean worktree: {session}").into());
    }
    for answer in &answers[1..] {
        if answer["error"]["code"] != -32602 {
            return Err(format!("a worktree of no revision: {answer}").into());
        }
    }
    let worktrees = fs::read_dir(main.join(".git/worktrees"))?.count();
    if worktrees == 1 { Ok(()) } else { Err(format!("{worktrees} worktrees were made").into()) }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<(), Failed> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned().into()) }
}

/// The answers of a host that trusts its workspaces to these starts.
fn serve(starts: &[Value]) -> Result<Vec<Value>, Failed> {
    let mut host = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"));
    host.args(["serve", "--no-session-log", "--trust-workspace"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut host = host.spawn()?;
    let mut input = host.stdin.take().ok_or("no stdin")?;
    let opening =
        json!({ "clientInfo": { "name": "git", "version": "1" }, "capabilities": { "experimentalApi": true } });
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": "opening", "method": "initialize", "params": opening }))?;
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "initialized" }))?;
    for (at, start) in starts.iter().enumerate() {
        let mut params = start.clone();
        params["commandId"] = format!("0198f0ab-0000-7000-8000-{at:012}").into();
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": at, "method": "session/start", "params": params }))?;
    }
    drop(input); // the host drains and ends
    let output = host.stdout.take().ok_or("no stdout")?;
    let mut answers = Vec::new();
    for line in BufReader::new(output).lines() {
        let frame: Value = serde_json::from_str(&line?)?;
        if frame["id"].is_u64() {
            answers.push(frame);
        }
    }
    host.wait()?;
    if answers.len() == starts.len() { Ok(answers) } else { Err(format!("{answers:?}").into()) }
}
