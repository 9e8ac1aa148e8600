//! A host process, and the transport between it and the SDK: what the SDK has no call for goes through here, past it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use muse_code_sdk::DuplexTransport;
use muse_code_sdk::client::{MuseClient, ResumeSessionOptions, StartSessionOptions};
use muse_code_sdk::msp::{TurnInputPart, TurnInputPartType};
use muse_code_sdk::session::{SendUserTurnOptions, Session};
use muse_code_sdk::spawn::{MuseChild, SpawnOptions, spawn_muse};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex as AsyncMutex, oneshot, watch};

/// Until a check that hangs is called hung.
const LIMIT: Duration = Duration::from_mins(1);

/// The program under test: `REFERENCE_SERVER`, or what `cargo build` leaves in the workspace.
pub(crate) fn server() -> PathBuf {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/debug/msp-reference-server");
    let path = std::env::var_os("REFERENCE_SERVER").map_or_else(|| PathBuf::from(built), PathBuf::from);
    assert!(path.is_file(), "no server at `{}`: build it, or name it in REFERENCE_SERVER", path.display());
    path
}

/// How the SDK starts the server: with these arguments after `serve`, and sessions in a folder.
pub(crate) fn options(folder: &Path, more: &[&str]) -> SpawnOptions {
    let mut options = SpawnOptions::default();
    options.muse_bin = Some(server());
    options.args.extend(more.iter().map(OsString::from));
    let variables = ["XDG_DATA_HOME", "HOME", "LOCALAPPDATA"];
    options.env = Some(variables.into_iter().map(|name| (name.into(), folder.into())).collect::<HashMap<_, _>>());
    options
}

/// Fails a check that hangs, instead of the whole run.
pub(crate) async fn within(check: impl Future<Output = ()>) {
    tokio::time::timeout(LIMIT, check).await.expect("the check hangs");
}

/// A client of a process of its own.
pub(crate) struct Host {
    pub(crate) client: MuseClient,
    pub(crate) line: Line,
    child: MuseChild,
}

impl Host {
    /// Spawns a host and shakes hands.
    pub(crate) async fn open(folder: &Path) -> Self {
        let mut child = spawn_muse(options(folder, &[])).unwrap();
        let line = Line::new(child.take_stdin().unwrap());
        let transport = Transport::new(child.take_stdout().unwrap(), line.clone());
        Self { client: MuseClient::attach(transport).await.unwrap().client, line, child }
    }

    /// Starts a session.
    pub(crate) async fn start(&self, folder: &Path) -> Session {
        let workspace_root = Some(folder.to_string_lossy().into_owned());
        self.client
            .start_session(StartSessionOptions { workspace_root, ..StartSessionOptions::default() })
            .await
            .unwrap()
    }

    /// Loads a session of an earlier host.
    pub(crate) async fn resume(&self, session: &Session) -> Session {
        let session_id = session.session_id().to_owned();
        self.client
            .resume_session(ResumeSessionOptions { session_id, ..ResumeSessionOptions::default() })
            .await
            .unwrap()
    }

    /// Kills the process at once (SIGKILL on Unix).
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Ends the client, and expects that the host drains and exits with 0.
    pub(crate) async fn close(mut self) {
        self.client.close().await;
        self.line.stdin.lock().await.take();
        let exit = self.child.wait().await.unwrap();
        assert_eq!(exit.exit_code, Some(0), "{exit:?}");
    }
}

/// A prompt of one text.
pub(crate) fn prompt(text: &str) -> SendUserTurnOptions {
    let part = TurnInputPart {
        part_type: TurnInputPartType::Text,
        text: Some(text.to_owned()),
        media_type: None,
        base64_data: None,
        width: None,
        height: None,
        selector: None,
        arguments: None,
        upload_id: None,
        source: None,
    };
    SendUserTurnOptions { input: vec![part], ..SendUserTurnOptions::default() }
}

/// Lets frames come until something holds.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

type Waiting = HashMap<String, oneshot::Sender<Value>>;

/// The way to the host past the SDK, and what came from it.
#[derive(Clone)]
pub(crate) struct Line {
    stdin: Arc<AsyncMutex<Option<ChildStdin>>>,
    waiting: Arc<Mutex<Waiting>>,
    seen: Arc<Mutex<Vec<String>>>,
    reads: watch::Sender<bool>,
    asked: Arc<Mutex<u64>>,
}

impl Line {
    fn new(stdin: ChildStdin) -> Self {
        Self {
            stdin: Arc::new(AsyncMutex::new(Some(stdin))),
            waiting: Arc::default(),
            seen: Arc::default(),
            reads: watch::channel(true).0,
            asked: Arc::default(),
        }
    }

    async fn write(&self, frame: &str) -> io::Result<()> {
        let mut stdin = self.stdin.lock().await;
        let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(frame.as_bytes()).await?;
        stdin.flush().await
    }

    /// Sends a request and gives its answer, the whole frame.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            *asked += 1;
            *asked
        };
        let id = format!("past-{number}");
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id.clone(), answer);
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&format!("{frame}\n")).await.unwrap();
        answered.await.unwrap()
    }

    /// Sends a command of a session with a fresh id, and gives its result.
    pub(crate) async fn command(&self, session: &Session, method: &str, mut params: Value) -> Value {
        let number = *self.asked.lock().unwrap();
        params["sessionId"] = session.session_id().into();
        params["commandId"] = format!("0198f0ab-0000-7000-8000-{number:012x}").into();
        let answer = self.ask(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Reads on, or lets the pipe run full.
    pub(crate) fn read(&self, on: bool) {
        self.reads.send_replace(on);
    }

    /// Methods of what came so far, in order; answers are left out.
    pub(crate) fn methods(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let frames = seen.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        frames.filter_map(|frame| Some(frame["method"].as_str()?.to_owned())).collect()
    }

    /// Hands an answer to whoever asked past the SDK; everything else is the SDK's.
    fn take(&self, line: &str) -> bool {
        self.seen.lock().unwrap().push(line.to_owned());
        if !line.contains("\"past-") {
            return false;
        }
        let frame: Value = serde_json::from_str(line).unwrap();
        let answer = frame["id"].as_str().and_then(|id| self.waiting.lock().unwrap().remove(id));
        answer.is_some_and(|answer| answer.send(frame).is_ok())
    }
}

/// What the SDK reads from and writes to.
struct Transport {
    stdout: BufReader<ChildStdout>,
    half: String,
    line: Line,
    reads: watch::Receiver<bool>,
}

impl Transport {
    fn new(stdout: ChildStdout, line: Line) -> Self {
        let reads = line.reads.subscribe();
        Self { stdout: BufReader::new(stdout), half: String::new(), line, reads }
    }
}

impl DuplexTransport for Transport {
    /// A call may be dropped in the middle: what was read so far stays in `half`.
    fn read_chunk(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Option<String>>> + Send + '_>> {
        Box::pin(async move {
            loop {
                self.reads.wait_for(|on| *on).await.map_err(io::Error::other)?;
                if self.stdout.read_line(&mut self.half).await? == 0 {
                    return Ok(None);
                }
                let line = std::mem::take(&mut self.half);
                if !self.line.take(&line) {
                    return Ok(Some(line));
                }
            }
        })
    }

    fn write(&mut self, frame: &str) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        let (line, frame) = (self.line.clone(), frame.to_owned());
        Box::pin(async move { line.write(&frame).await })
    }
}
