//! Where monitors say what they saw, and what they may ask.

#![allow(dead_code, reason = "families that are still to come ask for it")]

use crate::facts::{Answer, Core, Id, Known, Placed};
use crate::report::Finding;
use crate::rules::monitor::Watched;
use crate::rules::table::{Binds, Row, Table, Version};
use crate::rules::tally::{Tally, Waiting};
use crate::rules::{Rule, Severity};
use crate::transcript::Side;

/// For whom a rule is judged: it holds in the revision, and the side is under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// Whom the rule binds.
    pub(crate) binds: Binds,
    pub(crate) host: bool,
    pub(crate) client: bool,
}

/// What a monitor is given beside the fact.
pub(crate) struct Out<'o> {
    pub(crate) core: &'o Core,
    pub(crate) tally: &'o mut Tally,
    /// Places of the family's rules in the table.
    pub(crate) places: &'o [usize],
    /// For each rule of the table, for whom it is judged on this connection.
    pub(crate) sides: &'o [Sides],
    /// Connection and sender of the fact.
    pub(crate) conn: u32,
    pub(crate) side: Side,
}

impl<'o> Out<'o> {
    /// What is remembered between facts.
    pub(crate) fn core(&self) -> &'o Core {
        self.core
    }

    /// How far the connection of the fact knows a session.
    pub(crate) fn known(&self, session: Id) -> Known {
        self.core.known(self.conn, session)
    }

    /// The revision by which the connection of the fact is judged.
    pub(crate) fn revision(&self) -> Version {
        self.core.connection(self.conn).revision
    }

    /// Whether that revision is this one or newer: for a clause that is newer than its rule.
    pub(crate) fn since(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.revision() >= Version(major, minor, patch)
    }

    /// Whether this is the run of a client under test, against a host that follows a script. Some rules are judged only
    /// there: in a recording, a person may have had reasons.
    pub(crate) fn is_client_run(&self) -> bool {
        self.tally.client_run
    }

    /// Whether it is unattended: nobody sits before the client who could decide.
    pub(crate) fn frame_limit(&self) -> Option<u64> {
        self.tally.frame_limit
    }

    fn row(&self, rule: Watched) -> &'static Row {
        &Table::msp().rows()[self.places[rule.0 as usize]]
    }

    /// Whether a rule is judged here: it holds in the revision, and the side that it binds is under test. A rule that
    /// binds both is judged for the side that sent the frame of the fact.
    pub(crate) fn is_judged(&self, rule: Watched) -> bool {
        let sides = self.sides[self.places[rule.0 as usize]];
        match (sides.binds, self.side) {
            (Binds::Host, _) | (Binds::Both, Side::Server) => sides.host,
            (Binds::Client, _) | (Binds::Both, Side::Client) => sides.client,
        }
    }

    fn is_judged_for(&self, rule: Watched, side: Side) -> bool {
        let sides = self.sides[self.places[rule.0 as usize]];
        if side == Side::Server { sides.host } else { sides.client }
    }

    /// The premise of a rule occurred, so that it could have been broken.
    pub(crate) fn exercised(&mut self, rule: Watched) {
        if self.is_judged(rule) {
            self.tally.exercised(self.places[rule.0 as usize]);
        }
    }

    /// The premise of a rule occurred for one side: for halves that bind another one than the fact or the rule says.
    pub(crate) fn exercised_by(&mut self, rule: Watched, side: Side) {
        if self.is_judged_for(rule, side) {
            self.tally.exercised(self.places[rule.0 as usize]);
        }
    }

    /// A rule cannot be exercised for want of a capability, or of something else that the peer lacks, named here.
    pub(crate) fn not_applicable(&mut self, rule: Watched, lacks: &str) {
        if self.is_judged(rule) {
            self.tally.not_applicable(self.places[rule.0 as usize], lacks);
        }
    }

    /// A rule is broken: by this fact, at a place below it. The rest is said in one go, and ends with `done`:
    /// `out.violated(CUR_1, event, "/viewCursor").expected("…").actual("…").contradicts(line).done();`
    pub(crate) fn violated(&mut self, rule: Watched, fact: &impl Placed, below: &str) -> Violation<'_> {
        let is_judged = self.is_judged(rule);
        self.violation(rule, is_judged, fact, below)
    }

    /// The same for a half of a rule that binds another side than the fact or the rule says.
    pub(crate) fn violated_by(&mut self, rule: Watched, side: Side, fact: &impl Placed, below: &str) -> Violation<'_> {
        let is_judged = self.is_judged_for(rule, side);
        self.violation(rule, is_judged, fact, below)
    }

    fn violation(&mut self, rule: Watched, is_judged: bool, fact: &impl Placed, below: &str) -> Violation<'_> {
        let (at, row) = (fact.at(), self.row(rule));
        let mut finding = Finding::new(row.rule(), at.line, "", String::new(), "");
        finding.from = Some(at.side);
        finding.method = (!at.method.is_empty()).then(|| at.method.to_owned());
        finding.pointer = fact.pointer(below);
        let waiting =
            Waiting { place: self.places[rule.0 as usize], conn: at.conn, session: None, epoch: None, finding };
        Violation { tally: self.tally, core: self.core, waiting: is_judged.then_some(waiting) }
    }
}

