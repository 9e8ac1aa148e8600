//! The one place from which clock, ids and randomness come: with a seed a run is repeated byte by byte.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Where the seeded clock begins: 2026-01-01T00:00:00Z.
const SEEDED_START_MS: i64 = 1_767_225_600_000;

/// Makes times, ids and random numbers.
#[derive(Debug)]
pub struct Mint {
    clock: Clock,
    random: u64,
    last_id: (i64, u16),
    requests: i64,
}

#[derive(Debug)]
enum Clock {
    /// The time of the system when the host began, and what has passed since: it never goes back, and a runtime that stands still
    /// stops it.
    System(SystemTime, Instant),
    /// Moves by one millisecond a reading, and by the delays that the provider plays.
    Seeded(i64),
}

/// A mint that host, sessions and connections share.
#[derive(Clone, Debug)]
pub struct SharedMint(Arc<Mutex<Mint>>);

impl SharedMint {
    /// From the system's clock and randomness, or from a seed.
    pub fn new(seed: Option<u64>) -> Self {
        let (clock, random) = match seed {
            Some(seed) => (Clock::Seeded(SEEDED_START_MS), seed),
            None => (Clock::System(SystemTime::now(), Instant::now()), RandomState::new().build_hasher().finish()),
        };
        Self(Arc::new(Mutex::new(Mint { clock, random, last_id: (0, 0), requests: 0 })))
    }

    /// The mint; a panic elsewhere while it was held leaves it usable.
    pub fn lock(&self) -> MutexGuard<'_, Mint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mint {
    /// Unix time in milliseconds.
    pub fn now_ms(&mut self) -> i64 {
        match &mut self.clock {
            Clock::System(start, began) => (*start + began.elapsed())
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
            Clock::Seeded(now) => {
                *now += 1;
                *now
            }
        }
    }

    /// Tells a seeded clock that time was slept away.
    pub fn advance(&mut self, ms: u64) {
        if let Clock::Seeded(now) = &mut self.clock {
            *now = now.saturating_add(i64::try_from(ms).unwrap_or(0));
        }
    }

    /// What a seeded clock says after so many milliseconds; nothing where time passes by itself.
    pub fn in_ms(&self, ms: u64) -> Option<i64> {
        match self.clock {
            Clock::System(..) => None,
            Clock::Seeded(now) => Some(now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))),
        }
    }

    /// Tells a seeded clock that it is no earlier than that.
    pub fn reach(&mut self, then: Option<i64>) {
        if let (Clock::Seeded(now), Some(then)) = (&mut self.clock, then) {
            *now = (*now).max(then);
        }
    }

    /// Random bits (splitmix64).
    pub fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A UUID of version 7, greater than every one before it.
    pub fn uuid(&mut self) -> String {
        let now = self.now_ms();
        self.last_id = match self.last_id {
            (ms, count) if ms >= now && count < 0xfff => (ms, count + 1),
            (ms, _) if ms >= now => (ms + 1, 0),
            _ => (now, 0),
        };
        let (ms, count) = self.last_id;
        let random = self.random();
        let variant = 0x8000 | ((random >> 48) & 0x3fff);
        format!("{:08x}-{:04x}-7{count:03x}-{variant:04x}-{:012x}", ms >> 16, ms & 0xffff, random & 0xffff_ffff_ffff)
    }

    /// The next id of a request that the host makes: one counter for the whole process (ENV-7).
    pub fn request_id(&mut self) -> i64 {
        self.requests += 1;
        self.requests
    }
}

/// Whether a text is a UUID, of version 7 if `seven`.
pub fn is_uuid(text: &str, seven: bool) -> bool {
    let shape = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    shape
        && (!seven
            || (text.as_bytes()[14] == b'7' && matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B')))
}

/// A UUID of version 7 that follows from a text, with the time of another one: the same at every load.
pub fn derived_uuid(text: &str, time_of: &str) -> String {
    let digest = msp_schema::digest::of_bytes(text.as_bytes());
    let hex: String = digest.chars().rev().filter(char::is_ascii_hexdigit).take(18).collect();
    match (time_of.get(..14), hex.get(..3), hex.get(3..6), hex.get(6..18)) {
        (Some(time), Some(a), Some(b), Some(c)) => format!("{time}7{a}-8{b}-{c}"),
        _ => time_of.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_repeat_with_the_seed() {
        let make = || {
            let mint = SharedMint::new(Some(7));
            let mut mint = mint.lock();
            (0..5000).map(|_| mint.uuid()).collect::<Vec<_>>()
        };
        let ids = make();
        assert!(ids.is_sorted() && ids.iter().all(|id| is_uuid(id, true)));
        assert_eq!(ids, make());
        assert!(!is_uuid("0198f0aa-1111-4000-8000-0000000000aa", true));
        assert!(is_uuid("0198f0aa-1111-4000-8000-0000000000aa", false));
    }
}
