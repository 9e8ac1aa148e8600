//! The session functions on a listener: calls, deliveries and their end, parallel callers, access, bad input, links that come back.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iii_wire::ErrorBody;
use iii_wire::endpoint::{self, Access, BindRequest, FunctionInfo};
use iii_wire::link::{CallError, Handler, Link, Nothing, Options};
use msp_reference_server::session_functions::{Adapter, Endpoint, Server, Start};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Longest wait for what has to come; nothing is judged by it.
const LONG: Duration = Duration::from_secs(30);

/// An endpoint on a free port.
pub(crate) async fn endpoint(server: Arc<Server>, access: Access) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap();
    (local, serve(listener, server, access))
}

fn serve(listener: TcpListener, server: Arc<Server>, access: Access) -> JoinHandle<()> {
    tokio::spawn(async move { endpoint::serve(listener, Arc::new(Endpoint::new(server)), access).await.unwrap() })
}

fn in_memory() -> Arc<Server> {
    Arc::new(Server::new(Start::in_memory()).unwrap())
}

fn options(local: SocketAddr, name: &str) -> Options {
    Options { url: format!("ws://{local}"), name: name.to_owned(), ..Options::default() }
}

pub(crate) fn caller(local: SocketAddr) -> Link {
    Link::open(options(local, "caller"), Arc::new(Nothing))
}

pub(crate) async fn call(link: &Link, function: &str, payload: Value) -> Result<Value, CallError> {
    let answer = link.call(function, &to_raw_value(&payload).unwrap(), LONG).await?;
    Ok(serde_json::from_str(answer.get()).unwrap())
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 })
}

/// Hands on what it is called with.
#[derive(Debug)]
struct Told(mpsc::UnboundedSender<(String, Value)>);

impl Handler for Told {
    async fn call(&self, function_id: &str, payload: &str) -> Result<Box<RawValue>, ErrorBody> {
        let payload: Value = serde_json::from_str(payload).unwrap();
        let answer = to_raw_value(&payload["n"]).unwrap();
        self.0.send((function_id.to_owned(), payload)).unwrap();
        if function_id == "failing" { Err(ErrorBody::new("x/y", "no")) } else { Ok(answer) }
    }

    fn told(&self, function_id: &str, payload: &str) -> bool {
        if function_id == "failing" {
            return false;
        }
        self.0.send((function_id.to_owned(), serde_json::from_str(payload).unwrap())).is_ok()
    }

    fn bind(&self, _: &Link, _: BindRequest, _: Option<String>) -> Result<(), ErrorBody> {
        Ok(())
    }

    fn unbind(&self, _: &str) {}

    fn dropped(&self) {}
}

fn subscriber(local: SocketAddr, bindings: &[(&str, &str, Value)]) -> (Link, mpsc::UnboundedReceiver<(String, Value)>) {
    let (sender, told) = mpsc::unbounded_channel();
    let function = |id: &str| FunctionInfo { id: id.to_owned(), ..FunctionInfo::default() };
    let options = Options {
        functions: bindings.iter().map(|(function_id, ..)| function(function_id)).collect(),
        bindings: bindings
            .iter()
            .enumerate()
            .map(|(at, (function_id, trigger_type, config))| BindRequest {
                id: at.to_string(),
                trigger_type: (*trigger_type).to_owned(),
                function_id: (*function_id).to_owned(),
                config: Some(config.clone()),
                metadata: None,
            })
            .collect(),
        ..options(local, "subscriber")
    };
    (Link::open(options, Arc::new(Told(sender))), told)
}

