//! "Did you mean": the known name nearest to a misspelt one.

/// `did you mean ...?`, when one of the names is near enough.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Short names are near everything: these must agree but for the case of letters.
    let length = name.chars().count();
    let limit = if length < 3 { 0 } else { 1 + length / 4 };
    let distances = known.into_iter().filter_map(|candidate| {
        let near = candidate.len().abs_diff(name.len()) <= limit;
        let distance = if near { distance(name, candidate) } else { usize::MAX };
        (distance <= limit).then_some((distance, candidate))
    });
    distances.min().map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other, in any case of
/// letters; names that differ in case alone are nearest, but not equal.
fn distance(left: &str, right: &str) -> usize {
    let lower = |text: &str| text.chars().take(64).map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (left, right) = (lower(left), lower(right));
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
                let shifted = rows[i - 1][j].min(rows[i][j - 1]) + 1;
                let is_swap = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                let swapped = if is_swap { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(shifted).min(swapped)
            };
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typing_errors_and_leaves_strangers_alone() {
        let known = ["rowSums", "colSums", "nrow", "sum"];
        assert_eq!(nearest("rowSum", known).as_deref(), Some("did you mean `rowSums`?"));
        assert_eq!(nearest("rowsums", known).as_deref(), Some("did you mean `rowSums`?"));
        assert_eq!(nearest("nrwo", known).as_deref(), Some("did you mean `nrow`?"));
        assert_eq!(nearest("standardise", known), None);
        assert_eq!(nearest("z", ["x"]), None);
        assert_eq!(nearest("X", ["x"]).as_deref(), Some("did you mean `x`?"));
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
    }
}
