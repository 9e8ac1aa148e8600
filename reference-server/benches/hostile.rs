//! How long running turns are held up by a hostile client, and how much memory the program takes meanwhile.
//!
//! `cargo bench -p msp-reference-server --bench hostile` plays the waves of `tests/it/hostile/flood.rs` while three sessions of the
//! same process have turns that write a record about every 20 ms, and prints for each wave how long it took, the longest time
//! between two records of a turn, and the most memory so far. It judges nothing: how long is too long depends on the machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    dead_code,
    reason = "a report on the terminal, with parts that only the test uses"
)]

#[path = "../tests/it/hostile/client.rs"]
mod client;
#[path = "../tests/it/hostile/flood.rs"]
mod flood;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use self::client::{Client, check};
use self::flood::{MANY, requests, waves};

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn memory(client: &Client) -> String {
    #[cfg(target_os = "linux")]
    return format!("{} MiB", client.memory().div_ceil(1024));
    #[cfg(not(target_os = "linux"))]
    "unknown".to_owned()
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // `cargo test` builds benches and runs them without it
    }
    let folder = tempfile::TempDir::new().unwrap();
    let mut client = Client::start(env!("CARGO_BIN_EXE_msp-reference-server"), folder.path());
    let (quiet, _) = client.run("say {\"text\":\"nothing more\"}");
    let busy: Vec<_> =
        (0..3).map(|_| client.run(&"tool {\"output\":\"x\"}\nwait {\"ms\":20}\n".repeat(6000))).collect();
    let page = json!({ "sessionId": quiet, "limit": 3 });
    let bundle = msp_schema::published::bundle(msp_schema::Surface::Experimental);
    let methods: Vec<_> = bundle.methods().iter().map(|row| row.name.clone()).collect();

    let mut spans = Vec::new();
    let mut span = |name: &'static str, client: &mut Client, work: &mut dyn FnMut(&mut Client)| {
        let (from, started) = (now_ms(), Instant::now());
        work(client);
        spans.push((name, from, now_ms(), started.elapsed(), memory(client)));
    };
    span("(nothing)", &mut client, &mut |_| std::thread::sleep(std::time::Duration::from_secs(1)));
    for wave in waves(7, &methods) {
        span(wave.name, &mut client, &mut |client| drop(client.survive(&wave, "view/page", &page)));
    }
    let unread = requests("view/page", &page, 0..MANY);
    span(unread.name, &mut client, &mut |client| {
        client.send(unread.bytes.clone());
        std::thread::sleep(std::time::Duration::from_secs(3)); // reads nothing
        let id = client.ask("view/page", page.clone());
        check(&unread, &client.answers_until(&id).1);
    });
    for (session, _) in &busy {
        client.call("turn/cancel", json!({ "commandId": true, "sessionId": session }));
    }

    println!("{:<30} {:>10} {:>16} {:>12}", "wave", "took", "longest silence", "memory");
    let times: Vec<Vec<i64>> = busy
        .iter()
        .map(|(session, _)| Client::records(folder.path(), session))
        .map(|records| records.iter().filter_map(|record| record["at"].as_i64()).collect())
        .collect();
    for (name, from, to, took, memory) in spans {
        let gaps = times.iter().flat_map(|times| times.windows(2));
        let longest = gaps.filter(|gap| gap[1] >= from && gap[0] <= to).map(|gap| gap[1] - gap[0]).max();
        println!("{name:<30} {:>7} ms {:>13} ms {memory:>12}", took.as_millis(), longest.unwrap_or(0));
    }
    for (session, turn) in &busy {
        let terminals = Client::terminals(folder.path(), session);
        assert_eq!(terminals, [(turn.clone(), "cancelled".to_owned())], "every turn comes to its end");
    }
    let (code, said) = client.finish();
    assert_eq!(code, Some(0), "{said}");
}
