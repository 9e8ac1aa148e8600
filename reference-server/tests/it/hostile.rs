//! A hostile client against the program: it never ends, its memory stays below a bound, turns of other sessions go on to their end,
//! and good requests between the bad ones are answered.
//!
//! How long a running turn is held up is no question for a test: `cargo bench -p msp-reference-server --bench hostile` tells.

mod client;
mod flood;

use serde_json::{Value, json};

use self::client::{Client, check};
use self::flood::{requests, waves};

/// Most memory that the program may ever need under all of this, in MiB. The README states it.
#[cfg(target_os = "linux")]
const MEMORY_MIB: u64 = 192;

/// The methods of the protocol.
fn methods() -> Vec<String> {
    let bundle = msp_schema::published::bundle(msp_schema::Surface::Experimental);
    bundle.methods().iter().map(|row| row.name.clone()).collect()
}

#[test]
fn a_hostile_client_harms_nobody_else() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut client = Client::start(env!("CARGO_BIN_EXE_msp-reference-server"), folder.path());
    let work = "tool {\"output\":\"x\"}\nwait {\"ms\":5}\n".repeat(20);
    let held = format!("{work}hold {{\"steers\":1}}\n{work}hold {{\"steers\":2}}\n{work}");
    let busy: Vec<_> = (0..3).map(|_| client.run(&held)).collect();
    let (quiet, _) = client.run("say {\"text\":\"nothing more\"}");
    client::wait(|| !Client::terminals(folder.path(), &quiet).is_empty());
    let page = json!({ "sessionId": quiet, "limit": 3 });
    let expected = client.call("view/page", page.clone());
    assert_eq!(expected["events"].as_array().unwrap().len(), 3);
    let steer = |(session, turn): &(String, String)| json!({ "commandId": true, "sessionId": session, "expectedTurnId": turn, "input": [{ "type": "text", "text": "go on" }] });

    for (at, wave) in waves(7, &methods()).iter().enumerate() {
        if at == 3 {
            for turn in &busy {
                client.call("turn/steer", steer(turn)); // their second part runs under fire
            }
        }
        let answer = client.survive(wave, "view/page", &page);
        assert_eq!(answer, expected, "after {}", wave.name);
    }
    let unread = requests("approval/listPending", &json!({ "sessionId": quiet }));
    let steers: Vec<_> = busy.iter().map(|turn| client.ask("turn/steer", steer(turn))).collect();
    client.send(unread.bytes.clone());
    for (session, turn) in &busy {
        // Nobody reads, and yet they end.
        client::wait(|| Client::terminals(folder.path(), session) == [(turn.clone(), "completed".to_owned())]);
    }
    let last = client.ask("view/page", page);
    let (_, mut answers) = client.answers_until(&last);
    answers.retain(|answer| !steers.contains(&answer["id"]));
    assert!(answers.iter().all(|answer| answer["result"] == json!({ "approvals": [], "userInputs": [] })));
    check(&unread, &answers);

    #[cfg(target_os = "linux")]
    {
        let memory = client.memory() / 1024;
        assert!(memory < MEMORY_MIB, "{memory} MiB");
    }
    let (code, said) = client.finish();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for (session, turn) in busy {
        assert_eq!(Client::terminals(folder.path(), &session), [(turn, "completed".to_owned())]);
    }
    let records = Client::records(folder.path(), &quiet);
    let sequences: Vec<Value> = records.iter().map(|record| record["seq"].clone()).collect();
    assert_eq!(json!(sequences), json!((1..=sequences.len()).collect::<Vec<_>>()));
}
