//! The session functions over data: a file of `session_cases/<function>/` is a case, a list of steps. Every answer and every delivery is
//! decoded strictly by the generated types, and every step states all the deliveries that it causes.
//!
//! A step is one of
//! - `{"call": ID, "with": {…}}` with `is` (the whole answer), `has` (a part of it), or `fails` (a code; `""` for a failure without one);
//! - `{"bind": TYPE, "id": ID, "config": {…}}` with `refused` (a part of the text) where it is;
//! - `{"unbind": ID}`.
//!
//! `events` lists the deliveries of a step in order, as `{"to": BINDING, "type": TYPE, "has": {…}}`; none is the default.
//! In expectations `"$name"` takes a value on first sight and is that value from then on, `"$_"` is anything, `"$absent"` is no
//! member. In what is sent, `{"$user": TEXT}`, `{"$calls": [ID…]}`, `{"$result": ID}`, `{"$note": TEXT}` are messages, and an
//! element `{"$times": [N, X]}` stands for N times X.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use msp_reference_server::session_functions::{Adapter, Binding, Delivery, FUNCTIONS, Owner, Server, Sink, Start};
use msp_types::session::{functions, triggers};
use msp_types::{Call, Event, from_json_strict};
use serde_json::{Map, Value, json};

/// A session that only fences tell of.
pub(crate) const FENCE: &str = "fence";

/// Deliveries in the order in which they came: binding, trigger type, payload.
pub(crate) type Deliveries = Arc<Mutex<Vec<(String, String, Value)>>>;

/// Keeps what it gets.
#[derive(Debug)]
pub(crate) struct Collector(pub(crate) Deliveries);

impl Sink for Collector {
    fn deliver(&self, delivery: Delivery) {
        let payload = delivery.payload.get();
        strict_event(delivery.trigger_type, payload);
        let payload = serde_json::from_str(payload).unwrap();
        self.0.lock().unwrap().push((delivery.binding.id.clone(), delivery.trigger_type.to_owned(), payload));
    }
}

/// Decodes an answer strictly.
pub(crate) fn strict_answer(function: &str, text: &str) {
    macro_rules! check {
        ($($marker:ident)*) => {
            match function {
                $(<functions::$marker as Call>::NAME => {
                    let decoded = from_json_strict::<<functions::$marker as Call>::Result>(text);
                    let decoded = decoded.unwrap_or_else(|error| panic!("answer of {function}: {error}: {text}"));
                    let again: Value = serde_json::to_value(&decoded).unwrap();
                    assert_eq!(again, serde_json::from_str::<Value>(text).unwrap(), "{function}");
                })*
                other => assert!(other.starts_with("configuration::"), "no function {other}"),
            }
        };
    }
    check! {
        AppendMany Append ConfigStatus Create DeleteAttachment Delete Ensure Fork GetAttachment GetMessage Get ListAttachments List
        MentionGet MentionSearch MessagesRange MessagesTail Messages OnConfigChange PutAttachment SetActiveLeaf SetDraft SetMeta
        SetStatus StoreCommitAppend StoreDeleteActiveLeaf StoreDeleteAttachment StoreDeleteAttachments StoreDeleteEntries
        StoreDeleteMeta StoreGetActiveLeaf StoreGetAttachment StoreGetEntry StoreGetMeta StoreListAttachments StoreListEntries
        StoreListMetas StorePublishEvents StorePutAttachment StorePutEntry StorePutMeta StoreSetActiveLeaf UpdateMessage
    }
}

/// Decodes a payload strictly.
pub(crate) fn strict_event(trigger: &str, text: &str) {
    macro_rules! check {
        ($($marker:ident)*) => {
            match trigger {
                $(<triggers::$marker as Event>::NAME => {
                    let decoded = from_json_strict::<<triggers::$marker as Event>::Params>(text);
                    decoded.unwrap_or_else(|error| panic!("payload of {trigger}: {error}: {text}"));
                })*
                other => assert_eq!(other, "configuration"),
            }
        };
    }
    check! { Created Deleted MessageAdded MessageUpdated MetaUpdated StatusChanged StoreEvents }
}

