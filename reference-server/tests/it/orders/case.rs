//! The notation of an order. A file is read line by line; `#` begins a comment.
//!
//! | line | what it does |
//! |---|---|
//! | `host {…}` | first of all: `handshake` (`false`: none), `capabilities`, `outboxFrames`, `room` (bytes in the pipes) |
//! | `~> method {…}` | sets up: sends a request, which succeeds, and looks at nothing that follows; its `result` stays as variables |
//! | `C> method {…}` | sends a request, or the notifications `initialized` and `userInput/engaged`; nothing may be left unread before it |
//! | `\| verb {…}` | a line of the script that the request before it submits |
//! | `C> {}` | answers the last request of the host |
//! | `C> close` | ends the input |
//! | `stall` | reads nothing for a while |
//! | `crash` | the host dies without a word; another one takes its disk over |
//! | `H> ok` `H> error` | the answer to the last request |
//! | `H> request method` | a request of the host |
//! | `H> name` | a notification, as [`name`](crate::peer::name) tells it |
//! | `seen x text` | the text begins with what the variable holds, which is something |
//! | `H> end` | the output ends, and the host with it |
//!
//! Requests get `commandId` (then `$command`) and `sessionId` (`$session`) where their params have them. `"$x"` stands for a
//! variable. Behind a frame stand: `+` (once or more), `path=value` (equal), `!path` (absent), `x:=path` (kept as a variable),
//! `x+=path` (added to one, as text). A path is dotted and begins in params, result or error; `*` is any element.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

pub(crate) type Variables = BTreeMap<String, Value>;

/// An order.
#[derive(Debug)]
pub(crate) struct Case {
    /// Name of its file.
    pub(crate) name: String,
    /// Number of the order.
    pub(crate) number: usize,
    /// What `host` says.
    pub(crate) host: Value,
    /// Lines with their numbers.
    pub(crate) lines: Vec<(usize, Line)>,
}

/// A line.
#[derive(Debug)]
pub(crate) enum Line {
    Send { method: String, params: String, script: Vec<String>, sets_up: bool },
    Receipt,
    Close,
    Stall,
    Crash,
    Expect(Expect),
    Seen(String, String),
    End,
}

/// A frame that has to come.
#[derive(Debug)]
pub(crate) struct Expect {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) repeated: bool,
    checks: Vec<Check>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ok,
    Error,
    Request,
    Notification,
}

#[derive(Debug)]
enum Check {
    Equal(String, String),
    Absent(String),
    Keep(String, String),
    Add(String, String),
}

impl Case {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let number =
            name.split('-').next().unwrap_or_default().parse().map_err(|_| "the name begins with no number")?;
        let mut case = Self { name, number, host: json!({}), lines: Vec::new() };
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            case.add(at + 1, line.trim()).map_err(|error| format!("line {}: {error}", at + 1))?;
        }
        Ok(case)
    }

    fn add(&mut self, at: usize, text: &str) -> Result<(), String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let line = match (word, rest) {
            ("host", rest) => {
                self.host = serde_json::from_str(rest).map_err(|error| error.to_string())?;
                return Ok(());
            }
            ("|", rest) => {
                return match self.lines.last_mut() {
                    Some((_, Line::Send { script, .. })) => {
                        script.push(rest.to_owned());
                        Ok(())
                    }
                    _ => Err("no request before it".to_owned()),
                };
            }
            ("C>", "{}") => Line::Receipt,
            ("C>", "close") => Line::Close,
            ("H>", "end") => Line::End,
            ("stall", "") => Line::Stall,
            ("crash", "") => Line::Crash,
            ("C>" | "~>", request) => {
                let (method, params) = request.split_once(' ').unwrap_or((request, "{}"));
                let (method, params) = (method.to_owned(), params.to_owned());
                Line::Send { method, params, script: Vec::new(), sets_up: word == "~>" }
            }
            ("seen", rest) => {
                let (variable, text) = rest.split_once(' ').ok_or("no text")?;
                Line::Seen(variable.to_owned(), text.to_owned())
            }
            ("H>", frame) => Line::Expect(Expect::read(frame)),
            _ => return Err(format!("`{word}` begins no line")),
        };
        self.lines.push((at, line));
        Ok(())
    }
}

