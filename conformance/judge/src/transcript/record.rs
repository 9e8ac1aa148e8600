//! From a line to an entry: which form it has, and what it holds.

use super::unescape::unescape;
use super::{Damage, Entry, FRAME_LIMIT, Frame, Line, Side, What, base64};
use crate::schema::program::{Kinds, Program};
use crate::schema::scan::{Ask, Scanner, Why};

/// Turns lines into entries. Keeps one buffer for the frames that lines carry as strings.
///
/// ```
/// use msp_judge::transcript::{Line, Recogniser, Side, What};
///
/// let mut recogniser = Recogniser::new();
/// let line = br#"{"dir":"client","raw":"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}"}"#;
/// let Some(entry) = recogniser.recognise(1, Line::Whole(line)) else { panic!("an entry") };
/// let What::Frame(frame) = entry.what else { panic!("a frame") };
/// assert_eq!((frame.side, frame.bytes), (Some(Side::Client), &br#"{"jsonrpc":"2.0","method":"initialized"}"#[..]));
/// ```
#[derive(Debug)]
pub struct Recogniser {
    frame: Vec<u8>,
    word: String,
    conn: String,
    at_ms: Option<u64>,
    unnamed: Vec<u64>,
    empty: Program,
    limit: usize,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self::new()
    }
}

/// What the members of a line say about its form.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for a member that the line has")]
struct Found {
    dir: Option<Result<Side, ()>>,
    raw: bool,
    /// The bytes are as they were on the wire, line feed included.
    bytes: bool,
    event: bool,
    session: bool,
    envelope: bool,
}

enum Form {
    Bare,
    Record(Found),
    Fault(&'static str),
    Unknown,
}

impl Recogniser {
    /// A recogniser with the frame limit of the protocol.
    pub fn new() -> Self {
        Self::with_limit(FRAME_LIMIT)
    }

    /// A recogniser with a frame limit of one's own, in bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            frame: Vec::new(),
            word: String::new(),
            conn: String::new(),
            at_ms: None,
            unnamed: Vec::new(),
            empty: Program::default(),
            limit,
        }
    }

    /// The entry of a line; none for a line of nothing but white space (FRAME-5).
    pub fn recognise<'a>(&'a mut self, number: u64, line: Line<'a>) -> Option<Entry<'a>> {
        let what = match line {
            Line::TooLong { length } => damaged(Damage::TooLong { length }, &[]),
            Line::Unfinished(bytes) if bytes.trim_ascii().is_empty() => return None,
            Line::Unfinished(bytes) => damaged(Damage::NoLineFeed { length: bytes.len() as u64 }, bytes),
            Line::Whole(bytes) => match std::str::from_utf8(bytes) {
                Err(error) => damaged(Damage::NotUtf8 { valid: error.valid_up_to() }, bytes),
                Ok(text) if text.trim_ascii().is_empty() => return None,
                Ok(_) => return Some(self.recognise_text(number, bytes)),
            },
        };
        Some(Entry { line: number, conn: "", at_ms: None, what })
    }

    fn recognise_text<'a>(&'a mut self, line: u64, bytes: &'a [u8]) -> Entry<'a> {
        self.conn.clear();
        self.at_ms = None;
        let what = match self.form(bytes) {
            Form::Bare if bytes.len() > self.limit => damaged(Damage::TooLong { length: bytes.len() as u64 }, bytes),
            Form::Bare => What::Frame(Frame { side: None, bytes }),
            Form::Fault(what) => damaged(Damage::NotARecord { what }, bytes),
            Form::Unknown => damaged(Damage::UnknownForm, bytes),
            Form::Record(found) => self.record(bytes, &found),
        };
        Entry { line, conn: &self.conn, at_ms: self.at_ms, what }
    }

    fn record<'a>(&'a self, bytes: &'a [u8], found: &Found) -> What<'a> {
        let no_record = |what| damaged(Damage::NotARecord { what }, bytes);
        match (found.dir, found.raw) {
            (Some(Err(())), _) => no_record("`dir` is neither `client` nor `server`"),
            (Some(Ok(side)), true) => self.carried(side, found.bytes),
            (Some(Ok(_)), false) => no_record("`dir` without `raw` and `rawBase64`"),
            (None, true) => no_record("`raw` or `rawBase64` without `dir`"),
            (None, false) if found.event => What::Event { name: &self.word, line: bytes },
            (None, false) if found.session => What::Session(bytes),
            (None, false) => damaged(Damage::UnknownForm, bytes),
        }
    }

    /// The frame that a line carried, after it went into the buffer.
    fn carried(&self, side: Side, as_sent: bool) -> What<'_> {
        let mut bytes = &self.frame[..];
        let damaged = |damage, bytes| What::Damaged { damage, side: Some(side), bytes };
        if as_sent {
            match bytes.strip_suffix(b"\n") {
                Some(line) => bytes = line,
                None => return damaged(Damage::NoLineFeed { length: bytes.len() as u64 }, bytes),
            }
            if let Err(error) = std::str::from_utf8(bytes) {
                return damaged(Damage::NotUtf8 { valid: error.valid_up_to() }, bytes);
            }
        }
        if bytes.len() > self.limit {
            return damaged(Damage::TooLong { length: bytes.len() as u64 }, bytes);
        }
        What::Frame(Frame { side: Some(side), bytes })
    }

    /// Looks at as few members as the form needs: a bare frame is known by its first one.
    fn form(&mut self, bytes: &[u8]) -> Form {
        self.unnamed.clear();
        let mut scan = Scanner { program: &self.empty, bytes, at: 0, unnamed: &mut self.unnamed, broken: None };
        let (frame, word, conn, at_ms) = (&mut self.frame, &mut self.word, &mut self.conn, &mut self.at_ms);
        let mut reading = Reading { found: Found::default(), fault: None, frame, word, conn, at_ms };
        let (mut first, mut bare) = (true, false);
        let read = scan.members(|scan, name, _| {
            if std::mem::take(&mut first) && matches!(name, b"jsonrpc" | b"id" | b"method" | b"params") {
                bare = true;
                return Err(Ask(Why::Unknown)); // enough is known
            }
            reading.member(scan, name)
        });
        let Reading { found, fault, .. } = reading;
        let ended = read.is_ok() && scan.end().is_ok();
        let record = found.dir.is_some() || found.raw || found.event || found.session;
        match fault {
            _ if bare => Form::Bare,
            Some(what) => Form::Fault(what),
            None if record && !ended => Form::Fault("the line is no JSON object"),
            None if record => Form::Record(found),
            None if found.envelope => Form::Bare,
            None => Form::Unknown,
        }
    }
}

