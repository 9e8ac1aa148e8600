//! Plays the steps of a case: hosts over pipes in memory, clients that judge every frame, files in a folder of the case alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use msp_reference_server::log::layer::{Disk, Layer, Memory};
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use msp_schema::annotations::{Annotations, Role};
use msp_schema::{Surface, published};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cover::Caused;
use super::data::{Case, Expected, FileStep, Line, Settings, Step};
use super::meet::{self, Variables};
use crate::crash::Failing;
use crate::peer::{Peer, name};

/// An id that no host knows.
pub(super) const STRANGER: &str = "0198f0ab-0000-7000-8000-00000000dead";
/// Name of the first client.
const FIRST: &str = "first";
/// Room in the pipes of a client, in bytes, where a case says nothing.
const ROOM: usize = 1 << 20;

/// A case that is being played.
struct Play {
    dir: TempDir,
    /// Where the sessions of the host in force are.
    sessions: PathBuf,
    host: Arc<Host>,
    disk: Arc<Failing<Disk>>,
    client: Value,
    pipe: usize,
    peers: BTreeMap<String, Peer>,
    asked: BTreeMap<String, i64>,
    variables: Variables,
    caused: Caused,
    /// Commands mint ids apart from those of other clients.
    clients: u64,
}

/// Everything that a client can ask for.
pub(super) fn everything() -> Value {
    let capabilities = &published::bundle(Surface::Experimental).capabilities().grantable;
    json!({ "experimentalApi": true, "requestedCapabilities": capabilities })
}

pub(super) async fn case(case: &Case) -> Caused {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let sessions = folder.join("sessions");
    let mut variables = Variables::default();
    variables.set("dir", folder.display().to_string().into());
    variables.set("sessions", sessions.display().to_string().into());
    variables.set("stranger", STRANGER.into());
    let (host, disk) = start(case.host.config(&sessions, |path| variables.text(path)));
    let client = case.client.clone().unwrap_or_else(everything);
    let mut play = Play {
        dir,
        sessions,
        host,
        disk,
        client,
        pipe: case.pipe.unwrap_or(ROOM),
        peers: BTreeMap::new(),
        asked: BTreeMap::new(),
        variables,
        caused: Caused::default(),
        clients: 0,
    };
    play.connect(FIRST, None, Arc::clone(&play.host)).await;
    for name in &case.sessions {
        let session = play.peers.get_mut(FIRST).unwrap().start().await;
        play.variables.set(name, session.into());
    }
    for (at, step) in case.steps.iter().enumerate() {
        if let Err(wrong) = Box::pin(play.step(step)).await {
            panic!("step {}: {wrong}", at + 1);
        }
    }
    for (_, peer) in std::mem::take(&mut play.peers) {
        play.end(peer).await;
    }
    play.caused
}

/// A host, and its disk where it keeps its sessions on one.
fn start(config: Config) -> (Arc<Host>, Arc<Failing<Disk>>) {
    let disk = Arc::new(Failing::after(i64::MAX, Arc::new(Disk::default())));
    let is_durable = config.sessions_dir.is_some();
    let layer: Arc<dyn Layer> = if is_durable { Arc::clone(&disk) as _ } else { Arc::new(Memory::default()) };
    (Host::with(config, layer, Box::new(Honest)), disk)
}

impl Play {
    async fn connect(&mut self, name: &str, client: Option<&Value>, host: Arc<Host>) {
        self.clients += 1;
        let client = self.variables.fill(client.unwrap_or(&self.client));
        let peer = Peer::over(host, self.pipe).number(self.clients);
        let peer = if client == false { peer } else { peer.shake(client).await };
        self.peers.insert(name.to_owned(), peer);
    }

    /// Ends the input of a client and judges what it saw.
    async fn end(&mut self, mut peer: Peer) {
        peer.close().await;
        drop(peer.quiet().await); // what is left, for the transcript
        self.caused.hear(&peer.transcript);
        peer.finish().await;
    }

