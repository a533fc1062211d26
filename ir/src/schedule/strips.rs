//! Strips of rows, and the binary tree in which what has been reduced over each of them merges.
//!
//! Rows are cut into strips of a power of two rows. Neighbours merge, then neighbours among the results, and so on; who
//! has no partner passes up. With five strips: `((0 1) (2 3)) 4`. So every aligned run of strips (of a power of two of
//! them, which begins at a multiple of that) is one node of the tree: whoever has such a run may fold it, in one thread or
//! in many, and the result has the same bits.

use crate::work::{CELL_BYTES, strip_rows_within};
use std::ops::Range;

/// The bytes of a strip are at least this many times those of the sums that its rows are reduced to: sixteen private copies
/// of these then take at most a sixteenth of what the strip reads. So an operator with large sums takes an aligned run of
/// strips as one.
const STRIP_PER_SUMS: u64 = 256;

/// The strips of a matrix that an operator reduces over its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Rows of the matrix.
    pub rows: usize,
    /// Rows of a strip; a power of two, or all rows of a matrix of a single strip.
    pub height: usize,
}

impl Strips {
    /// The strips of so many rows of so many bytes, each reduced to sums of so many cells, where a strip has these bytes.
    pub fn new(rows: usize, row_bytes: u64, strip_bytes: u64, sums: usize) -> Self {
        let for_sums = (sums as u64).saturating_mul(CELL_BYTES * STRIP_PER_SUMS);
        match usize::try_from(strip_rows_within(row_bytes, strip_bytes.max(for_sums))) {
            Ok(height) if height < rows => Strips { rows, height },
            _ => Strips::whole(rows),
        }
    }

    /// All rows as one strip.
    pub fn whole(rows: usize) -> Self {
        Strips { rows, height: rows }
    }

    /// How many there are: one of a matrix without rows.
    pub fn len(&self) -> usize {
        self.rows.div_ceil(self.height.max(1)).max(1)
    }

    /// Never: even a matrix without rows has one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The rows of a strip.
    pub fn rows_of(&self, strip: usize) -> Range<usize> {
        let start = strip * self.height;
        start..(start + self.height).min(self.rows)
    }
}

/// The two nodes whose results merge to that of a run of strips; `None` for a single strip. The run begins at a node of the
/// tree: at strip 0, or where a call of this says.
pub fn halves(strips: Range<usize>) -> Option<[Range<usize>; 2]> {
    let count = strips.len();
    if count < 2 {
        return None;
    }
    let middle = strips.start + (1 << (count - 1).ilog2());
    Some([strips.start..middle, middle..strips.end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(strips: Range<usize>) -> String {
        match halves(strips.clone()) {
            None => strips.start.to_string(),
            Some([left, right]) => format!("({} {})", text(left), text(right)),
        }
    }

    /// Neighbours level by level, as it is defined.
    fn level_by_level(count: usize) -> String {
        let mut level: Vec<String> = (0..count).map(|strip| strip.to_string()).collect();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| if pair.len() == 2 { format!("({} {})", pair[0], pair[1]) } else { pair[0].clone() })
                .collect();
        }
        level.remove(0)
    }

    #[test]
    fn neighbours_merge_and_who_has_none_passes_up() {
        assert_eq!(text(0..5), "(((0 1) (2 3)) 4)");
        for count in 1..70 {
            assert_eq!(text(0..count), level_by_level(count));
        }
    }

    #[test]
    fn strips_cover_all_rows_in_order() {
        for (rows, height) in [(0, 0), (0, 8), (1, 8), (8, 8), (9, 8), (17, 4)] {
            let strips = Strips { rows, height };
            let covered: Vec<usize> = (0..strips.len()).flat_map(|strip| strips.rows_of(strip)).collect();
            assert_eq!(covered, (0..rows).collect::<Vec<_>>());
        }
    }
}
