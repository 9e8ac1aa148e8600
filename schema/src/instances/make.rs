//! Valid values: a choice that was never made comes before one that was, so that a few values reach every part.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::fits::Lens;
use super::plan::{Choice, List, NodeId, Plan, Record, Rest, Shape, Tagged, Text, Values};
use super::random::Random;
use super::{Gap, Made, scalars};

/// Behind this many references only what is required is made.
const DEEPEST: u32 = 4;

/// Behind a reference, a value that has this many parts grows no further than it must.
const LARGEST: usize = 90;

/// Tries in a row that bring nothing new; then all values that exist are taken to be made.
const STALE: usize = 300;

/// Tries beyond the limit for the sake of alternatives that never came up; then they are gaps.
const BEYOND: usize = 1_000;

/// Names that a schema hardly uses, some of which generated Rust may want for itself.
const UNKNOWN_NAMES: [&str; 6] = ["x-unknown", "extra", "", "größe", "other_", "type "];

/// Facet of an object: filled, or without any member.
const BARE: usize = usize::MAX;

/// How many alternatives stand for "anything": [`anything`] gives them.
const ANYTHING: usize = 11;

pub(super) fn valid(plan: &Plan, root: NodeId, limit: usize, seed: u64) -> Made {
    let mut maker = Maker {
        plan,
        random: Random::new(seed),
        uses: BTreeMap::new(),
        met: BTreeSet::new(),
        parts: 0,
        journal: Vec::new(),
    };
    let mut made = Made::default();
    let (mut known, mut stale, mut refused) = (BTreeSet::new(), 0, 0);
    let mut beyond = 0;
    while stale < STALE && (made.values.len() < limit || beyond < BEYOND && maker.unmet(root)) {
        stale += 1;
        beyond += usize::from(made.values.len() >= limit);
        maker.parts = 0;
        maker.journal.clear();
        let Some(value) = maker.node(root, 0) else {
            refused += 1;
            maker.give_back();
            continue;
        };
        if !plan.fits(root, &value, Lens::Schema) || !plan.fits(root, &value, Lens::Types) {
            refused += 1;
            maker.give_back();
        } else if known.insert(value.to_string()) {
            made.values.push(value);
            stale = 0;
        }
    }
    if refused > 0 && made.values.is_empty() {
        made.gaps.push(Gap { at: plan.nodes[root].at.clone(), why: "no value was found that fits".into() });
    }
    maker.gaps(root, &mut made.gaps);
    made
}

struct Maker<'p> {
    plan: &'p Plan,
    random: Random,
    /// How often each alternative of a facet was taken. Facet 0 of an object is "unknown members", the others its members.
    uses: BTreeMap<(NodeId, usize), Vec<u32>>,
    /// Nodes whose every alternative was taken.
    met: BTreeSet<NodeId>,
    parts: usize,
    /// What was taken for the value at work, to be given back if that one is refused.
    journal: Vec<(NodeId, usize, usize)>,
}

