//! What came of each rule: how often it was exercised, and how often broken.

#![allow(dead_code, reason = "families that are still to come ask for it")]

use serde::Serialize;

use crate::facts::{Epoch, Id, Map};
use crate::report::Finding;
use crate::rules::table::Table;
use crate::rules::{Rule, Severity};
use crate::transcript::Side;

/// Who is judged. The other side, if only one is, follows a script: what it does to provoke is no finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UnderTest {
    /// The host; a suite plays the client.
    Host,
    /// The client; a script plays the host.
    Client,
    /// Both, as in a recording.
    #[default]
    Both,
}

/// What came of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
#[non_exhaustive]
pub enum Verdict {
    /// It was exercised, and held.
    Pass,
    /// It was broken.
    Fail,
    /// It was broken, and is one of those that only warn.
    Warn,
    /// Its premise never occurred.
    NotObserved,
    /// The peer lacks what it is about.
    NotApplicable {
        /// The capability, or what else is missing.
        lacks: String,
    },
    /// A prerequisite was missing: counts as failing.
    Untestable {
        /// What was missing.
        lacks: String,
    },
    /// A fault of the kit itself.
    Error {
        /// What went wrong.
        what: String,
    },
}

impl Verdict {
    /// The word that reports use.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::NotObserved => "not-observed",
            Self::NotApplicable { .. } => "not-applicable",
            Self::Untestable { .. } => "untestable",
            Self::Error { .. } => "error",
        }
    }
}

/// A rule and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleVerdict {
    /// The rule.
    pub rule: Rule,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How often its premise occurred.
    pub exercised: u64,
    /// How often it was broken, warnings included.
    pub broken: u64,
}

#[derive(Debug, Default, Clone)]
struct Of {
    exercised: u64,
    failed: u64,
    warned: u64,
    lacks: Option<String>,
}

/// A finding of a monitor, and what it waits for.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Place of its rule in the table.
    pub(crate) place: usize,
    pub(crate) conn: u32,
    /// The session for whose next event it waits; nothing where it does not.
    pub(crate) session: Option<Id>,
    pub(crate) epoch: Option<Epoch>,
    pub(crate) finding: Finding,
}

/// What came of each rule so far.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) under_test: UnderTest,
    pub(crate) client_run: bool,
    pub(crate) frame_limit: Option<u64>,
    rules: Vec<Of>,
    waiting: Map<(u32, Id), Vec<Waiting>>,
    /// Findings that the judge has not taken yet, with their connections.
    pub(crate) findings: Vec<(u32, Finding)>,
}

impl Tally {
    pub(crate) fn new(under_test: UnderTest, client_run: bool, frame_limit: Option<u64>) -> Self {
        let rules = vec![Of::default(); Table::msp().rows().len()];
        Self { under_test, client_run, frame_limit, rules, waiting: Map::default(), findings: Vec::new() }
    }

    /// Whether a side is under test.
    pub(crate) fn tests(&self, side: Side) -> bool {
        match self.under_test {
            UnderTest::Both => true,
            UnderTest::Host => side == Side::Server,
            UnderTest::Client => side == Side::Client,
        }
    }

    pub(crate) fn exercised(&mut self, place: usize) {
        self.rules[place].exercised += 1;
    }

    pub(crate) fn not_applicable(&mut self, place: usize, lacks: &str) {
        self.rules[place].lacks.get_or_insert_with(|| lacks.to_owned());
    }

    /// Counts a finding that names a rule of the table.
    pub(crate) fn count(&mut self, place: usize, severity: Severity) {
        match severity {
            Severity::Error => self.rules[place].failed += 1,
            Severity::Warning => self.rules[place].warned += 1,
            Severity::Note => {}
        }
    }

    pub(crate) fn add(&mut self, waiting: Waiting) {
        match waiting.session {
            Some(session) => self.waiting.entry((waiting.conn, session)).or_default().push(waiting),
            None => self.findings.push((waiting.conn, waiting.finding)),
        }
    }

    /// A live event of a session: what waited for it counts, unless something was missed.
    pub(crate) fn next_event(&mut self, conn: u32, session: Id, epoch: Epoch) {
        if self.waiting.is_empty() {
            return;
        }
        for waiting in self.waiting.remove(&(conn, session)).into_iter().flatten() {
            if waiting.epoch == Some(epoch) {
                self.findings.push((conn, waiting.finding));
            }
        }
    }

    /// The verdicts of the rules at these places.
    pub(crate) fn verdicts(&self, places: impl Iterator<Item = usize>) -> Vec<RuleVerdict> {
        places
            .map(|place| {
                let of = &self.rules[place];
                let verdict = match of {
                    Of { failed: 1.., .. } => Verdict::Fail,
                    Of { warned: 1.., .. } => Verdict::Warn,
                    Of { exercised: 1.., .. } => Verdict::Pass,
                    Of { lacks: Some(lacks), .. } => Verdict::NotApplicable { lacks: lacks.clone() },
                    _ => Verdict::NotObserved,
                };
                let rule = super::out::rule_at(place);
                RuleVerdict { rule, verdict, exercised: of.exercised, broken: of.failed + of.warned }
            })
            .collect()
    }
}
