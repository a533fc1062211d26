//! Sorting in blocks of work, which threads share and between which a request to stop is heard: runs that are sorted each by
//! itself, then merged two at a time, where each block of the result finds by bisection where its share of both begins.

use crate::KernelContext;
use crate::blocks::for_each_block;
use fuseline_matrix::{Growing, MemoryKind, StopListener};
use std::cmp::Ordering;

/// Values of a run, and of a block of a merge.
const RUN: usize = 1 << 15;

/// The values in ascending order; equal ones stay in the order in which they were.
pub(crate) fn sorted<T: Copy + Send + Sync>(
    context: &KernelContext<'_>,
    mut values: Growing<T>,
    compare: impl Fn(&T, &T) -> Ordering + Sync,
) -> Growing<T> {
    for_each_block(context, &mut values, RUN, |_, run| run.sort_by(&compare));
    if values.len() <= RUN {
        return values;
    }
    let mut merged = collected(values.len(), |index| values[index]);
    let mut length = RUN;
    while length < values.len() {
        for_each_block(context, &mut merged, RUN, |block, out| merge(&values, length, block * RUN, out, &compare));
        std::mem::swap(&mut values, &mut merged);
        length *= 2;
    }
    values
}

/// So many values by their number.
pub(crate) fn collected<T>(count: usize, value: impl Fn(usize) -> T) -> Growing<T> {
    let mut values = Growing::with_capacity(MemoryKind::Scratch, count);
    let stop = StopListener::current();
    for start in (0..count).step_by(RUN) {
        stop.check();
        values.extend((start..count.min(start + RUN)).map(&value));
    }
    values
}

/// Writes the part from `start` on of what becomes of sorted runs of this length when each two of them are merged. It lies
/// within one merge.
fn merge<T: Copy>(values: &[T], length: usize, start: usize, out: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    let first = start / (2 * length) * (2 * length);
    let (left, right) = values[first..values.len().min(first + 2 * length)].split_at(length.min(values.len() - first));
    let mut of_left = taken_from_left(left, right, start - first, compare);
    let mut of_right = start - first - of_left;
    for slot in out {
        let takes_right = of_right < right.len()
            && (of_left == left.len() || compare(&right[of_right], &left[of_left]) == Ordering::Less);
        let (source, taken) = if takes_right { (right, &mut of_right) } else { (left, &mut of_left) };
        *slot = source[*taken];
        *taken += 1;
    }
}

/// How many of the first `count` values of two merged runs come from the left one, which goes first where values are equal.
fn taken_from_left<T>(left: &[T], right: &[T], count: usize, compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    let (mut least, mut most) = (count.saturating_sub(right.len()), count.min(left.len()));
    while least < most {
        let middle = least.midpoint(most);
        if compare(&right[count - middle - 1], &left[middle]) == Ordering::Less {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::{RUN, collected, merge, sorted};
    use crate::tests::{hash, with_each_pool};

    /// Around the ends of runs and of merges, with values that stand in both of them.
    #[test]
    fn values_are_sorted_and_equal_ones_keep_their_order() {
        for count in [0, 1, 2, RUN - 1, RUN, RUN + 1, 2 * RUN, 2 * RUN + 1, 3 * RUN - 7, 5 * RUN + 3] {
            for distinct in [1, 2, 1000, usize::MAX] {
                let value = |index: usize| (hash(index, index / 7, 3) * 65_537 % distinct, index);
                let mut expected: Vec<_> = (0..count).map(value).collect();
                expected.sort_by_key(|&(key, _)| key);
                for values in with_each_pool(|context| sorted(context, collected(count, value), |x, y| x.0.cmp(&y.0))) {
                    assert!(values[..] == expected[..], "{count} values, {distinct} distinct ones");
                }
            }
        }
    }

    /// Wherever a block of a merge begins.
    #[test]
    fn parts_of_merges_are_the_merge() {
        let runs = [3, 5, 5, 7, 9, 1, 3, 5, 5, 8, 2, 4];
        let merged = [1, 3, 3, 5, 5, 5, 5, 7, 8, 9, 2, 4];
        for start in 0..10 {
            for end in start..=10 {
                let mut out = vec![0; end - start];
                merge(&runs, 5, start, &mut out, &Ord::cmp);
                assert_eq!(out, merged[start..end]);
            }
        }
        let mut out = [0; 2];
        merge(&runs, 5, 10, &mut out, &Ord::cmp);
        assert_eq!(out, [2, 4]);
    }
}
