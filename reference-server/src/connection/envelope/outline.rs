//! Frames of very many values. Each value costs some hundred times its bytes once it is read into memory, so such a frame is refused
//! by its outline, for which nothing of it is kept.

use std::fmt;

use msp_types::msp::errors;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use super::Incoming;
use crate::refusal::Refusal;

/// Most values of a frame. No source states a bound; the largest frame that a client has a use for is far below.
pub const MOST_VALUES: usize = 65_536;

/// Whether a line has more values than are read. It counts what begins or parts values, so it may be a few off.
pub(super) fn is_too_wide(line: &[u8]) -> bool {
    let (mut values, mut quoted, mut escaped) = (0usize, false, false);
    for &byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => values += 1,
            _ => {}
        }
    }
    values > MOST_VALUES
}

/// What a line of too many values is.
#[expect(clippy::result_large_err, reason = "as `read`")]
pub(super) fn read(line: &[u8]) -> Result<Incoming, (Value, Refusal)> {
    let message = format!("a frame of more than {MOST_VALUES} values");
    let outline: Outline = serde_json::from_slice(line).map_err(|error| {
        let refusal = match error.classify() {
            Category::Data => Refusal::invalid_request(message.as_str()),
            _ => Refusal::new(errors::PARSE_ERROR, format!("no JSON: {error}")),
        };
        (Value::Null, refusal)
    })?;
    match outline {
        Outline { id: None, .. } => Ok(Incoming::Notification { method: String::new(), params: None }),
        Outline { id: Some(Id(Some(id))), has_method: true, .. } => Err((id, Refusal::invalid_params(message))),
        Outline { id: Some(Id(Some(_))), is_answer: true, .. } => Ok(Incoming::Answer),
        Outline { id: Some(Id(id)), .. } => Err((id.unwrap_or(Value::Null), Refusal::invalid_request(message))),
    }
}

/// A frame, as far as it has to be known to refuse it.
struct Outline {
    id: Option<Id>,
    has_method: bool,
    is_answer: bool,
}

/// An id, where it can be one (ENV-5).
struct Id(Option<Value>);

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut outline = Outline { id: None, has_method: false, is_answer: false };
        while let Some(key) = map.next_key::<String>()? {
            if key == "id" {
                outline.id = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
                outline.has_method |= key == "method";
                outline.is_answer |= key == "result" || key == "error";
            }
        }
        Ok(outline)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_i64<E>(self, id: i64) -> Result<Id, E> {
        Ok(Id(Some(id.into())))
    }

    fn visit_u64<E>(self, id: u64) -> Result<Id, E> {
        Ok(Id(Some(id.into())))
    }

    fn visit_str<E>(self, id: &str) -> Result<Id, E> {
        Ok(Id(Some(id.into())))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Id, E> {
        Ok(Id(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Id, E> {
        Ok(Id(None))
    }

    fn visit_unit<E>(self) -> Result<Id, E> {
        Ok(Id(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Id, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Id(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Id, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Id(None))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wide_frame_is_refused_as_what_it_is() {
        let wide = format!("[{}0]", "0,".repeat(MOST_VALUES));
        let refused = |frame: &str| {
            let line = frame.replace("WIDE", &wide);
            assert!(is_too_wide(line.as_bytes()), "{frame}");
            read(line.as_bytes()).map_err(|(id, refusal)| (id, refusal.to_error()["code"].clone()))
        };
        for (frame, id, code) in [
            (r#"{"params":{"x":WIDE},"id":7,"method":"a/b"}"#, json!(7), -32602),
            (r#"{"params":{"x":WIDE},"id":"x\"","method":"a/b"}"#, json!("x\""), -32602),
            (r#"{"id":WIDE,"method":"a/b"}"#, json!(null), -32600),
            (r#"{"id":{"x":WIDE},"method":"a/b"}"#, json!(null), -32600),
            (r#"{"id":1.5,"x":WIDE,"method":"a/b"}"#, json!(null), -32600),
            (r#"{"id":1,"x":WIDE}"#, json!(1), -32600),
            ("WIDE", json!(null), -32600),
            (r#"{"id":1,"method":"a/b","params":WIDE"#, json!(null), -32700),
        ] {
            assert_eq!(refused(frame), Err((id, code.into())), "{frame}");
        }
        assert_eq!(refused(r#"{"id":1,"result":WIDE}"#), Ok(Incoming::Answer));
        assert!(matches!(refused(r#"{"method":"a/b","params":WIDE}"#), Ok(Incoming::Notification { .. })));
        assert!(!is_too_wide(format!("{{\"a\":\"\\\"{}\"}}", ",".repeat(MOST_VALUES + 9)).as_bytes()));
    }
}
