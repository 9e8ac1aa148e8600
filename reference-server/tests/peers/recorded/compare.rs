//! Two frames are the same when they differ in nothing but what the list of their conversation names; ids, texts and versions of the
//! two sides have to stand for each other one-to-one through the whole conversation.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::list::{Class, Differences, Since};

/// A frame that is to come.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// It was recorded, in this line.
    Recorded(usize, Value),
    /// It came since.
    Since(Since),
}

/// Where the two sides differ first.
#[derive(Debug)]
pub(super) struct Difference {
    /// Line of the recording.
    pub(super) line: usize,
    text: String,
}

/// What came, and what stood for what before.
#[derive(Debug, Default)]
pub(super) struct Played {
    /// Frames.
    pub(super) actual: Vec<Value>,
    /// What the set-up bound.
    pub(super) bound: Unified,
}

/// What stands for what, both ways.
#[derive(Clone, Debug, Default)]
pub(super) struct Unified {
    ours: BTreeMap<String, Value>,
    theirs: BTreeMap<String, Value>,
}

impl Expected {
    /// The frame, if it was recorded.
    pub(super) fn recorded(&self) -> Option<&Value> {
        match self {
            Self::Recorded(_, frame) => Some(frame),
            Self::Since(_) => None,
        }
    }

    fn line(&self) -> usize {
        match self {
            Self::Recorded(line, _) => *line,
            Self::Since(since) => since.after,
        }
    }

    /// Compares with the frame that came.
    pub(super) fn compare(
        &self,
        ours: &Value,
        unified: &mut Unified,
        differences: &Differences,
    ) -> Result<(), Difference> {
        let told = match self {
            Self::Recorded(_, theirs) => unified.unify(root(theirs), theirs, ours, differences),
            Self::Since(since) => since.check(ours),
        };
        told.map_err(|text| Difference { line: self.line(), text: format!("{text}, in {ours}") })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// Where paths into a frame begin: the ids of the host's own requests are apart from those of its answers.
pub(super) fn root(frame: &Value) -> &'static str {
    if frame.get("method").is_some() && frame.get("id").is_some() { "request" } else { "$" }
}

/// Compares what came with what was to come.
pub(super) fn compare(expected: &[Expected], played: &Played, differences: &Differences) -> Result<(), Difference> {
    let (mut unified, actual) = (played.bound.clone(), &played.actual);
    for (expected, ours) in expected.iter().zip(actual) {
        expected.compare(ours, &mut unified, differences)?;
    }
    match (expected.get(actual.len()), actual.get(expected.len())) {
        (None, None) => Ok(()),
        (Some(missing), _) => Err(Difference { line: missing.line(), text: "nothing came".to_owned() }),
        (_, extra) => {
            let line = expected.last().map_or(0, Expected::line);
            Err(Difference { line, text: format!("then came {}", extra.map(Value::to_string).unwrap_or_default()) })
        }
    }
}

/// Recordings in which one id that stands for something else elsewhere is put in the place of another.
pub(super) fn with_a_reused_id(expected: &[Expected], differences: &Differences) -> Vec<(usize, Vec<Expected>)> {
    let mut ids = Vec::new();
    for (at, frame) in expected.iter().enumerate() {
        if let Some(frame) = frame.recorded() {
            collect(
                root(frame),
                frame,
                differences,
                &mut |pointer, id| ids.push((at, pointer.to_owned(), id.clone())),
                "",
            );
        }
    }
    let mut reused = Vec::new();
    for (at, pointer, id) in &ids {
        // Only an id that is seen elsewhere as well tells that it was exchanged.
        if ids.iter().filter(|(_, _, other)| other == id).count() < 2 {
            continue;
        }
        let Some((_, _, other)) = ids.iter().find(|(_, _, other)| other != id && other.is_string() == id.is_string())
        else {
            continue;
        };
        let mut changed = expected.to_vec();
        if let Expected::Recorded(_, frame) = &mut changed[*at]
            && let Some(place) = frame.pointer_mut(pointer)
        {
            *place = other.clone();
            reused.push((*at, changed));
        }
    }
    reused
}

fn collect(path: &str, value: &Value, differences: &Differences, found: &mut impl FnMut(&str, &Value), pointer: &str) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                collect(&format!("{path}.{name}"), value, differences, found, &format!("{pointer}/{name}"));
            }
        }
        Value::Array(elements) => {
            for (at, value) in elements.iter().enumerate() {
                collect(path, value, differences, found, &format!("{pointer}/{at}"));
            }
        }
        _ if differences.class(path) == Some(Class::Id) && !value.is_null() => found(pointer, value),
        _ => {}
    }
}

impl Unified {
    /// Lets two ids stand for each other before any frame shows them.
    pub(super) fn bind(&mut self, theirs: &Value, ours: &Value) -> Result<(), String> {
        self.pair(theirs, ours)
    }

    /// A frame of their client with our ids in the place of theirs.
    pub(super) fn said(&self, frame: &Value) -> Value {
        match frame {
            Value::Object(members) => {
                let answers = members.contains_key("result") || members.contains_key("error");
                let ours = |(name, value): (&String, &Value)| {
                    // Only the id of an answer is one of the host's own.
                    let value = if name == "id" && !answers { value.clone() } else { self.said(value) };
                    (name.clone(), value)
                };
                Value::Object(members.iter().map(ours).collect())
            }
            Value::Array(elements) => elements.iter().map(|element| self.said(element)).collect(),
            other => self.ours.get(&other.to_string()).unwrap_or(other).clone(),
        }
    }

    fn pair(&mut self, theirs: &Value, ours: &Value) -> Result<(), String> {
        let known = self.ours.entry(theirs.to_string()).or_insert_with(|| ours.clone()).clone();
        let back = self.theirs.entry(ours.to_string()).or_insert_with(|| theirs.clone()).clone();
        if known == *ours && back == *theirs {
            Ok(())
        } else {
            Err(format!("{theirs} stands for {known} and {ours} for {back}"))
        }
    }

    fn unify(&mut self, path: &str, theirs: &Value, ours: &Value, differences: &Differences) -> Result<(), String> {
        match (differences.class(path), theirs, ours) {
            (Some(class), theirs, ours) if !theirs.is_null() || !ours.is_null() => {
                if !class.fits(theirs) || !class.fits(ours) || theirs.is_string() != ours.is_string() {
                    return Err(format!("`{path}` is {ours}, recorded {theirs}"));
                }
                match class {
                    Class::Id | Class::Text | Class::Version => {
                        self.pair(theirs, ours).map_err(|text| format!("`{path}`: {text}"))
                    }
                    Class::Sequence | Class::Time => Ok(()),
                }
            }
            (_, Value::Object(theirs), Value::Object(ours)) => {
                let since = |name: &&String| differences.is_since(&format!("{path}.{name}"));
                if let Some(extra) = ours.keys().filter(|name| !theirs.contains_key(*name)).find(|name| !since(name)) {
                    return Err(format!("`{path}.{extra}` is ours alone: {}", ours[extra]));
                }
                for (name, value) in theirs {
                    let ours = ours.get(name).ok_or_else(|| format!("`{path}.{name}` is missing: {value}"))?;
                    self.unify(&format!("{path}.{name}"), value, ours, differences)?;
                }
                Ok(())
            }
            (_, Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
                theirs.iter().zip(ours).try_for_each(|(theirs, ours)| self.unify(path, theirs, ours, differences))
            }
            _ if theirs == ours => Ok(()),
            _ => Err(format!("`{path}` is {ours}, recorded {theirs}")),
        }
    }
}
