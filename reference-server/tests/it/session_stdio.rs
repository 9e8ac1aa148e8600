//! The session functions over the program's pipes: JSON-RPC a line, bindings, deliveries, bad input.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Sends lines, and gives all lines that came back, and how the program ended.
fn talk(arguments: &[&str], input: &[u8]) -> (Vec<Value>, i32) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
        .arg("session")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input)); // the program may end before it has read all
    let output = child.wait_with_output().unwrap();
    let _ended = writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output.status.code().unwrap())
}

fn lines(requests: &[Value]) -> Vec<u8> {
    requests.iter().fold(Vec::new(), |mut all, request| {
        all.extend_from_slice(request.to_string().as_bytes());
        all.push(b'\n');
        all
    })
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[test]
fn calls_bindings_and_deliveries() {
    let message = json!({ "role": "user", "content": [], "timestamp": 1 });
    let (answers, code) = talk(
        &["--stdio", "--memory"],
        &lines(&[
            request(1, "bind", &json!({ "id": "b", "trigger_type": "session::message-added" })),
            request(2, "bind", &json!({ "id": "c", "trigger_type": "session::created", "config": { "roles": [] } })),
            request(3, "session::ensure", &json!({ "session_id": "s" })),
            request(4, "session::append", &json!({ "session_id": "s", "message": message, "entry_id": "e" })),
            json!({ "jsonrpc": "2.0", "method": "session::append", "params": { "session_id": "s", "message": message } }),
            request(5, "unbind", &json!({ "id": "b" })),
            request(6, "session::append", &json!({ "session_id": "s", "message": message })),
            request(7, "unbind", &json!({ "id": "b" })),
            request(8, "session::get", &json!({ "session_id": "nope" })),
            request(9, "session::messages", &json!({ "session_id": "nope" })),
            request(10, "session::messages", &json!({ "session_id": 5 })),
            request(11, "session::no-such", &json!({})),
            json!({ "jsonrpc": "2.0", "id": 12, "method": "session::config-status" }),
        ]),
    );
    assert_eq!(code, 0);
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("no answer {id}"));
    assert_eq!(of(1)["result"], json!({ "id": "b" }));
    assert_eq!(of(2)["error"]["code"], -32602);
    assert_eq!(of(4)["result"]["entry_id"], "e");
    assert_eq!((&of(5)["result"], &of(7)["result"]), (&json!({ "removed": true }), &json!({ "removed": false })));
    assert_eq!(of(8), &json!({ "jsonrpc": "2.0", "id": 8, "result": null }));
    assert_eq!(of(9)["error"]["code"], -32000);
    assert_eq!(of(9)["error"]["data"], json!({ "code": "session/not_found" }));
    assert!(of(9)["error"]["message"].as_str().unwrap().starts_with("session/not_found: "));
    assert_eq!((&of(10)["error"]["code"], &of(11)["error"]["code"]), (&json!(-32602), &json!(-32601)));
    assert_eq!(of(12)["result"]["last_outcome"], "applied");
    let delivered: Vec<&Value> = answers.iter().filter(|answer| answer.get("id").is_none()).collect();
    assert_eq!(delivered.len(), 2, "{answers:?}");
    assert!(delivered.iter().all(|line| line["method"] == "session::message-added"));
    assert_eq!(delivered[0]["params"]["entry_id"], "e");
}

#[test]
fn bad_lines_are_answered_and_passed_over() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut input = Vec::new();
    for line in [
        "not json".to_owned(),
        "[]".to_owned(),
        r#"{"jsonrpc":"1.0","id":1,"method":"session::list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"session::create","params":{{"metadata":{{"deep":{deep}}}}}}}"#),
        String::new(),
        r#"{"jsonrpc":"2.0","id":"last","method":"session::list"}"#.to_owned(),
    ] {
        input.extend_from_slice(line.as_bytes());
        input.push(b'\n');
    }
    input.splice(0..0, [0xff, 0xfe, b'\n']);
    let (answers, code) = talk(&["--stdio", "--memory"], &input);
    assert_eq!(code, 0);
    let told: Vec<(Value, Value)> =
        answers.iter().map(|answer| (answer["id"].clone(), answer["error"]["code"].clone())).collect();
    let refused = |id: Value, code: i64| (id, json!(code));
    assert_eq!(
        told,
        [
            refused(json!(null), -32700),
            refused(json!(null), -32700),
            refused(json!(null), -32600),
            refused(json!(1), -32600),
            refused(json!(null), -32600),
            refused(json!(3), -32602),
            (json!("last"), json!(null)),
        ]
    );
    assert_eq!(answers.last().unwrap()["result"], json!({ "sessions": [] }), "nothing was made");
}

#[test]
fn a_line_beyond_the_limit_is_skipped() {
    let mut input = vec![b'x'; msp_reference_server::session_functions::stdio::LINE_LIMIT + 100];
    input.push(b'\n');
    input.extend_from_slice(&lines(&[request(1, "session::list", &json!({}))]));
    let (answers, _) = talk(&["--stdio", "--memory"], &input);
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[1]["result"], json!({ "sessions": [] }), "the rest of the line is no line of its own");
}

#[test]
fn the_seed_value_is_in_force_and_a_bad_one_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.json"), folder.path().join("bad.json"));
    std::fs::write(&good, r#"{"default_list_limit":1}"#).unwrap();
    std::fs::write(&bad, r#"{"no_such_limit":1}"#).unwrap();
    let input = lines(&[
        request(1, "session::create", &json!({})),
        request(2, "session::create", &json!({})),
        request(3, "session::list", &json!({})),
    ]);
    for (seed, rows) in [(&good, 1), (&bad, 2), (&folder.path().join("none.json"), 2)] {
        let (answers, code) = talk(&["--stdio", "--memory", "--config", seed.to_str().unwrap()], &input);
        assert_eq!((answers[2]["result"]["sessions"].as_array().unwrap().len(), code), (rows, 0));
    }
    assert_eq!(talk(&["--memory"], b"").1, 2, "no transport");
}
