//! 1,000 sessions loaded in one host: how long that takes, and the memory of one that nothing happens in.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::ratio;

const SESSIONS: u32 = 1000;

pub(crate) fn run() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut client = Client::start(folder.path());
    let before = client.memory();
    let start = Instant::now();
    let sessions: Vec<String> = (0..SESSIONS).map(|_| started(&mut client)).collect();
    report("started, one turn each", start.elapsed(), before, client.memory());
    client.finish();

    let mut client = Client::start(folder.path());
    let before = client.memory();
    let start = Instant::now();
    for session in &sessions {
        let id = client.command("session/resume", json!({ "sessionId": session, "history": "snapshot" }));
        client.answer(id);
    }
    report("resumed by a new host", start.elapsed(), before, client.memory());
    client.finish();
}

/// A session in which one turn ran.
fn started(client: &mut Client) -> String {
    let session = client.session();
    let input = json!([{ "type": "text", "text": "a prompt of some words that is echoed" }]);
    client.command("turn/start", json!({ "sessionId": session, "input": input }));
    client.turn();
    session
}

fn report(what: &str, time: Duration, before: Option<u64>, after: Option<u64>) {
    let each = ratio(time, Duration::from_secs(1)) * 1000.0 / f64::from(SESSIONS);
    let memory = before.zip(after).map_or_else(
        || "memory is not told by this system".to_owned(),
        |(before, after)| {
            format!("{before} kB before, {} bytes a session", (after - before) * 1024 / u64::from(SESSIONS))
        },
    );
    println!("  {SESSIONS} sessions {what:<24} {each:>6.2} ms each, {memory}");
}
