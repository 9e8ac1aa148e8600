//! What the files of the table may say. An unknown member is refused, so that a slip of the pen is no row without effect.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use msp_reference_server::Config;
use msp_reference_server::provider::Script;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A row of `methods.json`: section 33 of the behaviour, for one method.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "columns that have nothing to do with each other")]
pub(super) struct Row {
    pub(super) method: String,
    pub(super) role: Role,
    /// Which sessions it is served for.
    #[serde(default)]
    pub(super) session: Session,
    /// Params that are well-formed; `commandId` is added.
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    #[serde(default)]
    pub(super) experimental: bool,
    /// The capability that the method as a whole needs.
    pub(super) capability: Option<String>,
    /// Not there on a host that keeps no log.
    #[serde(default)]
    pub(super) durable: bool,
    /// Refuses unknown members of its params.
    #[serde(default)]
    pub(super) strict: bool,
    /// Makes or loads a session, so that its command id is resolved across the sessions root (CMD-14).
    #[serde(default)]
    pub(super) birth: bool,
    /// Never served by this host.
    #[serde(default)]
    pub(super) withheld: bool,
    /// Its own refusals, each a code with the kind or the reason where the code alone says too little.
    #[serde(default)]
    pub(super) errors: Vec<String>,
    /// Refusals that one request to a session without anything going on causes.
    #[serde(default)]
    pub(super) refusals: Vec<Refusal>,
}

/// The first column of section 33.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Role {
    Handshake,
    Command,
    Query,
    Other,
}

/// The second column of section 33.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Session {
    /// It names none, or any will do.
    #[default]
    Any,
    /// It has to be loaded here.
    Loaded,
    /// It has to exist.
    Stored,
}

/// One request that is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Refusal {
    /// Members in place of those of the row.
    #[serde(default)]
    pub(super) with: Map<String, Value>,
    /// Members that are left out.
    #[serde(default)]
    pub(super) without: Vec<String>,
    /// Whether the client opted in to nothing.
    #[serde(default)]
    pub(super) plain: bool,
    pub(super) error: Expected,
}

/// An error: `[code]`, `[code, kind]` or `[code, kind, {part of data}]`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Expected {
    Code((i64,)),
    Kind((i64, String)),
    Data((i64, String, Value)),
}

/// A case: a host, a client, and what they do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(default)]
    pub(super) host: Settings,
    /// Capabilities of the handshake; everything where the case says nothing, and no handshake for `false`.
    pub(super) client: Option<Value>,
    /// Bytes of room in the pipes of the clients.
    pub(super) pipe: Option<usize>,
    /// Variables for sessions that are started first.
    #[serde(default)]
    pub(super) sessions: Vec<String>,
    pub(super) steps: Vec<Step>,
}

/// Settings of a host; what is not said is as in [`Config::in_memory`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Settings {
    /// Keeps its sessions in a folder.
    #[serde(default)]
    pub(super) durable: bool,
    seed: Option<u64>,
    script: Option<Vec<Line>>,
    approval_mode: Option<String>,
    command_capacity: Option<usize>,
    overload_at: Option<usize>,
    retained_records: Option<u64>,
    outbox_frames: Option<usize>,
    frame_limit: Option<usize>,
    idle_ms: Option<u64>,
    shell: Option<bool>,
    trust_workspace: Option<bool>,
    plugin_changes: Option<bool>,
    computer_use: Option<bool>,
    #[serde(default)]
    skill_folders: BTreeMap<String, String>,
}

/// A step. Exactly one of the members down to `crash` says what it does.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Step {
    /// A request, with its answer: `result`, `error`, or nothing but success.
    pub(super) call: Option<String>,
    /// A request whose answer an `answer` step waits for: the name of the answer.
    pub(super) ask: Option<String>,
    pub(super) answer: Option<String>,
    /// A line that may be no frame.
    pub(super) send: Option<String>,
    /// A notification of the client.
    pub(super) tell: Option<String>,
    /// A submit of these lines, a list being a step of a script; saves `$turn`.
    pub(super) prompt: Option<Vec<Line>>,
    /// So many requests without reading between them; each is answered well or with `error`, and both occur.
    pub(super) burst: Option<usize>,
    /// A frame of the host with this method, `params` being a part of its own.
    pub(super) until: Option<String>,
    /// Nothing comes any more, and nothing of these methods came.
    pub(super) quiet: Option<Vec<String>>,
    pub(super) sleep_ms: Option<u64>,
    /// Another client of the host, by name.
    pub(super) connect: Option<String>,
    /// Another host over the same folder, whose client has this name.
    pub(super) second: Option<String>,
    /// Something happens to files.
    pub(super) file: Option<FileStep>,
    /// The client's input ends and the host with it; another one takes over.
    pub(super) restart: Option<Settings>,
    /// The host dies where it is; another one takes over.
    pub(super) crash: Option<Settings>,

    /// Which client does it; the first where nothing is said.
    pub(super) on: Option<String>,
    pub(super) params: Option<Value>,
    pub(super) result: Option<Value>,
    pub(super) error: Option<Expected>,
    /// What an `ask` or a `burst` sends.
    pub(super) method: Option<String>,
    /// Who sends a `burst`, in turn.
    #[serde(default)]
    pub(super) clients: Vec<String>,
    /// Capabilities of another client.
    pub(super) client: Option<Value>,
    /// Variables from the result or the frame, by dotted path.
    #[serde(default)]
    pub(super) save: BTreeMap<String, String>,
    /// Frames that come after it, in this order; others may come between.
    #[serde(default)]
    pub(super) then: Vec<String>,
}

