//! An instance that keeps its records in another one: the same cases, events through the main, the gate, a main that is away; and a
//! worker behind something that plays the engine.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iii_wire::ErrorBody;
use iii_wire::endpoint::{self, Access, BindRequest, Deliver, FunctionInfo, Host, Page};
use msp_reference_server::session_functions::{
    Adapter, Binding, Delivery, EngineConfiguration, Owner, Server, Sink, Start, work,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::session_cases::{Collector, Deliveries, FENCE, cases, run_with};
use crate::session_wire;

/// Longest wait for what has to come; nothing is judged by it.
const LONG: Duration = Duration::from_secs(30);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A main in memory behind a listener of its own runtime.
fn main_instance(runtime: &Runtime) -> (Arc<Server>, SocketAddr) {
    let main = Arc::new(Server::new(Start::in_memory()).unwrap());
    let (local, _serving) = runtime.block_on(session_wire::endpoint(Arc::clone(&main), Access::default()));
    (main, local)
}

fn bridge(local: SocketAddr) -> Server {
    let adapter = Adapter::bridge(format!("ws://{local}"), Some(20_000)).unwrap();
    Server::new(Start::embedded(adapter, json!({}))).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "so that it can be written in place")]
fn call(server: &Server, function: &str, with: Value) -> Value {
    let answer = server.call(function, &with.to_string());
    serde_json::from_str(answer.unwrap_or_else(|failure| panic!("{function}: {failure}")).get()).unwrap()
}

/// Tells that a fence came through.
#[derive(Debug)]
struct Fence(Mutex<Sender<()>>);

impl Sink for Fence {
    fn deliver(&self, _: Delivery) {
        self.0.lock().unwrap().send(()).unwrap();
    }
}

/// Waits until all that the main has published has come to an instance: an event after it has.
fn fence(main: &Server, server: &Server) {
    let (sender, came) = channel();
    let binding = Binding { id: FENCE.to_owned(), ..Binding::default() };
    let config = json!({ "session_id": FENCE });
    let sink = Arc::new(Fence(Mutex::new(sender)));
    server.bind(Owner(9), "session::deleted", Some(&config), binding, sink).unwrap();
    let event = json!({ "trigger_type": "session::deleted", "payload": { "session_id": FENCE, "timestamp": 1 } });
    call(main, "session::store::publish-events", json!({ "events": [event] }));
    came.recv_timeout(LONG).unwrap();
    server.unbind(Owner(9), FENCE);
}

#[test]
fn every_case_holds_through_a_bridge() {
    let runtime = runtime();
    // Limits are an instance's own, and a bridged one has no feed.
    let outside = |name: &str| name.starts_with("config/") || name.starts_with("store/");
    for (name, case) in cases().iter().filter(|(name, _)| !outside(name)) {
        let (main, local) = main_instance(&runtime);
        let bridge = bridge(local);
        call(&bridge, "session::list", json!({})); // attached
        run_with(name, case, &bridge, &main, &|| fence(&main, &bridge));
    }
}

#[test]
fn what_one_writes_the_others_read_and_are_told_once() {
    let runtime = runtime();
    let (main, local) = main_instance(&runtime);
    let (a, b) = (bridge(local), bridge(local));
    let told = Deliveries::default();
    for (name, server) in [("main", &*main), ("a", &a), ("b", &b)] {
        call(server, "session::list", json!({}));
        let binding = Binding { id: name.to_owned(), ..Binding::default() };
        let sink = Arc::new(Collector(Arc::clone(&told)));
        server.bind(Owner(1), "session::message-added", None, binding, sink).unwrap();
    }
    let listed = runtime.block_on(async {
        let link = session_wire::caller(local);
        session_wire::call(&link, "engine::registered-triggers::list", json!({})).await.is_err() // not built
    });
    assert!(listed);
    call(&a, "session::ensure", json!({ "session_id": "s" }));
    let message = json!({ "role": "user", "content": [], "timestamp": 1 });
    let append = |server: &Server| {
        call(server, "session::append", json!({ "session_id": "s", "message": message, "entry_id": null }))
    };
    std::thread::scope(|scope| {
        for server in [&a, &b] {
            scope.spawn(|| (0..50).for_each(|_| drop(append(server)))); // SF-BRIDGE-9
        }
    });
    append(&main);
    let read = |server: &Server| call(server, "session::messages", json!({ "session_id": "s", "limit": 500 }));
    assert_eq!(read(&a)["messages"].as_array().unwrap().len(), 101);
    assert_eq!((read(&a), read(&main)), (read(&b), read(&b)));
    let meta = call(&b, "session::get", json!({ "session_id": "s" }));
    assert_eq!(meta["meta"]["message_count"], 101);
    fence(&main, &a);
    fence(&main, &b);
    let told = told.lock().unwrap();
    for name in ["main", "a", "b"] {
        let mut ids: Vec<&Value> =
            told.iter().filter(|(to, ..)| to == name).map(|(.., one)| &one["entry_id"]).collect();
        assert_eq!(ids.len(), 101, "{name}");
        ids.sort_by_key(ToString::to_string);
        ids.dedup();
        assert_eq!(ids.len(), 101, "{name}");
    }
}

