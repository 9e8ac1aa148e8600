//! The command as a program: arguments, exit codes, what goes where.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_msp-conformance");
const GOOD: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n";

fn validate(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).arg("validate").args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn trouble(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn broken(scenario: &str) -> String {
    format!("{}/recordings-broken/{scenario}/transcript.ndjson", env!("CARGO_MANIFEST_DIR"))
}

/// A folder with files of some bytes.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn at(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn without_a_path_the_own_recordings_are_validated() {
    let output = validate(&[]);
    assert_eq!((code(&output), trouble(&output)), (0, ""));
    let files = msp_conformance::recordings::ALL.len();
    assert!(out(&output).contains(&format!("\n{files} files, ")), "{}", out(&output));
    assert!(out(&output).contains(" of 445 rules judged: "), "{}", out(&output));
    assert!(out(&output).ends_with(": 0 errors, 0 warnings, 0 notes\n"));
}

#[test]
fn warnings_count_only_when_asked_to() {
    let path = broken("cur-10-stream-kind");
    assert_eq!(code(&validate(&[&path])), 0);
    assert_eq!(code(&validate(&["--strict", &path])), 1);
    assert_eq!(code(&validate(&["--strict", &broken("open-6-unlisted-notification")])), 0);
    assert_eq!(code(&validate(&[&broken("env-1-version")])), 1);
}

