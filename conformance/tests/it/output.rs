//! What the results look like when the output breaks, when the peer is hostile, and when the question is wrong.

use std::fs::{self, File};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_msp-conformance");
const BAD: &str = "{\"method\":\"initialized\"}\n";
const GOOD: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n";

struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    /// The command, in the folder of the files.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("validate").args(arguments).current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }
}

#[test]
#[cfg(target_os = "linux")]
fn outputs_that_take_nothing_change_no_verdict() {
    let files = Files::new(&[("bad.ndjson", BAD), ("good.ndjson", GOOD), ("words.ndjson", "this is prose\n")]);
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    for (arguments, expected) in [
        (&["bad.ndjson"][..], 1),
        (&["words.ndjson", "bad.ndjson"], 3),
        (&["words.ndjson"], 3),
        (&["--format", "json", "bad.ndjson"], 1),
        // Nobody can know that it is good.
        (&["good.ndjson"], 3),
    ] {
        let output = files.command(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("the results cannot be written: No space left"), "{arguments:?}: {text}");
    }
    for (arguments, expected) in [(&["words.ndjson", "bad.ndjson"][..], 3), (&["bad.ndjson"], 1), (&["good.ndjson"], 0)]
    {
        let output = files.command(arguments).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
        // What comes behind the trouble is judged as well.
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.contains("error[ENV-1]"), arguments.contains(&"bad.ndjson"), "{arguments:?}: {text}");
    }
}

#[test]
fn everything_is_judged_behind_a_reader_who_left() {
    // More than any pipe holds.
    let many = BAD.repeat(20_000);
    let files = Files::new(&[("bad.ndjson", &many), ("words.ndjson", "this is prose\n")]);
    for (arguments, expected) in [(&["bad.ndjson"][..], 1), (&["bad.ndjson", "words.ndjson"], 3)] {
        let mut child = files.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("cannot be written"), "{text}");
    }
}

#[test]
fn what_a_peer_sends_commands_no_terminal_and_forges_no_line() {
    let evil = "evil\nforged.ndjson:99: error[SCHEMA]: x\u{1b}[2J\r\u{9b}\u{202e}\u{2066}\u{2028}";
    let frame = |value: Value| value.to_string();
    let frames = [
        frame(json!({ "jsonrpc": "2.0", "method": evil, "params": { evil: 1 } })),
        frame(json!({ "jsonrpc": "2.0", "id": 1, "method": evil })),
        frame(json!({ "jsonrpc": evil, "method": "initialized" })),
        frame(
            json!({ "jsonrpc": "2.0", "id": evil, "method": "session/read", "params": { evil: evil, "sessionId": [evil] } }),
        ),
        frame(json!({ "jsonrpc": "2.0", "id": 7, "result": { evil: 1 }, "method": "x", evil: 2 })),
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",{0}:1,{0}:2}}", json!(evil)),
        json!({ "call": 1, "function_id": evil, "payload": {} }).to_string(),
        json!({ "dir": "client", "conn": "\u{9b}2J\u{202e}", "raw": "{}" }).to_string(),
    ];
    let text = frames.join("\n") + "\n";
    let name = "na\nme\u{1b}[1m\u{202e}.ndjson";
    let files = Files::new(&[(name, &text), ("bad\u{1b}\n.ndjson", "prose\n"), ("value.json", &frames[0])]);
    for arguments in [
        &[name][..],
        &["bad\u{1b}\n.ndjson"],
        &["absent\u{1b}\n"],
        &["--definition", evil, "value.json"],
        &["--revision", evil, "value.json"],
        &["--schema", evil, "value.json"],
        &["--definition", "Item", "value.json"],
    ] {
        let (_, out, trouble) = files.run(arguments);
        let odd = |c: char| c != '\n' && c.is_control() || ('\u{2028}'..='\u{2069}').contains(&c) && c != '\u{2030}';
        assert!(!out.contains(odd) && !trouble.contains(odd), "{arguments:?}: {out:?}{trouble:?}");
        assert!(!format!("\n{out}{trouble}").contains("\nforged"), "{arguments:?}: {out}{trouble}");
    }
    let (_, out, _) = files.run(&[name]);
    assert!(out.starts_with(r"na\nme\u001b[1m\u202e.ndjson:1: note[OPEN-6]: evil\nforged.ndjson:99: error[SCHEMA]: x\u001b[2J\r\u009b\u202e"), "{out}");
}

