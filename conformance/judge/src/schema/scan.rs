//! The fast lane: one pass over the bytes of a frame, along the program.
//!
//! It answers *certainly good* or *ask* ([`Ask`] with a reason), never *bad*. Sound, not complete: an escaped name, an
//! odd number, a word outside an enum cost the time of the slow lane and decide nothing. The bytes have to be UTF-8;
//! the caller has checked that for the whole line.

mod tokens;

use std::ops::RangeInclusive;

use super::pattern::Pattern;
use super::program::{Id, Kinds, Names, Node, Object, Program, fingerprint};

pub(crate) use tokens::{find_special, hex4};

/// Levels of nesting that this lane follows; deeper frames go to the slow lane, which knows the limit of the parser.
const DEEPEST: u32 = 100;
/// Unnamed members of one object that are compared with each other; an object with more goes to the slow lane.
const MOST_UNNAMED: usize = 64;

/// The fast lane does not know: the slow lane decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask(pub(crate) Why);

/// Why the fast lane asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The compiler left this place to the slow lane.
    Unknown,
    /// No JSON as this lane reads it.
    Syntax,
    /// A control byte inside a string.
    Control,
    /// An escape that is none.
    Escape,
    /// Half a surrogate pair.
    Surrogate,
    /// A number of a form or size that needs a second look.
    Number,
    /// Nested more than 100 levels deep.
    Deep,
    /// A value of another kind.
    Kind,
    /// A value where none fits.
    Never,
    /// A word that the enum does not list, or one with an escape.
    Word,
    /// An integer out of bounds.
    Bound,
    /// A string that is empty, or not of the pattern.
    Text,
    /// Too few or too many items.
    Items,
    /// A required member is missing.
    Missing,
    /// A member that another one needs is missing.
    Dependent,
    /// A member that may not be there, or whose value does not fit the rest.
    Rest,
    /// The same name twice in one object.
    Duplicate,
    /// A name with an escape.
    EscapedName,
    /// No branch was accepted.
    Branch,
    /// An event of a method that is not listed, or one without method or params.
    Event,
    /// An envelope that is not of one of the four shapes.
    Envelope,
    /// A method that is not listed, or that goes the other way.
    Method,
    /// A response that pairs with no open request.
    Unpaired,
}

/// Follows a program over bytes. `at` is the next byte.
pub(crate) struct Scanner<'p, 'b, 's> {
    pub(crate) program: &'p Program,
    pub(crate) bytes: &'b [u8],
    pub(crate) at: usize,
    /// Fingerprints of the unnamed members of the objects that are open, innermost last.
    pub(crate) unnamed: &'s mut Vec<u64>,
    /// A reason that does not count: only tests set it, to see that the soundness check notices.
    pub(crate) broken: Option<Why>,
}

impl<'b> Scanner<'_, 'b, '_> {
    /// Asks, except where a test has broken this very reason.
    #[cold]
    pub(crate) fn ask(&self, why: Why) -> Result<(), Ask> {
        if self.broken == Some(why) { Ok(()) } else { Err(Ask(why)) }
    }