impl Maker<'_> {
    fn node(&mut self, id: NodeId, hops: u32) -> Option<Value> {
        self.parts += 1;
        let plan = self.plan;
        plan.depth[id]?; // where nothing can be made, trying may never end
        match plan.shape(id) {
            Shape::Any => {
                let way = self.choose(id, 0, ANYTHING, hops);
                Some(anything(way, &mut self.random))
            }
            Shape::Never | Shape::Unmakable(_) => None,
            Shape::Values(values) => Some(self.values(id, values, hops)),
            Shape::Boolean => Some(Value::Bool(self.choose(id, 0, 2, hops) == 1)),
            Shape::Null => Some(Value::Null),
            Shape::Integer(bounds) => {
                self.scalar(id, scalars::integers(bounds), hops, |random| scalars::random_integer(bounds, random))
            }
            Shape::Number(bounds) => {
                self.scalar(id, scalars::numbers(bounds), hops, |random| scalars::random_number(bounds, random))
            }
            Shape::Text(text) => self.text(id, text, hops),
            Shape::List(list) => self.list(id, list, hops),
            Shape::Record(record) => self.record(id, record, hops).map(Value::Object),
            Shape::Choice(choice) => self.choice(id, choice, hops),
            Shape::Tagged(tagged) => self.tagged(id, tagged, hops),
            Shape::Ref(target) => self.node(*target, hops + 1),
        }
    }

    fn scalar(
        &mut self,
        id: NodeId,
        all: Vec<Value>,
        hops: u32,
        other: impl Fn(&mut Random) -> Option<Value>,
    ) -> Option<Value> {
        let way = self.choose(id, 0, all.len() + 1, hops);
        if self.settled(id, hops) && self.random.percent(50) {
            return other(&mut self.random);
        }
        all.into_iter().nth(way).or_else(|| other(&mut self.random))
    }

    fn values(&mut self, id: NodeId, values: &Values, hops: u32) -> Value {
        let known = values.known.len();
        let way = self.choose(id, 0, known + if values.open { 2 } else { 0 }, hops);
        if way < known {
            return values.known[way].clone();
        }
        let recased = |value: &Value| value.as_str().map(|text| json!(text.to_uppercase()));
        let odd = values.known.iter().filter_map(recased).find(|value| !values.known.contains(value));
        match odd {
            Some(odd) if way == known => odd,
            _ => json!(format!("novel {}", scalars::word(&mut self.random))),
        }
    }

    fn text(&mut self, id: NodeId, text: &Text, hops: u32) -> Option<Value> {
        let way = if hops == 0 && !self.settled(id, hops) {
            self.choose(id, 0, scalars::STRING_WAYS, hops)
        } else {
            self.random.below(8)
        };
        let way = if way < scalars::STRING_WAYS { way } else { 1 };
        scalars::string(text, way, &mut self.random)
            .or_else(|| scalars::string(text, 1, &mut self.random))
            .map(Value::String)
    }

    fn list(&mut self, id: NodeId, list: &List, hops: u32) -> Option<Value> {
        let sizes = sizes(list);
        let possible = self.plan.depth[list.items].is_some();
        let size = if !possible || self.lean(hops) {
            list.least
        } else if hops == 0
            && sizes.contains(&1)
            && self.uses(id, 0, sizes.len()).iter().all(|uses| *uses > 0)
            && self.unmet(list.items)
        {
            3.min(list.most.unwrap_or(3)).max(list.least)
        } else {
            let way = self.choose(id, 0, sizes.len(), hops);
            if self.settled(id, hops) && self.random.percent(20) {
                let longest = list.most.unwrap_or(usize::MAX).min(list.least + 12);
                list.least + self.random.below(longest - list.least + 1)
            } else {
                sizes[way]
            }
        };
        let mut items: Vec<Value> = Vec::new();
        for _ in 0..size {
            let fresh = (0..24).find_map(|_| {
                let item = self.node(list.items, hops)?;
                (!list.unique || !items.iter().any(|before| super::fits::equal(before, &item))).then_some(item)
            });
            match fresh {
                Some(item) => items.push(item),
                None if items.len() >= list.least => break,
                None => return None,
            }
        }
        Some(Value::Array(items))
    }

    fn choice(&mut self, id: NodeId, choice: &Choice, hops: u32) -> Option<Value> {
        let branch = self.branch(id, &choice.branches, hops)?;
        (0..8).find_map(|_| {
            let value = self.node(branch, hops)?;
            let alone = !choice.exclusive
                || choice
                    .branches
                    .iter()
                    .all(|other| *other == branch || !self.plan.fits(*other, &value, Lens::Schema));
            alone.then_some(value)
        })
    }

    fn tagged(&mut self, id: NodeId, tagged: &Tagged, hops: u32) -> Option<Value> {
        let branches: Vec<NodeId> = tagged.arms.iter().map(|arm| arm.node).chain(tagged.other).collect();
        let branch = self.branch(id, &branches, hops)?;
        let mut value = self.node(branch, hops)?;
        let tag = value.get_mut(&tagged.tag)?;
        if tagged.other == Some(branch) && tagged.find_arm(tag).is_some() {
            *tag = json!(format!("novel {}", scalars::word(&mut self.random))); // a known tag would ask for its own payload
        }
        Some(value)
    }

    /// An alternative that can be made; where space is short, the one that ends soonest.
    fn branch(&mut self, id: NodeId, branches: &[NodeId], hops: u32) -> Option<NodeId> {
        let depth = |id: &NodeId| self.plan.depth[*id].unwrap_or(u32::MAX);
        if self.lean(hops) {
            return branches.iter().copied().min_by_key(depth).filter(|id| depth(id) < u32::MAX);
        }
        let settled = self.uses(id, 0, branches.len()).iter().all(|uses| *uses > 0);
        let mut way = self.choose(id, 0, branches.len(), hops);
        if hops == 0 && settled {
            let unmet = branches.iter().position(|branch| self.unmet(*branch) && self.plan.depth[*branch].is_some());
            way = unmet.filter(|_| self.random.percent(70)).unwrap_or(way);
        }
        let possible = |id: &NodeId| self.plan.depth[*id].is_some();
        branches.iter().cycle().skip(way).take(branches.len()).copied().find(possible)
    }

    fn record(&mut self, id: NodeId, record: &Record, hops: u32) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        if hops == 0 && may_be_bare(record) && self.choose(id, BARE, 2, hops) == 1 {
            return Some(object);
        }
        let mut present: BTreeSet<usize> =
            (0..record.members.len()).filter(|at| self.wants(id, record, *at, hops)).collect();
        present.extend((0..record.members.len()).filter(|at| record.members[*at].required));
        self.balance(record, &mut present);
        for (at, member) in record.members.iter().enumerate() {
            let taken = present.contains(&at);
            if !member.required && hops == 0 {
                self.take(id, at + 1, 2, usize::from(taken));
            }
            if taken {
                object.insert(member.name.clone(), self.node(member.node, hops)?);
            }
        }
        self.unknown(id, record, hops, &mut object)?;
        Some(object)
    }

    /// Whether an optional member is made this time.
    fn wants(&mut self, id: NodeId, record: &Record, at: usize, hops: u32) -> bool {
        let member = &record.members[at];
        if member.required || self.plan.depth[member.node].is_none() {
            return member.required;
        }
        if hops > 0 {
            // A handful of members on the first level behind a reference, fewer below.
            let share = 600 / record.members.len().max(8) / usize::try_from(hops * hops).unwrap_or(1);
            return !self.lean(hops) && self.random.percent(share);
        }
        let uses = self.uses(id, at + 1, 2);
        match (uses[0], uses[1]) {
            (_, 0) => true,
            (0, _) => false,
            _ if self.unmet(member.node) => self.random.percent(85),
            _ => self.random.percent(if record.members.len() > 24 { 25 } else { 50 }),
        }
    }

    /// Adds and drops optional members until limits and dependent members are as the schema asks.
    fn balance(&mut self, record: &Record, present: &mut BTreeSet<usize>) {
        if let Some(most) = record.most {
            while present.len() > most {
                let optional: Vec<usize> = present.iter().copied().filter(|at| !record.members[*at].required).collect();
                if optional.is_empty() {
                    break;
                }
                present.remove(&optional[self.random.below(optional.len())]);
            }
        }
        for at in 0..record.members.len() {
            if present.len() < record.least && self.plan.depth[record.members[at].node].is_some() {
                present.insert(at);
            }
        }
        for _ in 0..record.dependent.len() {
            for (name, needs) in &record.dependent {
                let here = record
                    .members
                    .iter()
                    .position(|member| member.name == *name)
                    .is_some_and(|at| present.contains(&at));
                if here {
                    present.extend((0..record.members.len()).filter(|at| needs.contains(&record.members[*at].name)));
                }
            }
        }
    }

    fn unknown(&mut self, id: NodeId, record: &Record, hops: u32, object: &mut Map<String, Value>) -> Option<()> {
        let open = match record.rest {
            Rest::Closed => return Some(()),
            Rest::Open => true,
            Rest::Typed(node) if self.plan.depth[node].is_none() => return Some(()),
            Rest::Typed(_) => false,
        };
        let mut count = if hops == 0 {
            self.choose(id, 0, 3, hops)
        } else if open {
            usize::from(self.random.percent(15))
        } else {
            self.random.below(if self.lean(hops) { 1 } else { 3 })
        };
        if let (0, Rest::Typed(node)) = (hops, &record.rest) {
            count += usize::from(self.uses(id, 0, 3).iter().all(|uses| *uses > 0) && self.unmet(*node));
        }
        count = count.max(record.least.saturating_sub(object.len()));
        count = count.min(record.most.unwrap_or(usize::MAX).saturating_sub(object.len()));
        for index in 0..count {
            let fixed = self.random.below(UNKNOWN_NAMES.len() * 2) + index;
            let name = UNKNOWN_NAMES
                .get(fixed)
                .map_or_else(|| format!("x_{}", scalars::word(&mut self.random)), |name| (*name).to_owned());
            if record.find_member(&name).is_some()
                || record.dependent.iter().any(|(dependent, _)| *dependent == name)
                || object.contains_key(&name)
            {
                continue;
            }
            let value = match record.rest {
                Rest::Typed(node) => self.node(node, hops)?,
                _ => anything(self.random.below(ANYTHING), &mut self.random),
            };
            object.insert(name, value);
        }
        Some(())
    }

    fn lean(&self, hops: u32) -> bool {
        hops >= DEEPEST || hops > 0 && self.parts > LARGEST
    }

    /// The alternative to take: in the definition itself the first that was never taken, elsewhere any.
    fn choose(&mut self, id: NodeId, facet: usize, ways: usize, hops: u32) -> usize {
        if hops > 0 {
            return self.random.below(ways);
        }
        let fresh = self.uses_mut(id, facet, ways).iter().position(|uses| *uses == 0);
        let way = fresh.unwrap_or_else(|| self.random.below(ways));
        self.take(id, facet, ways, way);
        way
    }

    fn take(&mut self, id: NodeId, facet: usize, ways: usize, way: usize) {
        self.uses_mut(id, facet, ways)[way] += 1;
        self.journal.push((id, facet, way));
    }

    fn give_back(&mut self) {
        for (id, facet, way) in std::mem::take(&mut self.journal) {
            if let Some(uses) = self.uses.get_mut(&(id, facet)).and_then(|uses| uses.get_mut(way)) {
                *uses = uses.saturating_sub(1);
            }
        }
        self.met.clear();
    }

    fn settled(&mut self, id: NodeId, hops: u32) -> bool {
        hops > 0 || self.met.contains(&id) || !self.unmet(id)
    }

    fn uses(&mut self, id: NodeId, facet: usize, ways: usize) -> Vec<u32> {
        self.uses_mut(id, facet, ways).clone()
    }

    fn uses_mut(&mut self, id: NodeId, facet: usize, ways: usize) -> &mut Vec<u32> {
        self.uses.entry((id, facet)).or_insert_with(|| vec![0; ways])
    }

    /// Whether a node, or a part inside it, has an alternative that was never taken.
    fn unmet(&mut self, id: NodeId) -> bool {
        if self.met.contains(&id) {
            return false;
        }
        let untaken = self.facets(id).into_iter().any(|(facet, ways)| self.uses_mut(id, facet, ways).contains(&0));
        if untaken || self.plan.inline(id).into_iter().any(|part| self.plan.depth[part].is_some() && self.unmet(part)) {
            return true;
        }
        self.met.insert(id);
        false
    }

    /// The facets of a node, with how many alternatives each has.
    fn facets(&self, id: NodeId) -> Vec<(usize, usize)> {
        match self.plan.shape(id) {
            Shape::Any => vec![(0, ANYTHING)],
            Shape::Values(values) => vec![(0, values.known.len() + if values.open { 2 } else { 0 })],
            Shape::Boolean => vec![(0, 2)],
            Shape::Integer(bounds) => vec![(0, scalars::integers(bounds).len() + 1)],
            Shape::Number(bounds) => vec![(0, scalars::numbers(bounds).len() + 1)],
            Shape::Text(_) => vec![(0, scalars::STRING_WAYS)],
            Shape::List(list) if self.plan.depth[list.items].is_some() => vec![(0, sizes(list).len())],
            Shape::Record(record) => {
                let unknown = match record.rest {
                    Rest::Closed => false,
                    Rest::Open => true,
                    Rest::Typed(node) => self.plan.depth[node].is_some(),
                };
                let optional =
                    |at: &usize| !record.members[*at].required && self.plan.depth[record.members[*at].node].is_some();
                let members = (0..record.members.len()).filter(optional).map(|at| (at + 1, 2));
                let bare = may_be_bare(record).then_some((BARE, 2));
                unknown.then_some((0, 3)).into_iter().chain(bare).chain(members).collect()
            }
            Shape::Choice(choice) => vec![(0, choice.branches.len())],
            Shape::Tagged(tagged) => vec![(0, tagged.arms.len() + usize::from(tagged.other.is_some()))],
            _ => Vec::new(),
        }
    }

    /// What could not be made, and what was never made.
    fn gaps(&mut self, id: NodeId, gaps: &mut Vec<Gap>) {
        let node = &self.plan.nodes[id];
        let mut report = |why: String| gaps.push(Gap { at: node.at.clone(), why });
        match &node.shape {
            Shape::Unmakable(why) => report(why.clone()),
            Shape::Never => report("no value is allowed".into()),
            _ if self.plan.depth[id].is_none() => report("every value is endless or hits a gap".into()),
            _ if node.implied => report("only values of the type that the keywords speak of are made".into()),
            _ => {}
        }
        if self.plan.depth[id].is_none() {
            let parts = self.plan.inline(id);
            for part in parts {
                self.gaps(part, gaps);
            }
            return;
        }
        for (facet, ways) in self.facets(id) {
            for (way, uses) in self.uses(id, facet, ways).into_iter().enumerate() {
                if uses == 0 {
                    gaps.push(Gap {
                        at: self.plan.nodes[id].at.clone(),
                        why: format!("alternative {way} of {ways} (facet {facet}) never came up"),
                    });
                }
            }
        }
        for part in self.plan.inline(id) {
            self.gaps(part, gaps);
        }
    }
}

fn may_be_bare(record: &Record) -> bool {
    record.least == 0 && record.members.iter().all(|member| !member.required)
}

/// Lengths of an array worth trying.
fn sizes(list: &List) -> Vec<usize> {
    let most = list.most.unwrap_or(usize::MAX);
    let mut sizes: Vec<usize> = [list.least, 0, 1, 3, list.most.unwrap_or(0).min(32)]
        .into_iter()
        .filter(|size| (list.least..=most).contains(size))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() { vec![list.least] } else { sizes }
}

/// A value of any kind.
fn anything(way: usize, random: &mut Random) -> Value {
    match way {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(1.5),
        4 => json!(""),
        5 => json!(scalars::word(random)),
        6 => json!([]),
        7 => json!({}),
        8 => json!([null, [1, 1.0], { "a": { "b": [] } }]),
        9 => json!({ scalars::word(random): null, "n": random.next(), "": -1 }),
        _ => json!(u64::MAX),
    }
}
