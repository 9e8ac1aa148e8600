//! JSON Pointers (RFC 6901), as findings show them.

/// The pointer of a member of the value at `at`.
pub(crate) fn join(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}
