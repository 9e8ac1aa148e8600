//! What the protocol's rules say: the data that judging, `explain`, the lists and the tests are made from.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::{Rule, Severity};

/// The rules of MSP as they stand in the repository.
const MSP: &str = include_str!("../../rules/msp.toml");

/// How binding a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// A breach is a failure.
    Must,
    /// A breach is a warning.
    Should,
    /// What it allows, nobody has to do; a breach of what it forbids is a warning.
    May,
}

impl Level {
    /// The keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
        }
    }

    /// How much a breach weighs.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Must => Severity::Error,
            Self::Should | Self::May => Severity::Warning,
        }
    }
}

/// Whom a rule binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Binds {
    /// The host.
    Host,
    /// The client.
    Client,
    /// Each for its own frames.
    Both,
}

impl Binds {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Client => "client",
            Self::Both => "both",
        }
    }
}

/// What somebody outside has to see in order to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visible {
    /// Parsed frames.
    Frames,
    /// Bytes of the wire.
    Bytes,
    /// When something happened.
    Time,
    /// How a process ended.
    Exit,
    /// A second process on the same store.
    Restart,
    /// Two processes on one store at a time.
    TwoHosts,
    /// Files of the host.
    Files,
    /// Nothing of it can be seen.
    Nothing,
}

impl Visible {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Bytes => "bytes",
            Self::Time => "time",
            Self::Exit => "exit",
            Self::Restart => "restart",
            Self::TwoHosts => "two-hosts",
            Self::Files => "files",
            Self::Nothing => "nothing",
        }
    }
}

/// Why nobody can judge a rule from outside. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It leaves no trace on the wire.
    NoWireTrace,
    /// Only a real model shows it.
    RealModel,
    /// The text gives nothing to decide by.
    NoCriterion,
    /// It only allows something, so that nothing breaks it.
    Permission,
    /// It is about a transport that nobody has here.
    OtherTransport,
}

impl Reason {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoWireTrace => "no-wire-trace",
            Self::RealModel => "real-model",
            Self::NoCriterion => "no-criterion",
            Self::Permission => "permission",
            Self::OtherTransport => "other-transport",
        }
    }
}

/// A version of a host, such as `1.4.13`. Versions compare by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl Version {
    /// Newer than every version there is: what a bundle without a version is judged by.
    pub const NEWEST: Self = Self(u16::MAX, 0, 0);

    /// Reads three numbers with dots between.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse::<u16>().ok());
        let version = Self(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// What the file says about one rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    id: String,
    level: Level,
    who: Binds,
    statement: String,
    source: String,
    visible: Vec<Visible>,
    since: String,
    until: Option<String>,
    reason: Option<Reason>,
    premise: Option<String>,
    check: Option<String>,
    state: Option<String>,
    fault: Option<String>,
    scenario: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    schema: Vec<String>,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Text>,
}

/// Why a file of rules is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It is no TOML, or has a member that no rule has.
    #[error("the rules cannot be read: {0}")]
    Unreadable(String),
    /// A rule says something that no rule may say.
    #[error("rule `{id}`: {what}")]
    Rule {
        /// Which rule.
        id: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// One rule of the protocol.
#[derive(Debug)]
pub struct Row {
    index: usize,
    text: Text,
    since: Version,
    until: Option<Version>,
}

macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        impl Row {
            $($(#[doc = $doc])+ pub fn $name(&self) -> Option<&str> {
                self.text.$name.as_deref()
            })+
        }
    };
}

texts! {
    /// When the rule is exercised: what has to occur so that it could be broken.
    premise;
    /// How to see that it holds.
    check;
    /// What a judge has to remember for it.
    state;
    /// What to do in order to break it, and nothing else.
    fault;
    /// The shortest conversation that exercises it.
    scenario;
    /// What to beware of, and which rule owns what several say.
    note;
}

impl Row {
    /// Its place among the rules of the protocol, from 0.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The rule.
    pub fn rule(&'static self) -> Rule {
        Rule::of(&self.text.id)
    }

    /// The stable id, such as `CUR-1`.
    pub fn id(&self) -> &str {
        &self.text.id
    }

    /// The family: what stands before the number.
    pub fn family(&self) -> &str {
        self.text.id.split('-').next().unwrap_or_default()
    }

    /// How binding it is.
    pub fn level(&self) -> Level {
        self.text.level
    }

    /// Whom it binds.
    pub fn who(&self) -> Binds {
        self.text.who
    }

    /// What it says.
    pub fn statement(&self) -> &str {
        &self.text.statement
    }

    /// Where it is from: a page of the documentation, a type, an observation.
    pub fn source(&self) -> &str {
        &self.text.source
    }

    /// What has to be seen to judge it.
    pub fn visible(&self) -> &[Visible] {
        &self.text.visible
    }

    /// The oldest revision that has everything the rule speaks of.
    pub fn since(&self) -> Version {
        self.since
    }

    /// The last revision in which it holds, where it came to an end.
    pub fn until(&self) -> Option<Version> {
        self.until
    }

    /// Why it cannot be judged from outside; none where it can.
    pub fn reason(&self) -> Option<Reason> {
        self.text.reason
    }

