//! Values that no node looks at, numbers and strings: read as strictly as a parser would.

use super::{Ask, DEEPEST, Kinds, Scanner, Why};

impl<'b> Scanner<'_, 'b, '_> {
    /// Passes over a value of any shape, reading it as strictly as a parser would, and says what kind it was.
    pub(crate) fn skip(&mut self, depth: u32) -> Result<Kinds, Ask> {
        if depth > DEEPEST {
            self.ask(Why::Deep)?;
        }
        match self.kind()? {
            Kinds::OBJECT => {
                self.members(|scan, name, open| {
                    scan.note_unnamed(name, open)?;
                    scan.skip(depth + 1).map(drop)
                })?;
                Ok(Kinds::OBJECT)
            }
            Kinds::ARRAY => {
                self.items(|scan| scan.skip(depth + 1).map(drop))?;
                Ok(Kinds::ARRAY)
            }
            Kinds::STRING => {
                self.string()?;
                Ok(Kinds::STRING)
            }
            Kinds::INTEGER => self.number(),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<Kinds, Ask> {
        let rest = &self.bytes[self.at..];
        for (word, kind) in [(&b"true"[..], Kinds::BOOLEAN), (b"false", Kinds::BOOLEAN), (b"null", Kinds::NULL)] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(Ask(Why::Syntax))
    }

    /// A number by the grammar of JSON. What may be out of range, or is an integer in disguise, is no `INTEGER`.
    fn number(&mut self) -> Result<Kinds, Ask> {
        let start = self.at;
        let negative = self.bytes.get(self.at) == Some(&b'-');
        if negative {
            self.at += 1;
        }
        let zero = self.bytes.get(self.at) == Some(&b'0');
        let digits = self.digits()?;
        if zero && digits > 1 {
            return Err(Ask(Why::Syntax));
        }
        let mut plain = digits <= 18 && !(negative && zero);
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
            plain = false;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.ask(Why::Number)?;
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            plain = false;
        }
        // Without an exponent, so few digits are far inside the range of a double.
        if self.at - start > 64 {
            self.ask(Why::Number)?;
        }
        Ok(if plain { Kinds::INTEGER } else { Kinds::NUMBER })
    }

    fn digits(&mut self) -> Result<usize, Ask> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(Ask(Why::Syntax)) } else { Ok(self.at - start) }
    }

    /// Reads a string from its opening quote: the bytes between the quotes, and whether they hold an escape.
    pub(crate) fn string(&mut self) -> Result<(&'b [u8], bool), Ask> {
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = find_special(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok((&self.bytes[start..at], escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    at = self.escape(at)?;
                }
                Some(_) => {
                    self.ask(Why::Control)?;
                    at += 1;
                }
                None => return Err(Ask(Why::Syntax)),
            }
        }
    }

    /// Reads the escape whose backslash is at `at`, and gives the place behind it.
    fn escape(&self, at: usize) -> Result<usize, Ask> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let Some(unit) = hex4(self.bytes, at + 2) else {
                    self.ask(Why::Escape)?;
                    return Ok(at + 2);
                };
                match unit {
                    0xD800..=0xDBFF => {
                        let low = (self.bytes.get(at + 6..at + 8) == Some(b"\\u"))
                            .then(|| hex4(self.bytes, at + 8))
                            .flatten();
                        if low.is_some_and(|low| (0xDC00..=0xDFFF).contains(&low)) {
                            return Ok(at + 12);
                        }
                        self.ask(Why::Surrogate)?;
                    }
                    0xDC00..=0xDFFF => self.ask(Why::Surrogate)?,
                    _ => {}
                }
                Ok(at + 6)
            }
            Some(_) => {
                self.ask(Why::Escape)?;
                Ok(at + 2)
            }
            None => Err(Ask(Why::Syntax)),
        }
    }
}

/// Four hexadecimal digits.
pub(crate) fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |value, byte| Some(value * 16 + char::from(*byte).to_digit(16)?))
}

/// Next quote, backslash or control byte, eight bytes a step.
pub(crate) fn find_special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let (quote, slash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5C));
        // The lowest marked byte is exact; bytes above it may be marked in error by the borrow.
        let hit = ((quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word))
            & (ONES * 0x80);
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)) {
        at += 1;
    }
    at
}
