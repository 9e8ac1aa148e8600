//! The cursors of a session: where each was first seen, and what is known of their order.
//!
//! Cursors are opaque: equal or not, never compared as texts (CUR-2). Their order is learnt: live events come in view
//! order, but for protected ones, which may overtake (GAP-3); the elements of a page do in either direction.

use std::cmp::Ordering;

use super::hash::{Id, Map, Set};

/// Whether a cursor was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The event has no cursor.
    None,
    /// Not in this session.
    New,
    /// It was.
    Again(Seen),
}

/// An earlier sight of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Line of the first sight.
    pub(crate) line: u64,
    /// Whether that event was the same: method and params equal. Nothing for ephemeral events.
    pub(crate) same: Option<bool>,
    /// Connection of the first sight.
    pub(crate) conn: u32,
    /// Whether it was delivered live before, on any connection.
    pub(crate) live: bool,
    /// Whether a page had it before.
    pub(crate) paged: bool,
}

/// Room between two neighbours, for what a page shows between them.
const STEP: u64 = 1 << 24;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Place within its chain; places ascend along the chain.
    label: u64,
    /// The one behind it in its chain.
    behind: Option<Id>,
    /// Nothing is between it and the one behind it.
    adjacent: bool,
    line: u32,
    conn: u32,
    content: u32,
    /// Chain, from 1; 0 without a place.
    chain: u32,
    live: bool,
    paged: bool,
}

/// The cursors of one session.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    durable: Map<Id, Entry>,
    /// Cursors of ephemeral events of the turn that is open, with line and connection of the first sight.
    ephemeral: Map<Id, (u32, u32)>,
    /// Cursors of those of earlier turns, while they are few.
    few: Set<Id>,
    /// Bits for them, once they are many.
    past: Vec<u64>,
    /// The first of each chain.
    heads: Vec<Id>,
}

impl Cursors {
    /// Takes an ephemeral event in.
    pub(crate) fn see_ephemeral(&mut self, cursor: Id, line: u64, conn: u32) -> Sight {
        if let Some(seen) = self.durable.get(&cursor) {
            let Entry { conn, live, paged, .. } = *seen;
            return Sight::Again(Seen { line: seen.line.into(), same: Some(false), conn, live, paged });
        }
        match self.ephemeral.get(&cursor) {
            None => {
                self.ephemeral.insert(cursor, (short(line), conn));
                Sight::New
            }
            Some((line, conn)) => {
                Sight::Again(Seen { line: (*line).into(), same: None, conn: *conn, live: true, paged: false })
            }
        }
    }

    /// Forgets the ephemeral events: their turn has ended.
    pub(crate) fn end_turn(&mut self) {
        let ended = std::mem::take(&mut self.ephemeral);
        if self.past.is_empty() && self.few.len() + ended.len() <= FEW {
            self.few.extend(ended.into_keys());
            return;
        }
        if self.past.is_empty() {
            self.past = vec![0; PAST_WORDS];
        }
        for cursor in ended.into_keys().chain(std::mem::take(&mut self.few)) {
            for (word, bit) in bits(cursor) {
                self.past[word] |= bit;
            }
        }
    }

    /// Whether the cursor may be that of an event which the transcript has shown; false is certain.
    pub(crate) fn may_have_seen(&self, cursor: Id) -> bool {
        self.seen(cursor).is_some()
            || self.few.contains(&cursor)
            || !self.past.is_empty() && bits(cursor).into_iter().all(|(word, bit)| self.past[word] & bit != 0)
    }

    /// Takes a durable event in, without a place.
    pub(crate) fn see(&mut self, cursor: Id, line: u64, conn: u32, content: u64, is_live: bool) -> Sight {
        #[expect(clippy::cast_possible_truncation, reason = "half of the hash will do for one cursor")]
        let content = content as u32;
        if let Some((line, conn)) = self.ephemeral.get(&cursor) {
            return Sight::Again(Seen {
                line: (*line).into(),
                same: Some(false),
                conn: *conn,
                live: true,
                paged: false,
            });
        }
        if let Some(seen) = self.durable.get_mut(&cursor) {
            let same = Some(seen.content == content);
            let again = Seen { line: seen.line.into(), same, conn: seen.conn, live: seen.live, paged: seen.paged };
            seen.live |= is_live;
            seen.paged |= !is_live;
            return Sight::Again(again);
        }
        let (label, chain, line) = (0, 0, short(line));
        let entry =
            Entry { label, behind: None, adjacent: false, line, conn, content, chain, live: is_live, paged: !is_live };
        self.durable.insert(cursor, entry);
        Sight::New
    }

