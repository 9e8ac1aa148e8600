//! What a document tree does not show: why a text is no JSON, and names that come twice.

use std::collections::hash_map::{Entry, HashMap};
use std::rc::Rc;

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

/// Names that come twice and are shown; further ones are counted.
const MOST_SHOWN: usize = 24;

/// The members whose name was there before in the same object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Twice {
    /// Their pointers, each once.
    pub(crate) pointers: Vec<String>,
    /// How many there are beyond those.
    pub(crate) more: usize,
}

/// Finds the names that come twice. The text has to be JSON.
///
/// The time is linear in the text: names are looked up by their hash, and a pointer is only written for what is shown.
pub(crate) fn duplicates(bytes: &[u8]) -> Twice {
    let empty = Program::default();
    let mut unnamed = Vec::new();
    // Nothing that this scanner asks about matters here: the text was read already.
    let mut scan = Scanner { program: &empty, bytes, at: 0, unnamed: &mut unnamed, broken: Some(Why::EscapedName) };
    let mut search = Search::default();
    // What cannot be followed has no findings of this kind.
    let _ = search.walk(&mut scan);
    search.found
}

#[derive(Default)]
struct Search {
    path: Vec<Step>,
    found: Twice,
}

enum Step {
    Name(Rc<str>),
    Index(usize),
}

impl Search {
    fn note(&mut self) {
        if self.found.pointers.len() == MOST_SHOWN {
            self.found.more += 1;
            return;
        }
        let mut here = String::new();
        for step in &self.path {
            match step {
                Step::Name(name) => here = pointer::join(&here, name),
                Step::Index(index) => here = pointer::join(&here, &index.to_string()),
            }
        }
        if !self.found.pointers.contains(&here) {
            self.found.pointers.push(here);
        }
    }

    fn walk(&mut self, scan: &mut Scanner<'_, '_, '_>) -> Result<(), Ask> {
        match scan.peek()? {
            b'{' => {
                // Whether a name was told already.
                let mut names: HashMap<Rc<str>, bool> = HashMap::new();
                scan.members(|scan, name, _| {
                    let name: Rc<str> = decode(name).into();
                    self.path.push(Step::Name(Rc::clone(&name)));
                    match names.entry(name) {
                        Entry::Vacant(free) => drop(free.insert(false)),
                        Entry::Occupied(mut told) => {
                            if !std::mem::replace(told.get_mut(), true) {
                                self.note();
                            }
                        }
                    }
                    let walked = self.walk(scan);
                    self.path.pop();
                    walked
                })
            }
            b'[' => {
                let mut index = 0;
                scan.items(|scan| {
                    self.path.push(Step::Index(index));
                    index += 1;
                    let walked = self.walk(scan);
                    self.path.pop();
                    walked
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
        assert_eq!(duplicates(text.as_bytes()).pointers, ["/a", "/b/0/d/x~1y"]);
        assert_eq!(duplicates(br#"{"a":{"b":1},"b":[1.5,-2,true,null]}"#), Twice::default());
        let inside_of_twice = r#"{"a":{"x":1,"x":2},"a":{"x":1,"x":2,"x":3}}"#;
        assert_eq!(duplicates(inside_of_twice.as_bytes()).pointers, ["/a/x", "/a"]);
    }

    /// Where each member were compared with each, or each had its pointer written, this would not end.
    #[test]
    fn many_members_under_a_long_name_are_looked_at_once() {
        let long = "n".repeat(1 << 20);
        let members = |twice: bool| {
            let list: Vec<String> = (0..400_000)
                .map(|at| format!("\"m{at}\":1{}", if twice { format!(",\"m{at}\":2") } else { String::new() }))
                .collect();
            format!("{{\"{long}\":[{{{}}}]}}", list.join(","))
        };
        assert_eq!(duplicates(members(false).as_bytes()), Twice::default());
        let twice = duplicates(members(true).as_bytes());
        assert_eq!((twice.pointers.len(), twice.more), (MOST_SHOWN, 400_000 - MOST_SHOWN));
        assert_eq!(twice.pointers[1], format!("/{long}/0/m1"));
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
