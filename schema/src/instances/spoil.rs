//! Broken values: one place of a valid value changed so that it no longer fits.
//!
//! A change that leaves the value valid by another way (the other alternative of a union) is no mutant and is dropped.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::fits::Lens;
use super::plan::{Bounds, NodeId, Plan, Record, Rest, Shape, Text, Values};
use super::random::Random;
use super::{Broken, Kind, Mutant, make, scalars};

/// Valid values that mutants are made from.
const ORIGINALS: usize = 24;

/// References that the search for places follows.
const DEEPEST: u32 = 3;

/// Rounds over all places that bring nothing new; then all mutants that exist are taken to be made.
const STALE: usize = 24;

pub(super) fn broken(plan: &Plan, root: NodeId, limit: usize, seed: u64) -> Broken {
    let mut random = Random::new(seed ^ 0x5901);
    let originals = make::valid(plan, root, ORIGINALS, random.next()).values;
    let mut search = Search { plan, original: 0, places: BTreeMap::new() };
    for (index, value) in originals.iter().enumerate().take(ORIGINALS * 2) {
        search.original = index;
        search.walk(root, value, &mut Vec::new(), 0);
    }
    let groups = in_turn(search.places, &mut random);
    let mut broken = Broken::default();
    let (mut known, mut stale, mut round) = (BTreeSet::new(), 0, 0);
    while stale < STALE && broken.mutants.len() < limit && !groups.is_empty() {
        stale += 1;
        for group in &groups {
            let place = &group.places[round % group.places.len()];
            let Some(mutant) = spoil(plan, root, &originals[place.original], group, place, round) else { continue };
            if broken.mutants.len() < limit && known.insert(mutant.value.to_string()) {
                broken.mutants.push(mutant);
                stale = 0;
            }
        }
        round += 1;
    }
    broken
}

/// All places of one node where one kind of break applies.
struct Group {
    node: NodeId,
    kind: Kind,
    places: Vec<Place>,
}

#[derive(Clone)]
struct Place {
    original: usize,
    path: Vec<String>,
}

/// Kinds in turn, so that a limit leaves none out; the definition itself before what it refers to.
fn in_turn(places: BTreeMap<(bool, Kind, NodeId), Vec<Place>>, random: &mut Random) -> Vec<Group> {
    let mut by_kind: BTreeMap<(bool, Kind), Vec<Group>> = BTreeMap::new();
    for ((behind, kind, node), places) in places {
        by_kind.entry((behind, kind)).or_default().push(Group { node, kind, places });
    }
    let mut ordered = Vec::new();
    for ((behind, _), mut groups) in by_kind {
        for turn in 0.. {
            if groups.is_empty() {
                break;
            }
            ordered.push((behind, turn, groups.swap_remove(random.below(groups.len()))));
        }
    }
    ordered.sort_by_key(|(behind, turn, _)| (*behind, *turn));
    ordered.into_iter().map(|(_, _, group)| group).collect()
}

struct Search<'p> {
    plan: &'p Plan,
    original: usize,
    places: BTreeMap<(bool, Kind, NodeId), Vec<Place>>,
}

