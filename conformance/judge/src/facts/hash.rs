//! Numbers that stand for texts, so that what is remembered of a peer's words has one size.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash as StdHash, Hasher};
use std::num::NonZeroU64;

/// Stands for a text: equal texts have equal ids. Two texts of one transcript share an id with a chance of one in
/// 2^64 for each pair; what hangs on it is a finding too many or too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(NonZeroU64);

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
        let id = mix(state ^ u64::from_le_bytes(last), 0x4b33_a62e_d433_d4a3);
        // Never zero, so that an id which may be missing takes no more room.
        Self(NonZeroU64::new(id).unwrap_or(NonZeroU64::MIN))
    }

    /// The number.
    pub(crate) const fn get(self) -> u64 {
        self.0.get()
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

/// A key of something that belongs to a session.
pub(crate) trait OfSession: Eq + StdHash {
    /// The session.
    fn session(&self) -> Id;
}

impl<T: Eq + StdHash> OfSession for (Id, T) {
    fn session(&self) -> Id {
        self.0
    }
}

impl OfSession for (u32, Id) {
    fn session(&self) -> Id {
        self.1
    }
}

impl<T: Eq + StdHash> OfSession for (u32, Id, T) {
    fn session(&self) -> Id {
        self.1
    }
}

/// A map whose keys belong to sessions: all of one is forgotten at once, without a look at the others.
#[derive(Debug)]
pub(crate) struct BySession<K, V>(Map<Id, Map<K, V>>);

impl<K, V> Default for BySession<K, V> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<K: OfSession, V> BySession<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(&key.session())?.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(&key.session())?.get_mut(key)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.entry(key.session()).or_default().insert(key, value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.0.get_mut(&key.session())?.remove(key)
    }

    pub(crate) fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        self.0.entry(key.session()).or_default().entry(key)
    }

    /// All that belongs to a session.
    pub(crate) fn of(&self, session: Id) -> impl Iterator<Item = (&K, &V)> {
        self.0.get(&session).into_iter().flatten()
    }

    /// Forgets all that belongs to a session.
    pub(crate) fn forget(&mut self, session: Id) {
        self.0.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_forgotten_alone_whatever_its_keys() {
        let (one, other) = (Id::of(b"one"), Id::of(b"other"));
        let mut items = BySession::default();
        let mut connections = BySession::default();
        for session in [one, other] {
            items.insert((session, 1_u8), 1);
            items.insert((session, 2), 2);
            connections.insert((7_u32, session), 1);
            connections.insert((8, session), 2);
        }
        items.forget(one);
        connections.forget(one);
        assert_eq!((items.of(one).count(), items.of(other).count()), (0, 2));
        assert_eq!((connections.get(&(8, one)), connections.get(&(8, other))), (None, Some(&2)));
        assert_eq!((items.remove(&(other, 1)), items.contains_key(&(other, 1))), (Some(1), false));
    }
}