    /// Whether the cursor belongs to an event that the transcript has shown.
    pub(crate) fn seen(&self, cursor: Id) -> Option<u64> {
        self.durable
            .get(&cursor)
            .map(|entry| entry.line)
            .or_else(|| self.ephemeral.get(&cursor).map(|it| it.0))
            .map(u64::from)
    }

    /// Learns that one event stands behind another; `adjacent` where nothing is between.
    pub(crate) fn follows(&mut self, before: Option<Id>, cursor: Id, adjacent: bool) {
        let Some(chain) = self.chain(cursor) else { return };
        let Some((before, first)) = before.and_then(|before| Some((before, self.chain(before)?))) else {
            if chain == 0 {
                self.start(cursor);
            }
            return;
        };
        match (first, chain) {
            (0, 0) => {
                self.start(before);
                self.insert(before, cursor);
            }
            (_, 0) => self.insert(before, cursor),
            // Where the first has no place and the second has one, nothing says how far before it stands.
            (0, _) => return,
            (first, chain) if first != chain => self.join(before, cursor),
            _ => {}
        }
        if let Some(entry) = self.durable.get_mut(&before).filter(|it| it.behind == Some(cursor)) {
            entry.adjacent |= adjacent;
        }
    }

    fn chain(&self, cursor: Id) -> Option<u32> {
        self.durable.get(&cursor).map(|entry| entry.chain)
    }

    fn start(&mut self, cursor: Id) {
        self.heads.push(cursor);
        let chain = u32::try_from(self.heads.len()).unwrap_or(u32::MAX);
        if let Some(entry) = self.durable.get_mut(&cursor) {
            (entry.chain, entry.label) = (chain, STEP);
        }
    }

    /// Puts a cursor without a place behind one that has a place.
    fn insert(&mut self, before: Id, cursor: Id) {
        let Some(first) = self.durable.get(&before).copied() else { return };
        let behind = first.behind.and_then(|behind| self.durable.get(&behind)).map(|it| it.label);
        let label = match behind {
            None => first.label + STEP,
            Some(behind) if behind - first.label > 1 => first.label + (behind - first.label) / 2,
            Some(_) => {
                self.spread(first.chain);
                return self.insert(before, cursor);
            }
        };
        if let Some(entry) = self.durable.get_mut(&cursor) {
            (entry.chain, entry.label, entry.behind) = (first.chain, label, first.behind);
        }
        if let Some(entry) = self.durable.get_mut(&before) {
            (entry.behind, entry.adjacent) = (Some(cursor), false);
        }
    }

    /// Makes room again between the entries of a chain.
    fn spread(&mut self, chain: u32) {
        let mut at = self.heads.get(chain as usize - 1).copied();
        let mut label = 0;
        while let Some(entry) = at.and_then(|at| self.durable.get_mut(&at)) {
            label += STEP;
            entry.label = label;
            at = entry.behind;
        }
    }

    /// Puts a chain behind another, where the first ends where the second begins.
    fn join(&mut self, before: Id, cursor: Id) {
        let (Some(first), Some(second)) = (self.durable.get(&before).copied(), self.chain(cursor)) else { return };
        if first.behind.is_some() || self.heads.get(second as usize - 1) != Some(&cursor) {
            return;
        }
        let (mut at, mut label) = (Some(cursor), first.label);
        while let Some(entry) = at.and_then(|at| self.durable.get_mut(&at)) {
            label += STEP;
            (entry.chain, entry.label) = (first.chain, label);
            at = entry.behind;
        }
        if let Some(entry) = self.durable.get_mut(&before) {
            entry.behind = Some(cursor);
        }
    }

    /// The order of two events in the view, where it is known.
    pub(crate) fn compare(&self, one: Id, other: Id) -> Option<Ordering> {
        let (one, other) = (self.durable.get(&one)?, self.durable.get(&other)?);
        (one.chain != 0 && one.chain == other.chain).then(|| one.label.cmp(&other.label))
    }

    /// The event right behind another in the view, where it is known that nothing is between.
    pub(crate) fn successor(&self, cursor: Id) -> Option<Id> {
        self.durable.get(&cursor).filter(|entry| entry.adjacent)?.behind
    }
}

/// Words of the bits that stand for past ephemeral cursors: 8 KiB a session that streams.
const PAST_WORDS: usize = 1024;

/// Past ephemeral cursors that are kept as they are: as bits, fewer would take more room than that.
const FEW: usize = 256;

