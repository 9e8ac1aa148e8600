//! A frame as a tree that costs little: one pass writes where each value lies, and a value is read when somebody asks.
//!
//! The bytes have to be JSON that a lane has read already, nested no deeper than the parser goes.

use std::borrow::Cow;

use super::hash::{Hash, Id};
use crate::schema::scan::find_special;
use crate::transcript::unescape::unescape;

/// What kind of value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// Where a value lies, and where its name does.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    end: u32,
    /// Name of the member, between its quotes; nothing for items and the root.
    name: (u32, u32),
    /// The node behind this value and all that is in it.
    next: u32,
    kind: Kind,
    /// The value is a string with an escape in it.
    escaped: bool,
    name_escaped: bool,
}

/// The nodes of one frame; the buffer serves one frame after the other.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Reads a text and gives its root. `None` where it is longer than four gigabytes or no JSON after all.
    pub(crate) fn read<'f>(&'f mut self, bytes: &'f [u8]) -> Option<Value<'f>> {
        self.nodes.clear();
        u32::try_from(bytes.len()).ok()?;
        let mut reader = Reader { bytes, at: 0, nodes: &mut self.nodes };
        reader.value((0, 0), false)?;
        Some(Value { bytes, nodes: &self.nodes, at: 0 })
    }
}

struct Reader<'r> {
    bytes: &'r [u8],
    at: usize,
    nodes: &'r mut Vec<Node>,
}

#[expect(clippy::cast_possible_truncation, reason = "the length of the whole text fits")]
impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Passes over a string; gives what is between its quotes, and whether there is an escape.
    fn string(&mut self) -> Option<((u32, u32), bool)> {
        let start = self.at + 1;
        let (mut at, mut escaped) = (start, false);
        loop {
            at = find_special(self.bytes, at);
            match self.bytes.get(at)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    at += 2;
                }
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(((start as u32, at as u32), escaped))
    }

    fn value(&mut self, name: (u32, u32), name_escaped: bool) -> Option<()> {
        let first = self.peek()?;
        let index = self.nodes.len();
        let start = self.at as u32;
        let kind = match first {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        };
        self.nodes.push(Node { start, end: start, name, next: 0, kind, escaped: false, name_escaped });
        match kind {
            Kind::Object | Kind::Array => self.inside(kind == Kind::Object)?,
            Kind::String => self.nodes[index].escaped = self.string()?.1,
            Kind::Bool | Kind::Null | Kind::Number => {
                while !matches!(self.bytes.get(self.at), None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
                {
                    self.at += 1;
                }
            }
        }
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[index];
        (node.end, node.next) = (self.at as u32, next);
        Some(())
    }

    fn inside(&mut self, is_object: bool) -> Option<()> {
        let close = if is_object { b'}' } else { b']' };
        self.at += 1;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            let (mut name, mut escaped) = ((0, 0), false);
            if is_object {
                self.peek()?;
                (name, escaped) = self.string()?;
                self.peek()?;
                self.at += 1;
            }
            self.value(name, escaped)?;
            let byte = self.peek()?;
            self.at += 1;
            if byte == close {
                return Some(());
            }
        }
    }
}

/// A value of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Value<'f> {
    bytes: &'f [u8],
    nodes: &'f [Node],
    at: u32,
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.raw()))
    }
}