    fn peer(&mut self, step: &Step) -> &mut Peer {
        let name = step.on.as_deref().unwrap_or(FIRST);
        self.peers.get_mut(name).unwrap_or_else(|| panic!("no client `{name}`"))
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Some(method) = &step.call {
            self.call(step, method).await?;
        } else if let Some(name) = &step.ask {
            let method = step.method.as_ref().ok_or("an `ask` names its `method`")?;
            let params = self.params(step, method);
            let id = self.peer(step).ask(method, params).await;
            self.asked.insert(name.clone(), id);
        } else if let Some(count) = step.burst {
            self.burst(step, count).await?;
        } else if let Some(name) = &step.answer {
            let id = self.asked.remove(name).ok_or_else(|| format!("nothing was asked as `{name}`"))?;
            let answer = self.peer(step).answer(id).await;
            self.check(step, &answer)?;
        } else if let Some(line) = &step.send {
            let line = self.variables.text(line) + "\n";
            let peer = self.peer(step);
            peer.send_bytes(line.as_bytes()).await;
            let frame = peer.unaddressed().await.ok_or("no answer came to the line")?;
            self.caused.refused(None, &frame["error"]);
            let expected = step.error.as_ref().ok_or("a `send` names its `error`")?;
            meet::error(expected, &frame["error"], &self.variables)?;
        } else if let Some(method) = &step.tell {
            let params = self.variables.fill(step.params.as_ref().unwrap_or(&json!({})));
            self.peer(step).send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
        } else if let Some(lines) = &step.prompt {
            self.prompt(step, lines).await?;
        } else if let Some(method) = &step.until {
            self.until(step, method).await?;
        } else if let Some(never) = &step.quiet {
            let frames = self.peer(step).quiet().await;
            let came = frames.iter().find(|frame| never.iter().any(|method| frame["method"] == method.as_str()));
            if let Some(frame) = came {
                return Err(format!("{frame} came"));
            }
        } else {
            return self.surroundings(step).await;
        }
        for method in &step.then {
            self.until(&Step { on: step.on.clone(), ..Step::default() }, method).await?;
        }
        Ok(())
    }

    /// Steps that are no frames: time, clients, hosts, files.
    async fn surroundings(&mut self, step: &Step) -> Result<(), String> {
        if let Some(ms) = step.sleep_ms {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        } else if let Some(name) = &step.connect {
            self.connect(name, step.client.as_ref(), Arc::clone(&self.host)).await;
        } else if let Some(name) = &step.second {
            let settings = Settings::default().durable();
            let host = Host::new(settings.config(&self.sessions, |path| self.variables.text(path)));
            self.connect(name, step.client.as_ref(), host).await;
        } else if let Some(file) = &step.file {
            self.file(file);
        } else if let Some(settings) = &step.restart {
            let name = step.on.as_deref().unwrap_or(FIRST);
            let peer = self.peers.remove(name).ok_or_else(|| format!("no client `{name}`"))?;
            self.end(peer).await;
            self.take_over(settings, step).await;
        } else if let Some(settings) = &step.crash {
            // What another host finds is what stood on the disk at that moment.
            let left = self.dir.path().canonicalize().unwrap().join(format!("sessions-{}", self.clients));
            copy(&self.sessions, &left);
            for (_, peer) in std::mem::take(&mut self.peers) {
                self.caused.hear(&peer.transcript);
                peer.vanish();
            }
            self.sessions = left;
            self.variables.set("sessions", self.sessions.display().to_string().into());
            self.take_over(settings, step).await;
        } else {
            return Err("a step that does nothing".to_owned());
        }
        Ok(())
    }

    async fn take_over(&mut self, settings: &Settings, step: &Step) {
        let settings = settings.clone().durable();
        (self.host, self.disk) = start(settings.config(&self.sessions, |path| self.variables.text(path)));
        self.connect(FIRST, step.client.as_ref(), Arc::clone(&self.host)).await;
    }

    /// Params with their variables, and with a command id where the method wants one and none is given.
    fn params(&mut self, step: &Step, method: &str) -> Value {
        let mut params = self.variables.fill(step.params.as_ref().unwrap_or(&json!({})));
        if is_command(method) && params.is_object() && params.get("commandId").is_none() {
            params["commandId"] = self.peer(step).command_id().into();
        }
        params
    }

    async fn call(&mut self, step: &Step, method: &str) -> Result<(), String> {
        let params = self.params(step, method);
        let peer = self.peer(step);
        let answer = peer.call(method, params.clone()).await;
        let settles = answer.as_ref().map_or_else(|error| error["code"] == -32030, |_| true);
        if is_command(method) && settles {
            let again = peer.call(method, params).await;
            if again != answer {
                return Err(format!("sent once more, `{method}` was answered with {again:?} instead of {answer:?}"));
            }
        }
        self.check(step, &answer)
    }

