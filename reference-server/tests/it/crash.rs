//! Power is lost at every write and every sync in turn: what was told before is there afterwards (CMD-5, SESS-15).
//!
//! One conversation is written out; mixed ones are those of `kept`, judged by its checker. Of the mixed ones every eleventh write or
//! sync of one seed fails; with `FULL=1` every third of four.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use msp_reference_server::log::layer::{Layer, Lease, Memory};
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use serde_json::{Value, json};

use crate::kept::check::check;
use crate::kept::history::{Answer, Event, Found};
use crate::kept::talk::Talk;
use crate::peer::{Peer, Said};

/// A disk that fails for good after so many writes and syncs; the failing write leaves half of its bytes.
#[derive(Debug)]
pub(crate) struct Failing<D> {
    disk: Arc<D>,
    left: AtomicI64,
}

impl<D> Failing<D> {
    /// After so many.
    pub(crate) fn after(left: i64, disk: Arc<D>) -> Self {
        Self { disk, left: AtomicI64::new(left) }
    }

    /// From now on.
    pub(crate) fn fail(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    fn step(&self) -> io::Result<()> {
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0 { Ok(()) } else { Err(io::Error::other("no power")) }
    }
}

impl<D: Layer> Layer for Failing<D> {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }
    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        self.disk.length(path)
    }
    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.disk.read(path, offset, length)
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let step = self.step();
        self.disk.append(path, if step.is_ok() { bytes } else { &bytes[..bytes.len() / 2] })?;
        step
    }
    fn sync(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.disk.sync(path)
    }
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        self.disk.truncate(path, length)
    }
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.disk.replace(path, bytes)
    }
    fn lease(&self, path: &Path) -> io::Result<Option<Lease>> {
        self.disk.lease(path)
    }
    fn bytes_read(&self) -> u64 {
        self.disk.bytes_read()
    }
}

fn host(layer: Arc<dyn Layer>) -> Arc<Host> {
    Host::with(Config::durable("root".into()), layer, Box::new(Honest))
}

/// Goes away; what was told is judged where the disk held. A host that cannot write answers with internal errors.
fn leave(peer: Peer, failed: bool) -> Said {
    if failed { peer.kill() } else { peer.vanish() }
}