impl<'f> Value<'f> {
    fn node(&self) -> &'f Node {
        &self.nodes[self.at as usize]
    }

    /// What kind of value it is.
    pub(crate) fn kind(&self) -> Kind {
        self.node().kind
    }

    /// Its bytes as they were sent.
    pub(crate) fn raw(&self) -> &'f [u8] {
        let node = self.node();
        &self.bytes[node.start as usize..node.end as usize]
    }

    /// The text of the value as JSON, for messages.
    pub(crate) fn shown(&self) -> String {
        crate::schema::explain::shorten(&String::from_utf8_lossy(self.raw()))
    }

    /// A member of an object. A frame in which a name comes twice is no fact, so the first one is the only one.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'f>> {
        let node = self.node();
        if node.kind != Kind::Object {
            return None;
        }
        let mut at = self.at + 1;
        while at < node.next {
            let member = &self.nodes[at as usize];
            // Most members are told apart by their lengths and first letters alone.
            let (start, end) = (member.name.0 as usize, member.name.1 as usize);
            let fits = if member.name_escaped {
                decode(&self.bytes[start..end], true).is_some_and(|it| it == name)
            } else {
                let first = self.bytes.get(start);
                end - start == name.len()
                    && (end == start || first == name.as_bytes().first())
                    && self.bytes[start..end] == *name.as_bytes()
            };
            if fits {
                return Some(Value { at, ..*self });
            }
            at = member.next;
        }
        None
    }

    /// A member that is there and not null.
    pub(crate) fn some(&self, name: &str) -> Option<Value<'f>> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// What lies at the end of these names.
    pub(crate) fn path(&self, names: &[&str]) -> Option<Value<'f>> {
        names.iter().try_fold(*self, |value, name| value.get(name))
    }

    /// The text of a member that is a string.
    pub(crate) fn text_of(&self, name: &str) -> Option<Cow<'f, str>> {
        self.get(name)?.text()
    }

    /// The id of a member that is a string.
    pub(crate) fn id_of(&self, name: &str) -> Option<Id> {
        self.get(name)?.id()
    }

    /// Members of an object, in the order in which they were sent; nothing for other values.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Name<'f>, Value<'f>)> + use<'f> {
        let (bytes, nodes) = (self.bytes, self.nodes);
        self.inner(Kind::Object).map(move |value| {
            let node = &nodes[value.at as usize];
            let name = Name { raw: &bytes[node.name.0 as usize..node.name.1 as usize], escaped: node.name_escaped };
            (name, value)
        })
    }

    /// Items of an array; nothing for other values.
    pub(crate) fn items(&self) -> impl Iterator<Item = Value<'f>> + use<'f> {
        self.inner(Kind::Array)
    }

    fn inner(&self, kind: Kind) -> impl Iterator<Item = Value<'f>> + use<'f> {
        let (bytes, nodes, node) = (self.bytes, self.nodes, self.node());
        let end = if node.kind == kind { node.next } else { 0 };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let value = Value { bytes, nodes, at };
                at = nodes[at as usize].next;
                value
            })
        })
    }

    /// This value and all in it, each with its name; in the order in which they were sent.
    pub(crate) fn everything(&self) -> impl Iterator<Item = (Name<'f>, Value<'f>)> + use<'f> {
        let (bytes, nodes) = (self.bytes, self.nodes);
        (self.at..self.node().next).map(move |at| {
            let node = &nodes[at as usize];
            let name = Name { raw: &bytes[node.name.0 as usize..node.name.1 as usize], escaped: node.name_escaped };
            (name, Value { bytes, nodes, at })
        })
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    pub(crate) fn is_object(&self) -> bool {
        self.kind() == Kind::Object
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.raw() == b"true")
    }

    /// An integer; `1.0` and `1e2` are some too.
    pub(crate) fn int(&self) -> Option<i64> {
        if self.kind() != Kind::Number {
            return None;
        }
        // Most are counters of a few digits.
        if let digits @ [_, ..] = self.raw() {
            if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) {
                return Some(digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')));
            }
        }
        let text = std::str::from_utf8(self.raw()).ok()?;
        text.parse().ok().or_else(|| {
            let number = text.parse::<f64>().ok().filter(|it| it.fract() == 0.0 && it.abs() < 9.0e15)?;
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and fits")]
            Some(number as i64)
        })
    }

    /// A string without its quotes, escapes not read, and whether there are any.
    fn quoted(&self) -> Option<(&'f [u8], bool)> {
        let node = self.node();
        (node.kind == Kind::String).then(|| (&self.bytes[node.start as usize + 1..node.end as usize - 1], node.escaped))
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<Cow<'f, str>> {
        let (text, escaped) = self.quoted()?;
        if !escaped {
            return decode(text, false);
        }
        self.plain(text.len()).and_then(|plain| String::from_utf8(plain).ok()).map(Cow::Owned)
    }

    /// The bytes of a string without its escapes; it has so many bytes with them.
    fn plain(&self, room: usize) -> Option<Vec<u8>> {
        let mut plain = Vec::with_capacity(room);
        unescape(self.raw(), 0, &mut plain)?;
        Some(plain)
    }

    /// Whether it is this string.
    pub(crate) fn is(&self, text: &str) -> bool {
        match self.quoted() {
            Some((found, false)) => found == text.as_bytes(),
            Some((found, true)) => decode(found, true).is_some_and(|found| found == text),
            None => false,
        }
    }

    /// The id of a string.
    pub(crate) fn id(&self) -> Option<Id> {
        match self.quoted()? {
            (text, false) => Some(Id::of(text)),
            (text, true) => self.plain(text.len()).map(|plain| Id::of(&plain)),
        }
    }

    /// A number that two values share exactly when they are equal as JSON: the order of members and white space do not
    /// count, the spelling of numbers does.
    pub(crate) fn hash(&self) -> u64 {
        self.hash_without(&[])
    }

    /// The same, without some members of the value itself.
    pub(crate) fn hash_without(&self, left_out: &[&str]) -> u64 {
        match self.kind() {
            Kind::Object => {
                let members = self.members().filter(|(name, _)| !left_out.iter().any(|out| name.is(out)));
                hash_of_members(members.map(|(name, value)| (name.hash(), value.hash())))
            }
            Kind::Array => self.items().fold(Hash::new(3), |hash, item| hash.then(item.hash())).get(),
            Kind::String => Hash::new(4).then(self.id().map_or(0, Id::get)).get(),
            Kind::Null | Kind::Bool | Kind::Number => Hash::new(5).then(Id::of(self.raw()).get()).get(),
        }
    }
}

