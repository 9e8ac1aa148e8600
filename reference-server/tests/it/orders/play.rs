//! Plays an order against a host of its own.

use std::sync::Arc;
use std::time::Duration;

use msp_reference_server::log::layer::{Layer, Memory};
use msp_reference_server::seam::Seam;
use msp_reference_server::{Config, Host};
use msp_schema::{Surface, published};
use serde_json::{Value, json};

use super::case::{Case, Expect, Kind, Line, Variables, fill};
use crate::peer::{Peer, name};

/// Frames that may come at any place: they show a session's state outside its view.
const ANYWHERE: &[&str] = &["session/statusChanged"];

/// What happens to the frames on their way out.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    None,
    /// This one is lost.
    Drop(Vec<u8>),
    /// The first one comes behind the second.
    Swap(Vec<u8>, Vec<u8>),
}

#[derive(Debug)]
struct Breaker {
    fault: Fault,
    held: Option<Vec<u8>>,
}

impl Seam for Breaker {
    fn bytes(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.fault {
            Fault::Drop(lost) if *lost == bytes => Vec::new(),
            Fault::Swap(first, _) if *first == bytes => {
                self.held = Some(bytes);
                Vec::new()
            }
            Fault::Swap(_, second) if *second == bytes => [bytes, self.held.take().unwrap_or_default()].concat(),
            _ => bytes,
        }
    }
}

/// A frame that a line named.
pub(crate) struct Named {
    pub(crate) bytes: Vec<u8>,
    pub(crate) line: usize,
    /// Whether the line takes others like it, and nothing tells them apart.
    pub(crate) one_of_many: bool,
}

/// How it went.
pub(crate) struct Play {
    pub(crate) peer: Peer,
    pub(crate) named: Vec<Named>,
}

struct Player<'a> {
    case: &'a Case,
    disk: Arc<Memory>,
    fault: Fault,
    hosts: u64,
    peer: Peer,
    variables: Variables,
    named: Vec<Named>,
    /// A frame that was read and not looked at.
    ahead: Option<(Value, Vec<u8>)>,
    asked: i64,
    request: Value,
}

/// Plays a case.
///
/// # Errors
/// The line that does not hold, and why.
pub(crate) async fn play(case: &Case, fault: Fault) -> Result<Play, String> {
    let disk = Arc::new(Memory::default());
    let peer = connect(case, &disk, &fault, 1).await;
    let mut player = Player {
        case,
        disk,
        fault,
        hosts: 1,
        peer,
        variables: Variables::new(),
        named: Vec::new(),
        ahead: None,
        asked: 0,
        request: Value::Null,
    };
    for (at, line) in &case.lines {
        player.line(*at, line).await.map_err(|error| format!("line {at}: {error}"))?;
    }
    player.silence().await.map_err(|error| format!("at the end: {error}"))?;
    Ok(Play { peer: player.peer, named: player.named })
}