#[test]
fn json_has_what_the_text_has() {
    let path = broken("schema-fits-older-revisions");
    let output = validate(&["--format", "json", &path]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(code(&output), 1);
    assert_eq!(report["outcome"], "findings");
    let finding = &report["findings"][0];
    for (name, value) in [
        ("file", json!(path)),
        ("line", json!(7)),
        ("rule", json!("UIN-6")),
        ("severity", json!("error")),
        ("method", json!("userInput/settled")),
        ("definition", json!("UserInputSettledParams")),
        ("pointer", json!("/params")),
        ("keyword", json!("required")),
        ("expected", json!("member `decidedAt`")),
        ("revision", json!("1.4.13")),
        ("fits", json!(["1.3.1", "1.4.2"])),
    ] {
        assert_eq!(finding[name], value, "{name}");
    }
    assert_eq!(report["counts"]["errors"], 1);
    assert_eq!(report["files"][0]["counts"]["frames"], 7);
}

#[test]
fn folders_are_walked_and_standard_input_is_read() {
    let files: [(&str, &[u8]); 3] = [
        ("a/one.ndjson", GOOD.as_bytes()),
        ("b/c/two.ndjson", b"{\"method\":\"initialized\"}\n"),
        ("b/note.txt", b"hello"),
    ];
    let folder = folder(&files);
    let output = validate(&[folder.path().to_str().unwrap()]);
    assert_eq!(code(&output), 1);
    assert!(out(&output).contains("two.ndjson:1: error[ENV-1]: /jsonrpc:"), "{}", out(&output));
    assert!(out(&output).contains("2 files, 2 frames"));

    let mut child =
        Command::new(PROGRAM).args(["validate", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(GOOD.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(out(&output).ends_with("\n1 file, 1 frame, judged by 1.4.13: 0 errors, 0 warnings, 0 notes\n"));
}

#[test]
fn bad_input_gets_a_clear_word_and_the_code_for_it() {
    let bundle = json!({ "$defs": { "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A" } } }).to_string();
    let dangling = json!({ "$defs": { "A": { "$ref": "#/$defs/Nothing" } } }).to_string();
    let pattern = json!({ "$defs": { "A": { "type": "string", "pattern": "(" } } }).to_string();
    let files: [(&str, &[u8]); 9] = [
        ("cut.ndjson", b"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n{\"jsonrpc\":\"2.0\",\"meth"),
        ("bytes.ndjson", b"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n\xff\xfe\n"),
        ("image.ndjson", b"\x89PNG\r\n\x1a\n\0\0\n"),
        ("words.ndjson", b"this is prose\n"),
        ("empty.ndjson", b""),
        ("circle.json", bundle.as_bytes()),
        ("dangling.json", dangling.as_bytes()),
        ("pattern.json", pattern.as_bytes()),
        ("other/readme.txt", b"nothing here"),
    ];
    let folder = folder(&files);
    let path = |name: &str| at(&folder, name);
    let good = path("cut.ndjson");
    let cases: [(&[&str], i32, &str); 14] = [
        (
            &[&path("cut.ndjson")],
            1,
            ":2: error[FRAME-7]: expected a line feed at the end, found the end after 22 bytes",
        ),
        (
            &[&path("bytes.ndjson")],
            1,
            ":2: error[FRAME-1]: expected a line in UTF-8, found a byte that is not, after 0 bytes",
        ),
        (&[&path("image.ndjson")], 3, "line 2 is of no form that a transcript has"),
        (&[&path("words.ndjson")], 3, "line 1 is of no form that a transcript has"),
        (&[&path("empty.ndjson")], 2, "nothing was judged"),
        (&[&path("other")], 2, "nothing was judged"),
        (&[&path("absent.ndjson")], 3, "cannot be opened"),
        (&["--schema", &path("other"), &good], 3, "is no schema to judge by"),
        (&["--schema", &path("cut.ndjson"), &good], 3, "is no schema to judge by: it is no JSON"),
        (
            &["--schema", &path("circle.json"), &good],
            3,
            "these definitions only name each other and describe no value: `A`, `B`",
        ),
        (&["--schema", &path("dangling.json"), &good], 3, "`$ref` names `#/$defs/Nothing`, which is not defined"),
        (&["--schema", &path("pattern.json"), &good], 3, "`A` cannot be used"),
        (&["--revision", "9.9.9", &good], 2, "`9.9.9` is neither a published revision nor a file"),
        (&["--also", "nowhere", &good], 2, "`nowhere` is neither a published revision nor a file"),
    ];
    for (arguments, expected, words) in cases {
        let output = validate(arguments);
        let text = format!("{}{}", out(&output), trouble(&output));
        assert_eq!(code(&output), expected, "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn usage_errors_are_told_apart() {
    for arguments in [
        &["--nonsense"][..],
        &["--method", "turn/start", "x.json"],
        &["--method", "turn/start", "--part", "config", "x.json"],
        &["--function", "session::get", "--part", "params", "x.json"],
        &["--definition", "Item"],
        &["--definition", "Item", "--error", "internal", "x.json"],
        &["--part", "params", "x.json"],
        &["--schema", "a", "--revision", "1.4.2", "x.json"],
    ] {
        assert_eq!(code(&validate(arguments)), 2, "{arguments:?}");
    }
}

/// A stream that is a long line and never was in memory as a whole.
struct LongLine {
    left: u64,
}

impl Read for LongLine {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        out[..count].fill(b'x');
        self.left -= count as u64;
        Ok(count)
    }
}

#[test]
fn a_line_over_the_limit_is_passed_over() {
    // 64 MiB here; the way is the same for any length, since nothing of the line is kept.
    let length = 64 << 20;
    let mut child =
        Command::new(PROGRAM).args(["validate", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(GOOD.as_bytes()).unwrap();
    std::io::copy(&mut LongLine { left: length }, &mut input).unwrap();
    input.write_all(b"\n").unwrap();
    input.write_all(GOOD.as_bytes()).unwrap();
    #[cfg(target_os = "linux")]
    {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
        assert!(kib < 48 * 1024, "{kib} KiB for a line of {length} bytes");
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(
        out(&output)
            .starts_with(&format!("-:2: error[FRAME-8]: expected a frame within the limit, found {length} bytes\n")),
        "{}",
        out(&output)
    );
    assert!(out(&output).ends_with("1 file, 2 frames, judged by 1.4.13: 1 error, 0 warnings, 0 notes\n"));
}

#[test]
fn single_values() {
    let folder = folder(&[
        ("item.json", br#"{"itemId":"i","kind":"agentMessage","revision":1,"status":"completed"}"#),
        ("new.json", br#"{"itemId":"i","kind":"crumb","revision":1,"status":"completed"}"#),
        ("start.json", br#"{"commandId":"c","sessionId":"s","input":[]}"#),
        ("empty.json", b"{}"),
        ("append.json", br#"{"session_id":"s","custom":{"custom_type":"x"}}"#),
        ("bind.json", br#"{"roles":["baker"]}"#),
        ("error.json", br#"{"code":-32603,"message":"x","data":{"kind":"internal"}}"#),
        ("cut.json", br#"{"a":"#),
    ]);
    let cases: [(&[&str], &str, i32, &str); 14] = [
        (&["--definition", "Item"], "item.json", 0, ""),
        (
            &["--definition", "Item"],
            "new.json",
            0,
            "warning[OPEN-10]: /kind enum: expected a word of `ItemKind`, found `crumb`",
        ),
        (
            &["--definition", "Item"],
            "empty.json",
            1,
            "error[SCHEMA]: required: expected member `itemId`, found no member",
        ),
        (&["--method", "turn/start", "--part", "params"], "start.json", 0, ""),
        (&["--method", "turn/start", "--part", "result"], "start.json", 1, "expected member `disposition`"),
        (&["--notification", "skill/changed"], "empty.json", 1, "expected member `sessionId`"),
        (&["--notification", "userInput/engaged"], "empty.json", 1, "expected member `userInputId`"),
        (&["--request", "approval/request", "--part", "result"], "empty.json", 0, ""),
        (&["--error", "internal"], "error.json", 0, ""),
        (&["--error", "overloaded"], "error.json", 1, "error[ERR-3]: /code: expected -32001, found -32603"),
        (&["--function", "session::append", "--part", "request"], "append.json", 0, ""),
        (&["--trigger", "session::message-added", "--part", "config"], "bind.json", 1, "/roles/0 enum:"),
        (&["--definition", "Item"], "cut.json", 3, "the value cannot be read: a text that is cut off"),
        (&["--definition", "Itme"], "item.json", 2, "the schema has no definition `Itme`; did you mean `Item`?"),
    ];
    for (arguments, file, expected, words) in cases {
        let path = at(&folder, file);
        let output = validate(&[arguments, &[path.as_str()]].concat());
        let text = format!("{}{}", out(&output), trouble(&output));
        assert_eq!(code(&output), expected, "{arguments:?} {file}: {text}");
        assert!(text.contains(words), "{arguments:?} {file}: {text}");
    }
}

#[test]
fn a_plain_schema_of_draft_7_will_do_for_single_values() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {
            "Loaf": { "type": "object", "properties": { "flour": { "$ref": "#/definitions/Flour" } }, "required": ["flour"] },
            "Flour": { "enum": ["rye", "wheat"] },
        },
    });
    let schema = schema.to_string();
    let folder = folder(&[
        ("schema.json", schema.as_bytes()),
        ("good.json", br#"{"flour":"rye"}"#),
        ("bad.json", br#"{"flour":"oak"}"#),
    ]);
    let check =
        |file: &str| validate(&["--schema", &at(&folder, "schema.json"), "--definition", "Loaf", &at(&folder, file)]);
    assert_eq!(code(&check("good.json")), 0);
    let output = check("bad.json");
    assert_eq!(code(&output), 1);
    assert!(
        out(&output).contains("/flour enum: expected one of [\"rye\",\"wheat\"], found \"oak\""),
        "{}",
        out(&output)
    );
}

#[test]
fn other_bundles_and_other_revisions() {
    let path = broken("schema-fits-older-revisions");
    assert_eq!(code(&validate(&["--revision", "1.4.2", &path])), 0);
    assert_eq!(code(&validate(&["--revision", "1.4.4", &path])), 1);
    let output = validate(&["--revision", "1.4.2", "--also", "1.4.4", &path]);
    assert_eq!(code(&output), 1);
    assert!(out(&output).contains("judged by 1.4.4"), "{}", out(&output));
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/msp/stable");
    if bundle.is_dir() {
        // Without a method of the experimental surface the request is unlisted.
        let raw_log = broken("schema-raw-log-record");
        let output = validate(&["--schema", bundle.to_str().unwrap(), &raw_log]);
        assert!(out(&output).contains("warning[UNLISTED-REQUEST]: log/page"), "{}", out(&output));
        assert_eq!(
            out(&output),
            out(&validate(&["--surface", "stable", "--revision", "1.4.13", &raw_log]))
                .replace("of 1.4.13", &format!("of {}", bundle.display()))
                .replace("by 1.4.13", &format!("by {}", bundle.display()))
        );
    }
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/session");
    if session.is_dir() {
        let output = validate(&["--schema", session.to_str().unwrap(), &broken("session-functions")]);
        assert!(out(&output).contains("session::append /payload required"), "{}", out(&output));
    }
}

#[test]
fn a_reader_who_has_seen_enough_changes_no_verdict() {
    let mut child = Command::new(PROGRAM)
        .args(["validate", "--format", "json", &format!("{}/recordings-broken", env!("CARGO_MANIFEST_DIR"))])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((child.wait().unwrap().code(), text.as_str()), (Some(1), ""));
}

#[test]
fn verdicts_are_told_as_asked() {
    let path = broken("env-13-answered-twice");
    let with = |verdicts: &str| out(&validate(&["--verdicts", verdicts, &path])).to_owned();
    assert!(!with("none").contains("rules judged"));
    assert!(!with("summary").contains("CUR-1,") && with("summary").contains("rules judged: "));
    let all = with("all");
    assert!(all.lines().any(|line| line.starts_with("not-observed   CUR-7, exercised 0 times")), "{all}");
    let json: Value = serde_json::from_slice(&validate(&["--format", "json", &path]).stdout).unwrap();
    let verdicts = json["verdicts"].as_array().unwrap();
    assert!(
        verdicts
            .iter()
            .any(|it| *it == json!({ "rule": "CUR-7", "verdict": "not-observed", "exercised": 0, "broken": 0 }))
    );
}

/// Two ends of one approval: each frame fits its definition, and the second breaks a rule.
#[test]
fn shapes_are_judged_alone_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("twice.ndjson");
    let end = |cursor: &str| {
        let frame = json!({ "jsonrpc": "2.0", "method": "approval/resolved", "params": {
            "sessionId": "s", "viewCursor": cursor, "approvalId": "a", "itemId": "i", "turnId": "t",
            "decision": "approved", "policyResult": "allow", "resolvedBy": "policy", "stageEvidence": [],
            "sourceRange": { "stream": { "id": "s", "kind": "session" },
                "first": { "id": cursor, "sequence": 1 }, "last": { "id": cursor, "sequence": 1 } },
        }});
        json!({ "dir": "server", "raw": frame.to_string() }).to_string()
    };
    std::fs::write(&path, format!("{}\n{}\n", end("one"), end("two"))).unwrap();
    let path = path.to_str().unwrap();
    let all = validate(&[path]);
    assert_eq!(code(&all), 1);
    assert!(out(&all).contains(":2: error[APPR-14]") && out(&all).contains("rules judged"), "{}", out(&all));
    let shapes = validate(&["--rules", "none", path]);
    assert_eq!(code(&shapes), 0);
    assert!(!out(&shapes).contains("APPR-14") && !out(&shapes).contains("rules judged"), "{}", out(&shapes));
}

#[test]
fn rules_are_explained_and_listed() {
    let run = |arguments: &[&str]| Command::new(PROGRAM).args(arguments).output().unwrap();
    let output = run(&["explain", "CUR-1"]);
    assert_eq!((code(&output), trouble(&output)), (0, ""));
    for words in ["CUR-1 [MUST, host], since 1.3.1", "\ncheck: ", "\nfault: host: gives `turn/completed`", "\nnote: "] {
        assert!(out(&output).contains(words), "{words}: {}", out(&output));
    }
    assert!(out(&run(&["explain", "ERR-10"])).contains("\nnot judged: no-criterion\n"));
    assert!(out(&run(&["explain", "SCHEMA"])).contains("A value fits its definition."));
    let json: Value = serde_json::from_slice(&run(&["explain", "LIM-3", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["claims"][0], "/$defs/ViewPageParams/properties/limit/minimum");
    for (given, meant) in [("cur-1", "CUR-1"), ("CURR-1", "CUR-1")] {
        let output = run(&["explain", given]);
        assert_eq!((code(&output), out(&output)), (2, ""));
        assert!(trouble(&output).contains(&format!("did you mean `{meant}`?")), "{}", trouble(&output));
    }
    let output = run(&["list", "rules"]);
    assert_eq!((code(&output), out(&output).lines().count()), (0, 446));
    assert!(out(&output).lines().last().unwrap().starts_with("445 rules: "));
    let json: Value = serde_json::from_slice(&run(&["list", "rules", "--format", "json"]).stdout).unwrap();
    let rules = json["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 445);
    assert!(rules.iter().any(|rule| rule["id"] == "CUR-1" && rule["judged"] == true));
    assert!(rules.iter().any(|rule| rule["reason"] == "permission" && rule["judged"] == false));
    assert_eq!(code(&run(&["list", "loaves"])), 2);
}
