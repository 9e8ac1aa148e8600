//! The file of the `fs` store: damage, foreign and newer files, two owners; and the reload of the configuration over two folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use msp_reference_server::session_functions::{Adapter, Binding, Owner, Server, Start};
use serde_json::{Value, json};

use crate::session_cases::{Collector, Deliveries, everything};

fn start(folder: &Path) -> Start {
    Start { data_dir: Some(folder.to_owned()), ..Start::embedded(Adapter::Fs { data_dir: None }, json!({})) }
}

#[expect(clippy::needless_pass_by_value, reason = "so that it can be written in place")]
fn call(server: &Server, function: &str, with: Value) -> Value {
    let answer = server.call(function, &with.to_string());
    serde_json::from_str(answer.unwrap_or_else(|failure| panic!("{function}: {failure}")).get()).unwrap()
}

fn append(server: &Server, session: &str, entry: &str) {
    let message = json!({ "role": "user", "content": [], "timestamp": 1 });
    call(server, "session::append", json!({ "session_id": session, "entry_id": entry, "message": message }));
}

/// Two sessions of three messages each.
fn filled(folder: &Path) {
    let server = Server::new(start(folder)).unwrap();
    for session in ["a", "b"] {
        call(&server, "session::ensure", json!({ "session_id": session }));
        for entry in ["1", "2", "3"] {
            append(&server, session, &format!("{session}{entry}"));
        }
    }
}

fn rows(server: &Server, session: &str) -> usize {
    call(server, "session::messages", json!({ "session_id": session }))["messages"].as_array().unwrap().len()
}

#[test]
fn a_damaged_row_costs_that_row() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = rusqlite::Connection::open(folder.path().join("sessions.sqlite")).unwrap();
    file.execute("UPDATE entries SET record = '{\"kind\":' WHERE id = 'a3'", ()).unwrap();
    drop(file);
    let server = Server::new(start(folder.path())).unwrap();
    assert_eq!(rows(&server, "b"), 3);
    assert_eq!(call(&server, "session::get-message", json!({ "session_id": "a", "entry_id": "a3" })), Value::Null);
    call(&server, "session::set-active-leaf", json!({ "session_id": "a", "entry_id": "a2" }));
    assert_eq!(rows(&server, "a"), 2);
    drop(server);
    let file = rusqlite::Connection::open(folder.path().join("sessions.sqlite")).unwrap();
    file.execute("UPDATE sessions SET record = 'x' WHERE id = 'a'", ()).unwrap();
    drop(file);
    let server = Server::new(start(folder.path())).unwrap();
    assert_eq!(call(&server, "session::list", json!({}))["sessions"][0]["session_id"], "b");
    assert_eq!(rows(&server, "b"), 3);
}

#[test]
fn a_log_cut_anywhere_loses_only_what_came_after() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(start(folder.path())).unwrap();
    call(&server, "session::ensure", json!({ "session_id": "a" }));
    for entry in 0..12 {
        append(&server, "a", &format!("e{entry}"));
    }
    // As a crash would leave it: copied while the server still has it open.
    let image = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let (file, log) = (image("sessions.sqlite"), image("sessions.sqlite-wal"));
    drop(server);
    let step = log.len() / 40 + 1;
    let mut most = 0;
    for cut in (0..log.len()).step_by(step).chain([log.len()]) {
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("sessions.sqlite"), &file).unwrap();
        fs::write(copy.path().join("sessions.sqlite-wal"), &log[..cut]).unwrap();
        let server = Server::new(start(copy.path())).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let known = call(&server, "session::get", json!({ "session_id": "a" }));
        if known.is_null() {
            continue; // cut before the first transaction
        }
        let count = usize::try_from(known["meta"]["message_count"].as_u64().unwrap()).unwrap();
        assert_eq!(rows(&server, "a"), count, "cut at {cut}");
        let newest = format!("e{}", count.saturating_sub(1));
        let leaf = call(&server, "session::store::get-active-leaf", json!({ "session_id": "a" }));
        assert_eq!(leaf["entry_id"], if count == 0 { Value::Null } else { newest.into() }, "cut at {cut}");
        assert!(count >= most, "a longer log holds at least as much");
        most = count;
    }
    assert_eq!(most, 12);
}

