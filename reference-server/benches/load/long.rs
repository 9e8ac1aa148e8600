//! One session of 1,000,000 events beside one of 10,000: pages at its start, middle and end, and resume with a snapshot; how long
//! each takes and how much of the files it reads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use msp_reference_server::log::layer::{Disk, Layer};
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

use crate::client::{command_id, id_of};
use crate::long_session::{Shape, make};
use crate::{median, ratio};

const SHORT: u64 = 10_000;
const LONG: u64 = 1_000_000;
const ROUNDS: usize = 25;
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for shape in [Shape::FewItems, Shape::ManyItems] {
        let short = runtime.block_on(measured(shape, SHORT));
        let long = runtime.block_on(measured(shape, LONG));
        println!("  resume of {LONG} to resume of {SHORT} events: {:.2}", ratio(long, short));
    }
}

/// Prints what a session of so many events costs; the time of its resume.
async fn measured(shape: Shape, events: u64) -> Duration {
    let folder = tempfile::TempDir::new().unwrap();
    let layer: Arc<dyn Layer> = Arc::new(Disk::default());
    let session = make(&layer, folder.path(), shape, events);
    let open = || {
        let layer: Arc<dyn Layer> = Arc::new(Disk::default());
        let config = Config::durable(folder.path().to_owned());
        (Arc::clone(&layer), Host::with(config, layer, Box::new(Honest)))
    };
    let (_, host) = open();
    let (fold, _) = resume(host, session, false).await;
    println!("  {events} events, {shape:?}: folded from the log alone in {fold:.1?}");
    let mut times = Vec::new();
    let mut most = 0;
    let start = Instant::now();
    // What takes seconds is not repeated as often.
    while times.len() < ROUNDS && (times.len() < 3 || start.elapsed() < PATIENCE) {
        let (layer, host) = open();
        let (time, _) = resume(host, session, false).await;
        times.push(time);
        most = most.max(layer.bytes_read());
    }
    let resumed = median(times);
    println!("    resume with a snapshot {resumed:>10.1?}, {most} bytes read with its drain");
    let (layer, host) = open();
    let (_, mut client) = resume(host, session, true).await;
    pages(&mut client, session, &layer, events).await;
    client.finish().await;
    resumed
}

/// Resumes a session on a host; how long that takes from the frame to its answer.
async fn resume(host: Arc<Host>, session: &str, keep: bool) -> (Duration, Client) {
    let mut client = Client::open(host).await;
    let start = Instant::now();
    let params = json!({ "sessionId": session, "history": "snapshot", "commandId": command_id() });
    let answer = client.call("session/resume", params).await;
    let time = start.elapsed();
    assert!(answer["history"]["mode"].is_string());
    if keep {
        return (time, client);
    }
    (time, client.finish().await)
}

/// Pages of 100 events at three places.
async fn pages(client: &mut Client, session: &str, layer: &Arc<dyn Layer>, events: u64) {
    // Every cursor on the way to the middle costs a page; those are not timed.
    let mut middle = json!({ "sessionId": session, "limit": 1000 });
    for _ in 0..events / 2000 {
        let page = client.call("view/page", middle.clone()).await;
        middle["cursor"] = page["nextCursor"].clone();
    }
    middle["limit"] = 100.into();
    let start = json!({ "sessionId": session, "limit": 100 });
    let end = json!({ "sessionId": session, "limit": 100, "direction": "backward" });
    let mut all = Vec::new();
    for (place, params) in [("start", start), ("middle", middle), ("end", end)] {
        let (mut times, before) = (Vec::new(), layer.bytes_read());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let page = client.call("view/page", params.clone()).await;
            times.push(start.elapsed());
            assert_eq!(page["events"].as_array().map(Vec::len), Some(100));
        }
        let (time, read) = (median(times), (layer.bytes_read() - before) / ROUNDS as u64);
        println!("    page of 100 at the {place:<7}{time:>10.1?}, {read} bytes read");
        all.push(time);
    }
    let (most, least) = (all.iter().max().unwrap(), all.iter().min().unwrap());
    println!("    dearest to cheapest page: {:.2}", ratio(*most, *least));
}

/// A client in the same process, so that the bytes that the host reads can be counted.
struct Client {
    writer: WriteHalf<DuplexStream>,
    reader: BufReader<ReadHalf<DuplexStream>>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
    count: u64,
}

impl Client {
    async fn open(host: Arc<Host>) -> Self {
        let (client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let serving = tokio::spawn(async move { serve(&host, input, output).await });
        let (reader, writer) = tokio::io::split(client);
        let mut client = Self { writer, reader: BufReader::new(reader), serving, count: 0 };
        client.call("initialize", json!({ "clientInfo": { "name": "bench", "version": "1" } })).await;
        client.write(&json!({ "jsonrpc": "2.0", "method": "initialized" })).await;
        client
    }

    async fn write(&mut self, frame: &Value) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.count += 1;
        let id = self.count;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let mut line = String::new();
        while id_of(&line) != Some(id) {
            line.clear();
            assert!(self.reader.read_line(&mut line).await.unwrap() > 0, "the host is gone");
        }
        let frame: Value = serde_json::from_str(&line).unwrap();
        assert!(frame.get("error").is_none(), "{frame}");
        frame["result"].clone()
    }

    /// Ends the input and reads what is left until the host is gone.
    async fn finish(mut self) -> Self {
        self.writer.shutdown().await.unwrap();
        let mut line = Vec::new();
        while self.reader.read_until(b'\n', &mut line).await.unwrap() > 0 {
            line.clear();
        }
        (&mut self.serving).await.unwrap().unwrap();
        self
    }
}
