//! Reductions over rows, strip by strip: each strip by itself, then neighbours in their tree, on the threads of a pool.

use fuseline_ir::schedule::strips::{Strips, halves};
use std::ops::Range;

/// What all strips reduce to: `strip` reduces the rows of one, `merge` two neighbours. Strips run in any order, and the
/// result has the bits of [`fuseline_ir::schedule::strips`] whatever that is.
pub fn reduce<T: Send>(
    pool: &rayon::ThreadPool,
    strips: Strips,
    strip: impl Fn(Range<usize>) -> T + Sync,
    merge: impl Fn(T, T) -> T + Sync,
) -> T {
    if strips.len() == 1 {
        return strip(strips.rows_of(0));
    }
    pool.install(|| node(strips, 0..strips.len(), &strip, &merge))
}

/// The result of a run of strips that is a node of the tree.
fn node<T: Send>(
    strips: Strips,
    run: Range<usize>,
    strip: &(impl Fn(Range<usize>) -> T + Sync),
    merge: &(impl Fn(T, T) -> T + Sync),
) -> T {
    match halves(run.clone()) {
        None => strip(strips.rows_of(run.start)),
        Some([left, right]) => {
            let (left, right) = rayon::join(|| node(strips, left, strip, merge), || node(strips, right, strip, merge));
            merge(left, right)
        }
    }
}
