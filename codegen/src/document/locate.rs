//! From a pointer to the bytes it names, by taking the text apart one level at a time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::pointer;

/// A member name; [`Cow`] alone would always allocate, and cannot borrow where the name has an escape.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The byte range of the value at `pointer` in `text`, without the white space around it.
pub(super) fn locate(text: &str, pointer: &str) -> Option<Range<usize>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    let mut raw: &RawValue = serde_json::from_str(text).ok()?;
    for segment in pointer::segments(pointer) {
        raw = match raw.get().as_bytes().first()? {
            b'{' => {
                let mut members: HashMap<Name<'_>, &RawValue> = serde_json::from_str(raw.get()).ok()?;
                members.remove(&Name(segment))?
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
                *items.get(super::array_index(&segment)?)?
            }
            _ => return None,
        };
    }
    // `raw` borrows from `text`, so the distance of their addresses is the offset.
    let start = (raw.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(start..start + raw.get().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bytes() {
        let text = " {\"a\": [1, {\"b/c\" : \"x\"}], \"\\u00e9\": null } ";
        let at = |pointer: &str| locate(text, pointer).map(|range| &text[range]);
        assert_eq!(at("/a/0"), Some("1"));
        assert_eq!(at("/a/1/b~1c"), Some("\"x\""));
        assert_eq!(at("/é"), Some("null"));
        assert_eq!(at(""), Some(text.trim()));
        assert_eq!(at("/a/2"), None);
        assert_eq!(at("/a/00"), None);
        assert_eq!(at("/a/0/b"), None);
    }
}
