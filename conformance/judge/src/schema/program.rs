//! The schema compiled flat: nodes that name each other by index, made to be followed over bytes.
//!
//! A program never says *bad*. [`Node::Ask`] stands wherever the compiler met something that it does not know, and
//! sends that value to the slow lane.

use super::pattern::Pattern;

/// Index of a node in [`Program::nodes`].
pub(crate) type Id = u32;

/// A set of JSON kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) u8);

impl Kinds {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    /// A plain integer: no fraction, no exponent, at most 18 digits, not `-0`.
    pub(crate) const INTEGER: Self = Self(4);
    /// Any other number whose value surely fits a double.
    pub(crate) const NUMBER: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);
    pub(crate) const EMPTY: Self = Self(0);

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn holds(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Position in [`Node::ByKind`]; only for sets of one kind.
    pub(crate) const fn slot(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

/// What a value has to be.
#[derive(Debug)]
pub(crate) enum Node {
    /// Nothing is known here: the slow lane decides.
    Ask,
    /// No value fits.
    Never,
    /// What that node says. Such references never go in circles: the source is checked before.
    Same(Id),
    /// Any value of these kinds.
    Kinds(Kinds),
    /// An integer within bounds, both inclusive.
    Integer { least: i64, most: i64 },
    /// A string that is one of these words, or a value of the other kinds. Open or closed makes no difference here:
    /// a word outside an open enum has to be named, so it asks too.
    Words { words: Names, also: Kinds },
    /// A string of a least length of 0 or 1 and, where there is one, of a pattern.
    Text { not_empty: bool, pattern: Option<Pattern> },
    /// An array of so many items, each of which fits.
    Array { item: Id, least: usize, most: usize },
    /// An object.
    Object(Box<Object>),
    /// One node for each kind of value, in the order of the bits of [`Kinds`].
    ByKind([Id; 7]),
    /// At least one of these fits; tried in order.
    AnyOf(Box<[Id]>),
    /// Both fit.
    Both(Id, Id),
    /// A stored view event: `{method, params}`, where the method decides what params have to be.
    Event,
}

/// The members of an object that the schema names.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) members: Box<[Member]>,
    pub(crate) names: Names,
    /// One bit a member.
    pub(crate) required: u128,
    /// Where the member of that index is present, those of the mask have to be.
    pub(crate) dependent: Box<[(usize, u128)]>,
    /// What unnamed members have to be; `None` is anything.
    pub(crate) rest: Option<Id>,
}

/// A member that the schema names.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Box<str>,
    pub(crate) node: Id,
}

/// A program and the params of each stored event, by method.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) events: Names,
    /// In the order of `events`.
    pub(crate) event_params: Vec<Id>,
}

/// A frozen set of names, found by their first and last bytes.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: Box<[Named]>,
    /// Open addressing, at most half full; [`FREE`] where nothing is.
    table: Box<[u16]>,
}

#[derive(Debug)]
struct Named {
    ends: (u64, u64),
    name: Box<[u8]>,
}

const FREE: u16 = u16::MAX;

impl Names {
    /// Keeps the order of `names`; a name that comes twice is found at its first place.
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Box<[Named]> =
            names.into_iter().map(|name| Named { ends: ends(name.as_bytes()), name: name.as_bytes().into() }).collect();
        let mut table = vec![FREE; (names.len() * 2).next_power_of_two().max(2)].into_boxed_slice();
        let mask = table.len() - 1;
        for (index, named) in names.iter().enumerate() {
            let mut at = slot(named.ends, named.name.len()) & mask;
            while table[at] != FREE {
                at = (at + 1) & mask;
            }
            table[at] = u16::try_from(index).unwrap_or(FREE);
        }
        Self { names, table }
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let ends = ends(name);
        let mask = self.table.len() - 1;
        let mut at = slot(ends, name.len()) & mask;
        loop {
            let index = self.table[at];
            if index == FREE {
                return None;
            }
            let named = &self.names[index as usize];
            // Up to 16 bytes the two ends overlap or touch, so together with the length they are the whole name.
            if named.ends == ends && named.name.len() == name.len() && (name.len() <= 16 || *named.name == *name) {
                return Some(index as usize);
            }
            at = (at + 1) & mask;
        }
    }
}

/// First and last bytes of a name; with its length they are the whole name up to 16 bytes.
#[inline]
pub(crate) fn ends(name: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
    } else if let (Some(first), Some(last)) = (name.first(), name.last()) {
        (u64::from(*first) | u64::from(name[name.len() / 2]) << 8, u64::from(*last))
    } else {
        (0, 0)
    }
}

#[inline]
fn slot(ends: (u64, u64), length: usize) -> usize {
    let mixed = (ends.0 ^ ends.1.rotate_left(23) ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(mixed >> 40).unwrap_or(0)
}

/// A number for a name of any length; equal names have equal numbers, and that is all a duplicate check needs.
pub(crate) fn fingerprint(name: &[u8]) -> u64 {
    let (first, last) = ends(name);
    let mut mixed = (first ^ last.rotate_left(29) ^ name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if name.len() > 16 {
        for byte in &name[8..name.len() - 8] {
            mixed = (mixed ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_are_found_and_no_others() {
        let names: Vec<String> =
            (0..40).map(|length| "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst"[..length].to_owned()).collect();
        let table = Names::new(names.iter().map(String::as_str));
        for (index, name) in names.iter().enumerate() {
            assert_eq!(table.find(name.as_bytes()), Some(index));
            assert_eq!(table.find(format!("{name}!").as_bytes()), None);
        }
        // Same ends, same length, another middle.
        assert_eq!(table.find(b"abcdefghXjklmnopq"), None);
        assert_eq!(Names::default().find(b"a"), None);
    }
}