/// Two bits of a cursor, with their words.
fn bits(cursor: Id) -> [(usize, u64); 2] {
    let at = |number: u64| {
        let bit = usize::try_from(number % (PAST_WORDS as u64 * 64)).unwrap_or_default();
        (bit / 64, 1 << (bit % 64))
    };
    [at(cursor.get()), at(cursor.get() >> 32)]
}

/// Lines of a transcript are counted in 32 bits here, so as to keep little for each event.
fn short(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Id {
        Id::of(name.as_bytes())
    }

    fn line(cursors: &mut Cursors, names: &[&str], adjacent: bool) {
        let mut before = None;
        for name in names {
            cursors.see(id(name), 1, 0, 0, true);
            cursors.follows(before, id(name), adjacent);
            before = Some(id(name));
        }
    }

    fn is_ordered(cursors: &Cursors, names: &[&str]) -> bool {
        names.windows(2).all(|pair| cursors.compare(id(pair[0]), id(pair[1])) == Some(Ordering::Less))
    }

    #[test]
    fn a_page_shows_what_lies_between() {
        let mut cursors = Cursors::default();
        line(&mut cursors, &["a", "b"], true);
        cursors.see(id("e"), 1, 0, 0, true);
        cursors.follows(Some(id("b")), id("e"), false);
        assert_eq!((cursors.successor(id("a")), cursors.successor(id("b"))), (Some(id("b")), None));
        line(&mut cursors, &["b", "c", "d", "e"], true);
        assert!(is_ordered(&cursors, &["a", "b", "c", "d", "e"]));
        assert_eq!(cursors.successor(id("d")), Some(id("e")));
        // What another page says against it changes nothing.
        line(&mut cursors, &["d", "a"], true);
        assert!(is_ordered(&cursors, &["a", "b", "c", "d", "e"]));
    }

    #[test]
    fn pages_apart_are_joined_by_the_one_between() {
        let mut cursors = Cursors::default();
        line(&mut cursors, &["d", "e", "f"], true);
        line(&mut cursors, &["a", "b"], true);
        assert_eq!(cursors.compare(id("a"), id("f")), None);
        line(&mut cursors, &["b", "c", "d"], true);
        assert!(is_ordered(&cursors, &["a", "b", "c", "d", "e", "f"]));
    }

    #[test]
    fn there_is_room_for_any_number_between_two() {
        let mut cursors = Cursors::default();
        line(&mut cursors, &["first", "last"], false);
        for number in 0..200 {
            let name = format!("{number}");
            cursors.see(id(&name), 1, 0, 0, false);
            cursors.follows(Some(id("first")), id(&name), false);
        }
        assert!(is_ordered(&cursors, &["first", "199", "100", "1", "0", "last"]));
    }

    #[test]
    fn a_cursor_is_seen_once_for_the_first_time() {
        let mut cursors = Cursors::default();
        assert_eq!(cursors.see(id("a"), 3, 0, 7, true), Sight::New);
        let again = |same, paged| Sight::Again(Seen { line: 3, same: Some(same), conn: 0, live: true, paged });
        assert_eq!(cursors.see(id("a"), 5, 0, 7, false), again(true, false));
        assert_eq!(cursors.see(id("a"), 9, 0, 8, true), again(false, true));
        assert_eq!(cursors.see_ephemeral(id("b"), 4, 0), Sight::New);
        assert!(matches!(cursors.see_ephemeral(id("b"), 5, 0), Sight::Again(Seen { line: 4, .. })));
        assert!(matches!(cursors.see(id("b"), 6, 0, 0, true), Sight::Again(Seen { line: 4, same: Some(false), .. })));
        cursors.end_turn();
        assert_eq!((cursors.seen(id("a")), cursors.seen(id("b"))), (Some(3), None));
        assert!(cursors.may_have_seen(id("a")) && cursors.may_have_seen(id("b")) && !cursors.may_have_seen(id("c")));
    }

    #[test]
    fn many_past_cursors_are_known_as_well_as_few() {
        let mut cursors = Cursors::default();
        let (few, many) = (0..FEW / 2, FEW / 2..3 * FEW);
        for turn in [few, many] {
            for number in turn {
                cursors.see_ephemeral(id(&format!("{number}")), 1, 0);
            }
            cursors.end_turn();
        }
        assert!(cursors.few.is_empty() && (0..3 * FEW).all(|number| cursors.may_have_seen(id(&format!("{number}")))));
        assert!(!cursors.may_have_seen(id("another")));
    }
}
