//! A connection: the life of the handshake, what it granted, and the one way out for every frame.
//!
//! In: [`Connection::receive`] takes one line through envelope, handshake state, method table and gates to its
//! [family](crate::commands). Out: whatever leaves passes `Connection::encode`, where the surface is cut to what the client opted
//! in to, and the [seam](crate::seam).

pub mod envelope;
pub mod gates;
mod handshake;
mod outbox;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msp_types::msp::errors;
use serde_json::{Map, Value, json};

use self::envelope::Incoming;
use self::gates::gates;
pub use self::handshake::Handshake;
pub use self::outbox::{Delivery, Outbox};
use crate::commands::{self, HostCall};
use crate::host::Host;
use crate::refusal::Refusal;

/// One client.
#[derive(Debug)]
pub struct Connection {
    /// The host.
    pub host: Arc<Host>,
    /// Frames that wait for the writer.
    pub outbox: Outbox,
    phase: Mutex<Phase>,
}

/// How far the handshake is.
#[derive(Clone, Debug)]
enum Phase {
    /// Nothing was granted.
    New,
    /// `initialize` was answered, `initialized` did not come.
    Granted(Arc<Handshake>),
    /// Open.
    Ready(Arc<Handshake>),
}

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framed {
    /// Its bytes, line feed included.
    Bytes(Vec<u8>),
    /// The connection does not get it.
    Withheld,
    /// It is over the limit.
    TooLarge,
}

/// Who sent a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its connection.
    pub connection: Arc<Connection>,
    /// What was agreed on it.
    pub handshake: Arc<Handshake>,
}

impl Connection {
    /// A connection of a host, before its handshake.
    pub fn open(host: &Arc<Host>) -> Arc<Self> {
        let outbox = Outbox::new(host.config.outbox_frames, host.config.outbox_bytes);
        let connection = Arc::new(Self { host: Arc::clone(host), outbox, phase: Mutex::new(Phase::New) });
        host.connect(&connection);
        connection
    }

    /// Takes one line.
    pub fn receive(self: &Arc<Self>, line: &[u8]) {
        match envelope::read(line) {
            Err((id, refusal)) => self.respond(&id, Err(refusal.to_error())),
            Ok(Incoming::Answer) => {}
            Ok(Incoming::Notification { method, params }) => self.hear(&method, params),
            Ok(Incoming::Request { id, method, params }) => {
                if let Err(refusal) = self.serve(&id, &method, params) {
                    self.respond(&id, Err(refusal.to_error()));
                }
            }
        }
    }

    /// Answers a line that is over the limit, by what is left of it (FRAME-9).
    pub fn refuse_oversized(&self, prefix: &[u8]) {
        let limit = self.host.config.frame_limit;
        if let Some(id) = envelope::recover_id(prefix) {
            let refusal = Refusal::new(errors::INPUT_TOO_LARGE, format!("the frame is over {limit} bytes"));
            self.respond(&id, Err(refusal.with("limitBytes", limit).to_error()));
        } else {
            let refusal = Refusal::new(errors::PARSE_ERROR, format!("a frame over {limit} bytes, and its id is lost"));
            self.respond(&Value::Null, Err(refusal.to_error()));
        }
    }

    /// Serves a request in the order of ERR-10, as far as that is the connection's business.
    fn serve(
        self: &Arc<Self>,
        id: &Value,
        method: &str,
        params: Result<Map<String, Value>, Refusal>,
    ) -> Result<(), Refusal> {
        let phase = self.phase().clone();
        let handshake = match (phase, method) {
            (Phase::New, "initialize") => {
                let (handshake, result) = handshake::initialize(&self.host, params?)?;
                *self.phase() = Phase::Granted(Arc::new(handshake));
                self.respond(id, Ok(&result));
                return Ok(());
            }
            (_, "initialize") => {
                return Err(Refusal::invalid_request("Already initialized").of_kind("alreadyInitialized"));
            }
            (Phase::Ready(handshake), _) => handshake,
            _ => return Err(Refusal::invalid_request("Not initialized").of_kind("notInitialized")),
        };
        let known = commands::find(method).filter(|_| !commands::is_withheld(&self.host, method));
        let Some(known) = known else { return Err(Refusal::method_not_found(method)) };
        if self.host.config.overload_at.is_some_and(|most| self.outbox.waiting() >= most) {
            return Err(Refusal::new(errors::OVERLOADED, "too many answers wait to be read; try again later"));
        }
        let params = params?;
        gates().check(method, &params, &handshake)?;
        let caller = Caller { connection: Arc::clone(self), handshake };
        known.serve(&HostCall { host: &self.host, caller: &caller, id }, Value::Object(params))
    }