#[test]
fn the_gate_follows_reloads_and_a_main_that_is_away_is_a_failure() {
    let runtime = runtime();
    let (_main, local) = main_instance(&runtime);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("ws://{local}");
    let own = format!("ws://{local}/own");
    let start = Start {
        own_url: Some(own.clone()),
        data_dir: Some(folder.path().to_owned()),
        ..Start::embedded(Adapter::bridge(url.clone(), None).unwrap(), json!({}))
    };
    let server = Server::new(start).unwrap();
    let gate = |server: &Server| server.call("session::store::list-metas", "{}").map_err(|error| error.to_string());
    let set = |adapter: Value| {
        call(&server, "configuration::set", json!({ "id": "session-manager", "value": { "adapter": adapter } }));
        call(&server, "session::config-status", json!({}))["last_outcome"].clone()
    };
    let to = |url: &str| json!({ "name": "bridge", "config": { "url": url, "timeout_ms": 1000 } });
    assert!(!gate(&server).unwrap_err().contains("session/"));
    assert_eq!(set(json!({ "name": "fs", "config": {} })), "applied");
    gate(&server).unwrap();
    assert_eq!(set(to(&own)), "rejected", "a bridge to itself");
    gate(&server).unwrap();
    assert_eq!(set(to(&url)), "applied");
    gate(&server).unwrap_err();
    call(&server, "session::ensure", json!({ "session_id": "s" }));
    runtime.shutdown_timeout(LONG); // the main goes, with its connections
    for function in ["get", "append", "set-meta"] {
        let with = json!({ "session_id": "s", "title": "t", "custom": { "custom_type": "c" } });
        let failure = server.call(&format!("session::{function}"), &with.to_string()).unwrap_err();
        assert!(failure.to_string().starts_with("session/storage: "), "{failure}");
    }
    assert!(server.call("session::list", "{}").unwrap_err().to_string().starts_with("session/storage: "));
    assert_eq!(call(&server, "session::config-status", json!({}))["last_outcome"], "applied");
    assert!(
        Server::new(Start {
            own_url: Some(url.clone()),
            ..Start::embedded(Adapter::bridge(url, None).unwrap(), json!({}))
        })
        .is_err()
    );
}

/// Plays an engine: keeps one configuration value, and passes all else to whoever registered it.
#[derive(Debug, Default)]
struct Engine(Mutex<Option<Value>>);

impl Host for Engine {
    async fn call(&self, function_id: &str, payload: &str) -> Option<Result<Box<RawValue>, ErrorBody>> {
        let payload: Value = serde_json::from_str(payload).unwrap();
        let mut value = self.0.lock().unwrap();
        match function_id {
            "configuration::register" => {
                if let Some(initial) = payload.get("initial_value") {
                    *value = Some(initial.clone());
                }
            }
            "configuration::get" => {}
            _ => return None,
        }
        Some(Ok(to_raw_value(&json!({ "id": payload["id"], "value": *value })).unwrap()))
    }

    fn bind(&self, _: u64, request: BindRequest, _: Deliver) -> Result<(), ErrorBody> {
        assert_eq!(
            (request.trigger_type.as_str(), request.function_id.as_str()),
            ("configuration", "session::on-config-change")
        );
        Ok(())
    }

    fn unbind(&self, _: u64, _: &str) -> bool {
        false
    }

    fn gone(&self, _: u64) {}

    fn functions(&self) -> Vec<FunctionInfo> {
        Vec::new()
    }

    fn triggers(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn page(&self, _: &str) -> Option<Page> {
        None
    }
}

#[test]
fn a_worker_reads_its_configuration_and_registers_again() {
    let serve = |runtime: &Runtime, at: &str, engine: &Arc<Engine>| {
        let listener = runtime.block_on(TcpListener::bind(at)).unwrap();
        let local = listener.local_addr().unwrap();
        runtime.spawn(endpoint::serve(listener, Arc::clone(engine), Access::default()));
        local
    };
    let (first, worker) = (runtime(), runtime());
    let engine = Arc::new(Engine::default());
    let local = serve(&first, "127.0.0.1:0", &engine);
    let url = format!("ws://{local}");
    let stored = Arc::new(EngineConfiguration::register(&url, None, None).unwrap());
    assert_eq!(engine.0.lock().unwrap().as_ref().unwrap()["max_list_limit"], 500, "defaults where nothing was");
    *engine.0.lock().unwrap() = Some(json!({ "default_list_limit": 1 }));
    let start = Start { configurations: None, stored, ..Start::in_memory() };
    let server = Arc::new(Server::new(start).unwrap());
    let _link = {
        let _inside = worker.enter();
        work(Arc::clone(&server), &url, None)
    };
    for _ in 0..2 {
        call(&server, "session::create", json!({}));
    }
    let listed = |expected: usize| {
        worker.block_on(async {
            let link = session_wire::caller(local);
            loop {
                // Until the worker is there.
                if let Ok(page) = session_wire::call(&link, "session::list", json!({})).await {
                    assert_eq!(page["sessions"].as_array().unwrap().len(), expected);
                    break;
                }
            }
            link.close();
        });
    };
    listed(1);
    first.shutdown_timeout(LONG); // the engine goes, and forgets
    let second = runtime();
    serve(&second, &local.to_string(), &engine);
    listed(1);
    *engine.0.lock().unwrap() = Some(json!({ "default_list_limit": 2 }));
    let reload = || server.call("session::on-config-change", "{}");
    while reload().is_err() {} // until the configuration link is back as well
    listed(2);
    *engine.0.lock().unwrap() = Some(json!({ "no_such_limit": 2 }));
    let failure = reload().unwrap_err().to_string();
    assert!(failure.contains("no_such_limit"), "{failure}");
    let status = call(&server, "session::config-status", json!({}));
    assert_eq!(status, json!({ "last_outcome": "applied", "last_error": null, "rejected_reloads": 0 }));
    listed(2);
}