#[tokio::test]
async fn calls_deliveries_and_their_end() {
    let (local, _serving) = endpoint(in_memory(), Access::default()).await;
    let (watcher, mut told) = subscriber(
        local,
        &[
            ("added", "session::message-added", json!({ "roles": ["user"] })),
            ("failing", "session::created", json!({})),
        ],
    );
    call(&watcher, "session::config-status", json!({})).await.unwrap(); // everything before it has been read
    let link = caller(local);
    let session = call(&link, "session::create", json!({})).await.unwrap()["session_id"].clone();
    assert_eq!(told.recv().await.unwrap().0, "failing");
    let entry = call(&link, "session::append", json!({ "session_id": session, "message": user("x") })).await.unwrap();
    call(&link, "session::append", json!({ "session_id": session, "custom": { "custom_type": "x" } })).await.unwrap();
    let (function, payload) = told.recv().await.unwrap();
    assert_eq!((function.as_str(), &payload["entry_id"]), ("added", &entry["entry_id"]));

    let refused = call(&link, "session::messages", json!({ "session_id": "nope" })).await.unwrap_err();
    let CallError::Refused(error) = refused else { panic!("{refused}") };
    assert_eq!(error.code, "session/not_found");
    assert!(error.message.starts_with("session/not_found: "));
    let malformed = call(&link, "session::create", json!({ "title": 5 })).await.unwrap_err();
    assert!(matches!(&malformed, CallError::Refused(error) if error.code == "invocation_failed"), "{malformed}");
    let unknown = call(&link, "session::nope", json!({})).await.unwrap_err();
    assert!(matches!(&unknown, CallError::Refused(error) if error.code == "function_not_found"), "{unknown}");
    assert_eq!(call(&link, "session::get", json!({ "session_id": "nope" })).await.unwrap(), Value::Null);

    // A client's function, and what becomes of callers when it leaves.
    assert_eq!(call(&link, "added", json!({ "n": 7 })).await.unwrap(), 7);
    told.recv().await.unwrap();
    watcher.close();
    loop {
        match call(&link, "added", json!({ "n": 7 })).await {
            Err(CallError::Refused(error)) if error.code == "function_not_found" => break,
            Err(CallError::Refused(error)) => assert_eq!(error.code, "invocation_stopped"),
            Ok(_) => {}
            Err(other) => panic!("{other}"),
        }
    }
    call(&link, "session::append", json!({ "session_id": session, "message": user("y") })).await.unwrap();
    while let Some((function, payload)) = told.recv().await {
        assert!(function == "added" && payload.get("entry_id").is_none(), "{function} {payload}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_callers_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let start = Start {
        data_dir: Some(folder.path().to_owned()),
        ..Start::embedded(Adapter::Fs { data_dir: None }, json!({}))
    };
    let server = Arc::new(Server::new(start).unwrap());
    let (local, _serving) = endpoint(Arc::clone(&server), Access::default()).await;
    let (watcher, mut told) = subscriber(
        local,
        &[
            ("created", "session::created", json!({})),
            ("added", "session::message-added", json!({ "session_id": "s" })),
        ],
    );
    call(&watcher, "session::config-status", json!({})).await.unwrap();
    let links: Vec<Link> = (0..8).map(|_| caller(local)).collect();
    let each = |function: &'static str, payloads: Vec<Value>| {
        let calls = payloads.into_iter().enumerate().map(|(at, payload)| {
            let link = links[at % links.len()].clone();
            tokio::spawn(async move { call(&link, function, payload).await.unwrap() })
        });
        let calls: Vec<_> = calls.collect();
        async move {
            let mut answers = Vec::new();
            for call in calls {
                answers.push(call.await.unwrap());
            }
            answers
        }
    };

    let ensured = each("session::ensure", vec![json!({ "session_id": "s" }); 16]).await; // SF-ENSURE-4
    assert_eq!(ensured.iter().filter(|answer| answer["created"] == true).count(), 1);
    let append = |at: usize| json!({ "session_id": "s", "message": user(&at.to_string()) });
    let appended = each("session::append", (0..400).map(append).collect()).await; // SF-WIRE-10
    let parents: HashSet<&Value> = appended.iter().map(|answer| &answer["parent_id"]).collect();
    assert_eq!(parents.len(), 400);
    let meta = call(&links[0], "session::get", json!({ "session_id": "s" })).await.unwrap();
    assert_eq!(meta["meta"]["message_count"], 400);
    let page = call(&links[0], "session::messages", json!({ "session_id": "s", "limit": 500 })).await.unwrap();
    assert_eq!(page["messages"].as_array().unwrap().len(), 400);

    let same = json!({ "session_id": "s", "entry_id": "same", "message": user("same") }); // SF-APPEND-9
    let answers = each("session::append", vec![same; 16]).await;
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let update = json!({ "session_id": "s", "entry_id": "same", "content": [], "expected_revision": 0 }); // SF-UPDATE-5
    let answers = each("session::update-message", vec![update; 16]).await;
    assert_eq!(answers.iter().filter(|answer| answer["updated"] == true).count(), 1);
    let update = json!({ "session_id": "s", "entry_id": "same", "content": [] });
    let revisions = each("session::update-message", vec![update; 16]).await;
    let revisions: HashSet<u64> = revisions.iter().map(|answer| answer["revision"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (2..18).collect());

    // One delivery for each, in the order in which they were committed.
    assert_eq!(told.recv().await.unwrap().0, "created");
    let mut parent = Value::Null;
    for _ in 0..401 {
        let (function, payload) = told.recv().await.unwrap();
        assert_eq!((function.as_str(), &payload["parent_id"]), ("added", &parent));
        parent = payload["entry_id"].clone();
    }
    call(&watcher, "session::config-status", json!({})).await.unwrap();
    assert!(told.try_recv().is_err(), "nothing is delivered twice");
}

/// Sends an HTTP request; the status of the answer and its body.
async fn http(local: SocketAddr, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(local).await.unwrap();
    stream.write_all(format!("{head}\r\n\r\n").replace("HERE", &local.to_string()).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() > 0 {
        answer.push(byte[0]);
    }
    let head = String::from_utf8(answer).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = String::new();
    if status != 101 {
        stream.read_to_string(&mut body).await.unwrap();
    }
    (status, body)
}

#[tokio::test]
async fn access_is_checked_before_anything_is_served() {
    const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let access = Access {
        token: Some("secret".to_owned()),
        origins: vec!["http://app.example".to_owned()],
        hosts: vec!["box.example".to_owned()],
    };
    let (local, _serving) = endpoint(in_memory(), access).await;
    let token = "Authorization: Bearer secret";
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{token}\r\n{UPGRADE}"), 101),
        (format!("GET /?token=secret HTTP/1.1\r\nHost: HERE\r\n{UPGRADE}"), 101),
        (format!("GET / HTTP/1.1\r\nHost: box.example:7\r\n{token}\r\n{UPGRADE}"), 101),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{token}\r\nOrigin: http://app.example\r\n{UPGRADE}"), 101),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{token}\r\nOrigin: http://HERE\r\n{UPGRADE}"), 101),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{UPGRADE}"), 401),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\nAuthorization: Bearer secreT\r\n{UPGRADE}"), 401),
        (format!("GET /?token=secre HTTP/1.1\r\nHost: HERE\r\n{UPGRADE}"), 401),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{token}\r\nOrigin: http://evil.example\r\n{UPGRADE}"), 403),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{token}\r\nOrigin: null\r\n{UPGRADE}"), 403),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: evil.example:80\r\n{token}\r\nOrigin: http://evil.example:80\r\n{UPGRADE}"
            ),
            403,
        ),
        (format!("GET / HTTP/1.1\r\n{token}\r\n{UPGRADE}"), 403),
        (format!("GET /otel HTTP/1.1\r\nHost: HERE\r\n{token}\r\n{UPGRADE}"), 404),
        (format!("GET / HTTP/1.1\r\nHost: HERE\r\n{token}"), 200),
        ("GET / HTTP/1.1\r\nHost: HERE".to_owned(), 401),
        (format!("GET / HTTP/1.1\r\nHost: evil.example\r\n{token}"), 403),
        (format!("GET /nothing HTTP/1.1\r\nHost: HERE\r\n{token}"), 404),
        (format!("POST / HTTP/1.1\r\nHost: HERE\r\n{token}"), 405),
    ] {
        assert_eq!(http(local, &request).await.0, status, "{request}");
    }
    let (_, page) = http(local, "GET /?token=secret HTTP/1.1\r\nHost: HERE").await;
    assert!(page.contains("<title>Session functions</title>") && page.contains("session::messages"));
    let link = Link::open(Options { token: Some("secret".to_owned()), ..options(local, "c") }, Arc::new(Nothing));
    assert_eq!(call(&link, "session::list", json!({})).await.unwrap(), json!({ "sessions": [] }));
    assert_eq!(call(&caller(local), "session::list", json!({})).await, Err(CallError::Down));
}

#[test]
fn a_link_registers_again_when_the_endpoint_comes_back() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (first, clients) = (runtime(), runtime());
    let (local, _serving) = first.block_on(endpoint(in_memory(), Access::default()));
    let (watcher, mut told) = {
        let _inside = clients.enter();
        subscriber(local, &[("created", "session::created", json!({}))])
    };
    clients.block_on(async {
        call(&watcher, "session::create", json!({})).await.unwrap();
        told.recv().await.unwrap();
    });
    first.shutdown_timeout(LONG); // takes the connections along, as the end of a process does
    let second = runtime();
    let listener = second.block_on(TcpListener::bind(local)).unwrap();
    let _serving = {
        let _inside = second.enter();
        serve(listener, in_memory(), Access::default())
    };
    clients.block_on(async {
        while told.try_recv().is_err() {
            let _down_at_first = call(&watcher, "session::create", json!({})).await;
        }
    });
}