/// A connection to a new host; ids and times are the same each time.
async fn connect(case: &Case, disk: &Arc<Memory>, fault: &Fault, number: u64) -> Peer {
    let setting = |name: &str| case.host[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let mut config = Config { seed: Some(number), ..Config::durable("root".into()) };
    config.outbox_frames = setting("outboxFrames").unwrap_or(config.outbox_frames);
    let layer: Arc<dyn Layer> = Arc::clone(disk) as _;
    let host = Host::with(config, layer, Box::new(Breaker { fault: fault.clone(), held: None }));
    let peer = Peer::over(host, setting("room").unwrap_or(1 << 20)).number(number);
    if case.host["handshake"] == false {
        return peer;
    }
    let capabilities = &case.host["capabilities"];
    peer.shake(if capabilities.is_null() { json!({}) } else { capabilities.clone() }).await
}

impl Player<'_> {
    async fn line(&mut self, at: usize, line: &Line) -> Result<(), String> {
        match line {
            Line::Send { method, params, script, sets_up } => {
                if !sets_up {
                    self.silence().await?;
                }
                let params = self.params(method, params, script)?;
                if *sets_up {
                    let result = self.peer.call(method, params).await.map_err(|error| error.to_string())?;
                    self.keep(result);
                    self.peer.quiet().await;
                } else if matches!(method.as_str(), "initialized" | "userInput/engaged") {
                    self.peer.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
                } else {
                    self.asked = self.peer.ask(method, params).await;
                }
            }
            Line::Receipt => {
                let answer = json!({ "jsonrpc": "2.0", "id": self.request, "result": {} });
                self.peer.send(&answer).await;
            }
            Line::Close => {
                self.silence().await?;
                self.peer.close().await;
            }
            Line::Stall => tokio::time::sleep(Duration::from_secs(5)).await,
            Line::Crash => {
                self.silence().await?;
                self.hosts += 1;
                let next = connect(self.case, &self.disk, &self.fault, self.hosts).await;
                std::mem::replace(&mut self.peer, next).kill();
            }
            Line::Expect(expect) => self.expect(at, expect).await?,
            Line::Seen(variable, text) => {
                let seen = self.variables.get(variable).and_then(Value::as_str).filter(|seen| !seen.is_empty());
                if !seen.is_some_and(|seen| text.starts_with(seen)) {
                    return Err(format!("`{variable}` is {seen:?}"));
                }
            }
            Line::End => {
                self.silence().await?;
            }
        }
        Ok(())
    }

    /// Params with what each method wants and no file should have to say.
    fn params(&mut self, method: &str, params: &str, script: &[String]) -> Result<Value, String> {
        let mut params = fill(params, &self.variables)?;
        if has(method, "commandId") && params["commandId"].is_null() {
            params["commandId"] = self.peer.command_id().into();
            self.variables.insert("command".to_owned(), params["commandId"].clone());
        }
        if let Some(session) = self.variables.get("session").filter(|_| has(method, "sessionId"))
            && params["sessionId"].is_null()
        {
            params["sessionId"] = session.clone();
        }
        if !script.is_empty() {
            let text = format!("@script\n{}", script.join("\n"));
            params["input"] = json!([{ "type": "text", "text": text }]);
        }
        Ok(params)
    }

    /// The result of a set-up: its members, but of a session only the id.
    fn keep(&mut self, result: Value) {
        let Value::Object(result) = result else { return };
        for (member, value) in result {
            let value = if member == "session" { value["sessionId"].clone() } else { value };
            self.variables.insert(member, value);
        }
    }

    async fn expect(&mut self, at: usize, expect: &Expect) -> Result<(), String> {
        let mut count = 0;
        loop {
            let Some((frame, bytes)) = self.next().await else {
                return if count > 0 { Ok(()) } else { Err(format!("nothing came for `{}`", shown(expect))) };
            };
            let mut variables = self.variables.clone();
            let fits = self.fits(&frame, expect).and_then(|()| expect.check(&frame, &mut variables));
            match fits {
                Ok(()) => self.variables = variables,
                Err(_) if count > 0 => {
                    self.ahead = Some((frame, bytes));
                    return Ok(());
                }
                Err(error) => return Err(format!("{error} in {frame}")),
            }
            if frame.get("method").is_some() && frame.get("id").is_some() {
                self.request = frame["id"].clone();
            }
            self.named.push(Named { bytes, line: at, one_of_many: expect.repeated && !expect.adds() });
            count += 1;
            if !expect.repeated {
                return Ok(());
            }
        }
    }

    fn fits(&self, frame: &Value, expect: &Expect) -> Result<(), String> {
        let (is_answer, has_id) = (frame.get("method").is_none(), frame.get("id").is_some());
        let kind = match (is_answer, has_id) {
            (true, _) if frame["id"] != self.asked => return Err("an answer to another request".to_owned()),
            (true, _) if frame.get("result").is_some() => Kind::Ok,
            (true, _) => Kind::Error,
            (false, true) => Kind::Request,
            (false, false) => Kind::Notification,
        };
        let name = if is_answer { String::new() } else { name(frame) };
        if (kind, &name) == (expect.kind, &expect.name) {
            Ok(())
        } else {
            Err(format!("{kind:?} `{name}` came for `{}`", shown(expect)))
        }
    }

    /// The next frame that has a place, with its bytes.
    async fn next(&mut self) -> Option<(Value, Vec<u8>)> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        loop {
            let frame = self.peer.next().await?;
            let bytes = format!("{}\n", self.peer.transcript.last()?.1).into_bytes();
            if !ANYWHERE.iter().any(|method| frame["method"] == *method) {
                return Some((frame, bytes));
            }
        }
    }

    /// Nothing may come that no line named.
    async fn silence(&mut self) -> Result<(), String> {
        match self.next().await {
            Some((frame, _)) => Err(format!("nobody named {frame}")),
            None => Ok(()),
        }
    }
}

fn shown(expect: &Expect) -> String {
    format!("{:?} {}", expect.kind, expect.name)
}

/// Whether the params of a method have a member.
fn has(method: &str, member: &str) -> bool {
    let bundle = published::bundle(Surface::Experimental);
    let row = bundle.methods().iter().find(|row| row.name == method);
    let definition = row.and_then(|row| bundle.definition(row.params.as_ref()?));
    definition.is_some_and(|definition| definition["properties"].get(member).is_some())
}
