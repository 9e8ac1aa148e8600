//! What came of each rule over all files of a run.

use std::collections::BTreeMap;

use msp_judge::rules::table::Table;
use msp_judge::{Rule, RuleVerdict, Verdict};

/// Which verdicts a run tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdicts {
    /// None: findings alone.
    #[default]
    None,
    /// How many rules passed, failed and so on; with JSON, all of them.
    Summary,
    /// Each.
    All,
}

/// The verdicts of several transcripts as one.
#[derive(Debug, Default)]
pub(super) struct Together(BTreeMap<usize, RuleVerdict>);

impl Together {
    pub(super) fn add(&mut self, verdicts: Vec<RuleVerdict>) {
        for verdict in verdicts {
            let place = Table::msp().rows().iter().position(|row| row.id() == verdict.rule.id());
            let known = self.0.entry(place.unwrap_or(usize::MAX));
            known
                .and_modify(|known| {
                    known.exercised += verdict.exercised;
                    known.broken += verdict.broken;
                    if weight(&verdict.verdict) > weight(&known.verdict) {
                        known.verdict = verdict.verdict.clone();
                    }
                })
                .or_insert(verdict);
        }
    }

    /// In the order of the protocol's text.
    pub(super) fn iter(&self) -> impl Iterator<Item = &RuleVerdict> {
        self.0.values()
    }

    /// How many rules came to what, in words.
    pub(super) fn summary(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for verdict in self.iter() {
            *counts.entry(verdict.verdict.word()).or_default() += 1;
        }
        let words = ["pass", "fail", "warn", "not-observed", "not-applicable", "untestable", "error"];
        let parts: Vec<String> =
            words.iter().filter_map(|word| counts.get(word).map(|count| format!("{count} {word}"))).collect();
        format!("{} of {} rules judged: {}", self.0.len(), Table::msp().rows().len(), parts.join(", "))
    }
}

/// Of two transcripts, the heavier verdict is that of both.
fn weight(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::NotObserved => 0,
        Verdict::NotApplicable { .. } => 1,
        Verdict::Pass => 2,
        Verdict::Warn => 3,
        Verdict::Untestable { .. } => 4,
        Verdict::Fail => 5,
        // What comes later is told as what is certain of it: that it is not good.
        _ => 6,
    }
}

/// One line about a rule.
pub(super) fn line(verdict: &RuleVerdict) -> String {
    let RuleVerdict { rule, verdict, exercised, broken, .. } = verdict;
    let id = Rule::id(*rule);
    let lacks = match verdict {
        Verdict::NotApplicable { lacks } | Verdict::Untestable { lacks } => format!(" for want of {lacks}"),
        _ => String::new(),
    };
    match broken {
        0 => format!("{:<14} {id}{lacks}, exercised {exercised} times", verdict.word()),
        broken => format!("{:<14} {id}{lacks}, exercised {exercised} times, broken {broken} times", verdict.word()),
    }
}
