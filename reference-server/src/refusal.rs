//! Refusals: the one place that knows how a failed request becomes a JSON-RPC error (section 7 of the behaviour).

use msp_types::ErrorRow;
use msp_types::msp::errors;
use serde_json::{Map, Value, json};

/// Characters of a message: it may quote what a client sent.
const LONGEST_MESSAGE: usize = 1000;

/// Why a request was not served. Nothing was changed, unless it is a rejection, which takes its command id (CMD-10).
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    row: ErrorRow,
    kind: &'static str,
    message: String,
    data: Map<String, Value>,
}

impl Refusal {
    /// A refusal of a row of the error table.
    pub fn new(row: ErrorRow, message: impl Into<String>) -> Self {
        let mut data = Map::new();
        if row.retryable == Some(true) {
            data.insert("retryable".to_owned(), true.into());
        }
        Self { row, kind: row.kind, message: message.into(), data }
    }

    /// Adds a member to the error's data.
    #[must_use]
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.data.insert(member.to_owned(), value.into());
        self
    }

    /// Makes a rejection that of a command; the text is the one that hosts were seen to send, whose last word is the reason.
    #[must_use]
    pub fn of_command(mut self, method: &str, command_id: &str) -> Self {
        self.message = format!("{method} command {command_id} rejected: {}", self.reason().unwrap_or_default());
        self.with("commandId", command_id)
    }

    /// Says it with one of the row's other kinds.
    #[must_use]
    pub fn of_kind(mut self, kind: &'static str) -> Self {
        debug_assert!(self.row.override_kinds.contains(&kind), "`{kind}` is no kind of the row `{}`", self.row.kind);
        self.kind = kind;
        self
    }

    /// −32602.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(errors::INVALID_PARAMS, message)
    }

    /// −32600.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(errors::INVALID_REQUEST, message)
    }

    /// −32601.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(errors::METHOD_NOT_FOUND, format!("no method `{method}` on this host"))
    }

    /// −32602 or −32601, kind `experimentalRequired` (EXP-1).
    pub fn experimental(row: ErrorRow, descriptor: &str) -> Self {
        Self::new(row, format!("`{descriptor}` needs the experimental opt-in"))
            .of_kind("experimentalRequired")
            .with("descriptor", descriptor)
            .with("retryable", false)
    }

    /// −32010.
    pub fn capability(method: &str, name: &str) -> Self {
        Self::new(errors::CAPABILITY_REQUIRED, format!("{method} requires the {name} capability"))
            .with("capability", name)
            .with("retryable", false)
    }

    /// −32030: the command was looked at and refused for good. The executor adds the command id.
    pub fn rejected(reason: &str, message: impl Into<String>) -> Self {
        Self::new(errors::COMMAND_REJECTED, message).with("reason", reason).with("retryable", false)
    }

    /// −32030 for a request that is no command. The kind's data has a `commandId` always, and no source says which one: it is empty.
    pub fn rejected_request(reason: &str, message: impl Into<String>) -> Self {
        Self::rejected(reason, message).with("commandId", "")
    }

    /// −32020.
    pub fn session_not_found(session_id: &str) -> Self {
        Self::new(errors::SESSION_NOT_FOUND, format!("no session `{session_id}`")).with("sessionId", session_id)
    }

    /// −32024.
    pub fn session_not_loaded(session_id: &str) -> Self {
        Self::new(errors::SESSION_NOT_LOADED, format!("session `{session_id}` is not loaded here"))
            .with("sessionId", session_id)
    }

    /// −32603; what went wrong goes to the log of the host, not to the peer.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(errors::INTERNAL, message)
    }

    /// −32011 for a view cursor that the session never gave out (CUR-7).
    pub fn missing_anchor(session_id: &str) -> Self {
        Self::new(errors::NOT_FOUND, "unknown cursor anchor")
            .with("reason", "missingAnchor")
            .with("sessionId", session_id)
    }

    /// −32011 for anything else that is named and not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(errors::NOT_FOUND, message)
    }

    /// Whether the command id is taken by this refusal (CMD-10).
    pub fn is_rejection(&self) -> bool {
        self.row == errors::COMMAND_REJECTED
    }

    /// The reason of a rejection.
    pub fn reason(&self) -> Option<&str> {
        self.data.get("reason").and_then(Value::as_str)
    }

    /// The `error` member of the answer.
    pub fn to_error(&self) -> Value {
        let mut data = self.data.clone();
        data.insert("kind".to_owned(), self.kind.into());
        let end = self.message.char_indices().nth(LONGEST_MESSAGE).map_or(self.message.len(), |(end, _)| end);
        json!({ "code": self.row.code, "message": self.message[..end], "data": data })
    }
}