/// A breach that is being described; it counts with [`done`](Self::done).
#[must_use = "it counts with `done`"]
pub(crate) struct Violation<'o> {
    tally: &'o mut Tally,
    core: &'o Core,
    /// Nothing where the rule is not judged here.
    waiting: Option<Waiting>,
}

impl Violation<'_> {
    fn with(mut self, change: impl FnOnce(&mut Waiting)) -> Self {
        if let Some(waiting) = &mut self.waiting {
            change(waiting);
        }
        self
    }

    /// Counts it.
    pub(crate) fn done(self) {
        if let Some(waiting) = self.waiting {
            self.tally.add(waiting);
        }
    }

    /// What should be there.
    pub(crate) fn expected(self, expected: impl Into<String>) -> Self {
        self.with(|it| it.finding.expected = expected.into())
    }

    /// What is there.
    pub(crate) fn actual(self, actual: impl Into<String>) -> Self {
        self.with(|it| it.finding.actual = actual.into())
    }

    /// An earlier line that the fact contradicts.
    pub(crate) fn contradicts(self, line: u64) -> Self {
        self.with(|it| {
            it.finding.contradicts.push(line);
            it.finding.contradicts.sort_unstable();
            it.finding.contradicts.dedup();
        })
    }

    /// Another line of the transcript is at fault, such as an earlier one; of the same connection.
    pub(crate) fn in_line(self, line: u64) -> Self {
        self.with(|it| it.finding.line = line)
    }

    /// Another frame of the same connection is at fault: at a line, of a method, at a place in it.
    pub(crate) fn elsewhere(self, line: u64, method: &str, pointer: &str) -> Self {
        self.with(|it| {
            (it.finding.line, it.finding.method) = (line, Some(method.to_owned()));
            pointer.clone_into(&mut it.finding.pointer);
        })
    }

    /// It is a warning, whatever the level of the rule.
    pub(crate) fn warn(self) -> Self {
        self.with(|it| it.finding.severity = Severity::Warning)
    }

    /// It is a note, whatever the level of the rule.
    pub(crate) fn note(self) -> Self {
        self.with(|it| it.finding.severity = Severity::Note)
    }

    /// It counts only with the next live event of the session on this connection, and not if a gap comes before: for
    /// findings of order and absence, since `view/gap` may come after the event that follows it.
    pub(crate) fn after_next_event(self, session: Id) -> Self {
        let core = self.core;
        self.with(|it| {
            it.session = Some(session);
            it.epoch = Some(core.epoch(it.conn, Some(session)));
        })
    }
}

/// The rule of an id in the table, for the registry.
pub(crate) fn place_of(id: &str) -> Option<usize> {
    Table::msp().find(id).map(Row::index)
}

/// Names a rule of the table by its place.
pub(crate) fn rule_at(place: usize) -> Rule {
    Table::msp().rows()[place].rule()
}

/// An answer that breaks a rule: it contradicts its request, and an earlier line where one is given.
pub(crate) fn wrong(
    rule: Watched,
    answer: &Answer<'_>,
    below: &str,
    (expected, actual): (&str, String),
    line: Option<u64>,
    out: &mut Out<'_>,
) {
    let mut violation =
        out.violated(rule, answer, below).expected(expected).actual(actual).contradicts(answer.request.line);
    if let Some(line) = line {
        violation = violation.contradicts(line);
    }
    violation.done();
}
