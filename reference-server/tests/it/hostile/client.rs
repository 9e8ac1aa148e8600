//! A client of the program itself that does not have to read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::flood::Wave;

/// How long it may take until a host counts as hung: no bound of anything, but an end.
const HUNG: Duration = Duration::from_secs(600);

/// The program, and the pipes to it.
pub(crate) struct Client {
    child: Child,
    writer: Option<(Sender<Vec<u8>>, JoinHandle<()>)>,
    lines: Receiver<String>,
    stderr: PathBuf,
    asked: u64,
}

impl Client {
    /// Starts the program with its sessions in a folder, and shakes hands.
    pub(crate) fn start(program: &str, folder: &Path) -> Self {
        let stderr = folder.join("stderr");
        let sessions = folder.join("sessions");
        let mut child = Command::new(program)
            .args(["serve", "--sessions-dir", sessions.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let (sender, to_write) = channel::<Vec<u8>>();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            for bytes in to_write {
                if stdin.write_all(&bytes).is_err() {
                    return; // the host is gone, as whoever reads from it will find
                }
            }
        });
        // One line at a time: who does not take it does not read.
        let (reads, lines) = sync_channel(0);
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if reads.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut client = Self { child, writer: Some((sender, writer)), lines, stderr, asked: 0 };
        client.call("initialize", json!({ "clientInfo": { "name": "hostile", "version": "1" } }));
        client.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n".to_vec());
        client
    }

    pub(crate) fn send(&self, bytes: Vec<u8>) {
        self.writer.as_ref().unwrap().0.send(bytes).unwrap();
    }

    /// Sends a request; gives its id.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.asked += 1;
        let id = json!(format!("good-{}", self.asked));
        if params["commandId"] == true {
            params["commandId"] = format!("0198f0ab-0000-7000-8000-{:012x}", self.asked).into();
        }
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(format!("{frame}\n").into_bytes());
        id
    }

    /// The next frame; a host that says nothing any more is gone.
    pub(crate) fn read(&self) -> Value {
        let line = self.lines.recv_timeout(HUNG).expect("the host goes on answering");
        let frame: Value = serde_json::from_str(&line).expect("a frame is JSON");
        assert_eq!(frame["jsonrpc"], "2.0");
        if let Some(error) = frame.get("error") {
            assert!(error["data"]["kind"].is_string(), "{frame}");
        }
        frame
    }

    /// Reads up to the answer to a request; gives it, and the answers that came before it.
    pub(crate) fn answers_until(&self, id: &Value) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let frame = self.read();
            if frame.get("method").is_some() {
                continue;
            }
            if frame["id"] == *id {
                return (frame, before);
            }
            before.push(frame);
        }
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let (answer, _) = self.answers_until(&id);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a wave and a good request behind it; gives the answer to that one. All that the wave is owed has come by then.
    pub(crate) fn survive(&mut self, wave: &Wave, method: &str, params: &Value) -> Value {
        self.send(wave.bytes.clone());
        let id = self.ask(method, params.clone());
        let (answer, before) = self.answers_until(&id);
        check(wave, &before);
        assert!(answer.get("result").is_some(), "after {}: {answer}", wave.name);
        answer["result"].clone()
    }

    /// A session with a turn that plays a script.
    pub(crate) fn run(&mut self, script: &str) -> (String, String) {
        let started = self.call("session/start", json!({ "commandId": true }));
        let session = started["session"]["sessionId"].as_str().unwrap().to_owned();
        let input = json!([{ "type": "text", "text": format!("@script\n{script}") }]);
        let turn = self.call("turn/start", json!({ "commandId": true, "sessionId": session, "input": input }));
        (session, turn["turnId"].as_str().unwrap().to_owned())
    }

    /// The most memory that the program ever had, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// The records of a session, as they are in the file.
    pub(crate) fn records(folder: &Path, session: &str) -> Vec<Value> {
        let mut folders = VecDeque::from([folder.join("sessions")]);
        while let Some(folder) = folders.pop_front() {
            if folder.ends_with(session) {
                let text = std::fs::read_to_string(folder.join("session.jsonl")).unwrap();
                // The last line may be half written.
                return text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            }
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            folders.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()));
        }
        Vec::new()
    }

    /// How the turns of a session ended, by its log.
    pub(crate) fn terminals(folder: &Path, session: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self::records(folder, session)
            .iter()
            .filter(|record| record["data"]["method"] == "turn/completed")
            .map(|record| &record["data"]["params"])
            .map(|params| (text(&params["turnId"]), text(&params["terminal"])))
            .collect()
    }

    /// Ends the input; gives the exit code and what the host said on stderr.
    pub(crate) fn finish(mut self) -> (Option<i32>, String) {
        let (sender, writer) = self.writer.take().unwrap();
        drop(sender);
        while self.lines.recv().is_ok() {}
        writer.join().unwrap();
        let code = self.child.wait().unwrap().code();
        (code, std::fs::read_to_string(&self.stderr).unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After `finish` there is nothing to end; a test that failed leaves no process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
pub(crate) fn wait(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < HUNG, "the host hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Everything that a wave is owed came once, and nothing else under those ids.
pub(crate) fn check(wave: &Wave, answers: &[Value]) {
    let mut left: Vec<_> =
        answers.iter().map(|answer| (&answer["id"], answer["error"]["code"].as_i64().unwrap_or(0))).collect();
    left.sort_by_key(|(id, code)| (id.to_string(), *code));
    let mut owed: Vec<_> = wave.answers.iter().map(|(id, code)| (id, *code)).collect();
    owed.sort_by_key(|(id, code)| (id.to_string(), *code));
    if !owed.is_empty() {
        assert!(left == owed, "{}: {} answers of {}: {:?}", wave.name, left.len(), owed.len(), left.first());
    }
}
