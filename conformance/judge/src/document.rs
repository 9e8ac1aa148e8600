//! What a document tree does not show: why a text is no JSON, and names that come twice.

use crate::pointer;
use crate::schema::program::Program;
use crate::schema::scan::{Ask, Scanner, Why};

/// Why a frame is no JSON, in the reader's words rather than the parser's.
pub(crate) fn fault(bytes: &[u8], error: &serde_json::Error) -> String {
    let message = error.to_string();
    let at = if error.line() > 1 {
        format!("line {}, column {}", error.line(), error.column())
    } else {
        format!("byte {}", error.column())
    };
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    for (sign, words) in [
        ("recursion limit", "nesting too deep to read"),
        ("number out of range", "a number out of range"),
        ("surrogate", "half a surrogate pair"),
        ("end of hex escape", "half a surrogate pair"),
        ("EOF", "a text that is cut off"),
        ("control character", "a control character inside a string"),
        ("trailing characters", "more text behind the object"),
        ("invalid escape", "an escape that is none"),
    ] {
        if message.contains(sign) {
            return format!("{words}, at {at}");
        }
    }
    let what = message.split(" at line ").next().unwrap_or(&message);
    format!("no JSON at {at}: {what}")
}

/// Pointers of the members whose name was there before in the same object. The text has to be JSON.
pub(crate) fn duplicates(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let empty = Program::default();
    let mut unnamed = Vec::new();
    // Nothing that this scanner asks about matters here: the text was read already.
    let mut scan = Scanner { program: &empty, bytes, at: 0, unnamed: &mut unnamed, broken: Some(Why::EscapedName) };
    // What cannot be followed has no findings of this kind.
    let _ = walk(&mut scan, "", &mut found);
    found
}

fn walk(scan: &mut Scanner<'_, '_, '_>, at: &str, found: &mut Vec<String>) -> Result<(), Ask> {
    match scan.peek()? {
        b'{' => {
            let mut names: Vec<String> = Vec::new();
            scan.members(|scan, name, _| {
                let name = decode(name);
                let here = pointer::join(at, &name);
                if names.contains(&name) {
                    if !found.contains(&here) {
                        found.push(here.clone());
                    }
                } else {
                    names.push(name);
                }
                walk(scan, &here, found)
            })
        }
        b'[' => {
            let mut index = 0;
            scan.items(|scan| {
                let here = format!("{at}/{index}");
                index += 1;
                walk(scan, &here, found)
            })
        }
        b'-' | b'0'..=b'9' => {
            while scan
                .bytes
                .get(scan.at)
                .is_some_and(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
            {
                scan.at += 1;
            }
            Ok(())
        }
        _ => scan.skip(0).map(drop),
    }
}

/// The text of a name, escapes read.
fn decode(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    if !text.contains('\\') {
        return text.into_owned();
    }
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_twice_are_found_at_any_depth_and_in_any_spelling() {
        let text = r#"{"a":1,"\u0061":2,"b":[{"c":1e999,"d":{"x/y":1,"x/y":2}},{"c":1}],"c":{"a":1}}"#;
        assert_eq!(duplicates(text.as_bytes()), ["/a", "/b/0/d/x~1y"]);
        assert!(duplicates(br#"{"a":{"b":1},"b":[1.5,-2,true,null]}"#).is_empty());
    }

    #[test]
    fn faults_are_named_by_their_cause() {
        let fault =
            |text: &str| super::fault(text.as_bytes(), &serde_json::from_str::<serde_json::Value>(text).unwrap_err());
        let deep = "[".repeat(200);
        for (text, words) in [
            (deep.as_str(), "nesting too deep"),
            ("{\"n\":1E400}", "a number out of range"),
            ("{\"t\":\"\\ud800\"}", "half a surrogate pair"),
            ("{\"t\":", "cut off"),
            ("{} {}", "more text"),
            ("", "nothing"),
        ] {
            assert!(fault(text).contains(words), "{text}: {}", fault(text));
        }
    }
}
