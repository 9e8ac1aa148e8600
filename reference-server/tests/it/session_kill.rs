//! The program killed in the middle of its work: what was answered is there, at most what was in flight came on top, and it all fits together.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Runs; with `FULL=1` as many as a release is held to.
fn runs() -> u64 {
    if std::env::var_os("FULL").is_some_and(|value| value == "1") { 300 } else { 12 }
}

struct Program {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Program {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
            .args(["session", "--stdio", "--data-dir"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output).lines(), asked: 0 }
    }

    fn send(&mut self, function: &str, params: &Value) {
        self.asked += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.asked, "method": function, "params": params });
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next answer; deliveries before it are counted in `told`.
    fn answer(&mut self, told: &mut Vec<Value>) -> Option<Value> {
        loop {
            let line: Value = serde_json::from_str(&self.output.next()?.ok()?).ok()?;
            if line.get("id").is_some() {
                return Some(line);
            }
            told.push(line["params"].clone());
        }
    }

    fn call(&mut self, function: &str, params: &Value) -> Value {
        self.send(function, params);
        let answer = self.answer(&mut Vec::new()).unwrap();
        assert!(answer.get("error").is_none(), "{function}: {answer}");
        answer["result"].clone()
    }
}

/// Numbers that follow from a seed (splitmix64).
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// What the answered calls amount to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    count: u64,
    leaf: Value,
    title: String,
    revisions: HashMap<String, u64>,
    entries: Vec<String>,
}

/// One mutation, and what it makes of the model.
fn mutation(seeded: &mut Seeded, model: &mut Model, at: u64) -> (&'static str, Value) {
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": "x".repeat(200) }], "timestamp": 1 });
    match seeded.below(8) {
        0 if !model.entries.is_empty() => {
            let place = usize::try_from(seeded.below(model.entries.len() as u64)).unwrap();
            let entry = model.entries[place].clone();
            *model.revisions.entry(entry.clone()).or_default() += 1;
            ("session::update-message", json!({ "session_id": "s", "entry_id": entry, "content": [] }))
        }
        1 if !model.entries.is_empty() => {
            let place = usize::try_from(seeded.below(model.entries.len() as u64)).unwrap();
            model.leaf = model.entries[place].clone().into();
            ("session::set-active-leaf", json!({ "session_id": "s", "entry_id": model.leaf }))
        }
        2 => {
            model.title = at.to_string();
            ("session::set-meta", json!({ "session_id": "s", "title": model.title }))
        }
        _ => {
            let entry = format!("e{at}");
            model.count += 1;
            model.leaf = entry.clone().into();
            model.entries.push(entry.clone());
            ("session::append", json!({ "session_id": "s", "entry_id": entry, "message": message }))
        }
    }
}

/// What the store says, in the model's terms.
fn stored(program: &mut Program) -> Model {
    let meta = program.call("session::get", &json!({ "session_id": "s" }))["meta"].clone();
    let entries = program.call("session::store::list-entries", &json!({ "session_id": "s" }))["entries"].clone();
    let entries = entries.as_array().unwrap();
    let ids: Vec<String> = entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    for entry in entries {
        let parent = &entry["parent_id"];
        assert!(parent.is_null() || ids.iter().any(|id| parent == id), "{entry}");
    }
    let revised = entries.iter().zip(&ids).filter(|(entry, _)| entry["revision"] != 0);
    Model {
        count: meta["message_count"].as_u64().unwrap(),
        leaf: program.call("session::store::get-active-leaf", &json!({ "session_id": "s" }))["entry_id"].clone(),
        title: meta["title"].as_str().unwrap().to_owned(),
        revisions: revised.map(|(entry, id)| (id.clone(), entry["revision"].as_u64().unwrap())).collect(),
        entries: ids,
    }
}

#[test]
fn a_killed_server_keeps_what_it_answered() {
    for seed in 0..runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut seeded = Seeded(seed);
        let mut program = Program::start(folder.path());
        program.call("bind", &json!({ "id": "b", "trigger_type": "session::message-added" }));
        program.call("session::ensure", &json!({ "session_id": "s" }));
        let (mut before, mut model, mut told) = (Model::default(), Model::default(), Vec::new());
        let last = 5 + seeded.below(40);
        for at in 0..=last {
            before = model.clone();
            let (function, params) = mutation(&mut seeded, &mut model, at);
            program.send(function, &params);
            if at == last {
                // In flight: how far it gets is left to chance.
                (0..seeded.below(4)).for_each(|_| std::thread::yield_now());
                program.child.kill().unwrap();
            } else {
                program.answer(&mut told).unwrap();
            }
        }
        while program.answer(&mut told).is_some() {} // what was written before the end
        program.child.wait().unwrap();
        let mut again = Program::start(folder.path());
        let found = stored(&mut again);
        assert!(found == before || found == model, "seed {seed}: {found:#?} is neither {before:#?} nor {model:#?}");
        for event in told {
            assert!(
                found.entries.iter().any(|id| event["entry_id"] == **id),
                "seed {seed}: an event of nothing: {event}"
            );
        }
        let replayed = again.call(
            "session::append",
            &json!({ "session_id": "s", "entry_id": found.entries.first(), "custom": { "custom_type": "x" } }),
        );
        let first = found.entries.first().map_or(Value::Null, |id| id.clone().into());
        assert!(first.is_null() || replayed["entry_id"] == first);
        assert_eq!(stored(&mut again).count, found.count, "an entry that is there is not appended again");
        drop(again.input);
        again.child.wait().unwrap();
    }
}
