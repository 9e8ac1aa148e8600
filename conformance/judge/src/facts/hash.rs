//! Numbers that stand for texts, so that what is remembered of a peer's words has one size.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Stands for a text: equal texts have equal ids. Two texts of one transcript share an id with a chance of one in
/// 2^64 for each pair; what hangs on it is a finding too many or too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(u64);

impl Id {
    /// The id of a text.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut state = mix(text.len() as u64 ^ SEED, 0x2d35_8dcc_aa6c_78a5);
        let mut chunks = text.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            state = mix(state ^ u64::from_le_bytes(word), 0x8bb8_4b93_962e_acc9);
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        Self(mix(state ^ u64::from_le_bytes(last), 0x4b33_a62e_d433_d4a3))
    }

    /// The number.
    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of the product, folded: each bit of the input moves about half of the bits of the result.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x1405_7b7e_f767_814f) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

/// A number made of others, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Starts with a number that says what kind of thing it is.
    pub(crate) fn new(tag: u64) -> Self {
        Self(tag.wrapping_mul(SEED))
    }

    #[must_use]
    pub(crate) fn then(self, next: u64) -> Self {
        Self(mix(self.0.rotate_left(29) ^ next, 0x8bb8_4b93_962e_acc9))
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}

/// Uses an id as its own hash.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = if self.0 == 0 { number } else { mix(self.0 ^ number, SEED) };
    }
}

/// A map by ids, or by keys made of a connection and ids.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;
/// A set of ids, or of keys made of a connection and ids.
pub(crate) type Set<K> = HashSet<K, BuildHasherDefault<IdHasher>>;