    /// Takes a notification; whatever is wrong with it, nobody is told (ENV-14).
    fn hear(self: &Arc<Self>, method: &str, params: Option<Map<String, Value>>) {
        let phase = self.phase().clone();
        match (phase, method) {
            (Phase::Granted(handshake), "initialized") => *self.phase() = Phase::Ready(handshake),
            (Phase::Ready(_), _) => {
                if let Some(params) = params {
                    commands::hear(&self.host, method, &Value::Object(params));
                }
            }
            _ => {}
        }
    }

    /// Answers a request.
    pub fn respond(&self, id: &Value, answer: Result<&Value, Value>) {
        let frame = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        self.send(frame, Delivery::Protected);
    }

    /// Answers a request with what of a result its client opted in to and was granted.
    pub fn respond_to(&self, method: &str, id: &Value, result: &mut Value, handshake: &Handshake) {
        gates().strip_result(method, result, handshake);
        self.respond(id, Ok(result));
    }

    /// Makes a request of the host: a prompt. Its answer is a receipt that changes nothing.
    pub fn ask(&self, method: &str, params: &Value) {
        let Some(handshake) = self.ready() else { return };
        if method == "userInput/request" && !handshake.dialogs {
            return; // HS-17
        }
        if method == "admission/request" && !(handshake.experimental && handshake.granted.contains("peerMessaging")) {
            return;
        }
        let id = self.host.mint.lock().request_id();
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }), Delivery::Protected);
    }

    /// Tells a notification outside the view, if this connection wants it.
    pub fn broadcast(&self, method: &str, params: &Value, now_ms: i64) {
        if let Some(frame) = self.notification(method, params.clone(), now_ms) {
            let delivery = if self.is_protected(method) { Delivery::Protected } else { Delivery::Droppable };
            self.outbox.push(vec![frame], delivery);
        }
    }

    /// Whether this connection gets a notification at all.
    pub fn wants(&self, method: &str, params: &Map<String, Value>) -> bool {
        self.ready().is_some_and(|handshake| gates().delivers(method, params, &handshake))
    }

    /// The bytes of a notification; `None` where this connection does not get it.
    pub fn notification(&self, method: &str, params: Value, now_ms: i64) -> Option<Vec<u8>> {
        match self.frame_of(method, params, now_ms) {
            Framed::Bytes(bytes) => Some(bytes),
            Framed::Withheld | Framed::TooLarge => None,
        }
    }

    /// The frame of a notification.
    pub fn frame_of(&self, method: &str, mut params: Value, now_ms: i64) -> Framed {
        let Some(handshake) = self.ready() else { return Framed::Withheld };
        if !params.as_object().is_some_and(|params| gates().delivers(method, params, &handshake)) {
            return Framed::Withheld;
        }
        gates().strip_params(method, &mut params, &handshake);
        self.encode(json!({ "jsonrpc": "2.0", "method": method, "params": params, "emittedAtMs": now_ms }))
    }

    /// Queues frames together, or none of them.
    pub fn send_all(&self, frames: Vec<Vec<u8>>, delivery: Delivery) -> bool {
        self.outbox.push(frames, delivery)
    }

    /// Whether a notification is never dropped.
    pub fn is_protected(&self, method: &str) -> bool {
        gates().is_protected(method)
    }

    /// What was agreed, once the connection is open.
    pub fn ready(&self) -> Option<Arc<Handshake>> {
        match &*self.phase() {
            Phase::Ready(handshake) => Some(Arc::clone(handshake)),
            Phase::New | Phase::Granted(_) => None,
        }
    }

    fn send(&self, frame: Value, delivery: Delivery) {
        if let Framed::Bytes(bytes) = self.encode(frame) {
            self.outbox.push(vec![bytes], delivery);
        }
    }

    /// The one way out. A frame over the limit never leaves: a result becomes −32603 (FRAME-10), an error loses its words.
    fn encode(&self, frame: Value) -> Framed {
        let Some(frame) = self.host.seam().frame(frame) else { return Framed::Withheld };
        let mut bytes = frame.to_string().into_bytes();
        let limit = self.host.config.frame_limit;
        if bytes.len() > limit {
            self.host.complain(&format!("a frame of {} bytes was held back", bytes.len()));
            let Some(shorter) = shorter(&frame, limit) else { return Framed::TooLarge };
            bytes = shorter.to_string().into_bytes();
            if bytes.len() > limit {
                return Framed::TooLarge; // its id alone is as long as a frame
            }
        }
        bytes.push(b'\n');
        Framed::Bytes(self.host.seam().bytes(bytes))
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stands for an answer that is over the limit; `None` for what is no answer.
fn shorter(frame: &Value, limit: usize) -> Option<Value> {
    let id = frame.get("id").filter(|_| frame.get("method").is_none())?;
    let error = match frame.get("error") {
        Some(error) => json!({
            "code": error["code"], "message": "what there is to say does not fit a frame",
            "data": { "kind": error["data"]["kind"] },
        }),
        None => Refusal::internal("the answer does not fit a frame").with("limitBytes", limit).to_error(),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}
