//! `docs/script.md`: every example is run, and its frames are those on the page; every verb, member and kind of item occurs.

use std::collections::BTreeSet;

use msp_judge::transcript::Side;
use msp_reference_server::Config;
use msp_reference_server::provider::{Script, VERBS};
use msp_schema::Surface;
use msp_schema::published::bundle;
use serde_json::{Value, json};

use super::page::{Block, Page, Wanted};
use crate::peer::{Peer, name};

/// The kind that comes of damage only.
const NOT_BY_SCRIPT: &str = "damagedRange";

/// An example that uses names which no list has: the judge takes note of them.
const UNLISTED: &str = "script unlisted";

/// An example, with what the client does meanwhile.
struct Example {
    script: Block,
    client: Option<Block>,
}

impl Example {
    fn all(page: &Page) -> Vec<Self> {
        let blocks = page.blocks();
        let client = |at: usize| blocks.get(at + 1).filter(|next| next.info == "client").cloned();
        let scripts = blocks.iter().enumerate().filter(|(_, block)| block.info == "script" || block.info == UNLISTED);
        scripts.map(|(at, script)| Self { script: script.clone(), client: client(at) }).collect()
    }

    /// Line of the block that the frames stand behind.
    fn last_line(&self) -> usize {
        self.client.as_ref().unwrap_or(&self.script).line
    }

    /// What the host sends while the example runs.
    async fn run(&self) -> Vec<Value> {
        let capabilities = json!({ "experimentalApi": true, "requestedCapabilities": ["peerMessaging", "userShell"] });
        let mut peer = Peer::raw(Config { seed: Some(1), ..Config::in_memory() }).shake(capabilities).await;
        let session = peer.start().await;
        peer.unlisted = self.script.info == UNLISTED;
        peer.quiet().await;
        let begin = peer.transcript.len();
        let text = format!("@script\n{}", self.script.text);
        let input = json!({ "sessionId": session, "input": [{ "type": "text", "text": text }] });
        let mut asked = vec![ask(&mut peer, "turn/start", input).await];
        let mut frames = peer.quiet().await;
        for line in self.client.iter().flat_map(|client| client.text.lines()) {
            let (method, params) = line.split_once(' ').unwrap();
            let mut params: Value = serde_json::from_str(params).unwrap();
            params["sessionId"] = session.as_str().into();
            fill_in(method, &mut params, &frames);
            asked.push(ask(&mut peer, method, params).await);
            frames.extend(peer.quiet().await);
        }
        let sent = peer.transcript[begin..].iter().filter(|(side, _)| *side == Side::Server);
        let mut sent: Vec<Value> = sent.map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
        for frame in &mut sent {
            if let Some((_, method)) = asked.iter().find(|(id, _)| frame["id"] == *id && frame.get("method").is_none())
            {
                assert!(frame.get("result").is_some(), "line {}: {method}: {frame}", self.script.line);
                frame["answers"] = method.as_str().into();
            }
        }
        peer.finish().await;
        sent
    }
}

async fn ask(peer: &mut Peer, method: &str, mut params: Value) -> (i64, String) {
    params["commandId"] = peer.command_id().into();
    (peer.ask(method, params).await, method.to_owned())
}

/// Adds the ids that the page leaves to the test.
fn fill_in(method: &str, params: &mut Value, frames: &[Value]) {
    let last = |name: &str| frames.iter().rev().find(|frame| frame["method"] == name).map(|frame| &frame["params"]);
    if method.starts_with("approval/") {
        let asked = last("approval/requested").unwrap();
        let current = last("approval/updated").unwrap_or(asked);
        params["approvalId"] = asked["approvalId"].clone();
        params["requirementId"] = current["currentRequirementId"].clone();
    }
    if method.starts_with("userInput/") {
        params["userInputId"] = last("userInput/requested").unwrap()["userInputId"].clone();
    }
    if method == "turn/steer" {
        params["expectedTurnId"] = last("turn/started").unwrap()["turnId"].clone();
    }
    if params["taskId"] == "$item" {
        params["taskId"] = last("item/started").unwrap()["item"]["itemId"].clone();
    }
}

/// A frame as the page shows it.
fn shown(frame: &Value) -> Option<String> {
    if let Some(method) = frame["answers"].as_str() {
        return Some(format!("answer {method}"));
    }
    match frame["method"].as_str()? {
        "session/statusChanged" | "session/listChanged" => None,
        "item/delta" => Some(format!("item/delta {}", frame["params"]["field"].as_str().unwrap_or("text"))),
        method if frame.get("id").is_some() => Some(format!("request {method}")),
        _ => Some(name(frame)),
    }
}

