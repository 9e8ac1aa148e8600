//! Which requests are open, so that a response is read as the result of its own method.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};

use crate::transcript::Side;

/// Open requests that are remembered; beyond that the oldest are forgotten, and the report says how many.
const MOST_OPEN: usize = 65_536;

/// An id on the wire: `1` and `"1"` are two (ENV-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdRef<'b> {
    Number(i64),
    Text(&'b str),
}

/// A request that has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Index of its method; none where the bundle does not list it.
    pub(crate) method: Option<usize>,
    /// Line of the request.
    pub(crate) line: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Number(i64),
    Text(Box<str>),
}

type Key = (u32, Side, Id);

/// The requests that are open.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// The last of each list is the nearest.
    requests: HashMap<Key, Vec<Pending>>,
    count: usize,
    order: VecDeque<(u64, Key)>,
    /// Requests that were forgotten unanswered.
    pub(crate) forgotten: u64,
}

/// Whether an id was free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    Fresh,
    /// A request of the same sender with that id is open, from this line.
    InFlight(u64),
}

impl Open {
    pub(crate) fn insert(&mut self, conn: u32, asker: Side, id: IdRef<'_>, pending: Pending) -> Insertion {
        let key = key(conn, asker, id);
        self.order.push_back((pending.line, key.clone()));
        let list = self.requests.entry(key).or_default();
        let insertion = list.last().map_or(Insertion::Fresh, |earlier| Insertion::InFlight(earlier.line));
        list.push(pending);
        self.count += 1;
        self.forget();
        insertion
    }

    /// The request that a response answers, and who asked. A response of a known side answers the other side; one of an
    /// unknown side answers the nearest request of its id.
    pub(crate) fn find(&self, conn: u32, responder: Option<Side>, id: IdRef<'_>) -> Option<(Side, Pending)> {
        let of =
            |asker: Side| self.requests.get(&key(conn, asker, id)).and_then(|list| list.last()).map(|it| (asker, *it));
        match responder {
            Some(side) => of(side.other()),
            None => match (of(Side::Client), of(Side::Server)) {
                (Some(client), Some(server)) => Some(if server.1.line > client.1.line { server } else { client }),
                (client, server) => client.or(server),
            },
        }
    }

    /// Takes the request away that [`find`](Self::find) gives.
    pub(crate) fn answer(&mut self, conn: u32, asker: Side, id: IdRef<'_>) {
        if let Entry::Occupied(mut list) = self.requests.entry(key(conn, asker, id)) {
            if list.get_mut().pop().is_some() {
                self.count -= 1;
            }
            if list.get().is_empty() {
                list.remove();
            }
        }
    }

    /// Gives the open requests of a connection other numbers for their methods.
    pub(crate) fn renumber(&mut self, conn: u32, number: impl Fn(usize) -> Option<usize>) {
        for (_, list) in self.requests.iter_mut().filter(|((owner, _, _), _)| *owner == conn) {
            for pending in list {
                pending.method = pending.method.and_then(&number);
            }
        }
    }

    /// Keeps both tables small: drops the oldest requests beyond the limit, and the places of answered ones.
    fn forget(&mut self) {
        while self.count > MOST_OPEN {
            let Some((line, key)) = self.order.pop_front() else { break };
            if let Some(list) = self.requests.get_mut(&key) {
                let before = list.len();
                list.retain(|pending| pending.line != line);
                self.count -= before - list.len();
                self.forgotten += (before - list.len()) as u64;
                if list.is_empty() {
                    self.requests.remove(&key);
                }
            }
        }
        if self.order.len() > 2 * self.count + 1024 {
            let requests = &self.requests;
            self.order
                .retain(|(line, key)| requests.get(key).is_some_and(|list| list.iter().any(|it| it.line == *line)));
        }
    }
}

fn key(conn: u32, asker: Side, id: IdRef<'_>) -> Key {
    let id = match id {
        IdRef::Number(number) => Id::Number(number),
        IdRef::Text(text) => Id::Text(text.into()),
    };
    (conn, asker, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64) -> Pending {
        Pending { method: Some(0), line }
    }

    #[test]
    fn a_bare_response_answers_the_nearest_request() {
        let mut open = Open::default();
        open.insert(0, Side::Client, IdRef::Number(1), at(1));
        open.insert(0, Side::Server, IdRef::Number(1), at(2));
        assert_eq!(open.find(0, None, IdRef::Number(1)), Some((Side::Server, at(2))));
        assert_eq!(open.find(0, Some(Side::Server), IdRef::Number(1)), Some((Side::Client, at(1))));
        assert_eq!(open.find(0, None, IdRef::Text("1")), None);
        open.answer(0, Side::Server, IdRef::Number(1));
        assert_eq!(open.find(0, None, IdRef::Number(1)), Some((Side::Client, at(1))));
    }

    #[test]
    fn neither_answered_nor_unanswered_requests_pile_up() {
        let mut open = Open::default();
        open.insert(0, Side::Client, IdRef::Text("first"), at(0));
        for line in 1..200_000 {
            open.insert(0, Side::Client, IdRef::Number(i64::try_from(line).unwrap()), at(line));
            open.answer(0, Side::Client, IdRef::Number(i64::try_from(line).unwrap()));
        }
        assert!(open.order.len() < 3000 && open.forgotten == 0);
        for line in 200_000..300_000 {
            open.insert(0, Side::Client, IdRef::Number(i64::try_from(line).unwrap()), at(line));
        }
        assert_eq!(open.requests.len(), MOST_OPEN);
        assert_eq!(open.forgotten, 100_001 - MOST_OPEN as u64);
    }
}
