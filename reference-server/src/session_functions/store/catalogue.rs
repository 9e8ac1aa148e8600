//! Session records in the orders in which they are listed.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use msp_types::session::{ListOrder, SessionMeta};

/// A place in a listing: the sort value and the id of a row, which may be gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The time that the order sorts by, in Unix milliseconds.
    pub key: i64,
    /// Session id.
    pub id: String,
}

impl Position {
    /// Where a record stands in an order.
    pub fn of(meta: &SessionMeta, order: &ListOrder) -> Self {
        let key = match order {
            ListOrder::UpdatedDesc => meta.updated_at,
            ListOrder::CreatedAsc | ListOrder::CreatedDesc => meta.created_at,
        };
        Self { key, id: meta.session_id.clone() }
    }
}

/// All records, ready in every order, so that a page costs what it shows.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    metas: HashMap<String, Arc<SessionMeta>>,
    updated: BTreeSet<Position>,
    created: BTreeSet<Position>,
}

impl Catalogue {
    pub(crate) fn get(&self, session_id: &str) -> Option<&Arc<SessionMeta>> {
        self.metas.get(session_id)
    }

    pub(crate) fn all(&self) -> Vec<Arc<SessionMeta>> {
        self.metas.values().cloned().collect()
    }

    pub(crate) fn put(&mut self, meta: Arc<SessionMeta>) {
        self.remove(&meta.session_id);
        self.updated.insert(Position::of(&meta, &ListOrder::UpdatedDesc));
        self.created.insert(Position::of(&meta, &ListOrder::CreatedAsc));
        self.metas.insert(meta.session_id.clone(), meta);
    }

    pub(crate) fn remove(&mut self, session_id: &str) {
        if let Some(old) = self.metas.remove(session_id) {
            self.updated.remove(&Position::of(&old, &ListOrder::UpdatedDesc));
            self.created.remove(&Position::of(&old, &ListOrder::CreatedAsc));
        }
    }

    /// Shows records in an order from behind a position on, until `visit` says false.
    pub(crate) fn scan(
        &self,
        order: &ListOrder,
        after: Option<&Position>,
        visit: &mut dyn FnMut(&Arc<SessionMeta>) -> bool,
    ) {
        let set = match order {
            ListOrder::UpdatedDesc => &self.updated,
            ListOrder::CreatedAsc | ListOrder::CreatedDesc => &self.created,
        };
        let mut show = |position: &Position| self.metas.get(&position.id).is_none_or(&mut *visit);
        let edge = after.map_or(Bound::Unbounded, Bound::Excluded);
        if *order == ListOrder::CreatedAsc {
            let _all = set.range((edge, Bound::Unbounded)).all(&mut show);
        } else {
            let _all = set.range((Bound::Unbounded, edge)).rev().all(&mut show);
        }
    }
}

/// The same over records that nobody keeps in order.
pub(crate) fn scan(
    metas: Vec<Arc<SessionMeta>>,
    order: &ListOrder,
    after: Option<&Position>,
    visit: &mut dyn FnMut(&Arc<SessionMeta>) -> bool,
) {
    let mut catalogue = Catalogue::default();
    for meta in metas {
        catalogue.put(meta);
    }
    catalogue.scan(order, after, visit);
}
