//! The lines of a case, and the transcript that they stand for.
//!
//! Besides the lines that a transcript has, a case may use these. In all of them, a text `@name` stands for a UUID of
//! version 7 that is the same wherever the name is. A frame has `jsonrpc` unless the form is `client` or `host`.
//!
//! | line | stands for |
//! |---|---|
//! | `{"client":{…}}`, `{"host":{…}}` | a frame, as it is |
//! | `{"ask":"session/list","id":1,"params":{…}}` | a request of the client |
//! | `{"answer":1,"result":{…}}`, `{"answer":1,"error":-32602,"kind":"invalidParams","data":{…}}` | the host's answer |
//! | `{"tell":"initialized","params":{…}}` | a notification of the client |
//! | `{"hostAsk":"approval/request","id":1,"params":{…}}` | a request of the host; with a `cursor`, params like those of an event |
//! | `{"clientAnswer":1,"result":{…}}`, `{"clientAnswer":1,"error":…}` | the client's answer |
//! | `{"live":"turn/started","cursor":"c1","params":{…}}` | a notification of the host |
//! | `{"page":1,"events":[{"live":…,"cursor":…,"params":{…}}],"next":"c9"}` | the answer to a `view/page` |
//! | `{"handshake":{…}}` | `initialize`, its result, `initialized`; members below |
//! | `{"start":"@s","cursor":"c0"}` | `session/start`, `session/started` and the result |
//! | `{"profile":{"underTest":"client","revision":"1.4.6","frameLimit":1000}}` | how to judge |
//! | `{"expect":{"pointer":"/params/viewCursor","contradicts":[3]}}` | a finding in the line before |
//!
//! An event is of session `@s`, or of `session`; a `cursor` gives it `viewCursor` and, where its method has one and
//! `ephemeral` is not true, a `sourceRange`, which hangs on the cursor alone, and its item the time when it was recorded,
//! unless the line is `bare`. A handshake takes `capabilities` (granted
//! and asked for), `optOut`, `experimental`, `durability`, `client`, `version`. Any line may have `conn` and `atMs`.

use std::collections::BTreeMap;

use msp_judge::{Finding, UnderTest};
use serde_json::{Map, Value, json};

/// Methods whose events have a cursor and no source range.
const WITHOUT_RANGE: [&str; 4] = ["item/delta", "session/statusChanged", "session/closed", "session/leaveCompleted"];

/// A case, read.
#[derive(Default)]
pub(super) struct Script {
    pub(super) lines: Vec<(u64, String)>,
    pub(super) expected: Vec<Expected>,
    pub(super) under_test: UnderTest,
    pub(super) revision: Option<String>,
    pub(super) frame_limit: Option<u64>,
    sequences: BTreeMap<String, u64>,
    /// Whether the host said in the last handshake that it keeps nothing.
    ephemeral: bool,
}

/// A finding that a case expects.
#[derive(Debug, PartialEq)]
pub(super) struct Expected {
    line: u64,
    pointer: String,
    contradicts: Vec<u64>,
}

impl Expected {
    pub(super) fn of(finding: &Finding) -> Self {
        Self { line: finding.line, pointer: finding.pointer.clone(), contradicts: finding.contradicts.clone() }
    }

    pub(super) fn is(&self, finding: &Finding) -> bool {
        *self == Self::of(finding)
    }

    /// The line that expects it.
    pub(super) fn line(&self) -> String {
        json!({ "expect": { "pointer": self.pointer, "contradicts": self.contradicts } }).to_string()
    }
}

type Line = Map<String, Value>;