/// The frames of an example without what stands around every turn.
fn lines(frames: &[Value]) -> String {
    let mut lines: Vec<_> = frames.iter().filter_map(shown).collect();
    let usual = ["answer turn/start", "turn/started", "item/completed userMessage completed r1"];
    if lines.starts_with(&usual.map(str::to_owned)) {
        lines.drain(..usual.len());
    }
    if lines.last().is_some_and(|line| line == "turn/completed completed") {
        lines.pop();
    }
    lines.dedup_by(|a, b| a == b && a.starts_with("item/delta"));
    lines.into_iter().map(|line| line + "\n").collect()
}

#[tokio::test(start_paused = true)]
async fn examples_cause_the_frames_that_stand_behind_them() {
    let page = Page::open("script.md");
    let mut wanted = Vec::new();
    for example in Example::all(&page) {
        let text = lines(&example.run().await);
        wanted.push(Wanted { behind: example.last_line(), info: "frames", text });
    }
    page.check(&wanted);
}

/// The verbs of steps, and of steps within them.
fn verbs(steps: Vec<(String, Value)>, into: &mut BTreeSet<(String, String)>) {
    for (verb, args) in steps {
        into.insert((verb.clone(), String::new()));
        for (member, value) in args.as_object().into_iter().flatten() {
            into.insert((verb.clone(), member.clone()));
            let nested = value.as_array().filter(|_| member == "steps").into_iter().flatten();
            let nested = nested.flat_map(|step| step.as_object().into_iter().flatten());
            verbs(nested.map(|(verb, args)| (verb.clone(), args.clone())).collect(), into);
        }
    }
}

#[test]
fn every_verb_and_every_member_is_documented_and_shown() {
    let page = Page::open("script.md");
    let mut used = BTreeSet::new();
    for example in Example::all(&page) {
        let nested = example.client.iter().flat_map(|client| client.text.lines());
        let nested = nested.filter(|line| line.starts_with("turn/start")).map(|line| {
            let params: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
            params["input"][0]["text"].as_str().unwrap().trim_start_matches("@script\n").to_owned()
        });
        for text in [example.script.text].into_iter().chain(nested) {
            let steps = Script::parse(&text).unwrap().turns.into_iter().flatten();
            verbs(steps.map(|step| (step.verb, Value::Object(step.args))).collect(), &mut used);
        }
    }
    let mut missing = Vec::new();
    for verb in VERBS.iter().flat_map(|verbs| verbs.iter()) {
        let Some((_, rest)) = page.text.split_once(&format!("\n### `{}`\n", verb.name)) else {
            missing.push(format!("`{}` has no section", verb.name));
            continue;
        };
        let section = rest.split_once("\n### ").map_or(rest, |(section, _)| section);
        let prose: String = section.split("```").step_by(2).collect();
        if !used.contains(&(verb.name.to_owned(), String::new())) {
            missing.push(format!("`{}` has no example", verb.name));
        }
        for member in verb.members {
            if !prose.contains(&format!("`{member}`")) && *member != "name" {
                missing.push(format!("`{member}` of `{}` is not explained", verb.name));
            }
            if !used.contains(&(verb.name.to_owned(), (*member).to_owned())) && *member != "name" && *member != "callId"
            {
                missing.push(format!("`{member}` of `{}` is in no example", verb.name));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_kind_of_item_is_made_by_an_example() {
    let page = Page::open("script.md");
    let mut made: BTreeSet<String> = BTreeSet::new();
    for block in page.blocks().iter().filter(|block| block.info == "frames") {
        let kinds = block.text.lines().filter_map(|line| line.strip_prefix("item/"));
        made.extend(kinds.filter_map(|line| line.split(' ').nth(1).map(str::to_owned)));
    }
    made.insert("userMessage".to_owned()); // opens every turn, and is left out of the blocks for that
    let kinds = bundle(Surface::Experimental).definition("ItemKind").unwrap()["enum"].as_array().unwrap();
    let missing: Vec<_> = kinds.iter().filter_map(Value::as_str).filter(|kind| !made.contains(*kind)).collect();
    assert_eq!(missing, [NOT_BY_SCRIPT]);
}