    /// Whether an answer is the expected one; saves what the step asks for.
    fn check(&mut self, step: &Step, answer: &Result<Value, Value>) -> Result<(), String> {
        match (answer, &step.error) {
            (Ok(result), None) => {
                if let Some(expected) = &step.result {
                    meet::part(&self.variables.fill(expected), result, "result")?;
                }
                self.save(step, result);
                Ok(())
            }
            (Err(error), Some(expected)) => meet::error(expected, error, &self.variables),
            (Err(error), None) => Err(format!("refused with {error}")),
            (Ok(result), Some(Expected::Code((code,)) | Expected::Kind((code, _)) | Expected::Data((code, ..)))) => {
                Err(format!("answered with {result} instead of {code}"))
            }
        }
    }

    fn save(&mut self, step: &Step, value: &Value) {
        for (name, path) in &step.save {
            let value = meet::at(value, path);
            assert!(!value.is_null(), "nothing at `{path}` to save as `{name}`");
            self.variables.set(name, value.clone());
        }
    }

    async fn prompt(&mut self, step: &Step, lines: &[Line]) -> Result<(), String> {
        let text = self.variables.text(&Line::prompt(lines));
        let mut params = json!({ "sessionId": "$session", "input": [{ "type": "text", "text": text }] });
        if let Some(Value::Object(more)) = &step.params {
            params.as_object_mut().unwrap().extend(more.clone());
        }
        let mut params = self.variables.fill(&params);
        let peer = self.peer(step);
        params["commandId"] = peer.command_id().into();
        let answer = peer.call("turn/start", params).await;
        if let Ok(result) = &answer {
            self.variables.set("turn", result["turnId"].clone());
        }
        self.check(step, &answer)
    }

    async fn burst(&mut self, step: &Step, count: usize) -> Result<(), String> {
        let method = step.method.as_ref().ok_or("a `burst` names its `method`")?;
        let expected = step.error.as_ref().ok_or("a `burst` names its `error`")?;
        let first = [FIRST.to_owned()];
        let clients = if step.clients.is_empty() { &first[..] } else { &step.clients };
        let mut asked = Vec::new();
        for name in clients.iter().cycle().take(count) {
            let by = Step { on: Some(name.clone()), params: step.params.clone(), ..Step::default() };
            let params = self.params(&by, method);
            asked.push((self.peer(&by).ask(method, params).await, by));
        }
        let mut refused = 0;
        for (id, by) in asked {
            if let Err(error) = self.peer(&by).answer(id).await {
                meet::error(expected, &error, &self.variables)?;
                refused += 1;
            }
        }
        match refused {
            0 => Err(format!("none of {count} was refused")),
            all if all == count => Err(format!("all of {count} were refused")),
            _ => Ok(()),
        }
    }

    async fn until(&mut self, step: &Step, method: &str) -> Result<(), String> {
        let wanted = step.params.as_ref().map(|params| self.variables.fill(params));
        let mut seen = Vec::new();
        loop {
            let Some(frame) = self.peer(step).next().await else {
                let wanted = wanted.unwrap_or_default();
                return Err(format!("no `{method}` with {wanted} came, but {}", seen.join(", ")));
            };
            if frame["method"] == method
                && wanted.as_ref().is_none_or(|wanted| meet::part(wanted, &frame["params"], "").is_ok())
            {
                self.save(step, &frame["params"]);
                return Ok(());
            }
            seen.push(name(&frame));
        }
    }

    fn file(&self, step: &FileStep) {
        let path = |text: &str| PathBuf::from(self.variables.text(text));
        match step {
            FileStep::Folder(at) => std::fs::create_dir_all(path(at)).unwrap(),
            FileStep::Write(at, text) => std::fs::write(path(at), text).unwrap(),
            FileStep::Append(at, text) => {
                let mut bytes = std::fs::read(path(at)).unwrap();
                bytes.extend_from_slice(text.as_bytes());
                std::fs::write(path(at), bytes).unwrap();
            }
            FileStep::Replace(at, old, new) => {
                let text = std::fs::read_to_string(path(at)).unwrap();
                let (old, new) = (self.variables.text(old), self.variables.text(new));
                assert!(text.contains(&old), "{at} has no `{old}`");
                std::fs::write(path(at), text.replace(&old, &new)).unwrap();
            }
            FileStep::Copy(from, to) => copy(&path(from), &path(to)),
            FileStep::Remove(at) => std::fs::remove_file(path(at)).unwrap(),
            FileStep::Fail => self.disk.fail(),
        }
    }
}

/// Whether a method carries a command id.
pub(super) fn is_command(method: &str) -> bool {
    Annotations::published().method(method).is_some_and(|entry| entry.role == Some(Role::Command))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
