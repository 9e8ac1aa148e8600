//! JSON Pointers into a bundle, with names in the place of indexes where the bundle has lists.
//!
//! `/errors/-32601`, `/$defs/ItemKind/enum/toolCall` and `/capabilities/rawLog` name what a plain pointer could only
//! count, so that a pointer survives a bundle in which the order changed.

use std::borrow::Cow;

use serde_json::Value;

/// Puts tokens together to a pointer, escaped: `["methods", "turn/start"]` gives `/methods/turn~1start`.
pub fn of(tokens: &[&str]) -> String {
    tokens.iter().flat_map(|token| ["/".into(), escape(token)]).collect::<Vec<Cow<'_, str>>>().concat()
}

/// Escapes one token: `~` and `/` become `~0` and `~1`.
pub fn escape(token: &str) -> Cow<'_, str> {
    if token.contains(['~', '/']) { token.replace('~', "~0").replace('/', "~1").into() } else { token.into() }
}

/// The reverse of [`escape`]. A `~` that escapes nothing stays as it is.
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() }
}

/// The tokens of a pointer, unescaped; none for a text that does not start with `/`.
pub fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// The value that a pointer names in a bundle, lists read by name as the module says, otherwise by index.
pub fn find<'a>(bundle: &'a Value, pointer: &str) -> Option<&'a Value> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    let path: Vec<_> = tokens(pointer).collect();
    if let [first, name] = path.as_slice() {
        if first == "capabilities" {
            return named(bundle.pointer("/capabilities/grantable")?, name);
        }
    }
    path.iter().enumerate().try_fold(bundle, |value, (depth, token)| match value {
        Value::Object(members) => members.get(token.as_ref()),
        Value::Array(items) if depth == 1 && path[0] == "errors" => {
            items.iter().find(|row| row["code"].as_i64().is_some_and(|code| code.to_string() == *token))
        }
        Value::Array(_) if path[depth - 1] == "enum" => named(value, token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|item| item.as_str() == Some(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{find, of, tokens};

    #[test]
    fn tokens_come_back_as_they_went_in() {
        let pointer = of(&["methods", "a/b~c", ""]);
        assert_eq!(pointer, "/methods/a~1b~0c/");
        assert_eq!(tokens(&pointer).collect::<Vec<_>>(), ["methods", "a/b~c", ""]);
    }

    #[test]
    fn lists_are_read_by_name() {
        let bundle = json!({
            "$defs": {"Kind": {"enum": ["a", "b"]}, "Choice": {"anyOf": [{"type": "null"}, {"type": "string"}]}},
            "errors": [{"code": -1}, {"code": -2}],
            "capabilities": {"grantable": ["x"]},
        });
        assert_eq!(find(&bundle, "/$defs/Kind/enum/b"), Some(&json!("b")));
        assert_eq!(find(&bundle, "/$defs/Kind/enum/1"), None);
        assert_eq!(find(&bundle, "/$defs/Choice/anyOf/1/type"), Some(&json!("string")));
        assert_eq!(find(&bundle, "/errors/-2"), Some(&json!({"code": -2})));
        assert_eq!(find(&bundle, "/errors/1"), None);
        assert_eq!(find(&bundle, "/capabilities/x"), Some(&json!("x")));
        assert_eq!(find(&bundle, "/capabilities/grantable/0"), Some(&json!("x")));
        assert_eq!(find(&bundle, "capabilities/x"), None);
        assert_eq!(find(&bundle, ""), Some(&bundle));
    }
}
