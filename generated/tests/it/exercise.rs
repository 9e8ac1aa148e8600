//! Instances and mutants of every definition, through the types: what came back otherwise, and what was not refused.
//!
//! Nothing here needs a validator; where one is at hand it judges each value first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use msp_schema::instances::{Coverage, Kind, Maker, Mutant};
use msp_schema::{Surface, pointer, published, session};
use serde_json::Value;

use crate::dispatch::{MSP, SESSION};
use crate::types::Type;
use crate::values::same;

/// One document and the types made from it.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) document: Value,
    pub(crate) types: &'static [Type],
}

/// The documents that the types of this build are made from. With `experimental`, stable values are read too.
pub(crate) fn families() -> Vec<Family> {
    let bundle = |name, surface| Family { name, document: published::bundle(surface).value().clone(), types: MSP };
    let mut families = vec![bundle("stable", Surface::Stable)];
    if cfg!(feature = "experimental") {
        families.push(bundle("experimental", Surface::Experimental));
    }
    let document = session::published().definition_bundle().expect("the embedded schemas are whole");
    families.push(Family { name: "session", document, types: SESSION });
    families
}

/// How much is made, for one definition.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) valid: usize,
    pub(crate) broken: usize,
    pub(crate) seed: u64,
}

impl Amount {
    /// All with `FULL=1`, otherwise a part that still reaches everything.
    pub(crate) fn from_environment() -> Self {
        let full = std::env::var_os("FULL").is_some_and(|value| value == "1");
        if full { Self { valid: 200, broken: 50, seed: 1 } } else { Self { valid: 8, broken: 24, seed: 1 } }
    }
}

/// Judges by the relaxed schema whether the subschema at a pointer takes a value.
pub(crate) type Judge<'a> = &'a (dyn Fn(&str, &Value) -> bool + Sync);

/// What came of one family.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) definitions: usize,
    pub(crate) valid: usize,
    pub(crate) broken: usize,
    /// Everything that should not be.
    pub(crate) wrong: Vec<String>,
    /// Mutants that JSON Schema takes and types refuse, by the reason that the committed list must name.
    pub(crate) disagreements: BTreeMap<&'static str, usize>,
    pub(crate) coverage: Coverage,
}

impl Report {
    pub(crate) fn merge(&mut self, other: Self) {
        self.definitions += other.definitions;
        self.valid += other.valid;
        self.broken += other.broken;
        self.wrong.extend(other.wrong);
        self.coverage.merge(other.coverage);
        for (reason, count) in other.disagreements {
            *self.disagreements.entry(reason).or_default() += count;
        }
    }
}

/// Runs every definition of a family, on as many threads as there are cores.
pub(crate) fn run(family: &Family, amount: Amount, judge: Option<Judge>) -> Report {
    let maker = Maker::new(&family.document);
    let names: Vec<&String> = family.document["$defs"].as_object().expect("a bundle has definitions").keys().collect();
    let queue = Mutex::new(names.iter());
    let total = Mutex::new(Report::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut report = Report::default();
                loop {
                    let next = queue.lock().expect("no thread panics").next(); // as a condition it would hold the lock
                    let Some(name) = next else { break };
                    report.merge(definition(family, &maker, name, amount, judge));
                }
                total.lock().expect("no thread panics").merge(report);
            });
        }
    });
    let mut total = total.into_inner().expect("no thread panics");
    let known: BTreeSet<&str> = names.iter().map(|name| name.as_str()).collect();
    if family.name != "stable" {
        let strangers = family.types.iter().filter(|one| !known.contains(one.name));
        total.wrong.extend(strangers.map(|one| format!("{}: the type `{}` has no definition", family.name, one.name)));
    }
    total
}

fn definition(family: &Family, maker: &Maker, name: &str, amount: Amount, judge: Option<Judge>) -> Report {
    let mut report = Report { definitions: 1, ..Report::default() };
    let place = format!("{} {name}", family.name);
    let Some(one) = family.types.iter().find(|one| one.name == name) else {
        report.wrong.push(format!("{place}: no type is listed for it"));
        return report;
    };
    let at = pointer::of(&["$defs", name]);
    let made = maker.valid(&at, amount.valid, amount.seed).expect("the pointer is the document's own");
    report.wrong.extend(made.gaps.iter().map(|gap| format!("{place}: not made: {} at {}", gap.why, gap.at)));
    let mut coverage = Coverage::count(&family.document, &at);
    for value in &made.values {
        if let Some(judge) = judge {
            if !judge(&at, value) {
                report.wrong.push(format!("{place}: the maker made {value}, which the schema refuses"));
            }
            coverage.mark(&family.document, &at, value, &|at, value| judge(at, value));
        }
        report.wrong.extend(differences(one, value).into_iter().map(|what| format!("{place}: {what}\n    {value}")));
    }
    report.valid = made.values.len();
    if judge.is_some() {
        report.wrong.extend(coverage.missing().map(|fact| format!("{place}: never made: {fact:?}")));
        report.coverage = coverage;
    }
    let broken = maker.broken(&at, amount.broken, amount.seed).expect("the pointer is the document's own");
    report.broken = broken.mutants.len();
    for mutant in &broken.mutants {
        if let Some(judge) = judge {
            if judge(&at, &mutant.value) != mutant.schema_accepts {
                report.wrong.push(format!("{place}: the schema judges otherwise than the maker: {mutant:?}"));
            }
        }
        if one.strictly(&mutant.value.to_string()).is_ok() {
            report.wrong.push(format!("{place}: taken by `from_json_strict`: {mutant:?}"));
        }
        if mutant.schema_accepts {
            *report.disagreements.entry(reason(mutant)).or_default() += 1;
        }
    }
    report
}

/// Everything in which a valid value does not come back as it was.
fn differences(one: &Type, value: &Value) -> Vec<String> {
    let text = value.to_string();
    let mut all = Vec::new();
    match one.through_text(&text) {
        Ok(back) if serde_json::from_str(&back).is_ok_and(|back| same(&back, value)) => {}
        Ok(back) => all.push(format!("text came back as {back}")),
        Err(error) => all.push(format!("text is refused: {error}")),
    }
    match one.through_value(value.clone()) {
        Ok(back) if same(&back, value) => {}
        Ok(back) => all.push(format!("tree came back as {back}")),
        Err(error) => all.push(format!("tree is refused: {error}")),
    }
    if let Err(error) = one.strictly(&text) {
        all.push(format!("refused by `from_json_strict`: {error}"));
    }
    all
}

/// Why types refuse what JSON Schema takes.
fn reason(mutant: &Mutant) -> &'static str {
    match mutant.kind {
        Kind::IntegralFloat => "integral-float",
        Kind::BeyondInteger => "beyond-64-bits",
        _ => "known-tag-bad-payload",
    }
}