impl Search<'_> {
    fn walk(&mut self, id: NodeId, value: &Value, path: &mut Vec<String>, hops: u32) {
        if hops > DEEPEST {
            return;
        }
        for kind in self.kinds(id, value) {
            let place = Place { original: self.original, path: path.clone() };
            self.places.entry((hops > 0, kind, id)).or_default().push(place);
        }
        let plan = self.plan;
        match (plan.shape(id), value) {
            (Shape::Ref(target), _) => self.walk(*target, value, path, hops + 1),
            (Shape::Choice(choice), _) => {
                if let Some(branch) = choice.branches.iter().find(|branch| plan.fits(**branch, value, Lens::Types)) {
                    self.walk(*branch, value, path, hops);
                }
            }
            (Shape::Tagged(tagged), _) => {
                let arm = value.get(&tagged.tag).and_then(|tag| tagged.find_arm(tag));
                if let Some(branch) = arm.map(|arm| arm.node).or(tagged.other) {
                    self.walk(branch, value, path, hops);
                }
            }
            (Shape::List(list), Value::Array(items)) => {
                for (at, item) in items.iter().enumerate().take(2) {
                    self.within(list.items, item, at.to_string(), path, hops);
                }
            }
            (Shape::Record(record), Value::Object(object)) => {
                for (name, value) in object {
                    match (record.find_member(name), &record.rest) {
                        (Some(member), _) => self.within(member.node, value, name.clone(), path, hops),
                        (None, Rest::Typed(node)) => self.within(*node, value, name.clone(), path, hops),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn within(&mut self, id: NodeId, value: &Value, step: String, path: &mut Vec<String>, hops: u32) {
        path.push(step);
        self.walk(id, value, path, hops);
        path.pop();
    }

    /// The kinds of break that may apply to a value of a node.
    fn kinds(&self, id: NodeId, value: &Value) -> Vec<Kind> {
        let mut kinds = match self.plan.shape(id) {
            Shape::Any | Shape::Never | Shape::Unmakable(_) | Shape::Ref(_) => return Vec::new(),
            _ => vec![Kind::WrongType, Kind::NullNotAllowed],
        };
        match self.plan.shape(id) {
            Shape::Values(Values { open: false, constant, .. }) => {
                kinds.push(if *constant { Kind::WrongConst } else { Kind::ClosedEnumUnknown });
            }
            Shape::Integer(_) if value.is_number() => {
                kinds.extend([Kind::BoundPassed, Kind::IntegralFloat, Kind::BeyondInteger]);
            }
            Shape::Number(bounds) if bounds.any() && value.is_number() => kinds.push(Kind::BoundPassed),
            Shape::Text(text) => {
                if text.pattern.is_some() {
                    kinds.push(Kind::PatternBroken);
                }
                if text.least > 0 || text.most.is_some() {
                    kinds.push(Kind::BoundPassed);
                }
            }
            Shape::List(list) if list.least > 0 || list.most.is_some() || list.unique => kinds.push(Kind::BoundPassed),
            Shape::Record(record) => {
                if record.members.iter().any(|member| member.required) {
                    kinds.push(Kind::MissingRequired);
                }
                if matches!(record.rest, Rest::Closed) {
                    kinds.push(Kind::UnknownMember);
                }
                if !record.dependent.is_empty() {
                    kinds.push(Kind::DependentMissing);
                }
                if record.least > 0 || record.most.is_some() {
                    kinds.push(Kind::BoundPassed);
                }
            }
            _ => {}
        }
        kinds
    }
}

fn spoil(plan: &Plan, root: NodeId, original: &Value, group: &Group, place: &Place, round: usize) -> Option<Mutant> {
    let mut value = original.clone();
    let spot = place.path.iter().try_fold(&mut value, |value, step| match value {
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        other => other.get_mut(step),
    })?;
    let turn = round / group.places.len() + round;
    *spot = replacement(plan.shape(group.node), group.kind, spot, turn)?;
    if plan.fits(root, &value, Lens::Types) {
        return None;
    }
    let schema_accepts = plan.fits(root, &value, Lens::Schema);
    let kind = match group.kind {
        Kind::BeyondInteger | Kind::IntegralFloat if !schema_accepts => Kind::BoundPassed,
        kind => kind,
    };
    let at = crate::pointer::of(&place.path.iter().map(String::as_str).collect::<Vec<_>>());
    Some(Mutant { value, kind, at, schema_accepts })
}

/// The value to put in place of `value`; `turn` picks one of several.
fn replacement(shape: &Shape, kind: Kind, value: &Value, turn: usize) -> Option<Value> {
    match (kind, shape, value) {
        (Kind::NullNotAllowed, ..) => (!value.is_null()).then_some(Value::Null),
        (Kind::WrongType, ..) => wrong_type(shape, value, turn),
        (Kind::ClosedEnumUnknown | Kind::WrongConst, Shape::Values(values), _) => unknown_value(values, turn),
        (Kind::IntegralFloat, ..) => {
            value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15).map(|float| json!(float))
        }
        (Kind::BeyondInteger, Shape::Integer(bounds), _) if bounds.step.is_none() => {
            let mut all = vec![json!(2e19), json!(1e30), json!(f64::MAX)];
            if !bounds.natural() {
                all.extend([json!(-2e19), json!(1_u64 << 63), json!(u64::MAX)]);
            }
            all.get(turn % all.len()).cloned()
        }
        (Kind::BoundPassed, Shape::Integer(bounds), _) => outside(bounds, turn, true),
        (Kind::BoundPassed, Shape::Number(bounds), _) => outside(bounds, turn, false),
        (Kind::BoundPassed, Shape::Text(text), Value::String(string)) => wrong_length(text, string, turn),
        (Kind::BoundPassed, Shape::List(list), Value::Array(items)) => {
            let mut items = items.clone();
            match turn % 3 {
                0 if list.least > 0 => items.truncate(list.least - 1),
                1 if list.unique => items.push(items.first()?.clone()),
                _ => {
                    let filler = items.first()?.clone();
                    items.resize(list.most? + 1 + turn / 3, filler);
                }
            }
            Some(Value::Array(items))
        }
        (Kind::PatternBroken, _, Value::String(string)) => {
            let all = [
                String::new(),
                "~".into(),
                format!("{string}~"),
                format!(" {string}"),
                string.to_uppercase(),
                format!("{string}\n"),
                "Ü ".repeat(turn + 1),
            ];
            Some(json!(all[turn % all.len()]))
        }
        (_, Shape::Record(record), Value::Object(object)) => wrong_members(record, kind, object, turn),
        _ => None,
    }
}

fn wrong_type(shape: &Shape, value: &Value, turn: usize) -> Option<Value> {
    let number = turn / 6;
    let wrong = match turn % 6 {
        0 => json!(number),
        1 => json!(if number == 0 { String::new() } else { format!("wrong {number}") }),
        2 => json!(number % 2 == 0),
        3 => json!(vec![number; number]),
        4 => (0..number).map(|at| (format!("wrong {at}"), json!(at))).collect::<Map<_, _>>().into(),
        _ => json!(0.5 + f64::from(u32::try_from(number).ok()?)),
    };
    let fraction = matches!(shape, Shape::Integer(_)) && wrong.is_f64();
    (fraction || std::mem::discriminant(&wrong) != std::mem::discriminant(value)).then_some(wrong)
}

/// A value of the same type as the listed ones that is not listed.
fn unknown_value(values: &Values, turn: usize) -> Option<Value> {
    let known = values.known.get(turn % values.known.len().max(1))?;
    Some(match known {
        Value::String(text) => {
            let all = [format!("{text}x"), text.to_uppercase(), String::new(), format!(" {text}"), format!("{turn}")];
            json!(all[(turn / 2) % all.len()])
        }
        Value::Number(_) => json!(turn + 1_000),
        Value::Bool(truth) => json!(!truth),
        _ => json!(format!("unknown {turn}")),
    })
}

fn outside(bounds: &Bounds, turn: usize, whole: bool) -> Option<Value> {
    let gap = if whole { 1.0 } else { 0.25 } * f64::from(u32::try_from(turn / 4 + 1).ok()?);
    let ends = [
        bounds.low.map(|low| low.ceil() - gap),
        bounds.high.map(|high| high.floor() + gap),
        bounds.above.map(|above| above - gap + if whole { 1.0 } else { 0.25 }),
        bounds.below.map(|below| below + gap - if whole { 1.0 } else { 0.25 }),
        bounds
            .step
            .map(|step| step * f64::from(u32::try_from(turn).unwrap_or(0)) + if whole { 1.0 } else { step / 3.0 }),
    ];
    let ends: Vec<f64> = ends.into_iter().flatten().collect();
    let end = *ends.get(turn % ends.len().max(1))?;
    if !whole {
        return Some(json!(end));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "ends of ranges that a schema states; beyond 64 bits there is no integer to try"
    )]
    scalars::integer(end as i128).filter(|_| end.fract() == 0.0)
}

fn wrong_length(text: &Text, string: &str, turn: usize) -> Option<Value> {
    if text.least > 0 && (turn % 2 == 0 || text.most.is_none()) {
        return Some(json!(string.chars().take(text.least - 1 - (turn / 2) % text.least).collect::<String>()));
    }
    let most = text.most?;
    let filler = string.chars().next().unwrap_or('x');
    let longer = most + 1 + turn / 2 - string.chars().count().min(most);
    Some(json!(format!("{string}{}", filler.to_string().repeat(longer))))
}

fn wrong_members(record: &Record, kind: Kind, object: &Map<String, Value>, turn: usize) -> Option<Value> {
    let mut object = object.clone();
    match kind {
        Kind::MissingRequired => {
            let required: Vec<_> = record.members.iter().filter(|member| member.required).collect();
            object.remove(&required[turn % required.len()].name)?;
        }
        Kind::UnknownMember => {
            let name = ["x-unknown", "extra", "", "unknown 4"][turn % 4];
            if record.find_member(name).is_some() {
                return None;
            }
            object.insert(name.to_owned(), json!(turn / 4));
        }
        Kind::DependentMissing => {
            let (name, needs) = &record.dependent[turn % record.dependent.len()];
            object.get(name)?;
            let need = needs.get(turn / record.dependent.len() % needs.len().max(1))?;
            let required = record.find_member(need).is_some_and(|member| member.required);
            object.remove(need).filter(|_| !required)?;
        }
        Kind::BoundPassed => match record.most {
            Some(most) if turn % 2 == 1 || record.least == 0 => {
                for at in object.len()..=most {
                    object.insert(format!("x-more {at} {turn}"), json!(at));
                }
            }
            _ => {
                let required = |name: &String| record.find_member(name).is_some_and(|member| member.required);
                let optional: Vec<String> = object.keys().filter(|name| !required(name)).cloned().collect();
                for name in optional {
                    object.remove(&name);
                }
            }
        },
        _ => return None,
    }
    Some(Value::Object(object))
}