impl Script {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        let mut last = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let mut value: Value =
                serde_json::from_str(line).map_err(|error| format!("line {number} is no JSON: {error}"))?;
            name_ids(&mut value);
            let Value::Object(members) = value else { return Err(format!("line {number} is no object")) };
            if let Some(expected) = members.get("expect") {
                script.expect(last, expected);
            } else if let Some(profile) = members.get("profile") {
                script.profile(profile)?;
            } else {
                last = number;
                script.line(number, &members, line)?;
            }
        }
        Ok(script)
    }

    fn expect(&mut self, line: u64, expected: &Value) {
        let contradicts = expected["contradicts"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let pointer = expected["pointer"].as_str().unwrap_or_default().to_owned();
        self.expected.push(Expected { line, pointer, contradicts });
    }

    fn profile(&mut self, profile: &Value) -> Result<(), String> {
        self.under_test = match profile["underTest"].as_str() {
            None | Some("both") => UnderTest::Both,
            Some("client") => UnderTest::Client,
            Some("host") => UnderTest::Host,
            Some(other) => return Err(format!("nobody is called {other}")),
        };
        self.revision = profile["revision"].as_str().map(str::to_owned);
        self.frame_limit = profile["frameLimit"].as_u64();
        Ok(())
    }

    fn line(&mut self, number: u64, line: &Line, text: &str) -> Result<(), String> {
        let has = |name: &str| line.contains_key(name);
        if has("event") || has("dir") {
            self.lines.push((number, text.to_owned()));
            return Ok(());
        }
        let side = if has("ask") || has("tell") || has("client") || has("clientAnswer") { "client" } else { "server" };
        let frames = if has("client") || has("host") {
            vec![(side, line.get("client").or(line.get("host")).cloned().unwrap_or_default())]
        } else if has("hostAsk") && has("cursor") {
            let mut asked = self.event(line);
            asked["id"] = line.get("id").cloned().unwrap_or_default();
            vec![(side, frame(&asked))]
        } else if has("ask") || has("hostAsk") {
            vec![(side, request(line))]
        } else if has("tell") {
            vec![(side, frame(&json!({ "method": line["tell"], "params": line.get("params") })))]
        } else if has("answer") || has("clientAnswer") {
            vec![(side, answer(line))]
        } else if has("live") {
            let mut event = self.event(line);
            if let Some(members) = event.as_object_mut() {
                members.insert("emittedAtMs".to_owned(), json!(1_754_500_000_000_u64 + number));
            }
            vec![(side, frame(&event))]
        } else if has("page") {
            let events: Vec<Value> =
                line["events"].as_array().into_iter().flatten().map(|it| self.element(it)).collect();
            let next = line.get("next").cloned().unwrap_or_default();
            let result = json!({ "events": events, "nextCursor": next });
            vec![(side, json!({ "jsonrpc": "2.0", "id": line["page"], "result": result }))]
        } else if let Some(handshake) = line.get("handshake") {
            self.ephemeral = handshake["durability"] == "ephemeral";
            shake_hands(handshake)
        } else if let Some(session) = line.get("start") {
            start(session, line.get("cursor"), self.ephemeral)
        } else {
            return Err(format!("line {number} is of no form that a case has"));
        };
        for (side, frame) in frames {
            let mut record = json!({ "dir": side, "raw": frame.to_string() });
            for name in ["conn", "atMs"] {
                if let Some(value) = line.get(name) {
                    record[name] = value.clone();
                }
            }
            self.lines.push((number, record.to_string()));
        }
        Ok(())
    }

    fn element(&mut self, element: &Value) -> Value {
        match element.as_object().filter(|line| line.contains_key("live")) {
            Some(line) => {
                let mut event = self.event(line);
                if let Some(members) = event.as_object_mut() {
                    members.remove("jsonrpc");
                }
                event
            }
            None => element.clone(),
        }
    }

    fn event(&mut self, line: &Line) -> Value {
        let method = line.get("live").or(line.get("hostAsk")).and_then(Value::as_str).unwrap_or_default();
        let mut params = line.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        let session = line.get("session").cloned().unwrap_or_else(|| json!(uuid("s")));
        params.entry("sessionId").or_insert(session);
        if let Some(cursor) = line.get("cursor") {
            params.entry("viewCursor").or_insert(cursor.clone());
            let ephemeral = line.get("ephemeral") == Some(&Value::Bool(true));
            if !ephemeral && !WITHOUT_RANGE.contains(&method) {
                let range = self.range(&cursor.to_string());
                params.entry("sourceRange").or_insert(range);
                if let Some(item) =
                    params.get_mut("item").and_then(Value::as_object_mut).filter(|_| !line.contains_key("bare"))
                {
                    item.entry("recordedAt").or_insert(json!("2026-01-01T00:00:00Z"));
                }
            }
        }
        json!({ "method": method, "params": params })
    }

    /// The source range of a cursor.
    fn range(&mut self, cursor: &str) -> Value {
        let next = self.sequences.len() as u64 + 1;
        let sequence = *self.sequences.entry(cursor.to_owned()).or_insert(next);
        let position = json!({ "id": uuid(&format!("record {cursor}")), "sequence": sequence });
        json!({ "first": position, "last": position, "stream": { "id": uuid("s"), "kind": "session" } })
    }
}