    pub(crate) fn peek(&mut self) -> Result<u8, Ask> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(Ask(Why::Syntax)),
            }
        }
    }

    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Ask> {
        if self.peek()? != byte {
            return Err(Ask(Why::Syntax));
        }
        self.at += 1;
        Ok(())
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Ask> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
        if self.at == self.bytes.len() { Ok(()) } else { Err(Ask(Why::Syntax)) }
    }

    /// Kind of the value that starts here, by its first byte; a number is called an integer.
    fn kind(&mut self) -> Result<Kinds, Ask> {
        Ok(match self.peek()? {
            b'{' => Kinds::OBJECT,
            b'[' => Kinds::ARRAY,
            b'"' => Kinds::STRING,
            b't' | b'f' => Kinds::BOOLEAN,
            b'n' => Kinds::NULL,
            b'-' | b'0'..=b'9' => Kinds::INTEGER,
            _ => return Err(Ask(Why::Syntax)),
        })
    }

    /// Checks the value that starts here against a node.
    pub(crate) fn check(&mut self, node: Id, depth: u32) -> Result<(), Ask> {
        if depth > DEEPEST {
            self.ask(Why::Deep)?;
        }
        let program = self.program;
        match &program.nodes[node as usize] {
            Node::Ask => {
                self.ask(Why::Unknown)?;
                self.skip(depth).map(drop)
            }
            Node::Never => {
                self.ask(Why::Never)?;
                self.skip(depth).map(drop)
            }
            Node::Same(other) => self.check(*other, depth),
            Node::Kinds(kinds) => {
                let seen = self.skip(depth)?;
                if kinds.holds(seen) { Ok(()) } else { self.ask(Why::Kind) }
            }
            Node::Integer { least, most } => self.integer(*least, *most, depth),
            Node::Words { words, also } => self.word(words, *also, depth),
            Node::Text { not_empty, pattern } => self.text(*not_empty, pattern.as_ref(), depth),
            Node::Array { item, least, most } => self.array(*item, *least..=*most, depth),
            Node::Object(object) => {
                if self.kind()? != Kinds::OBJECT {
                    self.ask(Why::Kind)?;
                    return self.skip(depth).map(drop);
                }
                self.object(object, depth)
            }
            Node::ByKind(by) => {
                let slot = self.kind()?.slot();
                self.check(by[slot], depth)
            }
            Node::AnyOf(branches) => self.any_of(branches, depth),
            Node::Both(one, other) => {
                let start = self.at;
                self.check(*one, depth)?;
                self.at = start;
                self.check(*other, depth)
            }
            Node::Event => self.event(depth),
        }
    }

    fn text(&mut self, not_empty: bool, pattern: Option<&Pattern>, depth: u32) -> Result<(), Ask> {
        if self.kind()? != Kinds::STRING {
            self.ask(Why::Kind)?;
            return self.skip(depth).map(drop);
        }
        let (text, escaped) = self.string()?;
        if escaped && pattern.is_some() {
            return self.ask(Why::Text);
        }
        let fits = !(not_empty && text.is_empty()) && pattern.is_none_or(|it| it.matches(text));
        if fits { Ok(()) } else { self.ask(Why::Text) }
    }

    fn array(&mut self, item: Id, length: RangeInclusive<usize>, depth: u32) -> Result<(), Ask> {
        if self.kind()? != Kinds::ARRAY {
            self.ask(Why::Kind)?;
            return self.skip(depth).map(drop);
        }
        let mut count = 0;
        self.items(|scan| {
            count += 1;
            scan.check(item, depth + 1)
        })?;
        if length.contains(&count) { Ok(()) } else { self.ask(Why::Items) }
    }

    fn integer(&mut self, least: i64, most: i64, depth: u32) -> Result<(), Ask> {
        self.peek()?;
        let start = self.at;
        if self.skip(depth)? != Kinds::INTEGER {
            return self.ask(Why::Kind);
        }
        let value = std::str::from_utf8(&self.bytes[start..self.at]).ok().and_then(|text| text.parse::<i64>().ok());
        if value.is_some_and(|value| (least..=most).contains(&value)) { Ok(()) } else { self.ask(Why::Bound) }
    }

    fn word(&mut self, words: &Names, also: Kinds, depth: u32) -> Result<(), Ask> {
        if self.kind()? != Kinds::STRING {
            let seen = self.skip(depth)?;
            return if also.holds(seen) { Ok(()) } else { self.ask(Why::Kind) };
        }
        let (text, escaped) = self.string()?;
        if !escaped && words.find(text).is_some() { Ok(()) } else { self.ask(Why::Word) }
    }

    fn any_of(&mut self, branches: &[Id], depth: u32) -> Result<(), Ask> {
        self.peek()?;
        let (start, open) = (self.at, self.unnamed.len());
        for branch in branches {
            if self.check(*branch, depth).is_ok() {
                return Ok(());
            }
            self.at = start;
            self.unnamed.truncate(open);
        }
        self.ask(Why::Branch)?;
        self.skip(depth).map(drop)
    }

    fn object(&mut self, object: &Object, depth: u32) -> Result<(), Ask> {
        let mut seen = 0_u128;
        self.members(|scan, name, open| {
            let Some(index) = object.names.find(name) else {
                scan.note_unnamed(name, open)?;
                return match object.rest {
                    Some(rest) => match scan.check(rest, depth + 1) {
                        Err(Ask(Why::Never)) => {
                            scan.ask(Why::Rest)?;
                            scan.skip(depth + 1).map(drop)
                        }
                        other => other,
                    },
                    None => scan.skip(depth + 1).map(drop),
                };
            };
            let bit = 1 << index;
            if seen & bit != 0 {
                scan.ask(Why::Duplicate)?;
            }
            seen |= bit;
            scan.check(object.members[index].node, depth + 1)
        })?;
        if object.required & !seen != 0 {
            self.ask(Why::Missing)?;
        }
        for (index, needs) in &object.dependent {
            if seen & (1 << index) != 0 && needs & !seen != 0 {
                self.ask(Why::Dependent)?;
            }
        }
        Ok(())
    }

    /// A stored event. Its method usually comes first; where it does not, params are checked once it is known.
    fn event(&mut self, depth: u32) -> Result<(), Ask> {
        if self.kind()? != Kinds::OBJECT {
            return Err(Ask(Why::Event));
        }
        let (mut method, mut params, mut checked) = (None, None, false);
        self.members(|scan, name, open| match name {
            b"method" if method.is_none() => {
                if scan.kind()? != Kinds::STRING {
                    return Err(Ask(Why::Event));
                }
                let (text, escaped) = scan.string()?;
                let found = if escaped { None } else { scan.program.events.find(text) };
                method = Some(found.ok_or(Ask(Why::Event))?);
                Ok(())
            }
            b"params" if params.is_none() => {
                scan.peek()?;
                params = Some(scan.at);
                match method {
                    Some(method) => {
                        checked = true;
                        scan.check(scan.program.event_params[method], depth + 1)
                    }
                    None => scan.skip(depth + 1).map(drop),
                }
            }
            _ => {
                scan.note_unnamed(name, open)?;
                if matches!(name, b"method" | b"params") {
                    scan.ask(Why::Duplicate)?;
                }
                scan.skip(depth + 1).map(drop)
            }
        })?;
        let (Some(method), Some(start)) = (method, params) else { return Err(Ask(Why::Event)) };
        if !checked {
            let end = std::mem::replace(&mut self.at, start);
            self.check(self.program.event_params[method], depth + 1)?;
            self.at = end;
        }
        Ok(())
    }

    /// Remembers the name of a member that the schema does not name, and asks when it has been there before.
    pub(crate) fn note_unnamed(&mut self, name: &[u8], open: usize) -> Result<(), Ask> {
        let print = fingerprint(name);
        if self.unnamed[open..].contains(&print) || self.unnamed.len() - open >= MOST_UNNAMED {
            self.ask(Why::Duplicate)?;
        }
        self.unnamed.push(print);
        Ok(())
    }

    /// Reads an object. The closure gets the name of each member, with the scanner before the value, and the place
    /// where the unnamed members of this object start.
    pub(crate) fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &'b [u8], usize) -> Result<(), Ask>,
    ) -> Result<(), Ask> {
        self.expect(b'{')?;
        let open = self.unnamed.len();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek()? != b'"' {
                return Err(Ask(Why::Syntax));
            }
            let (name, escaped) = self.string()?;
            if escaped {
                self.ask(Why::EscapedName)?;
            }
            self.expect(b':')?;
            each(self, name, open)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    self.unnamed.truncate(open);
                    return Ok(());
                }
                _ => return Err(Ask(Why::Syntax)),
            }
        }
    }

    pub(crate) fn items(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), Ask>) -> Result<(), Ask> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Ask(Why::Syntax)),
            }
        }
    }
}