    /// What a run has to have so that the rule can be exercised.
    pub fn needs(&self) -> &[String] {
        &self.text.needs
    }

    /// Places of the schema at which a fault is a breach of this rule, not of `SCHEMA`.
    pub fn claims(&self) -> &[String] {
        &self.text.schema
    }

    /// Whether it holds in a revision.
    pub fn holds_in(&self, revision: Version) -> bool {
        self.since <= revision && self.until.is_none_or(|until| revision <= until)
    }
}

/// The rules of a protocol, in the order of its text.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    by_id: HashMap<String, usize>,
}

impl Table {
    /// The rules of MSP.
    ///
    /// # Panics
    /// Never: what it reads is part of the crate, and tests read it too.
    pub fn msp() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            #[expect(clippy::expect_used, reason = "the file is part of the crate, and a test reads it")]
            Self::parse(MSP).expect("the rules of this crate are good")
        })
    }

    /// Reads a file of rules.
    ///
    /// # Errors
    /// When it is no TOML or a rule says something that it may not: an id twice or of another form, an empty text, a
    /// version that is none, a reason beside what judges need, or neither.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let file: File = toml::from_str(text).map_err(|error| TableError::Unreadable(error.to_string()))?;
        let mut table = Self { rows: Vec::with_capacity(file.rule.len()), by_id: HashMap::new() };
        for text in file.rule {
            let index = table.rows.len();
            let row = Row::new(index, text)?;
            if table.by_id.insert(row.id().to_owned(), index).is_some() {
                return Err(TableError::Rule { id: row.id().to_owned(), what: "the id comes twice" });
            }
            table.rows.push(row);
        }
        Ok(table)
    }

    /// All rules, in the order of the text.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The id of a rule that somebody may have meant.
    pub fn nearest(&self, id: &str) -> Option<String> {
        crate::nearest::nearest(id, self.rows.iter().map(Row::id))
    }

    /// The rule of an id.
    pub fn find(&self, id: &str) -> Option<&Row> {
        self.by_id.get(id).map(|index| &self.rows[*index])
    }
}

impl Row {
    fn new(index: usize, mut text: Text) -> Result<Self, TableError> {
        for prose in [&mut text.statement, &mut text.source] {
            *prose = one_line(prose);
        }
        let optional =
            [&mut text.premise, &mut text.check, &mut text.state, &mut text.fault, &mut text.scenario, &mut text.note];
        for prose in optional.into_iter().flatten() {
            *prose = one_line(prose);
        }
        let since = Version::parse(&text.since);
        let until = text.until.as_deref().and_then(Version::parse);
        let what = text.fault(since, until);
        match (what, since) {
            (None, Some(since)) => Ok(Self { index, text, since, until }),
            (what, _) => Err(TableError::Rule { id: text.id, what: what.unwrap_or("a version that is none") }),
        }
    }
}

impl Text {
    /// What is wrong with a rule, if anything.
    fn fault(&self, since: Option<Version>, until: Option<Version>) -> Option<&'static str> {
        let needed = [&self.premise, &self.check, &self.fault, &self.scenario];
        let has_all = needed.iter().all(|text| text.is_some());
        let has_any = needed.iter().any(|text| text.is_some()) || !self.schema.is_empty();
        let texts = [Some(&self.statement), Some(&self.source), self.note.as_ref(), self.state.as_ref()];
        let texts = texts.into_iter().chain(needed.map(Option::as_ref)).flatten();
        let nothing = self.visible.contains(&Visible::Nothing);
        let checks = [
            (!is_id(&self.id), "the id is not of the form `CUR-1`"),
            (
                since.is_none() || until.is_some() != self.until.is_some(),
                "a version is three numbers with dots between",
            ),
            (until.is_some_and(|until| Some(until) < since), "`until` is before `since`"),
            (texts.into_iter().any(String::is_empty), "a text is empty"),
            (self.visible.is_empty(), "`visible` names nothing"),
            (nothing && self.visible.len() > 1, "`visible` names something beside `nothing`"),
            (nothing && self.reason.is_none(), "nothing is visible, and there is no `reason`"),
            (self.reason.is_some() && has_any, "a `reason` beside what a judge needs"),
            (self.reason.is_none() && !has_all, "neither a `reason` nor `premise`, `check`, `fault` and `scenario`"),
            (self.schema.iter().any(|claim| !is_claim(claim)), "a claim that names no place"),
        ];
        checks.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, what)| what)
    }
}

fn is_id(id: &str) -> bool {
    id.split_once('-').is_some_and(|(family, number)| {
        let (letters, digits) = (family.as_bytes(), number.as_bytes());
        !letters.is_empty()
            && letters.iter().all(u8::is_ascii_uppercase)
            && digits.first().is_some_and(|first| matches!(first, b'1'..=b'9'))
            && digits.iter().all(u8::is_ascii_digit)
    })
}

/// A place of the bundle, a place of a method's frame, or one of the marks.
fn is_claim(claim: &str) -> bool {
    claim.starts_with("/$defs/") || claim.contains("#/") || claim.starts_with('@')
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
