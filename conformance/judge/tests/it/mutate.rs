//! Ways to spoil a frame, or to write it in another way.

use serde_json::{Value, json};

/// A small generator of numbers; the same seed gives the same frames everywhere.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % most.max(1)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Values as they are written, odd ones above all.
const TOKENS: [&str; 34] = [
    "1.0",
    "1e2",
    "1E400",
    "-1E400",
    "-0",
    "-0.0",
    "0",
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "123456789012345678901234567890",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "0.1",
    "1e-7",
    "NaN",
    "Infinity",
    "nul",
    "TRUE",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\udc00 \\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u12G4\"",
    "\"\\x\"",
    "\"tab\there\"",
    "\"open",
    "[1,]",
    "{\"a\":1,}",
    "'x'",
    "\"\\u0073ession\"",
];

const MARK: &str = "@@mark@@";
const LATE_MARK: &str = "~~mark~~";

/// Spoils a frame in one way, or in two.
pub(crate) fn mutate(frame: &Value, dice: &mut Dice) -> Vec<u8> {
    let mut frame = frame.clone();
    if dice.below(8) == 0 {
        change_value(&mut frame, dice);
    }
    match dice.below(12) {
        0..=3 => {
            change_value(&mut frame, dice);
            frame.to_string().into_bytes()
        }
        4 => raw_token(frame, dice),
        5 => duplicate(frame, dice),
        6 => escaped_name(frame, dice),
        7 => deep(frame, dice),
        8 => envelope(frame, dice),
        9 => damage(frame.to_string().into_bytes(), dice),
        10 => spaced(&frame, dice),
        _ => reordered(&frame, dice),
    }
}

fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            pointers(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), out);
        }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
}

fn somewhere<'v>(frame: &'v mut Value, dice: &mut Dice, wanted: impl Fn(&Value) -> bool) -> Option<&'v mut Value> {
    let mut all = Vec::new();
    pointers(frame, "", &mut all);
    all.retain(|pointer| frame.pointer(pointer).is_some_and(&wanted));
    if all.is_empty() {
        return None;
    }
    let pointer = dice.pick(&all).clone();
    frame.pointer_mut(&pointer)
}

fn change_value(frame: &mut Value, dice: &mut Dice) {
    match dice.below(6) {
        0 => {
            if let Some(Value::Object(members)) =
                somewhere(frame, dice, |it| it.as_object().is_some_and(|it| !it.is_empty()))
            {
                let names: Vec<String> = members.keys().cloned().collect();
                members.remove(dice.pick(&names));
            }
        }
        1 => {
            if let Some(Value::Object(members)) = somewhere(frame, dice, Value::is_object) {
                members.insert("laterMember".into(), json!([1, { "a": null }]));
            }
        }
        2 => {
            if let Some(place) = somewhere(frame, dice, |it| !it.is_object()) {
                *place = Value::Null;
            }
        }
        3 => {
            if let Some(place) = somewhere(frame, dice, Value::is_string) {
                *place = json!("no such word");
            }
        }
        4 => {
            if let Some(place) = somewhere(frame, dice, Value::is_number) {
                *place =
                    dice.pick(&[json!(-1), json!(0), json!(1001), json!(60001), json!(1_099_511_627_776_i64)]).clone();
            }
        }
        _ => {
            let other = [json!(7), json!("text"), json!(true), json!([]), json!({}), json!(null), json!(1.5)];
            if let Some(place) = somewhere(frame, dice, |_| true) {
                *place = dice.pick(&other).clone();
            }
        }
    }
}

fn raw_token(mut frame: Value, dice: &mut Dice) -> Vec<u8> {
    let token = *dice.pick(&TOKENS);
    if dice.below(4) == 0 {
        if let Some(Value::Object(members)) = somewhere(&mut frame, dice, Value::is_object) {
            members.insert("later".into(), json!(MARK));
        }
    } else if let Some(place) = somewhere(&mut frame, dice, |it| !it.is_object() && !it.is_array()) {
        *place = json!(MARK);
    }
    frame.to_string().replacen(&format!("\"{MARK}\""), token, 1).into_bytes()
}

