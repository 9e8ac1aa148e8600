//! The envelope: what kind of frame a line is, or how it fails to be one (ENV).

mod outline;

use msp_types::msp::errors;
use serde_json::{Map, Value};

pub use self::outline::MOST_VALUES;
use crate::refusal::Refusal;

/// A frame of the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A request.
    Request {
        /// String or integer.
        id: Value,
        /// Method.
        method: String,
        /// Params; `Err` where they are neither an object nor left out.
        params: Result<Map<String, Value>, Refusal>,
    },
    /// A notification.
    Notification {
        /// Method.
        method: String,
        /// Params; `None` where they are neither an object nor left out.
        params: Option<Map<String, Value>>,
    },
    /// An answer to a request of the host: a receipt, which changes nothing (APPR-3, ENV-16).
    Answer,
}

/// Reads a line.
///
/// # Errors
/// The refusal, and the id under which it is told: null where it could not be read.
#[expect(clippy::result_large_err, reason = "a refusal is made once a bad line")]
pub fn read(line: &[u8]) -> Result<Incoming, (Value, Refusal)> {
    if outline::is_too_wide(line) {
        return outline::read(line);
    }
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, Refusal::new(errors::PARSE_ERROR, format!("no JSON: {error}"))))?;
    let Value::Object(mut frame) = value else {
        let what = if value.is_array() { "batches are not served" } else { "a frame is an object" };
        return Err((Value::Null, Refusal::invalid_request(what)));
    };
    let has_id = frame.contains_key("id");
    let id = frame.remove("id").filter(is_id);
    let shown = id.clone().unwrap_or(Value::Null);
    if frame.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err((shown, Refusal::invalid_request("member `jsonrpc` is not \"2.0\"")));
    }
    let method = match frame.remove("method") {
        Some(Value::String(method)) => method,
        None if has_id && (frame.contains_key("result") || frame.contains_key("error")) => return Ok(Incoming::Answer),
        _ => return Err((shown, Refusal::invalid_request("member `method` is no string"))),
    };
    let params = match frame.remove("params") {
        None => Ok(Map::new()),
        Some(Value::Object(params)) => Ok(params),
        Some(_) => Err(Refusal::invalid_params("member `params` is no object")),
    };
    match (id, has_id) {
        (Some(id), _) => Ok(Incoming::Request { id, method, params }),
        (None, true) => Err((Value::Null, Refusal::invalid_request("member `id` is neither a string nor an integer"))),
        (None, false) => Ok(Incoming::Notification { method, params: params.ok() }),
    }
}

/// Whether a value can be the id of a request (ENV-5).
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// The id of a frame of which only the beginning is known (FRAME-9); `None` where it is not whole or not on the top level.
pub fn recover_id(prefix: &[u8]) -> Option<Value> {
    let mut at = prefix.iter().position(|&byte| byte == b'{')? + 1;
    let (mut depth, mut key) = (1u32, true);
    while at < prefix.len() {
        match prefix[at] {
            b'"' => {
                let end = string_end(prefix, at)?;
                if depth == 1 && key && &prefix[at..end] == b"\"id\"" {
                    let rest = &prefix[end..];
                    let colon = rest.iter().position(|&byte| byte == b':')?;
                    return read_id(&rest[colon + 1..]);
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 1 => key = true,
            b':' if depth == 1 => key = false,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place behind a string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut escaped = false;
    for (offset, &byte) in bytes[at + 1..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1 + offset + 1),
            _ => {}
        }
    }
    None
}

/// An id that is whole: something follows it.
fn read_id(rest: &[u8]) -> Option<Value> {
    let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let end = match rest[start] {
        b'"' => string_end(rest, start)?,
        _ => {
            start
                + rest[start..]
                    .iter()
                    .position(|byte| !matches!(byte, b'-' | b'0'..=b'9' | b'.' | b'e' | b'E' | b'+'))?
        }
    };
    serde_json::from_slice::<Value>(&rest[start..end]).ok().filter(is_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_recovered_where_it_is_whole_and_outermost() {
        for (prefix, id) in [
            (r#"{"id":7,"method":"#, Some(Value::from(7))),
            (r#" {"jsonrpc":"2.0","id" : "a\"b" ,"params":{"x"#, Some(Value::from("a\"b"))),
            (r#"{"params":{"id":3},"id":4,"x":""#, Some(Value::from(4))),
            (r#"{"method":"id","id":5,"#, Some(Value::from(5))),
            (r#"{"params":{"id":3,"x":"#, None),
            (r#"{"id":12"#, None),
            (r#"{"id":1.5,"#, None),
            (r#"{"id":null,"#, None),
            ("", None),
        ] {
            assert_eq!(recover_id(prefix.as_bytes()), id, "{prefix}");
        }
    }
}
