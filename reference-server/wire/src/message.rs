//! The messages (section 4 of the protocol): what is read is taken apart no further than needed, and unknown members are ignored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Why a call failed: these members and no others pass an engine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ErrorBody {
    /// Short word.
    pub code: String,
    /// Free text.
    pub message: String,
}

impl ErrorBody {
    /// An error.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// Nobody has the function.
    pub fn function_not_found(function_id: &str) -> Self {
        Self::new("function_not_found", format!("no function `{function_id}`"))
    }
}

/// A message, whatever its type: all members that any type has.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// Name of the message, in lower case without separators.
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    /// Id of a function, a trigger type or a binding.
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    /// Id of a call.
    #[serde(borrow, default)]
    pub invocation_id: Option<Cow<'a, str>>,
    /// Function to call, or that was called.
    #[serde(borrow, default)]
    pub function_id: Option<Cow<'a, str>>,
    /// Payload of a call.
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    /// How a call is to be made; without one it is answered.
    #[serde(default)]
    pub action: Option<Action>,
    /// Handed on beside the payload, or with a binding.
    #[serde(default)]
    pub metadata: Option<Value>,
    /// Namespace of a function; absent for the default one.
    #[serde(borrow, default)]
    pub namespace: Option<Cow<'a, str>>,
    /// What a call gave; `null` may be left out.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// Why a call failed.
    #[serde(default)]
    pub error: Option<ErrorBody>,
    /// Trigger type of a binding.
    #[serde(borrow, default)]
    pub trigger_type: Option<Cow<'a, str>>,
    /// Config of a binding.
    #[serde(default)]
    pub config: Option<Value>,
    /// Worker that was connected before.
    #[serde(borrow, default)]
    pub previous_worker_id: Option<Cow<'a, str>>,
    /// Proof that it is the same one.
    #[serde(borrow, default)]
    pub reattach_token: Option<Cow<'a, str>>,
    /// Id given to a connection.
    #[serde(borrow, default)]
    pub worker_id: Option<Cow<'a, str>>,
    /// Description of what is registered.
    #[serde(borrow, default)]
    pub description: Option<Cow<'a, str>>,
}

/// How a call is to be made.
#[derive(Debug, Deserialize)]
pub struct Action {
    /// `void` or `enqueue`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl<'a> Message<'a> {
    /// Reads a message; `None` for what is none, which a peer ignores.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether the caller wants no answer.
    pub fn is_void(&self) -> bool {
        self.invocation_id.is_none() || self.action.as_ref().is_some_and(|action| action.kind == "void")
    }

    /// Payload of a call; `null` where there is none.
    pub fn payload(&self) -> &'a str {
        self.data.map_or("null", RawValue::get)
    }
}

/// A call.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Invoke<'a> {
    /// Function to call.
    pub function_id: &'a str,
    /// Id of the call; without one it is not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invocation_id: Option<&'a str>,
    /// Payload.
    pub data: Option<&'a RawValue>,
    /// Handed on beside the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<&'a Value>,
    /// Namespace of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'a str>,
    #[serde(rename = "action", skip_serializing_if = "Option::is_none")]
    pub(crate) void: Option<Void>,
}

/// The action of a call without an answer.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Void {
    r#type: &'static str,
}

impl<'a> Invoke<'a> {
    /// A call that is answered.
    pub fn answered(invocation_id: &'a str, function_id: &'a str, data: &'a RawValue) -> Self {
        Self { function_id, invocation_id: Some(invocation_id), data: Some(data), ..Self::default() }
    }

    /// A call that is not answered.
    pub fn void(function_id: &'a str, data: &'a RawValue) -> Self {
        Self { function_id, data: Some(data), void: Some(Void { r#type: "void" }), ..Self::default() }
    }

    /// The message.
    pub fn text(&self) -> String {
        typed("invokefunction", self)
    }
}

#[derive(Serialize)]
struct Result_<'a> {
    invocation_id: &'a str,
    function_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorBody>,
}

/// The answer to a call.
pub fn answer(invocation_id: &str, function_id: &str, outcome: Result<&RawValue, &ErrorBody>) -> String {
    let (result, error) = (outcome.ok(), outcome.err());
    typed("invocationresult", &Result_ { invocation_id, function_id, result, error })
}

/// A message of a type, with the members of an object.
pub fn typed(kind: &str, members: &impl Serialize) -> String {
    let members = serde_json::to_string(members).unwrap_or_default(); // plain structs and JSON values do not fail
    let rest = members.strip_prefix('{').unwrap_or("}");
    let comma = if rest == "}" { "" } else { "," };
    format!("{{\"type\":\"{kind}\"{comma}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_and_read() {
        let data = RawValue::from_string(r#"{"a":1}"#.to_owned()).unwrap();
        let text = Invoke::void("f", &data).text();
        assert_eq!(text, r#"{"type":"invokefunction","function_id":"f","data":{"a":1},"action":{"type":"void"}}"#);
        let read = Message::read(&text).unwrap();
        assert!(read.is_void() && read.payload() == r#"{"a":1}"#);
        assert!(!Message::read(&Invoke::answered("i", "f", &data).text()).unwrap().is_void());
        let error = ErrorBody::new("c", "m");
        let text = answer("i", "f", Err(&error));
        assert_eq!(
            text,
            r#"{"type":"invocationresult","invocation_id":"i","function_id":"f","error":{"code":"c","message":"m"}}"#
        );
        assert_eq!(typed("pong", &serde_json::json!({})), r#"{"type":"pong"}"#);
        assert!(Message::read("[]").is_none() && Message::read(r#"{"id":"x"}"#).is_none());
    }
}
