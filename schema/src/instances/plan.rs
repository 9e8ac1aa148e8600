//! What the maker knows of a schema: a flat list of nodes, references already followed.

use serde_json::Value;

use super::pattern::Pattern;

/// Index into [`Plan::nodes`].
pub(super) type NodeId = usize;

/// The nodes of one document.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub nodes: Vec<Node>,
    /// How many references the shallowest value of a node needs; none where no finite value exists.
    pub depth: Vec<Option<u32>>,
}

/// One subschema.
#[derive(Debug)]
pub(super) struct Node {
    pub shape: Shape,
    /// JSON pointer of the subschema in the document.
    pub at: String,
    /// The schema has keywords for one type and no `type`: values of any other type pass too.
    pub implied: bool,
}

/// What values of a node look like.
#[derive(Debug)]
pub(super) enum Shape {
    Any,
    Never,
    /// The maker cannot make values of this, and says why.
    Unmakable(String),
    Values(Values),
    Boolean,
    Null,
    Integer(Bounds),
    Number(Bounds),
    Text(Text),
    List(List),
    Record(Record),
    Choice(Choice),
    Tagged(Tagged),
    Ref(NodeId),
}

/// `const` and `enum`.
#[derive(Debug)]
pub(super) struct Values {
    pub known: Vec<Value>,
    /// Unknown strings are allowed.
    pub open: bool,
    /// Written as `const`, or as an `enum` of one.
    pub constant: bool,
}

/// Bounds of a number; both ends belong to it unless they are marked as exclusive.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub above: Option<f64>,
    pub below: Option<f64>,
    pub step: Option<f64>,
}

impl Bounds {
    /// The integers within, as far as 64 bits go. Without a `minimum` that is not negative, types are signed.
    pub(super) fn integers(&self) -> (i128, i128) {
        let (mut low, mut high) =
            if self.natural() { (0, i128::from(u64::MAX)) } else { (i128::from(i64::MIN), i128::from(i64::MAX)) };
        low = low.max(self.low.map_or(low, |bound| whole(bound.ceil())));
        low = low.max(self.above.map_or(low, |bound| whole(bound.floor()) + 1));
        high = high.min(self.high.map_or(high, |bound| whole(bound.floor())));
        high = high.min(self.below.map_or(high, |bound| whole(bound.ceil()) - 1));
        (low, high)
    }

    /// Whether a `minimum` rules negative numbers out, which makes the Rust type unsigned.
    pub(super) fn natural(&self) -> bool {
        self.low.is_some_and(|low| low >= 0.0)
    }

    pub(super) fn hold(&self, number: f64) -> bool {
        self.low.is_none_or(|bound| number >= bound)
            && self.high.is_none_or(|bound| number <= bound)
            && self.above.is_none_or(|bound| number > bound)
            && self.below.is_none_or(|bound| number < bound)
            && self.step.is_none_or(|step| ((number / step).round() * step - number).abs() <= number.abs() * 1e-12)
    }

    /// `multipleOf` as an integer, where it is one.
    pub(super) fn whole_step(&self) -> Option<i128> {
        self.step.filter(|step| *step >= 1.0 && step.fract() == 0.0).map(whole)
    }

    pub(super) fn any(&self) -> bool {
        [self.low, self.high, self.above, self.below, self.step].iter().any(Option::is_some)
    }
}

/// A bound as an integer; beyond 2^100 the exact value does not matter.
#[expect(clippy::cast_possible_truncation, reason = "clamped to a range that i128 holds")]
fn whole(bound: f64) -> i128 {
    bound.clamp(-1.2e30, 1.2e30) as i128
}

/// Strings; lengths are in characters, as JSON Schema counts them.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub least: usize,
    pub most: Option<usize>,
    pub pattern: Option<Pattern>,
}

/// Arrays.
#[derive(Debug)]
pub(super) struct List {
    pub items: NodeId,
    pub least: usize,
    pub most: Option<usize>,
    pub unique: bool,
}

