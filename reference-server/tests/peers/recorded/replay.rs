//! Says a recorded conversation again: each line of the client once everything came that was recorded before it.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Failed;
use msp_reference_server::{Host, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::Line;
use super::compare::{Expected, Played, Unified};
use super::list::Differences;
use super::setup::Setup;

/// How long a frame may take, on the paused clock: longer than anything that a script waits.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long nothing has to come when the recording is over.
const SILENCE: Duration = Duration::from_secs(5);

/// A client over a pipe in memory.
pub(super) struct Client {
    frames: mpsc::UnboundedReceiver<Value>,
    writer: WriteHalf<DuplexStream>,
    asked: i64,
}

/// What came, frame by frame, until the recording was over or something else came than it has.
pub(super) async fn replay(lines: &[Line], setup: &Setup, differences: &Differences) -> Result<Played, Failed> {
    let host = setup.host()?;
    let (kept, _other) = setup.play(&host).await?;
    let mut unified = Unified::default();
    for (name, (line, pointer)) in &setup.bind {
        let ours = kept.get(name).ok_or_else(|| format!("`bind` names `{name}`, which no step keeps"))?;
        let frame: Value = serde_json::from_str(&lines[line - 1].raw)?;
        let theirs = frame.pointer(pointer).ok_or_else(|| format!("no `{pointer}` in line {line}"))?;
        unified.bind(theirs, ours)?;
    }
    let mut client = Client::connect(&host);
    let mut played = Played { bound: unified.clone(), ..Played::default() };
    for (at, line) in lines.iter().enumerate() {
        let mut coming = Vec::new();
        if line.dir == "server" {
            coming.push(Expected::Recorded(at + 1, serde_json::from_str(&line.raw)?));
        } else {
            client.say(line, &unified).await?;
        }
        let since = differences.frames.iter().filter(|frame| frame.after == at + 1);
        coming.extend(since.map(|frame| Expected::Since(frame.clone())));
        for expected in coming {
            let Some(frame) = client.next(PATIENCE).await else { return Ok(played) };
            played.actual.push(frame.clone());
            if expected.compare(&frame, &mut unified, differences).is_err() {
                return Ok(played);
            }
        }
    }
    while let Some(frame) = client.next(SILENCE).await {
        played.actual.push(frame);
    }
    Ok(played)
}

impl Client {
    /// A connection without handshake. What comes is read at once, so that the host never waits for this client.
    pub(super) fn connect(host: &Arc<Host>) -> Self {
        let (client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let host = Arc::clone(host);
        tokio::spawn(async move { serve(&host, input, output).await });
        let (reader, writer) = tokio::io::split(client);
        let (sender, frames) = mpsc::unbounded_channel();
        tokio::spawn(read(reader, sender));
        Self { frames, writer, asked: 0 }
    }

    /// Says a line of the recorded client, with our ids in the place of theirs.
    async fn say(&mut self, line: &Line, unified: &Unified) -> Result<(), Failed> {
        let frame: Value = serde_json::from_str(&line.raw)?;
        let said = unified.said(&frame);
        let text = if said == frame { line.raw.clone() } else { said.to_string() };
        self.writer.write_all(format!("{text}\n").as_bytes()).await?;
        Ok(())
    }

    async fn next(&mut self, patience: Duration) -> Option<Value> {
        tokio::time::timeout(patience, self.frames.recv()).await.ok().flatten()
    }

    /// The handshake of a client that sets up.
    pub(super) async fn shake(&mut self) -> Result<(), Failed> {
        let params = json!({ "clientInfo": { "name": "set_up", "version": "1" } });
        self.call("initialize", &params).await?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "initialized" });
        self.writer.write_all(format!("{initialized}\n").as_bytes()).await?;
        Ok(())
    }

    /// The answer to a request; events before it are dropped.
    pub(super) async fn call(&mut self, method: &str, params: &Value) -> Result<Value, Failed> {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.writer.write_all(format!("{request}\n").as_bytes()).await?;
        loop {
            let frame = self.next(PATIENCE).await.ok_or_else(|| format!("no answer to `{method}`"))?;
            if frame["id"] == self.asked && frame.get("method").is_none() {
                let refused = || Failed::from(format!("`{method}` was refused: {}", frame["error"]));
                return frame.get("result").cloned().ok_or_else(refused);
            }
        }
    }

    /// The next event of a method.
    pub(super) async fn until(&mut self, method: &str) -> Result<Value, Failed> {
        loop {
            let frame = self.next(PATIENCE).await.ok_or_else(|| format!("no `{method}` came"))?;
            if frame["method"] == method {
                return Ok(frame);
            }
        }
    }
}

async fn read(reader: ReadHalf<DuplexStream>, frames: mpsc::UnboundedSender<Value>) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(frame) = serde_json::from_str(&line) else { return };
        if frames.send(frame).is_err() {
            return;
        }
    }
}