/// Plays a conversation until the disk fails or it is over; gives the commands with their acks, and the durable events.
async fn play(peer: &mut Peer) -> (Vec<(&'static str, Value, Value)>, Vec<Value>) {
    let session = "0198f0ab-0000-7000-8000-00000000aaaa";
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let commands = [
        ("session/start", json!({})),
        ("session/setModel", json!({ "model": { "modelId": "m2" } })),
        ("turn/start", json!({ "input": text("@script\ntool {\"output\":\"o\"}\nsay {\"text\":\"a b\"}") })),
        ("session/rename", json!({ "name": "n" })),
        ("turn/start", json!({ "input": text("@script\nhold") })),
        ("turn/start", json!({ "input": text("queued") })),
        ("nothing/none", json!({})),
        ("turn/interrupt", json!({})),
    ];
    let (mut acked, mut frames) = (Vec::new(), Vec::new());
    for (method, mut params) in commands {
        params["sessionId"] = session.into();
        params["commandId"] = peer.command_id().into();
        if let Ok(ack) = peer.call(method, params.clone()).await {
            acked.push((method, params, ack));
        }
        frames.extend(peer.quiet().await);
    }
    frames.retain(|frame| frame["params"]["sourceRange"].is_object());
    (acked, frames)
}

#[tokio::test(start_paused = true)]
async fn nothing_that_was_told_is_lost() {
    let mut cuts = 0;
    for left in 0.. {
        let disk = Arc::new(Memory::default());
        let failing = Arc::new(Failing::after(left, Arc::clone(&disk)));
        let mut peer = Peer::over(host(Arc::clone(&failing) as _), 1 << 20).shake(json!({})).await;
        let (acked, shown) = play(&mut peer).await;
        let failed = failing.left.load(Ordering::Relaxed) < 0;
        let past = [leave(peer, failed)];
        disk.lose_power(usize::try_from(left).unwrap() * 7 % 90);
        cuts += 1;

        let mut other = Peer::over(host(Arc::clone(&disk) as _), 1 << 20).shake(json!({})).await.number(1).after(&past);
        let session = json!("0198f0ab-0000-7000-8000-00000000aaaa");
        if acked.is_empty() {
            assert_eq!(shown, Vec::<Value>::new());
            other.vanish();
            continue;
        }
        other.command("session/resume", json!({ "sessionId": session })).await.unwrap();
        other.quiet().await;
        let pages = other.pages(session.as_str().unwrap()).await;
        let told: Vec<Value> =
            shown.iter().map(|frame| json!({ "method": frame["method"], "params": frame["params"] })).collect();
        assert!(
            told.iter().all(|event| pages.contains(event)),
            "cut {left}: an event that was shown is gone or differs"
        );
        for (method, params, ack) in acked {
            match other.call(method, params).await {
                Ok(again) => assert_eq!(again, ack, "cut {left}: {method}"),
                Err(error) => assert_eq!(
                    (method, &error["data"]["reason"]),
                    ("turn/start", &json!("abandoned")),
                    "cut {left}: {error}"
                ),
            }
        }
        let open = pages.iter().filter(|event| event["method"] == "turn/started").count();
        let ended = pages.iter().filter(|event| event["method"] == "turn/completed").count();
        assert_eq!(open, ended, "cut {left}");
        other.finish().await;
        if !failed {
            break;
        }
    }
    assert!(cuts > 20, "only {cuts} cuts");
}

/// Takes note of what came.
async fn listen(talk: &mut Talk, peer: &mut Peer, to_the_end: bool) {
    let frames: Vec<Value> = if to_the_end { peer.quiet().await } else { peer.inbox.drain(..).collect() };
    frames.iter().filter_map(Event::of).for_each(|event| talk.saw(event));
}

/// Sends a command of the talk. An answer that says that the disk failed says nothing of the command.
async fn say(talk: &mut Talk, peer: &mut Peer, command: usize) {
    let said = talk.history.commands[command].clone();
    match peer.call(said.method, said.params).await {
        Ok(result) => talk.answered(command, Answer::Result(result)),
        Err(error) if error["code"] == -32603 => {}
        Err(error) => talk.answered(command, Answer::Error(error)),
    }
}

/// What a new host finds of all sessions.
async fn find(talk: &mut Talk, peer: &mut Peer) {
    for session in talk.known() {
        let params = json!({ "sessionId": session, "commandId": talk.mint(), "history": "snapshot" });
        let found = match peer.call("session/resume", params).await {
            Ok(resumed) => {
                let waiting = resumed["history"]["snapshot"]["state"]["queuedTurns"].as_array().unwrap();
                let queued = waiting.iter().map(|turn| turn["turnId"].as_str().unwrap().to_owned()).collect();
                let pages = peer.pages(&session).await.into_iter().map(|event| Event {
                    method: event["method"].as_str().unwrap().to_owned(),
                    params: event["params"].clone(),
                });
                Found::There { pages: pages.collect(), queued }
            }
            Err(error) => Found::Refused(error),
        };
        talk.history.lives.last_mut().unwrap().found.insert(session, found);
    }
}

/// Plays a seed until the disk fails, lets another host look and take every command again, and a third one look. False when the disk
/// did not fail.
async fn mixed(seed: u64, left: i64) -> bool {
    let disk = Arc::new(Memory::default());
    let failing = Arc::new(Failing { disk: Arc::clone(&disk), left: AtomicI64::new(left) });
    let failed = || failing.left.load(Ordering::Relaxed) < 0;
    let mut talk = Talk::new(seed);
    talk.begin_life();
    let mut peer = Peer::over(host(Arc::clone(&failing) as _), 1 << 20).shake(json!({})).await.number(1);
    for number in 0..40 {
        if failed() {
            break;
        }
        let command = talk.next();
        say(&mut talk, &mut peer, command).await;
        listen(&mut talk, &mut peer, number % 3 > 0).await;
    }
    listen(&mut talk, &mut peer, true).await;
    let failed = failed();
    let mut past = vec![leave(peer, failed)];
    disk.lose_power(usize::try_from(left).unwrap() * 97 % 900);
    for life in 1..3 {
        talk.begin_life();
        let mut peer =
            Peer::over(host(Arc::clone(&disk) as _), 1 << 20).shake(json!({})).await.number(1 + life).after(&past);
        find(&mut talk, &mut peer).await;
        for command in 0..talk.history.commands.len() {
            if talk.history.commands[command].answers.last().is_none_or(|(_, answer)| answer.settles()) {
                say(&mut talk, &mut peer, command).await;
            }
        }
        listen(&mut talk, &mut peer, true).await;
        past.push(peer.vanish());
    }
    let found = check(&talk.history);
    assert!(found.is_empty(), "seed {seed}, power lost at write or sync {left}: {found:#?}");
    failed
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_mixed_conversation_is_lost() {
    let full = std::env::var_os("FULL").is_some_and(|full| full == "1");
    let (seeds, step) = if full { (4, 3) } else { (1, 11) };
    for seed in 0..seeds {
        let mut cuts = 0;
        while mixed(seed, cuts * step).await {
            cuts += 1;
        }
        assert!(cuts * step > 60, "the disk was asked {cuts} times only");
    }
}