#[test]
fn a_wrong_question_gets_code_2_a_hint_and_one_document() {
    let bundle = json!({ "$defs": {} }).to_string();
    let files = Files::new(&[("value.json", "{}"), ("good.ndjson", GOOD), ("empty.json", &bundle), ("prose", "x")]);
    let cases: [(&[&str], i32, &str); 12] = [
        (&["--definition", "Itme"], 2, "the schema has no definition `Itme`; did you mean `Item`?"),
        (&["--method", "turn/strat", "--part", "params"], 2, "no method `turn/strat`; did you mean `turn/start`?"),
        (&["--notification", "item/complted"], 2, "did you mean `item/completed`?"),
        (&["--request", "approval/requst", "--part", "result"], 2, "did you mean `approval/request`?"),
        (&["--error", "internl"], 2, "no error kind `internl`; did you mean `internal`?"),
        (&["--function", "session::apend", "--part", "request"], 2, "did you mean `session::append`?"),
        (&["--trigger", "nothing like it", "--part", "config"], 2, "no trigger `nothing like it`"),
        (&["--revision", "1.4.1"], 2, "did you mean `1.4."),
        (&["--also", "1.4.99"], 2, "neither a published revision nor a file"),
        (&["--schema", "prose"], 3, "`prose` is no schema to judge by"),
        (&["--schema", "empty.json"], 3, "it lists no methods"),
        (&["--schema", "empty.json", "--definition", "Item"], 2, "no definition `Item`"),
    ];
    for (arguments, expected, words) in cases {
        let arguments = [arguments, &["good.ndjson"]].concat();
        let (code, out, trouble) = files.run(&arguments);
        assert_eq!((code, out.as_str()), (expected, ""), "{arguments:?}: {trouble}");
        assert!(trouble.contains(words), "{arguments:?}: {trouble}");
        let (code, out, _) = files.run(&[&arguments[..], &["--format", "json"]].concat());
        let document: Value =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"));
        assert_eq!(code, expected, "{arguments:?}");
        assert!(document["error"].as_str().is_some_and(|it| it.contains(words)), "{arguments:?}: {out}");
    }
    // What a host of 1.3.1 reports is a name for it.
    assert_eq!(files.run(&["--revision", "1.3.0", "good.ndjson"]).0, 0);
}

#[test]
fn a_value_that_is_given_as_a_transcript_gets_a_hint() {
    let pretty = "{\n  \"sessionId\": \"s\"\n}\n";
    let files = Files::new(&[
        ("line.json", "{\"sessionId\":\"s\"}\n"),
        ("unfinished.json", "{\"sessionId\":\"s\"}"),
        ("pretty.json", pretty),
        ("list.json", "[1,2]"),
        ("prose.txt", "hello\n"),
        ("cut.ndjson", "{\"di"),
    ]);
    for (name, expected, hint) in [
        ("line.json", 3, true),
        ("unfinished.json", 3, true),
        ("pretty.json", 3, true),
        ("list.json", 3, true),
        ("prose.txt", 3, false),
        ("cut.ndjson", 1, false),
    ] {
        let (code, out, trouble) = files.run(&[name]);
        assert_eq!((code, trouble.contains("--definition NAME")), (expected, hint), "{name}: {out}{trouble}");
    }
}

#[test]
fn what_two_bundles_find_alike_is_told_once() {
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"session/read","params":{}}"#;
    let files = Files::new(&[("bad.ndjson", &format!("{frame}\n")), ("value.json", "{}")]);
    let (_, out, _) = files.run(&["--revision", "1.4.13", "--also", "1.4.12", "bad.ndjson"]);
    assert_eq!(out.matches("error[SCHEMA]").count(), 1, "{out}");
    assert!(out.ends_with("judged by 1.4.12, 1.4.13: 1 error, 0 warnings, 0 notes\n"), "{out}");
    let target = ["--method", "session/read", "--part", "params"];
    let (_, out, _) = files.run(&[&target[..], &["--also", "1.4.12", "value.json"]].concat());
    assert_eq!(out.matches("error[SCHEMA]").count(), 1, "{out}");
}

#[test]
fn findings_that_are_alike_are_counted_beyond_twenty() {
    let files = Files::new(&[("many.ndjson", &BAD.repeat(416))]);
    let (_, out, _) = files.run(&["many.ndjson"]);
    assert_eq!(out.matches("many.ndjson:").count(), 21, "{out}");
    assert!(out.contains("\nmany.ndjson: and 396 more like it: error[ENV-1]: "), "{out}");
    assert!(out.ends_with(": 416 errors, 0 warnings, 0 notes\n"), "{out}");
    let (_, out, _) = files.run(&["--format", "json", "many.ndjson"]);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["findings"].as_array().unwrap().len(), 416);
}

#[test]
fn a_single_value_is_counted_as_one() {
    let files = Files::new(&[("empty.json", "{}")]);
    let (_, out, _) = files.run(&["--error", "internal", "empty.json"]);
    assert!(out.contains("\n1 value, judged by 1.4.13: "), "{out}");
    let (_, out, _) = files.run(&["--error", "internal", "--format", "json", "empty.json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| finding.get("line").is_none()), "{out}");
    let names: Vec<&String> = report["counts"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["errors", "notes", "warnings"]);
    assert_eq!(report["revisions"], json!(["1.4.13"]));
}

#[test]
fn a_member_that_another_asks_for_is_told_with_that_other() {
    let schema = json!({
        "$defs": { "Oven": { "type": "object", "dependentRequired": { "he/at": ["unit"] } } }
    });
    let files = Files::new(&[("schema.json", &schema.to_string()), ("value.json", r#"{"he/at":200}"#)]);
    let (code, out, _) = files.run(&["--schema", "schema.json", "--definition", "Oven", "value.json"]);
    assert_eq!(code, 1);
    assert!(
        out.contains(
            "error[SCHEMA]: dependentRequired: expected member `unit`, asked for by `he/at`, found only `he/at`"
        ),
        "{out}"
    );
}
