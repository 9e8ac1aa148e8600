//! A client over a duplex in memory. What it saw is judged when it is done.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use msp_judge::transcript::{Entry, Frame, Side, What};
use msp_judge::{Judge, Library, Profile, Schema, Surface};
use msp_reference_server::{Config, Host, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// How long nothing has to come for silence; the clock of the tests is paused, so this costs no time.
const SILENCE: Duration = Duration::from_millis(500);

/// What the two sides of a connection said, in order.
pub(crate) type Said = Vec<(Side, String)>;

pub(crate) struct Peer {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
    serving: JoinHandle<std::io::Result<()>>,
    /// Frames that came and were not asked for yet.
    pub(crate) inbox: VecDeque<Value>,
    pub(crate) transcript: Said,
    /// What was said on connections before it, which the judge has to know to judge this one.
    past: Vec<Said>,
    surface: Surface,
    /// Whether bytes were sent that the transcript does not have.
    unseen: bool,
    /// Whether the host may use names that no list has (OPEN).
    pub(crate) unlisted: bool,
    ids: i64,
    commands: u64,
}

impl Peer {
    /// A connection without handshake.
    pub(crate) fn raw(config: Config) -> Self {
        Self::over(Host::new(config), 1 << 20)
    }

    /// A connection to a host, with so many bytes of room in its pipes.
    pub(crate) fn over(host: Arc<Host>, room: usize) -> Self {
        let (client, server) = tokio::io::duplex(room);
        let (input, output) = tokio::io::split(server);
        let serving = tokio::spawn(async move { serve(&host, input, output).await });
        let (reader, writer) = tokio::io::split(client);
        Self {
            reader: BufReader::new(reader),
            writer: Some(writer),
            serving,
            inbox: VecDeque::new(),
            transcript: Vec::new(),
            past: Vec::new(),
            surface: Surface::Stable,
            unseen: false,
            unlisted: false,
            ids: 0,
            commands: 0,
        }
    }

    /// A connection after its handshake.
    pub(crate) async fn open(config: Config) -> Self {
        Self::raw(config).shake(json!({})).await
    }

    /// Shakes hands with these capabilities.
    pub(crate) async fn shake(mut self, capabilities: Value) -> Self {
        if capabilities["experimentalApi"] == true {
            self.surface = Surface::Experimental;
        }
        let params = json!({ "clientInfo": { "name": "tests", "version": "1" }, "capabilities": capabilities });
        self.call("initialize", params).await.unwrap();
        self.send(&json!({ "jsonrpc": "2.0", "method": "initialized" })).await;
        self
    }

    /// A `UUIDv7` that no test used before.
    pub(crate) fn command_id(&mut self) -> String {
        self.commands += 1;
        format!("0198f0ab-{:04x}-7000-8000-{:012x}", self.commands >> 32, self.commands)
    }

    /// Mints ids apart from those of other peers of a test.
    pub(crate) fn number(mut self, number: u64) -> Self {
        self.commands = number << 32;
        self
    }

    /// Comes after connections that have ended: the judge knows what was said on them.
    pub(crate) fn after(mut self, past: &[Said]) -> Self {
        self.past = past.to_vec();
        self
    }

    /// Sends bytes that may be no frame; the judge does not see them.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.unseen = true;
        self.write(bytes).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.writer.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        let text = frame.to_string();
        self.write(format!("{text}\n").as_bytes()).await;
        self.transcript.push((Side::Client, text));
    }

    /// Sends a request and leaves its answer to come.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.ids += 1;
        let id = self.ids;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Sends a request and returns its answer; what comes before it goes to the inbox.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> impl Future<Output = Result<Value, Value>> {
        let method = method.to_owned();
        async move {
            let id = self.ask(&method, params).await;
            self.answer(id).await
        }
    }

    pub(crate) async fn answer(&mut self, id: i64) -> Result<Value, Value> {
        let answers = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
        let mut early = self.inbox.iter().position(answers).and_then(|at| self.inbox.remove(at));
        loop {
            let frame = match early.take() {
                Some(frame) => frame,
                None => self.read().await.unwrap_or_else(|| panic!("no answer to request {id}")),
            };
            if answers(&frame) {
                return if frame.get("error").is_some() {
                    Err(frame["error"].clone())
                } else {
                    Ok(frame["result"].clone())
                };
            }
            self.inbox.push_back(frame);
        }
    }

    /// Sends a command with a fresh id.
    pub(crate) async fn command(&mut self, method: &str, mut params: Value) -> Result<Value, Value> {
        params["commandId"] = self.command_id().into();
        self.call(method, params).await
    }

    /// Starts a session.
    pub(crate) async fn start(&mut self) -> String {
        let result = self.command("session/start", json!({})).await.unwrap();
        result["session"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Submits a prompt.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        self.command("turn/start", json!({ "sessionId": session, "input": [{ "type": "text", "text": text }] })).await
    }

    /// The next frame, from the inbox or the wire; `None` at the end or after silence.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        match self.inbox.pop_front() {
            Some(frame) => Some(frame),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        match tokio::time::timeout(SILENCE, self.reader.read_line(&mut line)).await {
            Ok(Ok(length)) if length > 0 => {
                assert!(line.ends_with('\n') && !line.ends_with("\r\n"), "{line:?}");
                let text = line.trim_end().to_owned();
                let frame = serde_json::from_str(&text).unwrap();
                self.transcript.push((Side::Server, text));
                Some(frame)
            }
            Ok(Err(error)) => panic!("{error}"),
            Ok(Ok(_)) | Err(_) => None, // the end, or silence
        }
    }

    /// The next answer to a line whose id was lost; other frames stay in the inbox.
    pub(crate) async fn unaddressed(&mut self) -> Option<Value> {
        loop {
            let frame = self.read().await?;
            if frame["id"].is_null() && frame.get("error").is_some() {
                return Some(frame);
            }
            self.inbox.push_back(frame);
        }
    }

    /// All frames up to and with the first of a method.
    pub(crate) async fn until(&mut self, method: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let Some(frame) = self.next().await else {
                panic!("no `{method}` came, but {:?}", frames.iter().map(name).collect::<Vec<_>>())
            };
            frames.push(frame);
            if frames.last().unwrap()["method"] == method {
                return frames;
            }
        }
    }

    /// All frames until nothing comes any more.
    pub(crate) async fn quiet(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    /// All durable events of a session, paged from its beginning.
    pub(crate) async fn pages(&mut self, session: &str) -> Vec<Value> {
        let (mut all, mut params) = (Vec::new(), json!({ "sessionId": session, "limit": 1000 }));
        loop {
            let page = self.call("view/page", params.clone()).await.unwrap();
            all.extend(page["events"].as_array().unwrap().iter().cloned());
            if page["nextCursor"].is_null() {
                return all;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
    }

    /// Ends the input.
    pub(crate) async fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            writer.shutdown().await.unwrap();
        }
    }

    /// Ends the input, reads what is left and waits for the host to drain. Everything that came is judged.
    pub(crate) async fn finish(mut self) -> Vec<Value> {
        self.close().await;
        let frames = self.quiet().await;
        (&mut self.serving).await.unwrap().unwrap();
        self.judge();
        frames
    }

    /// Goes away without a word, as a client that is killed; what came is judged. Gives what was said.
    pub(crate) fn vanish(self) -> Said {
        self.judge();
        self.kill()
    }

    /// Goes away without a word and without a judge. Gives what was said.
    pub(crate) fn kill(self) -> Said {
        self.serving.abort();
        self.transcript
    }

    #[track_caller]
    fn judge(&self) {
        let mut judge = Judge::new(schema(self.surface), Profile::default());
        let mut line = 0;
        for (number, said) in self.past.iter().chain([&self.transcript]).enumerate() {
            let conn = number.to_string();
            for (side, text) in said {
                line += 1;
                let frame = Frame { side: Some(*side), bytes: text.as_bytes() };
                judge.observe(&Entry { line, conn: &conn, at_ms: None, what: What::Frame(frame) });
            }
        }
        // Whoever was there before had a judge of its own.
        let past: usize = self.past.iter().map(Vec::len).sum();
        // What the tests send may be wrong on purpose.
        let findings: Vec<_> = judge
            .finish()
            .findings
            .into_iter()
            .filter(|finding| finding.line > past as u64)
            .filter(|finding| finding.from != Some(Side::Client) && !(self.unseen && finding.rule.id() == "ENV-13"))
            .filter(|finding| {
                !(self.unlisted && matches!(finding.rule.id(), "OPEN-6" | "OPEN-10" | "UNLISTED-REQUEST"))
            })
            .collect();
        let told: Vec<_> = findings.iter().map(|finding| format!("{}: {}", finding.line, finding.line())).collect();
        assert!(findings.is_empty(), "{}", told.join("\n"));
    }
}