impl Expect {
    fn read(text: &str) -> Self {
        let (mut words, mut checks, mut repeated) = (Vec::new(), Vec::new(), false);
        for token in text.split_whitespace() {
            if token == "+" {
                repeated = true;
            } else if let Some((variable, path)) = token.split_once(":=") {
                checks.push(Check::Keep(variable.to_owned(), path.to_owned()));
            } else if let Some((variable, path)) = token.split_once("+=") {
                checks.push(Check::Add(variable.to_owned(), path.to_owned()));
            } else if let Some((path, value)) = token.split_once('=') {
                checks.push(Check::Equal(path.to_owned(), value.to_owned()));
            } else if let Some(path) = token.strip_prefix('!') {
                checks.push(Check::Absent(path.to_owned()));
            } else {
                words.push(token);
            }
        }
        let (kind, words) = match words.as_slice() {
            ["ok"] => (Kind::Ok, Vec::new()),
            ["error"] => (Kind::Error, Vec::new()),
            ["request", rest @ ..] => (Kind::Request, rest.to_vec()),
            words => (Kind::Notification, words.to_vec()),
        };
        Self { kind, name: words.join(" "), repeated, checks }
    }

    /// Whether each of many frames is told from the others.
    pub(crate) fn adds(&self) -> bool {
        self.checks.iter().any(|check| matches!(check, Check::Add(..)))
    }

    /// Checks a frame, and keeps what is to be kept of it.
    pub(crate) fn check(&self, frame: &Value, variables: &mut Variables) -> Result<(), String> {
        let body = match self.kind {
            Kind::Ok => &frame["result"],
            Kind::Error => &frame["error"],
            Kind::Request | Kind::Notification => &frame["params"],
        };
        for check in &self.checks {
            match check {
                Check::Equal(path, text) => {
                    let wanted = value(text, variables)?;
                    let found = look_up(body, path);
                    if !found.contains(&&wanted) {
                        return Err(format!("`{path}` is {found:?}, not {wanted}"));
                    }
                }
                Check::Absent(path) => {
                    if !look_up(body, path).is_empty() {
                        return Err(format!("`{path}` is there"));
                    }
                }
                Check::Keep(variable, path) => {
                    let found = look_up(body, path).first().copied().ok_or_else(|| format!("no `{path}`"))?;
                    variables.insert(variable.clone(), found.clone());
                }
                Check::Add(variable, path) => {
                    let found = look_up(body, path).first().and_then(|found| found.as_str());
                    let before = variables.get(variable).and_then(Value::as_str).unwrap_or_default();
                    let after = format!("{before}{}", found.ok_or_else(|| format!("no `{path}`"))?);
                    variables.insert(variable.clone(), after.into());
                }
            }
        }
        Ok(())
    }
}

fn value(text: &str, variables: &Variables) -> Result<Value, String> {
    match text.strip_prefix('$') {
        Some(name) => variables.get(name).cloned().ok_or_else(|| format!("no variable `{name}`")),
        None => Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
    }
}

fn look_up<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    for step in path.split('.') {
        found = found
            .into_iter()
            .flat_map(|value| match (step, value) {
                ("*", Value::Array(all)) => all.iter().collect(),
                (index, Value::Array(all)) => {
                    index.parse::<usize>().ok().and_then(|at| all.get(at)).into_iter().collect()
                }
                (member, value) => value.get(member).into_iter().collect::<Vec<_>>(),
            })
            .collect();
    }
    found
}

/// Params with the variables in their places.
pub(crate) fn fill(params: &str, variables: &Variables) -> Result<Value, String> {
    let mut text = params.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("\"${name}\""), &value.to_string());
    }
    serde_json::from_str(&text).ok().filter(|_| !text.contains("\"$")).ok_or_else(|| format!("bad params: {text}"))
}
