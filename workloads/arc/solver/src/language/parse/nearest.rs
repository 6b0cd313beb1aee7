//! The known name that is most like an unknown one.

/// The known name with the smallest edit distance, if that is small.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let n_edits_max = 1 + name.len() / 4;
    known
        // The edit distance is at least the difference of the lengths.
        .filter(|k| k.len().abs_diff(name.len()) <= n_edits_max)
        .map(|k| (n_edits(name, k), k))
        .filter(|(n, k)| *n <= n_edits_max && *n < k.len())
        .min_by_key(|(n, k)| (*n, *k))
        .map(|(_, k)| k)
}

/// The Levenshtein distance.
fn n_edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