/// The schema of a surface, compiled once for all tests.
fn schema(surface: Surface) -> Arc<Schema> {
    static SCHEMAS: [OnceLock<Arc<Schema>>; 2] = [OnceLock::new(), OnceLock::new()];
    let at = usize::from(surface == Surface::Experimental);
    Arc::clone(SCHEMAS[at].get_or_init(|| Library::new(surface).unwrap().newest().unwrap()))
}

/// Method, and what of the frame tells it from others of the method.
pub(crate) fn name(frame: &Value) -> String {
    let params = &frame["params"];
    let method = frame["method"].as_str().unwrap_or("(answer)");
    match method {
        "item/started" | "item/updated" | "item/completed" => {
            let item = &params["item"];
            format!(
                "{method} {} {} r{}",
                item["kind"].as_str().unwrap(),
                item["status"].as_str().unwrap(),
                item["revision"]
            )
        }
        "turn/completed" => format!("{method} {}", params["terminal"].as_str().unwrap()),
        "session/statusChanged" => format!("{method} {}", params["status"].as_str().unwrap()),
        _ => method.to_owned(),
    }
}

/// The view events among frames, by [`name`]; deltas in a row are one.
pub(crate) fn names(frames: &[Value]) -> Vec<String> {
    let mut names: Vec<_> = frames.iter().filter(|frame| !frame["params"]["viewCursor"].is_null()).map(name).collect();
    names.retain(|name| !name.starts_with("session/statusChanged") && !name.starts_with("session/closed"));
    names.dedup_by(|a, b| a == b && a == "item/delta");
    names
}
