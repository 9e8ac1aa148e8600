//! The functions as newline-delimited JSON-RPC, for people without an engine: a method is a function id; `bind {id, trigger_type, config}`
//! and `unbind {id}` are requests; a delivery is a notification whose method is the trigger type and whose params are the payload.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bindings::{Binding, Delivery, Owner, Sink};
use super::event::raw;
use super::failure::Failure;
use super::server::Server;

/// Longest line, without its line feed: 64 MiB, as on the WebSocket.
pub const LINE_LIMIT: usize = 64 * 1024 * 1024;
/// Most bytes that wait to be written before the reader on the other side is given up.
const QUEUE_LIMIT: usize = 256 * 1024 * 1024;
/// There is one connection.
const OWNER: Owner = Owner(1);

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// Of a failure of the domain or of the store; `data.code` says which.
const FAILED: i64 = -32000;

#[derive(Deserialize)]
struct Incoming<'a> {
    jsonrpc: String,
    #[serde(default, deserialize_with = "given")]
    id: Option<Value>,
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Bind {
    id: String,
    trigger_type: String,
    #[serde(default)]
    config: Option<Value>,
}

#[derive(Deserialize)]
struct Unbind {
    id: String,
}

/// An error answer.
struct Refused {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Refused {
    fn new(code: i64, message: impl std::fmt::Display) -> Self {
        Self { code, message: format!("{message}"), data: None }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let code = match &failure {
            Failure::UnknownFunction { .. } => METHOD_NOT_FOUND,
            Failure::Malformed { .. } => INVALID_PARAMS,
            Failure::Domain { .. }
            | Failure::NotServed { .. }
            | Failure::Engine { .. }
            | Failure::Configuration { .. } => FAILED,
        };
        let data = (code == FAILED).then(|| json!({ "code": failure.code() }));
        Self { code, message: failure.to_string(), data }
    }
}

/// Whatever stands under a member, `null` included; absent is `None`.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Lines on their way out.
#[derive(Debug)]
struct Outbox {
    lines: Sender<String>,
    waiting: Arc<AtomicUsize>,
}

impl Outbox {
    /// Queues a line. What waits too long is dropped with everything after it: the peer has stopped reading.
    fn push(&self, line: String) {
        if self.waiting.load(Ordering::Relaxed) <= QUEUE_LIMIT {
            self.waiting.fetch_add(line.len(), Ordering::Relaxed);
            let _gone = self.lines.send(line); // then the writer has failed, and the end of input follows
        }
    }
}

impl Sink for Outbox {
    fn deliver(&self, delivery: Delivery) {
        let line = json!({ "jsonrpc": "2.0", "method": delivery.trigger_type }).to_string();
        let head = line.strip_suffix('}').unwrap_or(&line);
        self.push(format!("{head},\"params\":{}}}\n", delivery.payload));
    }
}

/// Serves until the input ends.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub fn serve(server: &Server, mut input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
    let (lines, queue) = channel();
    let outbox = Arc::new(Outbox { lines, waiting: Arc::default() });
    let waiting = Arc::clone(&outbox.waiting);
    thread::scope(|scope| {
        let writer = scope.spawn(move || write(&queue, &waiting, output));
        let read = loop {
            match next_line(&mut input) {
                Ok(Some(line)) => {
                    if let Some(answer) = answer(server, &outbox, &line) {
                        outbox.push(answer);
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        server.drop_owner(OWNER);
        drop(outbox);
        let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer failed")));
        read.and(written)
    })
}

fn write(queue: &Receiver<String>, waiting: &AtomicUsize, mut output: impl Write) -> io::Result<()> {
    for line in queue {
        waiting.fetch_sub(line.len(), Ordering::Relaxed);
        output.write_all(line.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

/// The next line without its line feed, cut behind the limit; `None` at the end.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = LINE_LIMIT as u64 + 1;
    if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > LINE_LIMIT {
        skip_line(input)?;
    }
    Ok(Some(line))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Serves one line; `None` where nothing is to be answered.
fn answer(server: &Server, outbox: &Arc<Outbox>, line: &[u8]) -> Option<String> {
    if line.len() > LINE_LIMIT {
        return Some(refusal(&Value::Null, &Refused::new(INVALID_REQUEST, "the line is longer than 64 MiB")));
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let incoming: Incoming<'_> = match serde_json::from_slice(line) {
        Ok(incoming) => incoming,
        Err(error) => {
            let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
            return Some(refusal(&Value::Null, &Refused::new(code, error)));
        }
    };
    let answer = if incoming.jsonrpc == "2.0" {
        request(server, outbox, &incoming)
    } else {
        Err(Refused::new(INVALID_REQUEST, "`jsonrpc` is not `2.0`"))
    };
    let id = incoming.id?; // a notification is not answered
    Some(match answer {
        Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"),
        Err(refused) => refusal(&id, &refused),
    })
}

fn refusal(id: &Value, refused: &Refused) -> String {
    let mut error = json!({ "code": refused.code, "message": refused.message });
    if let Some(data) = &refused.data {
        error["data"] = data.clone();
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n")
}

fn request(server: &Server, outbox: &Arc<Outbox>, incoming: &Incoming<'_>) -> Result<Box<RawValue>, Refused> {
    let params = incoming.params.map_or("{}", RawValue::get);
    let read = |error: serde_json::Error| Refused::new(INVALID_PARAMS, error);
    match incoming.method.as_str() {
        "bind" => {
            let bind: Bind = serde_json::from_str(params).map_err(read)?;
            let binding = Binding { id: bind.id.clone(), ..Binding::default() };
            let sink: Arc<dyn Sink> = Arc::<Outbox>::clone(outbox);
            server
                .bind(OWNER, &bind.trigger_type, bind.config.as_ref(), binding, sink)
                .map_err(|refusal| Refused::new(INVALID_PARAMS, refusal))?;
            Ok(raw(&json!({ "id": bind.id })))
        }
        "unbind" => {
            let unbind: Unbind = serde_json::from_str(params).map_err(read)?;
            Ok(raw(&json!({ "removed": server.unbind(OWNER, &unbind.id) })))
        }
        function => Ok(server.call(function, params)?),
    }
}
