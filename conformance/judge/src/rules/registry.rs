//! The families of rules that have a judge. A family is one file beside this one and one line here.

use std::collections::BTreeSet;

use super::Rule;
use super::monitor::Family;
use super::out::place_of;

macro_rules! families {
    ($($($name:ident)::+;)+) => {
        /// All families; at most 64.
        pub(crate) const FAMILIES: &[&Family] = &[$(&super::$($name)::+::FAMILY),+];
    };
}

// One a line, so that two who add one do not meet.
families! {
    agent;
    appr;
    appr::modes;
    appr::pending;
    cap;
    cmd;
    cur;
    delta;
    err;
    gap;
    goal;
    hs;
    item;
    items;
    links;
    model;
    page;
    read_output;
    sess;
    state;
    sub;
    task;
    turn;
    uin;
    workflow;
}

/// Rules that the judge itself holds, without a monitor: of these a breach is found wherever it is.
const HELD: &[Rule] = &[];

/// Places of the rules that have a judge.
pub(crate) fn judged() -> BTreeSet<usize> {
    let watched = FAMILIES.iter().flat_map(|family| family.rules.iter().copied());
    watched.chain(HELD.iter().map(|rule| rule.id())).filter_map(place_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::table::Table;

    #[test]
    fn families_name_rules_of_the_table_once_and_none_with_a_reason() {
        assert!(FAMILIES.len() <= 64);
        let mut named = BTreeSet::new();
        for id in FAMILIES.iter().flat_map(|family| family.rules) {
            let row = Table::msp().find(id).unwrap_or_else(|| panic!("{id} is no rule"));
            assert_eq!(row.reason(), None, "{id} has a reason why nobody can judge it");
            assert!(named.insert(id), "{id} has two families");
        }
    }
}