/// A line that is being read.
struct Reading<'r> {
    found: Found,
    fault: Option<&'static str>,
    frame: &'r mut Vec<u8>,
    word: &'r mut String,
    conn: &'r mut String,
    at_ms: &'r mut Option<u64>,
}

impl Reading<'_> {
    fn member(&mut self, scan: &mut Scanner<'_, '_, '_>, name: &[u8]) -> Result<(), Ask> {
        match name {
            b"dir" => {
                text(scan, self.word).ok_or_else(|| self.fail("`dir` is no string"))?;
                self.found.dir = Some(side(self.word).ok_or(()));
                Ok(())
            }
            b"raw" => {
                self.found.raw = true;
                self.frame.clear();
                scan.peek()?;
                scan.at = unescape(scan.bytes, scan.at, self.frame).ok_or_else(|| self.fail("`raw` is no string"))?;
                Ok(())
            }
            b"rawBase64" => {
                (self.found.raw, self.found.bytes) = (true, true);
                self.frame.clear();
                let is_text = text(scan, self.word).is_some();
                if is_text && base64::decode(self.word, self.frame) {
                    Ok(())
                } else {
                    Err(self.fail("`rawBase64` is no base 64"))
                }
            }
            b"conn" => self.connection(scan),
            b"atMs" => {
                scan.peek()?;
                let start = scan.at;
                let kind = scan.skip(1)?;
                *self.at_ms = milliseconds(&scan.bytes[start..scan.at]);
                if Kinds::INTEGER.with(Kinds::NUMBER).holds(kind) {
                    Ok(())
                } else {
                    Err(self.fail("`atMs` is no number"))
                }
            }
            b"event" => {
                self.found.event = true;
                text(scan, self.word).ok_or_else(|| self.fail("`event` is no string"))
            }
            b"call" | b"trigger_type" | b"bind" | b"unbind" => {
                self.found.session = true;
                scan.skip(1).map(drop)
            }
            b"jsonrpc" | b"method" | b"id" | b"params" | b"result" | b"error" => {
                self.found.envelope = true;
                scan.skip(1).map(drop)
            }
            _ => scan.skip(1).map(drop),
        }
    }

    fn connection(&mut self, scan: &mut Scanner<'_, '_, '_>) -> Result<(), Ask> {
        scan.peek()?;
        let start = scan.at;
        scan.skip(1)?;
        match std::str::from_utf8(&scan.bytes[start..scan.at]) {
            Ok(token) if token.starts_with('"') || token.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.conn.push_str(token.trim_matches('"'));
                Ok(())
            }
            _ => Err(self.fail("`conn` is neither a string nor a whole number")),
        }
    }

    fn fail(&mut self, what: &'static str) -> Ask {
        self.fault = Some(what);
        Ask(Why::Unknown)
    }
}

fn damaged(damage: Damage, bytes: &[u8]) -> What<'_> {
    What::Damaged { damage, side: None, bytes }
}

/// Whole milliseconds of a number.
fn milliseconds(token: &[u8]) -> Option<u64> {
    let number: f64 = std::str::from_utf8(token).ok()?.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds are looked at first")]
    (0.0..9.0e15).contains(&number).then_some(number as u64)
}

fn side(word: &str) -> Option<Side> {
    [Side::Client, Side::Server].into_iter().find(|side| side.word() == word)
}

/// Reads a string into `word`.
fn text(scan: &mut Scanner<'_, '_, '_>, word: &mut String) -> Option<()> {
    scan.peek().ok()?;
    let mut bytes = std::mem::take(word).into_bytes();
    bytes.clear();
    let end = unescape(scan.bytes, scan.at, &mut bytes)?;
    *word = String::from_utf8(bytes).ok()?;
    scan.at = end;
    Some(())
}
