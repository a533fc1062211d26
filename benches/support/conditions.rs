//! What makes a comparison one (P165): whoever is compared computes in doubles, on the same number of threads, each on a
//! processor of its own. A scheduler that wakes all threads of a run up on one processor would decide runs of less than some
//! milliseconds, by turns for one and for the other.

use fuseline::{CompileOptions, MatrixBlock, Session};

/// Whether threads are pinned: where they can be.
pub(crate) const PINS: bool = cfg!(target_os = "linux");

/// The options of sessions that are compared.
pub(crate) fn options() -> CompileOptions {
    CompileOptions { pin_threads: PINS, ..CompileOptions::default() }
}

/// Fails where sessions run on other numbers of threads than the loops written by hand or have them elsewhere, or where a matrix is stored in values that are narrower than doubles.
pub(crate) fn assert_equal_conditions<'a>(
    sessions: impl IntoIterator<Item = &'a Session>,
    data: impl IntoIterator<Item = &'a MatrixBlock>,
) {
    let by_hand = rayon::current_num_threads();
    for session in sessions {
        let threads = session.engine().kernel_context().pool.current_num_threads();
        assert_eq!(session.options().pin_threads, PINS);
        assert_eq!(threads, by_hand, "threads in mode {:?}, and of loops written by hand", session.options().mode);
    }
    for block in data {
        let (rows, cols) = block.dims();
        assert!(block.narrow_dense().is_none(), "a matrix of {rows} x {cols} narrower values");
    }
}
