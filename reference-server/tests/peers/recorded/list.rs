//! The normalisation list: `list.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

/// The whole list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// What members and frames are that recordings lack, by what `since` and `frames` of a conversation call them.
    came: BTreeMap<String, Came>,
    /// Conversations by name.
    pub(super) scenarios: BTreeMap<String, Scenario>,
}

/// A member or a notification that came since.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Came {
    /// The rule that asks for it.
    #[expect(dead_code, reason = "for the reader of the list")]
    rule: String,
    /// Definition and member, or the notification, in the bundle.
    place: Vec<String>,
    /// First published revision that has it; none where the oldest published one has it already.
    revision: Option<String>,
}

/// What is said of a conversation.
#[derive(Debug, Deserialize)]
pub(super) struct Scenario {
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    #[serde(flatten)]
    differences: Differences,
}

/// Whether it matches.
#[derive(Debug, Deserialize)]
#[serde(tag = "verdict", rename_all = "camelCase")]
pub(super) enum Verdict {
    /// But for what its list names.
    Matches,
    /// It does not: why, and the line of the recording that shows it first.
    Differs { why: String, at: usize },
}

/// What may differ in a conversation. Entries name members by the end of their path, such as `item.text`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Differences {
    /// Ids and cursors; they stand for each other one-to-one.
    ids: Vec<String>,
    /// Sequence numbers in source ranges.
    sequences: Vec<String>,
    /// Times and durations.
    times: Vec<String>,
    /// What names a build and its machine; one-to-one.
    versions: Vec<String>,
    /// Text that only their provider could know; one-to-one.
    texts: Vec<String>,
    /// Members that a host has to send now, and that the recording lacks.
    since: Vec<String>,
    /// Frames that a host has to send now, and that the recording lacks.
    pub(super) frames: Vec<Since>,
}

/// A frame that came since.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Since {
    /// Line of the recording behind which it comes.
    pub(super) after: usize,
    /// Its method.
    method: String,
    /// `status` of its params.
    status: Option<String>,
    /// `attention` of its params.
    attention: Option<Vec<String>>,
}

/// Sorts of values that may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Id,
    Sequence,
    Time,
    Version,
    Text,
}

impl Class {
    /// Whether a value is of this sort at all.
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Id => value.is_string() || value.is_i64(),
            Self::Sequence => value.as_u64().is_some_and(|number| number > 0),
            Self::Time => {
                let is_rfc3339 = |text: &str| text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
                value.as_str().map_or(value.is_u64(), is_rfc3339)
            }
            Self::Version | Self::Text => value.is_string(),
        }
    }
}

impl Since {
    /// Whether a frame is this one.
    pub(super) fn check(&self, ours: &Value) -> Result<(), String> {
        let params = &ours["params"];
        let attention = params.get("attention").map(|flags| serde_json::from_value::<Vec<String>>(flags.clone()));
        let same = ours["method"] == self.method.as_str()
            && params.get("status").and_then(Value::as_str) == self.status.as_deref()
            && attention.transpose().is_ok_and(|flags| flags == self.attention);
        if same { Ok(()) } else { Err(format!("`{}` is listed as coming here, and {ours} came", self.method)) }
    }
}

impl Scenario {
    /// What may differ.
    pub(super) fn differences(&self) -> Differences {
        self.differences.clone()
    }
}

impl Differences {
    fn lists(&self) -> [(Class, &Vec<String>); 5] {
        [
            (Class::Id, &self.ids),
            (Class::Sequence, &self.sequences),
            (Class::Time, &self.times),
            (Class::Version, &self.versions),
            (Class::Text, &self.texts),
        ]
    }

    /// How a member may differ.
    pub(super) fn class(&self, path: &str) -> Option<Class> {
        self.lists().into_iter().find(|(_, list)| names(list, path)).map(|(class, _)| class)
    }

    /// Whether a member may be ours alone.
    pub(super) fn is_since(&self, path: &str) -> bool {
        names(&self.since, path)
    }

    /// A frame without all that may differ in it.
    pub(super) fn masked(&self, frame: &Value) -> Value {
        self.mask(super::compare::root(frame), frame)
    }

    fn mask(&self, path: &str, value: &Value) -> Value {
        match value {
            _ if self.class(path).is_some() && !value.is_null() => Value::from("*"),
            Value::Object(members) => {
                let mask =
                    |(name, value): (&String, &Value)| (name.clone(), self.mask(&format!("{path}.{name}"), value));
                Value::Object(members.iter().map(mask).collect())
            }
            Value::Array(elements) => elements.iter().map(|element| self.mask(path, element)).collect(),
            other => other.clone(),
        }
    }

