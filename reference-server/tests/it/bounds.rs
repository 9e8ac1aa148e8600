//! What a long session costs: bytes that a load and a page read, counted by the file layer. Times are the benchmark's.
//!
//! 30,000 events, 300,000 with `FULL=1`; a tenth of that where every event has its own item, all of which a load holds in memory.

use std::path::Path;
use std::sync::Arc;

use msp_reference_server::log::layer::{Layer, Memory};
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use serde_json::{Value, json};

use crate::long_session::{Shape, make};
use crate::peer::Peer;

const MIB: u64 = 1 << 20;

struct Long {
    layer: Arc<Memory>,
    session: &'static str,
    events: u64,
}

impl Long {
    /// A session that a host loaded before, so that what is derived from its log is there.
    async fn new(shape: Shape) -> Self {
        let full = std::env::var_os("FULL").is_some_and(|full| full == "1");
        let most = if full { 300_000 } else { 30_000 };
        let events = if shape == Shape::ManyItems { most / 10 } else { most };
        let layer = Arc::new(Memory::default());
        let session = make(&(Arc::clone(&layer) as Arc<dyn Layer>), Path::new("root"), shape, events);
        let long = Self { layer, session, events };
        let mut peer = long.open(1).await;
        long.resume(&mut peer).await;
        peer.finish().await;
        long
    }

    async fn open(&self, number: u64) -> Peer {
        let layer: Arc<dyn Layer> = Arc::clone(&self.layer) as _;
        let host = Host::with(Config::durable("root".into()), layer, Box::new(Honest));
        Peer::over(host, 1 << 20).shake(json!({})).await.number(number)
    }

    async fn resume(&self, peer: &mut Peer) -> Value {
        peer.command("session/resume", json!({ "sessionId": self.session, "history": "snapshot" })).await.unwrap()
    }

    /// Bytes that a page reads, and the page.
    async fn page(&self, peer: &mut Peer, mut params: Value) -> (u64, Value) {
        params["sessionId"] = self.session.into();
        let before = self.layer.bytes_read();
        let page = peer.call("view/page", params).await.unwrap();
        (self.layer.bytes_read() - before, page)
    }

    /// Pages of 100 events at the start, in the middle and at the end read about as much, and less than a MiB.
    async fn check_pages(&self, peer: &mut Peer) {
        let mut middle = json!({ "limit": 1000 });
        for _ in 0..self.events / 2000 {
            middle["cursor"] = self.page(peer, middle.clone()).await.1["nextCursor"].clone();
        }
        middle["limit"] = 100.into();
        let mut all = Vec::new();
        for params in [json!({ "limit": 100 }), middle, json!({ "limit": 100, "direction": "backward" })] {
            let (read, page) = self.page(peer, params).await;
            assert_eq!(page["events"].as_array().unwrap().len(), 100);
            assert!(read <= MIB, "{read} bytes");
            all.push(read);
        }
        assert!(all.iter().max().unwrap() <= &(all.iter().min().unwrap() * 2), "{all:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_and_its_pages_read_little_however_long_the_log_is() {
    let long = Long::new(Shape::FewItems).await;
    let mut peer = long.open(2).await;
    let before = long.layer.bytes_read();
    let resumed = long.resume(&mut peer).await;
    let read = long.layer.bytes_read() - before;
    assert_eq!(resumed["history"]["mode"], "snapshot");
    assert!(read <= MIB, "{read} bytes to resume");
    long.check_pages(&mut peer).await;
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_stored_session_read_little_as_well() {
    let long = Long::new(Shape::FewItems).await;
    let mut peer = long.open(2).await;
    let (read, page) = long.page(&mut peer, json!({ "limit": 100 })).await;
    assert_eq!(page["events"].as_array().unwrap().len(), 100);
    assert!(read <= MIB, "{read} bytes");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_session_of_many_items_read_little() {
    let long = Long::new(Shape::ManyItems).await;
    let mut peer = long.open(2).await;
    long.resume(&mut peer).await;
    long.check_pages(&mut peer).await;
    peer.finish().await;
}