/// Objects.
#[derive(Debug)]
pub(super) struct Record {
    pub members: Vec<Member>,
    pub rest: Rest,
    /// Where the first is present, all others must be.
    pub dependent: Vec<(String, Vec<String>)>,
    pub least: usize,
    pub most: Option<usize>,
}

impl Record {
    pub(super) fn find_member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// A member that the schema names.
#[derive(Debug)]
pub(super) struct Member {
    pub name: String,
    pub node: NodeId,
    pub required: bool,
}

/// Members that the schema does not name.
#[derive(Debug)]
pub(super) enum Rest {
    Open,
    Closed,
    Typed(NodeId),
}

/// Alternatives that no tag tells apart.
#[derive(Debug)]
pub(super) struct Choice {
    pub branches: Vec<NodeId>,
    /// `oneOf`: exactly one alternative may accept the value.
    pub exclusive: bool,
}

/// Object alternatives told apart by a string member.
#[derive(Debug)]
pub(super) struct Tagged {
    pub tag: String,
    pub arms: Vec<Arm>,
    /// The catch-all for tags that no arm names.
    pub other: Option<NodeId>,
    pub exclusive: bool,
}

impl Tagged {
    pub(super) fn find_arm(&self, tag: &Value) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.tags.contains(tag))
    }
}

/// One alternative of [`Tagged`].
#[derive(Debug)]
pub(super) struct Arm {
    pub tags: Vec<Value>,
    pub node: NodeId,
}

impl Plan {
    pub(super) fn shape(&self, id: NodeId) -> &Shape {
        &self.nodes[id].shape
    }

    /// Follows references to the first node that says something; none in a circle of references.
    pub(super) fn resolve(&self, mut id: NodeId) -> Option<NodeId> {
        for _ in 0..=self.nodes.len() {
            match self.nodes.get(id)?.shape {
                Shape::Ref(next) => id = next,
                _ => return Some(id),
            }
        }
        None
    }

    /// Parts of a node that stand inside it, not behind a reference.
    pub(super) fn inline(&self, id: NodeId) -> Vec<NodeId> {
        match self.shape(id) {
            Shape::List(list) => vec![list.items],
            Shape::Record(record) => {
                let rest = if let Rest::Typed(node) = record.rest { Some(node) } else { None };
                record.members.iter().map(|member| member.node).chain(rest).collect()
            }
            Shape::Choice(choice) => choice.branches.clone(),
            Shape::Tagged(tagged) => tagged.arms.iter().map(|arm| arm.node).chain(tagged.other).collect(),
            _ => Vec::new(),
        }
    }

    /// Fills [`Plan::depth`] by repeating until nothing changes.
    pub(super) fn measure(&mut self) {
        self.depth = vec![None; self.nodes.len()];
        loop {
            let next: Vec<_> = (0..self.nodes.len()).map(|id| self.shallowest(id)).collect();
            if next == self.depth {
                return;
            }
            self.depth = next;
        }
    }

    fn shallowest(&self, id: NodeId) -> Option<u32> {
        let known = |id: NodeId| self.depth.get(id).copied().flatten();
        match self.shape(id) {
            Shape::Never | Shape::Unmakable(_) => None,
            Shape::Ref(target) => known(*target).map(|depth| depth + 1),
            Shape::List(list) if list.least > 0 => known(list.items),
            Shape::Record(record) => record
                .members
                .iter()
                .filter(|member| member.required)
                .try_fold(0, |deepest, member| Some(known(member.node)?.max(deepest))),
            Shape::Choice(choice) => choice.branches.iter().filter_map(|id| known(*id)).min(),
            Shape::Tagged(tagged) => tagged.arms.iter().map(|arm| arm.node).chain(tagged.other).filter_map(known).min(),
            _ => Some(0),
        }
    }
}