/// Where the case files are.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/session_cases")
}

/// Every case: its name, such as `append/idempotent`, and what is in its file.
pub(crate) fn cases() -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    for family in fs::read_dir(folder()).unwrap() {
        for file in fs::read_dir(family.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(folder()).unwrap().with_extension("").to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(&path).unwrap();
            cases.push((name.clone(), serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))));
        }
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

/// Runs a case against an instance.
pub(crate) fn run(name: &str, case: &Value, server: &Server) {
    run_with(name, case, server, server, &|| {});
}

/// Runs a case against an instance whose records are in another one: that one serves the store functions. `settle` waits until all
/// deliveries of what was called have come.
pub(crate) fn run_with(name: &str, case: &Value, server: &Server, main: &Server, settle: &dyn Fn()) {
    let mut run = Run { name, server, main, settle, known: HashMap::new(), deliveries: Deliveries::default(), step: 0 };
    for step in case["steps"].as_array().unwrap() {
        run.step(step);
    }
}

struct Run<'a> {
    name: &'a str,
    server: &'a Server,
    main: &'a Server,
    settle: &'a dyn Fn(),
    known: HashMap<String, Value>,
    deliveries: Deliveries,
    step: usize,
}

impl Run<'_> {
    fn step(&mut self, step: &Value) {
        self.step += 1;
        for key in step.as_object().unwrap().keys() {
            let known = ["call", "with", "is", "has", "fails", "bind", "id", "config", "refused", "unbind", "events"];
            assert!(known.contains(&key.as_str()), "{}: step {}: `{key}` is no part of a step", self.name, self.step);
        }
        if let Some(trigger) = step["bind"].as_str() {
            self.bind(trigger, step);
        } else if let Some(id) = step["unbind"].as_str() {
            assert!(self.server.unbind(Owner(1), id), "{}: step {}", self.name, self.step);
        } else {
            self.call(step);
        }
        let events = step["events"].as_array().cloned().unwrap_or_default();
        (self.settle)();
        let mut came = std::mem::take(&mut *self.deliveries.lock().unwrap());
        came.retain(|(.., payload)| payload["session_id"] != FENCE);
        assert_eq!(came.len(), events.len(), "{}: step {}: deliveries {came:#?}", self.name, self.step);
        for (event, (to, trigger, payload)) in events.iter().zip(came) {
            let expected = json!({ "to": event["to"], "type": event["type"], "has": event["has"] });
            self.same(&expected, &json!({ "to": to, "type": trigger, "has": payload }), false, "events");
        }
    }

    fn bind(&mut self, trigger: &str, step: &Value) {
        let binding = Binding { id: step["id"].as_str().unwrap_or("b").to_owned(), ..Binding::default() };
        let config = step.get("config").map(|config| self.filled(config));
        let sink = Arc::new(Collector(Arc::clone(&self.deliveries)));
        let bound = self.server.bind(Owner(1), trigger, config.as_ref(), binding, sink);
        match (step["refused"].as_str(), bound) {
            (None, bound) => bound.unwrap_or_else(|error| panic!("{}: step {}: {error}", self.name, self.step)),
            (Some(part), Err(refusal)) => {
                let text = refusal.to_string();
                assert!(text.contains(part) && text.contains(trigger), "{}: step {}: {text}", self.name, self.step);
            }
            (Some(_), Ok(())) => panic!("{}: step {}: not refused", self.name, self.step),
        }
    }

    fn call(&mut self, step: &Value) {
        let function = step["call"].as_str().unwrap();
        let with = step.get("with").map_or_else(|| json!({}), |with| self.filled(with));
        let server = if function.starts_with("session::store::") { self.main } else { self.server };
        let answer = server.call(function, &with.to_string());
        let place = format!("{}: step {}: {function}", self.name, self.step);
        match (step["fails"].as_str(), answer) {
            (None, Ok(answer)) => {
                strict_answer(function, answer.get());
                let answer: Value = serde_json::from_str(answer.get()).unwrap();
                if let Some(expected) = step.get("is") {
                    self.same(expected, &answer, true, "");
                }
                if let Some(expected) = step.get("has") {
                    self.same(expected, &answer, false, "");
                }
            }
            (Some(code), Err(failure)) => {
                let text = failure.to_string();
                let told = text.split_once(": ").map_or("", |(code, _)| code);
                let told = if told.starts_with("session/") { told } else { "" };
                assert_eq!(told, code, "{place}: {text}");
            }
            (None, Err(failure)) => panic!("{place}: {failure}"),
            (Some(code), Ok(answer)) => panic!("{place}: `{code}` was expected: {answer}"),
        }
    }

    /// What is sent, with names and abbreviations filled in.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(name) => {
                    self.known.get(name).unwrap_or_else(|| panic!("{}: ${name} is unknown", self.name)).clone()
                }
                None => value.clone(),
            },
            Value::Array(values) => {
                let mut out = Vec::new();
                for value in values {
                    match value["$times"].as_array() {
                        Some(times) => {
                            out.extend((0..times[0].as_u64().unwrap()).map(|_| self.filled(&times[1])));
                        }
                        None => out.push(self.filled(value)),
                    }
                }
                out.into()
            }
            Value::Object(members) => match members.iter().next() {
                Some((name, value)) if name.starts_with('$') => message(name, value),
                _ => {
                    members.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect::<Map<_, _>>().into()
                }
            },
            other => other.clone(),
        }
    }

    /// Holds a value against an expectation, whole or in part.
    fn same(&mut self, expected: &Value, found: &Value, whole: bool, at: &str) {
        let place = format!("{}: step {}: `{at}`", self.name, self.step);
        match (expected, found) {
            (Value::String(text), _) if text == "$_" => {}
            (Value::String(text), _) if text.starts_with('$') => {
                let known = self.known.entry(text[1..].to_owned()).or_insert_with(|| found.clone());
                assert_eq!(known, found, "{place}: {text}");
            }
            (Value::Object(members), Value::Object(found)) if !members.keys().any(|key| key.starts_with('$')) => {
                if whole {
                    let names = |of: &Map<String, Value>| of.keys().cloned().collect::<BTreeSet<_>>();
                    assert_eq!(names(members), names(found), "{place}: {}", json!(found));
                }
                for (name, expected) in members {
                    match found.get(name) {
                        None => assert_eq!(expected, "$absent", "{place}: no `{name}` in {}", json!(found)),
                        Some(_) if expected == "$absent" => panic!("{place}: `{name}` in {}", json!(found)),
                        Some(found) => self.same(expected, found, whole, &format!("{at}/{name}")),
                    }
                }
            }
            (Value::Array(elements), Value::Array(found)) => {
                let expected: Vec<Value> = elements.iter().flat_map(repeated).collect();
                assert_eq!(expected.len(), found.len(), "{place}: {}", json!(found));
                for (at_element, (expected, found)) in expected.iter().zip(found).enumerate() {
                    self.same(expected, found, whole, &format!("{at}/{at_element}"));
                }
            }
            (expected, found) => assert_eq!(&self.filled(expected), found, "{place}"),
        }
    }
}

