//! A hostile client against the program: it never ends, its memory stays below a bound, turns of other sessions go on to their end,
//! and good requests between the bad ones are answered.
//!
//! How long a running turn is held up is no question for a test: `cargo bench -p msp-reference-server --bench hostile` tells.

mod client;
mod flood;

use std::path::Path;

use serde_json::{Value, json};

use self::client::{Client, check};
use self::flood::{MANY, requests, waves};

/// Most memory that the program may ever need, in MiB, as the README states it: under everything that comes in, and when nobody
/// reads what goes out.
#[cfg(target_os = "linux")]
const MEMORY_MIB: [u64; 2] = [192, 64];

/// The methods of the protocol.
fn methods() -> Vec<String> {
    let bundle = msp_schema::published::bundle(msp_schema::Surface::Experimental);
    bundle.methods().iter().map(|row| row.name.clone()).collect()
}

const PART: &str = "tool {\"output\":\"x\"}\nwait {\"ms\":5}\n";

/// Starts the program with three sessions whose turns wait for a word, and one in which nothing happens; gives a query of that one.
fn start(folder: &Path) -> (Client, Vec<(String, String)>, Value) {
    let mut client = Client::start(env!("CARGO_BIN_EXE_msp-reference-server"), folder);
    let work = PART.repeat(20);
    let busy = (0..3).map(|_| client.run(&format!("{work}hold {{\"steers\":1}}\n{work}"))).collect();
    let (quiet, _) = client.run("say {\"text\":\"nothing more\"}");
    client::wait(|| !Client::terminals(folder, &quiet).is_empty());
    (client, busy, json!({ "sessionId": quiet, "limit": 3 }))
}

fn steer((session, turn): &(String, String)) -> Value {
    json!({ "commandId": true, "sessionId": session, "expectedTurnId": turn, "input": [{ "type": "text", "text": "go on" }] })
}

/// The host ends well, and so did the turns, whose logs are whole.
fn finish(client: Client, folder: &Path, busy: &[(String, String)], memory: usize) {
    #[cfg(target_os = "linux")]
    {
        let (needed, bound) = (client.memory() / 1024, MEMORY_MIB[memory]);

        assert!(needed < bound, "{needed} MiB");
    }
    let (code, said) = client.finish();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for (session, turn) in busy {
        assert_eq!(Client::terminals(folder, session), [(turn.clone(), "completed".to_owned())]);
        let sequences: Vec<_> = Client::records(folder, session).iter().map(|record| record["seq"].clone()).collect();
        assert_eq!(json!(sequences), json!((1..=sequences.len()).collect::<Vec<_>>()));
    }
    let _ = memory; // where memory cannot be told
}

#[test]
fn whatever_comes_in_good_requests_are_answered_and_turns_go_on() {
    let folder = tempfile::TempDir::new().unwrap();
    let (mut client, busy, page) = start(folder.path());
    let expected = client.call("view/page", page.clone());
    assert_eq!(expected["events"].as_array().unwrap().len(), 3);
    for (at, wave) in waves(7, &methods()).iter().enumerate() {
        if at == 3 {
            for turn in &busy {
                client.call("turn/steer", steer(turn)); // their second part runs under fire
            }
        }
        let answer = client.survive(wave, "view/page", &page);
        assert_eq!(answer, expected, "after {}", wave.name);
    }
    for (session, turn) in &busy {
        client::wait(|| Client::terminals(folder.path(), session) == [(turn.clone(), "completed".to_owned())]);
    }
    finish(client, folder.path(), &busy, 0);
}

#[test]
fn whoever_does_not_read_holds_up_no_turn_and_fills_no_memory() {
    let folder = tempfile::TempDir::new().unwrap();
    let (mut client, busy, page) = start(folder.path());
    let unread = |which| requests("approval/listPending", &json!({ "sessionId": page["sessionId"] }), which);
    // 12 MiB of answers: events find no room any more, and requests are read still.
    let mut first = unread(0..2000);
    client.send(first.bytes.clone());
    let steers: Vec<_> = busy.iter().map(|turn| client.ask("turn/steer", steer(turn))).collect();
    let rest = unread(2000..MANY);
    client.send(rest.bytes);
    first.answers.extend(rest.answers);
    for (session, turn) in &busy {
        // Nobody reads, and yet they end.
        client::wait(|| Client::terminals(folder.path(), session) == [(turn.clone(), "completed".to_owned())]);
    }
    let last = client.ask("view/page", page);
    let (_, mut answers) = client.answers_until(&last);
    answers.retain(|answer| !steers.contains(&answer["id"]));
    assert!(answers.iter().all(|answer| answer["result"] == json!({ "approvals": [], "userInputs": [] })));
    check(&first, &answers);
    finish(client, folder.path(), &busy, 1);
}
