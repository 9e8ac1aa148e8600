//! A client that costs little: it reads lines and looks at them as text where it can.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A host as a child process, after its handshake.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    count: u64,
}

impl Client {
    /// Starts a host that keeps its sessions in a folder.
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
            .args(["serve", "--sessions-dir"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().unwrap());
        let mut client = Self { input: child.stdin.take(), child, output, count: 0 };
        let id = client.send("initialize", &json!({ "clientInfo": { "name": "bench", "version": "1" } }));
        client.answer(id);
        client.write(&json!({ "jsonrpc": "2.0", "method": "initialized" }));
        client
    }

    fn write(&mut self, frame: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{frame}\n").as_bytes()).unwrap();
    }

    /// Sends a request; its id comes back.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.count += 1;
        let id = self.count;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a command under an id that was never used before.
    pub(crate) fn command(&mut self, method: &str, mut params: Value) -> u64 {
        params["commandId"] = command_id().into();
        self.send(method, &params)
    }

    /// The next line, with its end.
    pub(crate) fn line(&mut self, line: &mut String) {
        line.clear();
        assert!(self.output.read_line(line).unwrap() > 0, "the host is gone");
    }

    /// The result of a request; what comes before it is dropped.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let mut line = String::new();
        loop {
            self.line(&mut line);
            if id_of(&line) == Some(id) {
                let frame: Value = serde_json::from_str(&line).unwrap();
                assert!(frame.get("error").is_none(), "{frame}");
                return frame["result"].clone();
            }
        }
    }

    /// Starts a session.
    pub(crate) fn session(&mut self) -> String {
        let id = self.command("session/start", json!({}));
        self.answer(id)["session"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Reads up to and with the end of a turn; lines before it.
    pub(crate) fn turn(&mut self) -> Vec<String> {
        let (mut lines, mut line) = (Vec::new(), String::new());
        while !line.contains(r#""method":"turn/completed""#) {
            self.line(&mut line);
            lines.push(line.clone());
        }
        lines
    }

    /// Kilobytes of memory that the host has, where the system tells.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Ends the input and waits for the host to drain.
    pub(crate) fn finish(mut self) {
        self.input = None;
        let mut line = Vec::new();
        while self.output.read_until(b'\n', &mut line).unwrap() > 0 {
            line.clear();
        }
        assert!(self.child.wait().unwrap().success());
    }
}

/// The id of an answer. Members are sorted: it stands first, and where a request has its method an answer has its result.
pub(crate) fn id_of(line: &str) -> Option<u64> {
    assert!(!line.starts_with(r#"{"error""#), "{line}");
    let (id, rest) = line.strip_prefix(r#"{"id":"#)?.split_once(',')?;
    id.parse().ok().filter(|_| rest.starts_with(r#""jsonrpc":"2.0","result""#))
}

/// A command id that this process did not use before.
pub(crate) fn command_id() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("0198f0ab-0000-7000-8000-{:012x}", COUNT.fetch_add(1, Ordering::Relaxed))
}