/// An element of an expectation, as often as it says.
fn repeated(element: &Value) -> Vec<Value> {
    match element["$times"].as_array() {
        Some(times) => vec![times[1].clone(); usize::try_from(times[0].as_u64().unwrap()).unwrap()],
        None => vec![element.clone()],
    }
}

/// An abbreviated message.
fn message(kind: &str, value: &Value) -> Value {
    let text = |text: &Value| json!([{ "type": "text", "text": text }]);
    match kind {
        "$user" => json!({ "role": "user", "content": text(value), "timestamp": 1 }),
        "$note" => json!({ "role": "custom", "custom_type": value, "content": [], "timestamp": 1 }),
        "$result" => {
            json!({ "role": "function_result", "function_call_id": value, "function_id": "f", "content": text(value),
            "details": { "of": value }, "is_error": false, "timestamp": 1 })
        }
        "$calls" => {
            let call = |id: &Value| json!({ "type": "function_call", "id": id, "function_id": "f", "arguments": { "of": id } });
            let mut content = vec![json!({ "type": "thinking", "text": "hm" }), json!({ "type": "text", "text": "t" })];
            content.extend(value.as_array().unwrap().iter().map(call));
            json!({ "role": "assistant", "content": content, "stop_reason": if value == &json!([]) { "end" } else { "function_call" },
                "model": "m", "provider": "p", "timestamp": 1 })
        }
        other => panic!("`{other}` is no abbreviation"),
    }
}

