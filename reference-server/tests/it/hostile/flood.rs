//! What a hostile client sends, wave by wave, out of a seed.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

/// The longest frame that a host takes.
const LIMIT: usize = 10 * 1024 * 1024;
/// Requests of one wave.
pub(crate) const MANY: usize = 10_000;

/// Randomness that repeats itself (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

/// Bytes of one kind.
pub(crate) struct Wave {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Ids that are answered, each once, with this error code; 0 is a result.
    pub(crate) answers: Vec<(Value, i64)>,
}

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Any value, not deep.
    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 7 } else { 9 }) {
            0 => Value::Null,
            1 => self.roll().is_multiple_of(2).into(),
            2 => self.roll().into(),
            3 => (-1 - i64::try_from(self.roll() >> 40).unwrap()).into(),
            4 => json!(f64::from(u32::try_from(self.roll() >> 32).unwrap()) / 7.0),
            5 => "".into(),
            6 => self.text().into(),
            7 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.below(4))
                .map(|_| (self.text(), self.value(depth - 1)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    fn text(&mut self) -> String {
        const WORDS: &[&str] =
            &["sessionId", "..", "/etc/passwd", "\u{0}", "💥\u{202e}", "0198f0ab-0000-7000-8000-00000000aaaa", "x"];
        let word = WORDS[self.below(WORDS.len())];
        word.repeat(1 + self.below(40))
    }
}

/// All waves. `session` is one that is loaded; its turns and its settings are left alone.
pub(crate) fn waves(seed: u64, methods: &[String]) -> Vec<Wave> {
    let mut dice = Dice(seed);
    let mut waves = vec![noise(&mut dice), truncated(&mut dice, methods)];
    waves.extend(oversized());
    waves.extend(deep());
    waves.extend(wide());
    waves.extend(long());
    waves.push(ids());
    waves.push(unknown_methods());
    waves.push(every_method(&mut dice, methods));
    waves.push(nothing_to_answer(&mut dice));
    waves
}

/// Requests that are served, to be sent without reading. Their ids are long, so that the answers would fill memory if they all
/// waited there.
pub(crate) fn requests(method: &str, params: &Value, which: Range<usize>) -> Wave {
    let mut wave = Wave { name: "requests that nobody reads", bytes: Vec::new(), answers: Vec::new() };
    let tail = "-".repeat(6 * 1024);
    for at in which {
        let id = json!(format!("unread-{at}{tail}"));
        line(&mut wave.bytes, &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        wave.answers.push((id, 0));
    }
    wave
}

fn line(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'\n');
}

fn wave(name: &'static str, bytes: Vec<u8>) -> Wave {
    Wave { name, bytes, answers: Vec::new() }
}

fn answered(name: &'static str, text: &str, id: Value, code: i64) -> Wave {
    let mut bytes = Vec::new();
    line(&mut bytes, text);
    Wave { name, bytes, answers: vec![(id, code)] }
}

fn noise(dice: &mut Dice) -> Wave {
    let mut bytes: Vec<u8> = (0..1 << 18).map(|_| dice.roll().to_le_bytes()[0]).collect();
    bytes.push(b'\n');
    wave("random bytes", bytes)
}

/// Good requests that break off somewhere.
fn truncated(dice: &mut Dice, methods: &[String]) -> Wave {
    let mut bytes = Vec::new();
    for at in 0..3000 {
        let method = &methods[dice.below(methods.len())];
        let params = json!({ "sessionId": "none", "commandId": "0198f0ab-0000-7000-8000-00000000aaaa", "limit": 1 });
        let frame = json!({ "jsonrpc": "2.0", "id": at, "method": method, "params": params }).to_string();
        line(&mut bytes, &frame[..=dice.below(frame.len() - 1)]);
    }
    wave("truncated frames", bytes)
}

fn oversized() -> Vec<Wave> {
    let body = "x".repeat(LIMIT + (1 << 20));
    vec![
        answered(
            "11 MiB, id first",
            &format!(r#"{{"jsonrpc":"2.0","id":"big","method":"session/list","params":{{"x":"{body}"}}}}"#),
            json!("big"),
            -32002,
        ),
        answered(
            "11 MiB, id last",
            &format!(r#"{{"jsonrpc":"2.0","method":"session/list","params":{{"x":"{body}"}},"id":"late"}}"#),
            Value::Null,
            -32700,
        ),
    ]
}

fn deep() -> Vec<Wave> {
    let mut waves = Vec::new();
    for (name, open, middle, close) in
        [("deep lists", "[", "", "]"), ("deep objects", "{\"a\":", "0", "}"), ("deep and open", "[{\"a\":", "", "")]
    {
        let mut bytes = Vec::new();
        for depth in [127, 128, 10_000, 1_000_000] {
            let text = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            line(&mut bytes, &text);
            line(&mut bytes, &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"session/list","params":{{"x":{text}}}}}"#));
        }
        waves.push(wave(name, bytes));
    }
    waves
}

/// Frames of very many values: refused above the host's bound, served below it.
fn wide() -> Vec<Wave> {
    let frame = |id: &str, value: &str, count: usize| {
        let values = vec![value; count].join(",");
        format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"session/list","params":{{"x":[{values}]}}}}"#)
    };
    let mut waves = Vec::new();
    for (name, value) in [
        ("10 MiB of numbers", "0"),
        ("10 MiB of lists", "[]"),
        ("10 MiB of objects", r#"{"":{"":0}}"#),
        ("10 MiB of texts", r#""a""#),
    ] {
        waves.push(answered(name, &frame(name, value, (LIMIT - 200) / (value.len() + 1)), json!(name), -32602));
    }
    let keys: Vec<_> = (0..700_000).map(|at| format!(r#""{at:x}":0"#)).collect();
    let keys = format!(r#"{{"jsonrpc":"2.0","id":"keys","method":"session/list","params":{{{}}}}}"#, keys.join(","));
    waves.push(answered("700,000 members", &keys, json!("keys"), -32602));
    waves.push(answered("20,000 objects", &frame("objects", r#"{"":{"":0}}"#, 20_000), json!("objects"), 0));
    waves
}

/// Texts as long as a frame, where the host might repeat them.
fn long() -> Vec<Wave> {
    let body = "y".repeat(LIMIT - 300);
    let request = |id: &str, method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#)
    };
    let in_params = |member: &str| format!(r#"{{"{member}":"{body}","limit":1}}"#);
    vec![
        answered("a method of 10 MiB", &request("method", &body, "{}"), json!("method"), -32601),
        answered(
            "a session id of 10 MiB",
            &request("session", "view/page", &in_params("sessionId")),
            json!("session"),
            -32020,
        ),
        answered(
            "an unknown member of 10 MiB",
            &request("member", "session/list", &in_params("x")),
            json!("member"),
            0,
        ),
        wave("an id of 10 MiB", {
            let mut bytes = Vec::new();
            line(&mut bytes, &request(&body, "session/list", "{}"));
            bytes
        }),
    ]
}

fn ids() -> Wave {
    let mut wave = wave("ids of every type", Vec::new());
    for (id, answer) in [
        ("0", Some(json!(0))),
        ("-1", Some(json!(-1))),
        ("9223372036854775807", Some(json!(i64::MAX))),
        ("-9223372036854775808", Some(json!(i64::MIN))),
        ("18446744073709551615", Some(json!(u64::MAX))),
        ("\"\"", Some(json!(""))),
        ("\"\\u0000\"", Some(json!("\u{0}"))),
        ("\"\\ud83d\\ude00\"", Some(json!("😀"))),
        ("18446744073709551616", None),
        ("1e400", None),
        ("1.0", None),
        ("-0.5", None),
        ("null", None),
        ("true", None),
        ("[]", None),
        ("[1]", None),
        ("{}", None),
        ("{\"id\":1}", None),
    ] {
        line(&mut wave.bytes, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/list","params":{{}}}}"#));
        // A number beyond all range is no JSON to the host's reader.
        let code = if id == "1e400" { -32700 } else { -32600 };
        wave.answers.push(answer.map_or((Value::Null, code), |answer| (answer, 0)));
    }
    wave
}

fn unknown_methods() -> Wave {
    let mut wave = wave("unknown methods", Vec::new());
    for at in 0..MANY {
        let id = json!(format!("unknown-{at}"));
        line(
            &mut wave.bytes,
            &json!({ "jsonrpc": "2.0", "id": id, "method": format!("no/such{at}"), "params": {} }).to_string(),
        );
        wave.answers.push((id, -32601));
    }
    wave
}

/// Every method with params that hardly any takes.
fn every_method(dice: &mut Dice, methods: &[String]) -> Wave {
    let mut bytes = Vec::new();
    for method in methods.iter().filter(|method| *method != "initialize") {
        for at in 0..20 {
            let mut params = json!({ "commandId": "0198f0ab-0000-7000-8000-00000000aaaa", "sessionId": dice.value(1) });
            for member in ["input", "limit", "cursor", "turnId", "questions", "model", "name", "path", "config"] {
                if dice.below(3) == 0 {
                    params[member] = dice.value(3);
                }
            }
            let params = if at == 0 { dice.value(2) } else { params };
            line(&mut bytes, &json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params }).to_string());
        }
    }
    wave("every method, any params", bytes)
}

/// Answers to requests that the host never made, and notifications that mean nothing.
fn nothing_to_answer(dice: &mut Dice) -> Wave {
    let mut text = String::new();
    for _ in 0..3000 {
        let id = dice.value(1);
        let frame = match dice.below(4) {
            0 => json!({ "jsonrpc": "2.0", "id": id, "result": dice.value(2) }),
            1 => json!({ "jsonrpc": "2.0", "id": id, "error": dice.value(2) }),
            2 => json!({ "jsonrpc": "2.0", "method": "userInput/engaged", "params": dice.value(2) }),
            _ => json!({ "jsonrpc": "2.0", "method": dice.text(), "params": dice.value(2) }),
        };
        writeln!(text, "{frame}").unwrap();
    }
    wave("answers and notifications", text.into_bytes())
}
