//! Patterns that the fast lane can follow: anchored rows of characters and classes.
//!
//! Of the regular expressions that bundles carry this reads `^[a-z0-9_]+$` and `^sha256:[0-9a-f]{64}$`, and what is
//! built like them. Anything else is `None`, and the compiler then asks the slow lane.

/// One piece of a pattern: a class of bytes and how often it comes.
#[derive(Debug, Clone)]
struct Piece {
    class: [bool; 128],
    times: Times,
}

#[derive(Debug, Clone, Copy)]
enum Times {
    Exactly(usize),
    /// One or more, and nothing may follow.
    OneOrMore,
}

/// A pattern over ASCII, anchored on both sides.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Box<[Piece]>);

impl Pattern {
    /// Reads a pattern, or says that it is beyond this module.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix('^')?.strip_suffix('$')?;
        let mut bytes = body.bytes().peekable();
        let mut pieces: Vec<Piece> = Vec::new();
        while let Some(byte) = bytes.next() {
            if pieces.iter().any(|piece| matches!(piece.times, Times::OneOrMore)) {
                return None;
            }
            let class = match byte {
                b'[' => parse_class(&mut bytes)?,
                b'\\' | b'.' | b'(' | b')' | b'|' | b'*' | b'+' | b'?' | b'{' | b'}' | b'^' | b'$' | b']' => {
                    return None;
                }
                byte if byte.is_ascii() => one(byte),
                _ => return None,
            };
            let times = match bytes.peek() {
                Some(b'+') => {
                    bytes.next();
                    Times::OneOrMore
                }
                Some(b'{') => {
                    bytes.next();
                    let digits: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'}').collect();
                    Times::Exactly(std::str::from_utf8(&digits).ok()?.parse().ok()?)
                }
                _ => Times::Exactly(1),
            };
            pieces.push(Piece { class, times });
        }
        Some(Self(pieces.into()))
    }

    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let mut rest = text;
        for piece in &self.0 {
            let count = match piece.times {
                Times::Exactly(count) => count,
                Times::OneOrMore => rest.len().max(1),
            };
            let Some((head, tail)) = rest.split_at_checked(count) else { return false };
            if !head.iter().all(|byte| piece.class.get(usize::from(*byte)).is_some_and(|held| *held)) {
                return false;
            }
            rest = tail;
        }
        rest.is_empty()
    }
}

fn one(byte: u8) -> [bool; 128] {
    let mut class = [false; 128];
    class[usize::from(byte)] = true;
    class
}

/// What stands between brackets: characters and ranges, no negation, no escapes.
fn parse_class(bytes: &mut impl Iterator<Item = u8>) -> Option<[bool; 128]> {
    let inside: Vec<u8> = bytes.take_while(|byte| *byte != b']').collect();
    let mut class = [false; 128];
    let mut at = 0;
    while let Some(&low) = inside.get(at) {
        if !low.is_ascii() || matches!(low, b'\\' | b'^' | b'[' | b'&') {
            return None;
        }
        let high = match (inside.get(at + 1), inside.get(at + 2)) {
            (Some(b'-'), Some(high)) if high.is_ascii_alphanumeric() => {
                at += 2;
                *high
            }
            (Some(b'-'), _) => return None,
            _ => low,
        };
        class.get_mut(usize::from(low)..=usize::from(high))?.fill(true);
        at += 1;
    }
    (!inside.is_empty()).then_some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_patterns_of_the_bundle_are_followed() {
        let name = Pattern::parse("^[a-z0-9_]+$").unwrap();
        assert!(
            name.matches(b"probe_1")
                && !name.matches(b"")
                && !name.matches(b"Probe")
                && !name.matches("\u{e9}".as_bytes())
        );
        let digest = Pattern::parse("^sha256:[0-9a-f]{4}$").unwrap();
        assert!(digest.matches(b"sha256:00af") && !digest.matches(b"sha256:00a") && !digest.matches(b"sha256:00aff"));
    }

    #[test]
    fn everything_else_is_left_to_the_library() {
        for pattern in ["[a-z]", "^a|b$", "^\\d+$", "^[^a]$", "^a.c$", "^a+b$", "^(a)$", "^a*$", "^[a-]$", "^\u{e9}$"] {
            assert!(Pattern::parse(pattern).is_none(), "{pattern}");
        }
    }
}
