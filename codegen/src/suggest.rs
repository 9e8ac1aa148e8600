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

/// Number of characters to insert, delete or replace, and of neighbours to swap, to get from one text to the other; a change of case
/// alone costs nothing.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    // One row for each beginning of `a`, one column for each beginning of `b`.
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    let cell = |rows: &[Vec<usize>], i: usize, j: usize| rows.get(i).and_then(|row| row.get(j)).copied();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = cell(&rows, i, j).map(|cost| cost + usize::from(from != to));
            let deleted = cell(&rows, i, j + 1).map(|cost| cost + 1);
            let inserted = row.last().map(|cost| cost + 1);
            let crossed = i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from);
            let swapped = if crossed { cell(&rows, i - 1, j - 1).map(|cost| cost + 1) } else { None };
            row.extend([replaced, deleted, inserted, swapped].into_iter().flatten().min());
        }
        rows.push(row);
    }
    cell(&rows, a.len(), b.len()).unwrap_or_default()
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
        assert_eq!(distance("lable", "label"), 1);
        assert_eq!(distance("requierd", "required"), 1);
        assert_eq!(distance("abcd", "badc"), 2);
    }

    #[test]
    fn only_what_is_near() {
        assert_eq!(nearest("Acount", ["Account", "Amount", "Turn"]), Some("Account"));
        assert_eq!(nearest("Acount", ["Turn", "Item"]), None);
        assert_eq!(nearest("D", ["A", "d"]), Some("d"));
        assert_eq!(nearest("onwer", ["owner", "id"]), Some("owner"));
        assert_eq!(nearest("D", ["A"]), None);
    }
}
