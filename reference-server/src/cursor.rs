//! View cursors: where an event stands in the view of its session, in a spelling that only this host reads.
//!
//! A position is the number of the log record behind the event and, for ephemeral events, a count after it. The text hides both
//! behind a mask made from the session id and carries a check, so that a cursor of another session, or an invented one, is told
//! apart without a list of those that were given out. Texts do not sort as positions do, on purpose (CUR-2).

use serde::{Deserialize, Serialize};

/// A place in the view of a session; they compare as the view is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Number of the record; 0 stands before the first.
    pub sequence: u64,
    /// 0 for the record's own event, more for ephemeral ones after it.
    pub minor: u32,
}

const ALPHABET: &[u8; 32] = b"q7zc4bx9kpw2m8hs5dnv3rj6tgfy-_~.";
const PREFIX: &str = "vc:";

impl Position {
    /// The cursor of this place.
    pub fn cursor(self, session_id: &str) -> String {
        let key = key(session_id);
        let sequence = self.sequence ^ key;
        let minor = self.minor ^ mask(key);
        let mut bytes = [0u8; 15];
        // The low half stands first, so that neighbours differ at the front and texts do not sort.
        bytes[..7].copy_from_slice(&sequence.to_le_bytes()[..7]);
        bytes[7..11].copy_from_slice(&minor.to_le_bytes());
        bytes[11..].copy_from_slice(&check(key, self).to_le_bytes());
        let mut text = String::from(PREFIX);
        for group in bytes.chunks(5) {
            let bits = group.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
            for at in (0..8).rev() {
                text.push(char::from(ALPHABET[usize::try_from(bits >> (at * 5) & 31).unwrap_or(0)]));
            }
        }
        text
    }

    /// The place of a cursor; `None` when this session never gave it out.
    pub fn parse(session_id: &str, cursor: &str) -> Option<Self> {
        let text = cursor.strip_prefix(PREFIX).filter(|text| text.len() == 24)?;
        let mut bytes = Vec::with_capacity(15);
        for group in text.as_bytes().chunks(8) {
            let mut bits = 0u64;
            for byte in group {
                bits = bits << 5 | u64::try_from(ALPHABET.iter().position(|known| known == byte)?).ok()?;
            }
            bytes.extend_from_slice(&bits.to_be_bytes()[3..]);
        }
        let key = key(session_id);
        let mut sequence = [0u8; 8];
        sequence[..7].copy_from_slice(&bytes[..7]);
        let sequence = (u64::from_le_bytes(sequence) ^ key) & 0x00ff_ffff_ffff_ffff;
        let minor = u32::from_le_bytes(bytes[7..11].try_into().ok()?) ^ mask(key);
        let position = Self { sequence, minor };
        (check(key, position).to_le_bytes() == bytes[11..]).then_some(position)
    }
}

/// FNV-1a of the session id.
fn key(session_id: &str) -> u64 {
    session_id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn mask(key: u64) -> u32 {
    u32::try_from(key >> 32).unwrap_or(0)
}

fn check(key: u64, position: Position) -> u32 {
    let mixed = (key ^ position.sequence.rotate_left(21) ^ u64::from(position.minor).rotate_left(43))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from((mixed ^ mixed >> 29) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_belong_to_their_session_and_do_not_sort() {
        let places: Vec<_> = (0..400u64)
            .flat_map(|sequence| [0, 1, 9].map(|minor| Position { sequence: sequence * 7919, minor }))
            .collect();
        let texts: Vec<_> = places.iter().map(|place| place.cursor("one")).collect();
        for (place, text) in places.iter().zip(&texts) {
            assert_eq!(Position::parse("one", text), Some(*place));
            assert_eq!(Position::parse("two", text), None);
            assert_eq!(Position::parse("one", &text.replace(':', ";")), None);
        }
        assert!(!texts.is_sorted());
    }
}
