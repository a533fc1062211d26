//! Where the columns of a sparse row meet those of rows of other matrices: without a search for each position, and without
//! a branch that depends on where rows meet, as one for each position does in a merge.

/// Values in front of the first position of an output, so that the others are aligned.
pub(crate) const MARGIN: usize = 8;

/// The columns of one row at a time, each marked with its position.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// By column, a power of two of them: one more than the position, or 0 for columns that the row lacks.
    marks: Vec<u32>,
}

impl Marks {
    /// The most columns: marks stay in the second-level cache.
    const MAX_COLUMNS: usize = 1 << 16;
    /// Passing a position, as a share of what a search for one takes.
    const SEARCH_POSITIONS: usize = 4;

    /// Whether passing a row of so many columns and positions is faster than to search it `wanted` times.
    pub(crate) fn pays(columns: usize, positions: usize, wanted: usize) -> bool {
        columns <= Marks::MAX_COLUMNS && positions <= wanted.saturating_mul(Marks::SEARCH_POSITIONS)
    }

    /// Marks the columns of a row of a matrix of `width` columns. None is marked yet.
    pub(crate) fn mark(&mut self, width: usize, columns: &[u32]) {
        if self.marks.len() < width {
            self.marks.resize(width.next_power_of_two(), 0);
        }
        self.set(columns, 1..);
    }

    /// Forgets the columns of the row.
    pub(crate) fn clear(&mut self, columns: &[u32]) {
        self.set(columns, std::iter::repeat(0));
    }

    fn set(&mut self, columns: &[u32], marks: impl IntoIterator<Item = u32>) {
        // Says that the check of the index is no work.
        let last = self.marks.len().saturating_sub(1);
        for (&j, mark) in columns.iter().zip(marks) {
            self.marks[j as usize & last] = mark;
        }
    }

    /// The cells of another row in the marked columns; its own columns count from `first_col`. The value of position `p`
    /// goes to `out[p + 1]`; the first value stays.
    pub(crate) fn gather(&self, (columns, values): (&[u32], &[f64]), first_col: u32, out: &mut [f64]) {
        let Some(first) = out.first().copied() else { return };
        let last = self.marks.len().saturating_sub(1);
        out[1..].fill(0.0);
        for (&j, &value) in columns.iter().zip(values) {
            out[self.marks[(j - first_col) as usize & last] as usize] = value;
        }
        out[0] = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_looked_up_one_after_the_other() {
        let mut marks = Marks::default();
        let side = (&[0, 3, 4, 7][..], &[1.0, 2.0, 3.0, 4.0][..]);
        for (columns, expected) in [
            (&[0, 1, 7][..], &[1.0, 0.0, 4.0][..]),
            (&[2, 3], &[0.0, 2.0]),
            (&[], &[]),
            (&[1, 2], &[0.0, 0.0]),
            (&[4], &[3.0]),
        ] {
            let mut out = vec![9.0; expected.len() + 1];
            marks.mark(8, columns);
            marks.gather(side, 0, &mut out);
            assert_eq!((out[0], &out[1..]), (9.0, expected), "{columns:?}");
            let shifted: Vec<u32> = side.0.iter().map(|j| j + 5).collect();
            marks.gather((&shifted, side.1), 5, &mut out);
            assert_eq!((out[0], &out[1..]), (9.0, expected), "{columns:?}");
            marks.clear(columns);
            assert!(marks.marks.iter().all(|&mark| mark == 0));
        }
    }
}
