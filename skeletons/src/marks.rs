//! Where the columns of a sparse row meet those of rows of other matrices: without a search for each position, and without
//! a branch that depends on where rows meet, as one for each position does in a merge.

/// The columns of one row at a time, each marked with its position. Marks of earlier rows stay, and are told by their size.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// By column, a power of two of them: `before` and one more than the position for the columns of the row, at most
    /// `before` for others.
    marks: Vec<u32>,
    /// Positions of earlier rows.
    before: u32,
    /// Positions of the row.
    positions: u32,
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

    /// Marks the columns of a row of a matrix of `width` columns.
    pub(crate) fn mark(&mut self, width: usize, columns: &[u32]) {
        let count = columns.len() as u32;
        self.before = self.before.wrapping_add(self.positions);
        if self.before.checked_add(count).is_none_or(|end| end == u32::MAX) {
            self.marks.fill(0);
            self.before = 0;
        }
        self.positions = count;
        if self.marks.len() < width {
            self.marks.resize(width.next_power_of_two(), 0);
        }
        // Says that the check of the index is no work. Four at a time, since the compiler does not unroll the loop.
        let last = self.marks.len().saturating_sub(1);
        let (groups, rest) = columns.as_chunks::<4>();
        let mut mark = self.before + 1;
        for group in groups {
            for &j in group {
                self.marks[j as usize & last] = mark;
                mark += 1;
            }
        }
        for (&j, mark) in rest.iter().zip(mark..) {
            self.marks[j as usize & last] = mark;
        }
    }

    /// The cells of another row in the marked columns; its own columns count from `first_col`. `out` has one value more
    /// than there are positions, which may hold anything.
    pub(crate) fn gather(&self, (columns, values): (&[u32], &[f64]), first_col: u32, out: &mut [f64]) {
        let last = self.marks.len().saturating_sub(1);
        let position = |j: u32| {
            let mark = self.marks[(j - first_col) as usize & last];
            mark.wrapping_sub(self.before + 1).min(self.positions) as usize
        };
        out.fill(0.0);
        let ((groups, last_columns), (fours, last_values)) = (columns.as_chunks::<4>(), values.as_chunks::<4>());
        for (group, values) in groups.iter().zip(fours) {
            for (&j, &value) in group.iter().zip(values) {
                out[position(j)] = value;
            }
        }
        for (&j, &value) in last_columns.iter().zip(last_values) {
            out[position(j)] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_looked_up_one_after_the_other() {
        let mut marks = Marks::default();
        let side = (&[0, 3, 4, 5, 7][..], &[1.0, 2.0, 3.0, 5.0, 4.0][..]);
        for (columns, expected) in [
            (&[0, 1, 2, 6, 7][..], &[1.0, 0.0, 0.0, 0.0, 4.0][..]),
            (&[2, 3], &[0.0, 2.0]),
            (&[], &[]),
            (&[1, 2], &[0.0, 0.0]),
            (&[4], &[3.0]),
        ] {
            let mut out = vec![f64::NAN; expected.len() + 1];
            marks.mark(8, columns);
            marks.gather(side, 0, &mut out);
            assert_eq!(&out[..expected.len()], expected, "{columns:?}");
            let shifted: Vec<u32> = side.0.iter().map(|j| j + 5).collect();
            marks.gather((&shifted, side.1), 5, &mut out);
            assert_eq!(&out[..expected.len()], expected, "{columns:?}");
        }
    }

    #[test]
    fn marks_begin_anew_before_they_run_out() {
        let mut marks = Marks { before: u32::MAX - 4, ..Marks::default() };
        let mut out = [f64::NAN; 4];
        marks.mark(8, &[1, 2, 5]);
        marks.gather((&[1, 5], &[1.0, 2.0]), 0, &mut out);
        assert_eq!(out[..3], [1.0, 0.0, 2.0]);
        marks.mark(8, &[0, 2, 3]);
        marks.gather((&[0, 1, 5], &[3.0, 4.0, 5.0]), 0, &mut out);
        assert_eq!((&out[..3], marks.before), (&[3.0, 0.0, 0.0][..], 0));
    }
}
