//! As much of URI references (RFC 3986) as `$id` and `$ref` need.

/// Whether the text starts with a scheme, so that it stands for itself.
pub(super) fn is_absolute(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// `reference`, without its fragment, seen from `base`; `None` where the base is no hierarchy (`urn:…`).
pub(super) fn join(base: &str, reference: &str) -> Option<String> {
    let reference = without_fragment(reference);
    if is_absolute(reference) {
        return Some(reference.to_owned());
    }
    let base = without_fragment(base);
    if reference.is_empty() {
        return Some(base.to_owned());
    }
    let (scheme, rest) = base.split_once("://")?;
    let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    if let Some(network) = reference.strip_prefix("//") {
        return Some(format!("{scheme}://{network}"));
    }
    if reference.starts_with('/') {
        return Some(format!("{scheme}://{authority}{}", normalize(reference)));
    }
    let folder = path.rfind('/').map_or("/", |slash| &path[..=slash]);
    Some(format!("{scheme}://{authority}{}", normalize(&format!("{folder}{reference}"))))
}

/// The part before `#`.
pub(super) fn without_fragment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default()
}

/// The text with `%xx` decoded; what is no escape, or would not be UTF-8, stays as it is.
pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = escape {
            bytes.push(high * 16 + low);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Takes `.` and `..` out of an absolute path.
fn normalize(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins() {
        let base = "http://example.com/schemas/a/root.json";
        for (reference, expected) in [
            ("b.json", "http://example.com/schemas/a/b.json"),
            ("../b.json#/x", "http://example.com/schemas/b.json"),
            ("/b.json", "http://example.com/b.json"),
            ("//other/b.json", "http://other/b.json"),
            ("#/x", base),
            ("urn:x:y", "urn:x:y"),
        ] {
            assert_eq!(join(base, reference).as_deref(), Some(expected), "{reference}");
        }
        assert_eq!(join("urn:x:y", "b.json"), None);
    }

    #[test]
    fn decodes() {
        assert_eq!(decode("/a%25b%22c"), "/a%b\"c");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz"), "%zz");
    }
}
