//! Names that somebody may have meant.

use std::cmp::Reverse;

/// The name most like `given`, if one is near enough: at most a third of its characters differ.
pub(crate) fn nearest<'n>(given: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let given: Vec<char> = given.chars().take(MOST).collect();
    let near = names.map(|name| {
        let characters: Vec<char> = name.chars().take(MOST).collect();
        let alike = given.iter().zip(&characters).take_while(|(one, other)| one == other).count();
        // Of equally near ones, the one that begins alike.
        ((distance(&given, &characters), Reverse(alike)), name)
    });
    let ((distance, _), name) = near.min()?;
    (distance > 0 && distance * 3 <= given.len().max(3)).then(|| name.to_owned())
}

/// Characters that are looked at: names are short, and what is given may be anything.
const MOST: usize = 80;

/// How many characters have to be changed, put in, left out or swapped with the next; case counts for nothing but the
/// first such change.
fn distance(one: &[char], other: &[char]) -> usize {
    let same = |a: char, b: char| a.eq_ignore_ascii_case(&b);
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, &a) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, &b) in other.iter().enumerate() {
            let mut changes = (last[column] + usize::from(!same(a, b))).min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && same(a, other[column - 1]) && same(one[row - 1], b) {
                changes = changes.min(before[column - 1] + 1);
            }
            next.push(changes);
        }
        before = std::mem::replace(&mut last, next);
    }
    let distance = last[other.len()];
    if distance == 0 && one != other { 1 } else { distance }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_what_is_near_is_meant() {
        let names = ["Item", "ItemKind", "turn/start", "1.4.12", "1.4.13"];
        let found = |given: &str| nearest(given, names.into_iter());
        assert_eq!(found("Itme").as_deref(), Some("Item"));
        assert_eq!(found("1.4.1").as_deref(), Some("1.4.12"));
        assert_eq!(found("itemkind").as_deref(), Some("ItemKind"));
        assert_eq!(found("turn/strat").as_deref(), Some("turn/start"));
        assert_eq!(found("nothing of the kind"), None);
        assert_eq!(found(""), None);
    }
}