#[test]
fn foreign_newer_and_taken_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.sqlite");
    let refused = |part: &str| {
        let before = fs::read(&path).unwrap();
        let error = Server::new(start(folder.path())).unwrap_err();
        assert!(error.contains(part) && error.contains("sessions.sqlite"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    };
    fs::write(&path, "not a database, but text of some length ".repeat(100)).unwrap();
    refused("no store of this server");
    fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE other (x)").unwrap();
    drop(other);
    refused("no store of this server");
    fs::remove_file(&path).unwrap();
    filled(folder.path());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    refused("version 99");
    fs::remove_file(&path).unwrap();
    let _owner = Server::new(start(folder.path())).unwrap();
    let error = Server::new(start(folder.path())).unwrap_err();
    assert!(error.contains("another process"), "{error}");
}

#[test]
fn ids_stay_inside_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let ids = ["../x", "a/b", "a_b", "A_B", "a:b ", "\u{e9}", "e\u{301}", "..", "%2e"];
    let server = Server::new(start(&folder)).unwrap();
    for id in ids {
        call(&server, "session::ensure", json!({ "session_id": id, "title": id }));
        append(&server, id, "e");
    }
    drop(server);
    let server = Server::new(start(&folder)).unwrap();
    for id in ids {
        assert_eq!(call(&server, "session::get", json!({ "session_id": id }))["meta"]["title"], id);
        assert_eq!(rows(&server, id), 1);
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
}

#[test]
fn a_reload_takes_another_store_and_tells_subscribers() {
    let parent = tempfile::tempdir().unwrap();
    let (a, b) = (parent.path().join("a"), parent.path().join("b"));
    filled(&b);
    let server = Server::new(start(&b)).unwrap();
    call(&server, "session::delete", json!({ "session_id": "b" }));
    call(
        &server,
        "session::update-message",
        json!({ "session_id": "a", "entry_id": "a2", "content": [], "origin": { "o": 1 } }),
    );
    call(&server, "session::set-status", json!({ "session_id": "a", "status": "done" }));
    drop(server);

    let server = Server::new(start(&a)).unwrap();
    call(&server, "session::ensure", json!({ "session_id": "old" }));
    let old = everything(&server);
    let deliveries = Deliveries::default();
    for trigger in ["created", "deleted", "message-added", "message-updated", "status-changed", "meta-updated"] {
        let binding = Binding { id: trigger.to_owned(), ..Binding::default() };
        let sink = Arc::new(Collector(Arc::clone(&deliveries)));
        server.bind(Owner(1), &format!("session::{trigger}"), None, binding, sink).unwrap();
    }
    let set = |value: Value| {
        call(&server, "configuration::set", json!({ "id": "session-manager", "value": value }));
        call(&server, "session::config-status", json!({}))
    };
    let fs_at = |folder: &Path| json!({ "adapter": { "name": "fs", "config": { "data_dir": folder } } });
    let came = || -> Vec<(String, Value)> {
        let all = std::mem::take(&mut *deliveries.lock().unwrap());
        all.into_iter().map(|(to, _, payload)| (to, payload)).collect()
    };

    assert_eq!(set(fs_at(&b)), json!({ "last_outcome": "applied", "last_error": null, "rejected_reloads": 0 }));
    let told = came();
    let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["deleted", "created", "message-added", "message-updated", "message-added"]);
    assert_eq!((&told[0].1["session_id"], &told[1].1["status"]), (&json!("old"), &json!("done")));
    assert_eq!((&told[3].1["revision"], told[3].1.get("origin")), (&json!(1), None));

    // A folder below a file cannot be had: the old store goes on, and nobody is told anything.
    fs::write(parent.path().join("file"), "").unwrap();
    let status = set(fs_at(&parent.path().join("file/below")));
    assert_eq!((&status["last_outcome"], &status["rejected_reloads"]), (&json!("rejected"), &json!(1)));
    assert!(status["last_error"].as_str().unwrap().contains("below"), "{status}");
    assert_eq!(call(&server, "session::on-config-change", json!({})), json!({ "ok": true }));
    append(&server, "a", "a4");
    assert_eq!(came().len(), 1);

    let status = set(fs_at(&a));
    assert_eq!((&status["last_outcome"], &status["rejected_reloads"]), (&json!("applied"), &json!(2)));
    assert_eq!(everything(&server), old);
}
