//! Times as they are compared.

/// A time of RFC 3339 in UTC: what comes before the fraction, and the fraction without the zeros at its end. Such pairs
/// are ordered as the times are.
pub(super) fn instant(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_suffix(['Z', 'z'])?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    (whole.len() == 19).then(|| (whole, fraction.trim_end_matches('0')))
}