#[test]
fn every_case_holds_in_memory() {
    let cases = cases();
    assert!(cases.len() > 40, "{} cases", cases.len());
    for (name, case) in &cases {
        run(name, case, &Server::new(Start::in_memory()).unwrap());
    }
}

#[test]
fn every_case_holds_on_disk_and_is_there_afterwards() {
    for (name, case) in &cases() {
        let folder = tempfile::tempdir().unwrap();
        let start = || Start { data_dir: Some(folder.path().to_owned()), ..Start::embedded(fs(), json!({})) };
        let server = Server::new(start()).unwrap();
        run(name, case, &server);
        let _commits_what_was_written_raw = everything(&server);
        let before = everything(&server);
        drop(server);
        assert_eq!(before, everything(&Server::new(start()).unwrap()), "{name}: after a restart");
    }
}

fn fs() -> Adapter {
    Adapter::Fs { data_dir: None }
}

/// All that the reads tell of every session.
pub(crate) fn everything(server: &Server) -> Value {
    let call = |function: &str, with: Value| -> Value {
        let answer = server.call(function, &with.to_string());
        answer.map_or_else(|failure| failure.to_string().into(), |answer| serde_json::from_str(answer.get()).unwrap())
    };
    let metas = call("session::list", json!({ "limit": 500, "order": "created_asc" }));
    let mut all = vec![metas.clone()];
    for meta in metas["sessions"].as_array().unwrap() {
        let with = json!({ "session_id": meta["session_id"], "limit": 500, "include_custom": true });
        for function in
            ["messages", "messages-tail", "list-attachments", "store::list-entries", "store::get-active-leaf"]
        {
            all.push(call(&format!("session::{function}"), with.clone()));
        }
        for entry in call("session::store::list-entries", with.clone())["entries"].as_array().unwrap() {
            let again = json!({ "session_id": meta["session_id"], "entry_id": entry["id"], "message": message("$user", &json!("again")) });
            if meta["message_count"].as_u64() < Some(50) && entry["id"] != "raw" {
                all.push(call("session::append", again)); // committed ids stay committed
            }
        }
        for attachment in call("session::list-attachments", with)["attachments"].as_array().unwrap() {
            let one = json!({ "session_id": meta["session_id"], "attachment_id": attachment["attachment_id"] });
            all.push(call("session::get-attachment", one));
        }
    }
    all.into()
}

#[test]
fn every_function_has_a_case_that_succeeds() {
    let mut called: BTreeMap<String, bool> = BTreeMap::new();
    for (_, case) in cases() {
        for step in case["steps"].as_array().unwrap() {
            if let Some(function) = step["call"].as_str() {
                *called.entry(function.to_owned()).or_default() |= step.get("fails").is_none();
            }
        }
    }
    let without: Vec<_> = FUNCTIONS.iter().filter(|one| called.get(one.id) != Some(&true)).map(|one| one.id).collect();
    assert_eq!(without, Vec::<&str>::new());
    assert_eq!(FUNCTIONS.len(), 43);
}