/// Hash of an object whose members, names and values, have these hashes; their order does not count.
pub(crate) fn hash_of_members(members: impl Iterator<Item = (u64, u64)>) -> u64 {
    let sum = members.fold(0_u64, |sum, (name, value)| sum.wrapping_add(Hash::new(1).then(name).then(value).get()));
    Hash::new(2).then(sum).get()
}

/// The name of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'f> {
    raw: &'f [u8],
    escaped: bool,
}

impl<'f> Name<'f> {
    /// Whether it is this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        if self.escaped { decode(self.raw, true).is_some_and(|it| it == name) } else { self.raw == name.as_bytes() }
    }

    /// The name as text.
    pub(crate) fn text(&self) -> Cow<'f, str> {
        decode(self.raw, self.escaped).unwrap_or_default()
    }

    fn hash(&self) -> u64 {
        if self.escaped { Id::of(self.text().as_bytes()).get() } else { Id::of(self.raw).get() }
    }
}

fn decode(text: &[u8], escaped: bool) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(text).ok()?;
    if !escaped {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str::<String>(&format!("\"{text}\"")).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> u64 {
        Tree::default().read(text.as_bytes()).unwrap().hash()
    }

    #[test]
    fn values_are_found_and_read() {
        let text = br#" {"a" : {"b":[1, -2.0,"x\u0041"],"c":null}, "d":false,"\u0065":"e","f":{}} "#;
        let mut tree = Tree::default();
        let root = tree.read(text).unwrap();
        assert_eq!(root.path(&["a", "b"]).unwrap().raw(), br#"[1, -2.0,"x\u0041"]"#);
        let items: Vec<Value<'_>> = root.path(&["a", "b"]).unwrap().items().collect();
        assert_eq!((items[0].int(), items[1].int(), items[2].int()), (Some(1), Some(-2), None));
        assert_eq!(items[2].text().unwrap(), "xA");
        assert!(items[2].is("xA") && !items[2].is("xB"));
        assert_eq!(items[2].id(), Some(Id::of(b"xA")));
        assert!(root.path(&["a", "c"]).unwrap().is_null() && root.get("a").unwrap().some("c").is_none());
        // A name with an escape.
        assert_eq!(root.get("d").unwrap().bool(), Some(false));
        assert!(root.get("e").unwrap().is("e"));
        assert_eq!(root.members().count(), 4);
        assert_eq!(root.everything().count(), 10);
        assert_eq!(root.get("d").unwrap().members().count(), 0);
    }

    #[test]
    fn equal_values_have_equal_hashes_and_others_have_not() {
        assert_eq!(hash(r#"{"a":1,"b":["x",{}]}"#), hash(" { \"b\" : [ \"\\u0078\" , { } ] , \"a\" : 1 } "));
        let different = [
            "null",
            "true",
            "false",
            "1",
            "1.0",
            "\"1\"",
            "\"\"",
            "[]",
            "{}",
            "[1]",
            "[[1]]",
            "[1,2]",
            "[2,1]",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":1}"#,
            r#"{"1":"a"}"#,
            r#"{"a":1,"b":2}"#,
            r#"{"a":2,"b":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":["b",1]}"#,
            "[\"a\",1]",
            "\"null\"",
            "[null]",
        ];
        for (index, one) in different.iter().enumerate() {
            for other in &different[index + 1..] {
                assert_ne!(hash(one), hash(other), "{one} {other}");
            }
        }
        let mut tree = Tree::default();
        let without = tree.read(br#"{"a":1,"commandId":"x"}"#).unwrap().hash_without(&["commandId"]);
        assert_eq!(without, hash(r#"{"a":1}"#));
    }
}
