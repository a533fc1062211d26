//! Into how many blocks operators cut their work for threads, in kernels as in skeletons: a function of shapes and
//! patterns alone, so that results hang on no number of threads.

/// The most private partial results of one operator.
pub const MAX_PARTIALS: usize = 16;

/// The number of even blocks for so much work. While these are few it is a power of two, since so are most numbers of
/// threads: of three blocks one of two threads would have two, of five one would have three.
pub fn even_blocks(work: usize, most_of_block: usize) -> usize {
    let count = work.div_ceil(most_of_block).max(1);
    if count < MAX_PARTIALS { count.next_power_of_two() } else { count }
}
