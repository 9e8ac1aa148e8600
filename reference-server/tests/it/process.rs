//! The program itself: exit codes and a conversation over its pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

fn exit_code(arguments: &[&str], input: &str) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(input.as_bytes()); // one that refuses its arguments reads nothing
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_host_exits_as_the_protocol_says() {
    assert_eq!(exit_code(&["serve", "--no-session-log"], ""), (0, String::new()));
    assert_eq!(exit_code(&["serve", "--no-such-flag"], "").0, 2);
    assert_eq!(exit_code(&["serve", "--no-session-log", "--script", "/no/such/file"], "").0, 3);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"t","version":"1"}}}"#;
    let start = r#"{"jsonrpc":"2.0","id":2,"method":"session/start","params":{"commandId":"0198f0ab-0000-7000-8000-000000000001"}}"#;
    let input = format!("{hello}\n{{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}}\n{start}\n");
    let (code, output) = exit_code(&["serve", "--no-session-log", "--seed", "1"], &input);
    assert_eq!(code, 0);
    assert!(
        output.ends_with('\n') && output.lines().last().unwrap().contains(r#""reason":"hostShutdown""#),
        "{output}"
    );
    assert_eq!(output, exit_code(&["serve", "--no-session-log", "--seed", "1"], &input).1, "the seed repeats the run");
}

#[test]
fn a_killed_host_frees_its_lease() {
    let dir = tempfile::TempDir::new().unwrap();
    let arguments = ["serve", "--sessions-dir", dir.path().to_str().unwrap()];
    let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"t","version":"1"}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"initialized"}"#;
    let session = "0198f0ab-0000-7000-8000-00000000aaaa";
    let start = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"session/start","params":{{"commandId":"0198f0ab-0000-7000-8000-000000000001","sessionId":"{session}"}}}}"#
    );
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{hello}\n{ready}\n{start}\n").as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(r#""id":2"#)));
    child.kill().unwrap();
    child.wait().unwrap();
    let resume = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"session/resume","params":{{"commandId":"0198f0ab-0000-7000-8000-000000000002","sessionId":"{session}"}}}}"#
    );
    let (code, output) = exit_code(&arguments, &format!("{hello}\n{ready}\n{resume}\n"));
    assert_eq!(code, 0);
    assert!(output.contains(r#""id":2,"jsonrpc":"2.0","result""#), "{output}");
}