/// A line of a prompt or a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Text(String),
    /// Verb and arguments.
    Step(String, Value),
}

/// What happens to files; paths may have variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) enum FileStep {
    Folder(String),
    Write(String, String),
    Append(String, String),
    Replace(String, String, String),
    Copy(String, String),
    Remove(String),
    /// The disk takes nothing more.
    Fail,
}

/// Why something of the bundle is not caused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    pub(super) of: String,
    pub(super) reason: String,
}

impl Expected {
    pub(super) fn parts(&self) -> (i64, Option<&str>, Option<&Value>) {
        match self {
            Self::Code((code,)) => (*code, None, None),
            Self::Kind((code, kind)) => (*code, Some(kind), None),
            Self::Data((code, kind, data)) => (*code, Some(kind), Some(data)),
        }
    }
}

impl Line {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Step(verb, args) => format!("{verb} {args}"),
        }
    }

    /// The text of a prompt, which says itself that it is a script.
    pub(super) fn prompt(lines: &[Self]) -> String {
        let marked = lines.iter().any(|line| matches!(line, Self::Step(..))).then(|| "@script".to_owned());
        marked.into_iter().chain(lines.iter().map(Self::text)).collect::<Vec<_>>().join("\n")
    }
}

impl Settings {
    /// The same on a host that keeps its sessions.
    pub(super) fn durable(self) -> Self {
        Self { durable: true, ..self }
    }

    /// The settings as the host takes them; `dir` is where it keeps sessions if it keeps any.
    pub(super) fn config(&self, dir: &Path, fill: impl Fn(&str) -> String) -> Config {
        let mut config = if self.durable { Config::durable(dir.to_owned()) } else { Config::in_memory() };
        config.seed = self.seed;
        if let Some(lines) = &self.script {
            let lines: Vec<_> = lines.iter().map(Line::text).collect();
            config.script = Script::parse(&fill(&lines.join("\n"))).unwrap();
        }
        put(&mut config.approval_mode, self.approval_mode.as_ref());
        put(&mut config.command_capacity, self.command_capacity.as_ref());
        config.overload_at = self.overload_at;
        config.retained_records = self.retained_records;
        put(&mut config.outbox_frames, self.outbox_frames.as_ref());
        put(&mut config.frame_limit, self.frame_limit.as_ref());
        put(&mut config.idle_ms, self.idle_ms.as_ref());
        put(&mut config.shell, self.shell.as_ref());
        put(&mut config.trust_workspace, self.trust_workspace.as_ref());
        put(&mut config.plugin_changes, self.plugin_changes.as_ref());
        put(&mut config.computer_use, self.computer_use.as_ref());
        let folders = self.skill_folders.iter();
        config.skill_folders = folders.map(|(name, path)| (name.clone(), PathBuf::from(fill(path)))).collect();
        config
    }
}

fn put<T: Clone>(place: &mut T, given: Option<&T>) {
    if let Some(given) = given {
        place.clone_from(given);
    }
}

/// All cases, each named by its file too.
pub(super) fn cases() -> Vec<Case> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder().join("cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        for mut case in read::<Vec<Case>>(&file) {
            case.name = format!("{}, {}", file.file_name().unwrap().to_string_lossy(), case.name);
            cases.push(case);
        }
    }
    cases
}

pub(super) fn rows() -> Vec<Row> {
    read(&folder().join("methods.json"))
}

pub(super) fn reasons() -> Vec<Reason> {
    read(&folder().join("reasons.json"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/table")
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
