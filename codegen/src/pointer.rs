//! JSON pointers (RFC 6901): the one place that escapes, splits and joins them.

use std::borrow::Cow;

/// One segment as it stands in a pointer: `~` as `~0`, `/` as `~1`.
pub fn escape(segment: &str) -> Cow<'_, str> {
    if segment.contains(['~', '/']) {
        Cow::Owned(segment.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(segment)
    }
}

/// The reverse of [`escape`]; a `~` that starts neither escape stays as it is.
pub fn unescape(segment: &str) -> Cow<'_, str> {
    if segment.contains('~') {
        // `~1` first: the text `~01` means `~1`, not `/`.
        Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(segment)
    }
}

/// The unescaped segments of `pointer`, first to last; none for the root.
pub fn segments(pointer: &str) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
    pointer.strip_prefix('/').into_iter().flat_map(|rest| rest.split('/')).map(unescape)
}

/// `pointer` with one more segment, which is escaped here.
pub fn join(pointer: &str, segment: &str) -> String {
    let mut longer = String::with_capacity(pointer.len() + segment.len() + 1);
    longer.push_str(pointer);
    longer.push('/');
    longer.push_str(&escape(segment));
    longer
}

/// `pointer` without its last segment; `None` for the root.
pub fn parent(pointer: &str) -> Option<&str> {
    pointer.rfind('/').map(|slash| &pointer[..slash])
}

/// Whether `pointer` is `ancestor` or stands below it.
pub fn is_within(pointer: &str, ancestor: &str) -> bool {
    pointer.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_back() {
        for segment in ["", "a", "a/b", "~", "~1", "~01", "m~n/o"] {
            assert_eq!(unescape(&escape(segment)), segment);
        }
        assert_eq!(join("/methods", "turn/start"), "/methods/turn~1start");
    }

    #[test]
    fn splits() {
        assert_eq!(segments("").count(), 0);
        assert_eq!(segments("/").collect::<Vec<_>>(), [""]);
        assert_eq!(segments("/a/b~1c").collect::<Vec<_>>(), ["a", "b/c"]);
        assert_eq!(parent("/a/b"), Some("/a"));
        assert_eq!(parent("/a"), Some(""));
        assert_eq!(parent(""), None);
        assert!(is_within("/a/b", "/a") && !is_within("/ab", "/a"));
    }
}