fn duplicate(mut frame: Value, dice: &mut Dice) -> Vec<u8> {
    let other = dice.pick(&[json!(7), json!("x"), json!(null), json!({})]).clone();
    let mark = *dice.pick(&[MARK, LATE_MARK]);
    let mut name = String::new();
    if let Some(Value::Object(members)) =
        somewhere(&mut frame, dice, |it| it.as_object().is_some_and(|it| !it.is_empty()))
    {
        let names: Vec<String> = members.keys().cloned().collect();
        name.clone_from(dice.pick(&names));
        if dice.below(4) == 0 {
            // A name that the schema does not know, twice.
            members.insert("laterMember".into(), json!(1));
            "laterMember".clone_into(&mut name);
        }
        let value = if dice.below(2) == 0 { other } else { members[&name].clone() };
        members.insert(mark.into(), value);
    }
    frame.to_string().replacen(mark, &name, 1).into_bytes()
}

fn escaped_name(mut frame: Value, dice: &mut Dice) -> Vec<u8> {
    let mut spelled = String::new();
    let other = json!({ "not": "this" });
    if let Some(Value::Object(members)) =
        somewhere(&mut frame, dice, |it| it.as_object().is_some_and(|it| !it.is_empty()))
    {
        let names: Vec<String> = members.keys().cloned().collect();
        let name = dice.pick(&names).clone();
        let value = members.remove(&name).unwrap();
        let first = name.chars().next().unwrap_or('x');
        spelled = format!("\\u{:04x}{}", u32::from(first), name.chars().skip(1).collect::<String>());
        members.insert(MARK.into(), if dice.below(2) == 0 { value } else { other });
    }
    frame.to_string().replacen(MARK, &spelled, 1).into_bytes()
}

fn deep(mut frame: Value, dice: &mut Dice) -> Vec<u8> {
    let levels = *dice.pick(&[50, 90, 98, 100, 102, 120, 127, 130, 1000, 5000]);
    if let Some(Value::Object(members)) = somewhere(&mut frame, dice, Value::is_object) {
        members.insert("later".into(), json!(MARK));
    }
    let nest = if dice.below(2) == 0 {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    } else {
        format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
    };
    frame.to_string().replacen(&format!("\"{MARK}\""), &nest, 1).into_bytes()
}

fn envelope(mut frame: Value, dice: &mut Dice) -> Vec<u8> {
    let Some(members) = frame.as_object_mut() else { return frame.to_string().into_bytes() };
    let (name, value) = match dice.below(12) {
        0 => ("jsonrpc", json!("1.0")),
        1 => ("jsonrpc", json!(2.0)),
        2 => ("id", json!(null)),
        3 => ("id", json!(3.5)),
        4 => ("id", json!("seven")),
        5 => ("method", json!("session/nothing")),
        6 => ("method", json!("skill/changed")),
        7 => ("result", json!({})),
        8 => ("error", json!({ "code": 1, "message": "x", "data": { "kind": "internal" } })),
        9 => ("params", json!([])),
        10 => ("emittedAtMs", json!("now")),
        _ => ("trace", json!({ "traceparent": 7 })),
    };
    if dice.below(5) == 0 {
        members.remove(name);
    } else {
        members.insert(name.into(), value);
    }
    if dice.below(10) == 0 {
        return format!("[{frame}]").into_bytes();
    }
    frame.to_string().into_bytes()
}

fn damage(mut text: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let at = dice.below(text.len().saturating_sub(1));
    match dice.below(5) {
        0 => text[at] = *dice.pick(b"\"\\{}[],:0x \n\x01\xff\xc3"),
        1 => {
            text.remove(at);
        }
        2 => text.insert(at, *dice.pick(b"\"\\{}[],:09-.eE \t\x1f\x80")),
        3 => text.truncate(at),
        _ => text.extend_from_slice(dice.pick::<&[u8]>(&[b" ", b"\r", b"{}", b"x", b"\0"])),
    }
    text
}

/// White space where it may stand.
fn spaced(frame: &Value, dice: &mut Dice) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(frame).unwrap();
    if dice.below(2) == 0 {
        text = text.replace('\n', "\r\n\t");
    }
    format!(" \t{text}\r\n ").into_bytes()
}

/// The members of the envelope the other way round.
fn reordered(frame: &Value, dice: &mut Dice) -> Vec<u8> {
    let mut frame = frame.clone();
    if dice.below(2) == 0 {
        change_value(&mut frame, dice);
    }
    let Some(members) = frame.as_object() else { return frame.to_string().into_bytes() };
    let mut parts: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    let turn = dice.below(parts.len().max(1));
    parts.reverse();
    parts.rotate_left(turn);
    format!("{{{}}}", parts.join(",")).into_bytes()
}
