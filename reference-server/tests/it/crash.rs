//! Power is lost at every write and every sync in turn: what was told before is there afterwards (CMD-5, SESS-15).

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use msp_reference_server::log::layer::{Layer, Lease, Memory};
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use serde_json::{Value, json};

use crate::peer::Peer;

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
        ("goal/none", json!({})),
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
        peer.vanish();
        disk.lose_power(usize::try_from(left).unwrap() * 7 % 90);
        cuts += 1;

        let mut other = Peer::over(host(Arc::clone(&disk) as _), 1 << 20).shake(json!({})).await.number(1);
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