fn frame(value: &Value) -> Value {
    let mut frame = value.clone();
    if let Some(members) = frame.as_object_mut() {
        members.retain(|name, value| name == "id" || !value.is_null());
        members.insert("jsonrpc".to_owned(), json!("2.0"));
    }
    frame
}

fn request(line: &Line) -> Value {
    let method = line.get("ask").or(line.get("hostAsk"));
    frame(&json!({ "id": line.get("id"), "method": method, "params": line.get("params") }))
}

fn answer(line: &Line) -> Value {
    let id = line.get("answer").or(line.get("clientAnswer"));
    match line.get("error") {
        None => frame(&json!({ "id": id, "result": line.get("result").cloned().unwrap_or_else(|| json!({})) })),
        Some(code) => {
            let mut data = line.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
            if let Some(kind) = line.get("kind") {
                data.insert("kind".to_owned(), kind.clone());
            }
            frame(&json!({ "id": id, "error": { "code": code, "message": "no", "data": data } }))
        }
    }
}

fn shake_hands(with: &Value) -> Vec<(&'static str, Value)> {
    let list = |name: &str| with.get(name).cloned().unwrap_or_else(|| json!([]));
    let experimental = with["experimental"] == true;
    let params = json!({
        "clientInfo": { "name": with["client"].as_str().unwrap_or("case"), "version": "1.0.0" },
        "capabilities": {
            "experimentalApi": experimental,
            "requestedCapabilities": list("capabilities"),
            "optOutNotificationMethods": list("optOut"),
        },
    });
    let version = with["version"].as_str().unwrap_or("0.0.0-fixture");
    let result = json!({
        "experimentalApi": experimental,
        "grantedCapabilities": list("capabilities"),
        "museHome": "/home/case/.host",
        "platformFamily": "unix",
        "platformOs": "linux",
        "schema": { "version": 1, "fingerprint": format!("sha256:{}", "0".repeat(64)) },
        "serverInfo": { "name": "case-host", "version": version },
        "sessionDurability": with["durability"].as_str().unwrap_or("durable"),
        "userAgent": format!("case-host/{version}"),
    });
    vec![
        ("client", frame(&json!({ "id": "handshake", "method": "initialize", "params": params }))),
        ("server", frame(&json!({ "id": "handshake", "result": result }))),
        ("client", frame(&json!({ "method": "initialized" }))),
    ]
}

fn start(session: &Value, cursor: Option<&Value>, ephemeral: bool) -> Vec<(&'static str, Value)> {
    let name = session.as_str().unwrap_or_default();
    let params = json!({ "commandId": uuid(&format!("start {name}")), "workspaceRoot": "/work" });
    let whole = json!({
        "activeTurnId": null,
        "approvalMode": { "mode": "promptUnmatched", "source": "startup", "lastCommandId": null },
        "createdAt": "2026-01-01T00:00:00Z",
        "forkedFrom": null,
        "modelId": null,
        "path": if ephemeral { "" } else { "/home/case/.host/sessions/one" },
        "providerId": null,
        "sessionId": name,
        "status": "idle",
        "turnCount": 0,
        "updatedAt": "2026-01-01T00:00:00Z",
        "workspaceRoot": "/work",
    });
    let id = format!("start {name}");
    let started =
        json!({ "method": "session/started", "emittedAtMs": 1_754_500_000_000_u64, "params": { "session": whole } });
    vec![
        ("client", frame(&json!({ "id": id, "method": "session/start", "params": params }))),
        ("server", frame(&started)),
        (
            "server",
            frame(
                &json!({ "id": id, "result": { "session": whole, "viewCursor": cursor.cloned().unwrap_or_else(|| json!("c0")) } }),
            ),
        ),
    ]
}

/// Replaces each `@name` by its id.
fn name_ids(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix('@') {
                *text = uuid(name);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(name_ids),
        Value::Object(members) => members.values_mut().for_each(name_ids),
        _ => {}
    }
}

/// A UUID of version 7 for a name.
fn uuid(name: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("0198f0aa-0000-7{:03x}-8{:03x}-{:012x}", hash >> 52, hash >> 40 & 0xfff, hash & 0xffff_ffff_ffff)
}
