//! Whether a value belongs to a node: as JSON Schema says, or as generated types promise.
//!
//! The maker checks everything it hands out with this; tests judge the same values with a library of its own.

use serde_json::{Number, Value};

use super::plan::{Bounds, Choice, List, NodeId, Plan, Record, Rest, Shape, Tagged, Text};

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lens {
    /// JSON Schema, with open enums relaxed to strings.
    Schema,
    /// Generated types: a known tag must bring its payload, `1.0` is no integer, integers have 64 bits.
    Types,
}

/// Deeper values are not made, so a check that gets here runs in a circle of references.
const DEEPEST: usize = 200;

impl Plan {
    pub(super) fn fits(&self, id: NodeId, value: &Value, lens: Lens) -> bool {
        Check { plan: self, lens }.node(id, value, 0)
    }
}

struct Check<'p> {
    plan: &'p Plan,
    lens: Lens,
}

impl Check<'_> {
    fn node(&self, id: NodeId, value: &Value, depth: usize) -> bool {
        if depth > DEEPEST {
            return false;
        }
        let node = &self.plan.nodes[id];
        match (&node.shape, value) {
            (Shape::Any, _) | (Shape::Boolean, Value::Bool(_)) | (Shape::Null, Value::Null) => true,
            (Shape::Never | Shape::Unmakable(_), _) => false,
            (Shape::Values(values), _) => {
                values.open && value.is_string() || values.known.iter().any(|known| equal(known, value))
            }
            (Shape::Integer(bounds), Value::Number(number)) => self.integer(bounds, number),
            (Shape::Number(bounds), Value::Number(number)) => bounds.hold(number.as_f64().unwrap_or(f64::NAN)),
            (Shape::Text(text), Value::String(string)) => text.holds(string),
            (Shape::List(list), Value::Array(items)) => self.list(list, items, depth),
            (Shape::Record(record), Value::Object(_)) => self.record(record, value, depth),
            (Shape::Choice(choice), _) => self.choice(choice, value, depth),
            (Shape::Tagged(tagged), _) => self.tagged(tagged, value, depth),
            (Shape::Ref(target), _) => self.node(*target, value, depth + 1),
            _ => node.implied,
        }
    }

    fn integer(&self, bounds: &Bounds, number: &Number) -> bool {
        let exact = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        if let (Some(exact), Some(step)) = (exact, bounds.whole_step()) {
            if exact % step != 0 {
                return false; // doubles are too coarse to see this
            }
        }
        match (exact, self.lens) {
            (Some(exact), Lens::Types) => {
                let (low, high) = bounds.integers();
                (low..=high).contains(&exact) && bounds.hold(number.as_f64().unwrap_or(f64::NAN))
            }
            (None, Lens::Types) => false,
            (_, Lens::Schema) => number.as_f64().is_some_and(|float| float.fract() == 0.0 && bounds.hold(float)),
        }
    }

    fn list(&self, list: &List, items: &[Value], depth: usize) -> bool {
        items.len() >= list.least
            && list.most.is_none_or(|most| items.len() <= most)
            && !(list.unique && repeats(items))
            && items.iter().all(|item| self.node(list.items, item, depth + 1))
    }

    fn record(&self, record: &Record, value: &Value, depth: usize) -> bool {
        let Some(object) = value.as_object() else { return false };
        object.len() >= record.least
            && record.most.is_none_or(|most| object.len() <= most)
            && record.members.iter().all(|member| !member.required || object.contains_key(&member.name))
            && record
                .dependent
                .iter()
                .all(|(name, needs)| !object.contains_key(name) || needs.iter().all(|need| object.contains_key(need)))
            && object.iter().all(|(name, value)| match (record.find_member(name), &record.rest) {
                (Some(member), _) => self.node(member.node, value, depth + 1),
                (None, Rest::Open) => true,
                (None, Rest::Closed) => false,
                (None, Rest::Typed(node)) => self.node(*node, value, depth + 1),
            })
    }

    fn choice(&self, choice: &Choice, value: &Value, depth: usize) -> bool {
        let mut accepting = choice.branches.iter().filter(|branch| self.node(**branch, value, depth + 1));
        accepting.next().is_some() && !(choice.exclusive && accepting.next().is_some())
    }

    fn tagged(&self, tagged: &Tagged, value: &Value, depth: usize) -> bool {
        let arm = value.get(&tagged.tag).and_then(|tag| tagged.find_arm(tag));
        let by_arm = arm.is_some_and(|arm| self.node(arm.node, value, depth + 1));
        let by_other = || tagged.other.is_some_and(|other| self.node(other, value, depth + 1));
        match self.lens {
            Lens::Types => by_arm || arm.is_none() && by_other(),
            Lens::Schema if tagged.exclusive => by_arm != by_other(),
            Lens::Schema => by_arm || by_other(),
        }
    }
}

impl Text {
    pub(super) fn holds(&self, text: &str) -> bool {
        let length = text.chars().count();
        length >= self.least
            && self.most.is_none_or(|most| length <= most)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(text))
    }
}

/// Equality of JSON Schema, in which `1` and `1.0` are one number.
pub(super) fn equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => one == two,
    }
}

fn repeats(items: &[Value]) -> bool {
    items.iter().enumerate().any(|(at, item)| items[..at].iter().any(|before| equal(before, item)))
}