    /// Each entry, with the list that lacks it.
    pub(super) fn without_each(&self) -> Vec<(String, Self)> {
        type Part = fn(&mut Differences) -> &mut Vec<String>;
        let parts: [(&str, Part); 6] = [
            ("ids", |list| &mut list.ids),
            ("sequences", |list| &mut list.sequences),
            ("times", |list| &mut list.times),
            ("versions", |list| &mut list.versions),
            ("texts", |list| &mut list.texts),
            ("since", |list| &mut list.since),
        ];
        let mut all = Vec::new();
        for (name, part) in parts {
            for at in 0..part(&mut self.clone()).len() {
                let mut fewer = self.clone();
                let entry = part(&mut fewer).remove(at);
                all.push((format!("{name} {entry}"), fewer));
            }
        }
        for at in 0..self.frames.len() {
            let mut fewer = self.clone();
            let frame = fewer.frames.remove(at);
            all.push((format!("frames {} after {}", frame.method, frame.after), fewer));
        }
        all
    }
}

/// Whether an entry is the end of a path.
fn names(list: &[String], path: &str) -> bool {
    list.iter().any(|entry| path == entry || path.strip_suffix(entry.as_str()).is_some_and(|rest| rest.ends_with('.')))
}

impl List {
    /// The committed list.
    pub(super) fn read() -> Self {
        serde_json::from_str(include_str!("list.json")).unwrap()
    }

    /// How many conversations match.
    pub(super) fn matching(&self) -> usize {
        self.scenarios.values().filter(|scenario| matches!(scenario.verdict, Verdict::Matches)).count()
    }

    /// The table of the page.
    pub(super) fn rows(&self) -> String {
        let mut rows = String::new();
        for (name, scenario) in &self.scenarios {
            let said = match &scenario.verdict {
                Verdict::Matches => "matches".to_owned(),
                Verdict::Differs { why, at } => format!("differs from line {at} on: {why}"),
            };
            let _ = writeln!(rows, "| {name} | {said} |"); // a text takes everything
        }
        rows
    }

    /// Everything that came since is explained, and is in no revision before the one that is named.
    pub(super) fn check_revisions(&self) -> Result<(), String> {
        let mut used: Vec<&str> = Vec::new();
        for differences in self.scenarios.values().map(|scenario| &scenario.differences) {
            used.extend(differences.since.iter().map(String::as_str));
            used.extend(differences.frames.iter().map(|frame| frame.method.as_str()));
        }
        if let Some(unexplained) = used.iter().find(|name| !self.came.contains_key(**name)) {
            return Err(format!("`came` does not explain `{unexplained}`"));
        }
        if let Some(idle) = self.came.keys().find(|name| !used.contains(&name.as_str())) {
            return Err(format!("`came` explains `{idle}`, which nothing lists"));
        }
        for (name, came) in &self.came {
            let first = first_with(&came.place).ok_or_else(|| format!("no revision has `{name}`"))?;
            let oldest = revisions()[0].0.clone();
            let named = came.revision.clone().unwrap_or(oldest);
            if first != named {
                return Err(format!("`{name}` is there since {first}, not {named}"));
            }
        }
        Ok(())
    }
}

/// The published revisions with their stable bundles, oldest first.
fn revisions() -> &'static [(String, Value)] {
    static REVISIONS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    REVISIONS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/msp");
        let read = |path: &Path| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap();
        let index = read(&folder.join("revisions/index.json"));
        let versions = index["revisions"].as_array().unwrap().iter().map(|row| row["version"].as_str().unwrap());
        versions
            .map(|version| {
                let older = folder.join("revisions").join(version).join("stable/msp.schema.json");
                let path = if older.is_file() { older } else { folder.join("stable/msp.schema.json") };
                (version.to_owned(), read(&path))
            })
            .collect()
    })
}

/// The first revision that has a member of a definition, or a notification.
fn first_with(place: &[String]) -> Option<String> {
    let has = |bundle: &Value| match place {
        [definition, member] => bundle["$defs"][definition]["properties"].get(member).is_some(),
        [notification] => bundle["notifications"].get(notification).is_some(),
        _ => false,
    };
    revisions().iter().find(|(_, bundle)| has(bundle)).map(|(version, _)| version.clone())
}
