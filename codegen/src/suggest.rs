//! "Did you mean …?"

/// The candidate that is nearest to `wanted`, where one is near enough to be meant: at most a third of its characters differ,
/// or only their case.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = wanted.chars().count() / 3;
    candidates
        .into_iter()
        .map(|candidate| (distance(wanted, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        // The name breaks a tie, so that the answer does not hang on the order of candidates.
        .min()
        .map(|(_, candidate)| candidate)
}

/// Number of characters to insert, delete or replace to get from one text to the other; a change of case alone costs nothing.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("Item", "item"), 0);
    }

    #[test]
    fn only_what_is_near() {
        assert_eq!(nearest("Acount", ["Account", "Amount", "Turn"]), Some("Account"));
        assert_eq!(nearest("Acount", ["Turn", "Item"]), None);
        assert_eq!(nearest("D", ["A", "d"]), Some("d"));
        assert_eq!(nearest("D", ["A"]), None);
    }
}
