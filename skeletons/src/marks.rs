//! Where the columns of a sparse row meet those of rows of other matrices: without a search for each position, and without
//! a branch that depends on where rows meet, as one for each position does in a merge.

/// Values before the cells of gathered rows: the last of them may take what the first row does not want.
pub(crate) const LEAD: usize = 8;

/// The columns of one row at a time, each marked with its position.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// By column, a power of two of them: one more than the position for the columns of the row, 0 for others.
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

    /// Marks the columns of a row of a matrix of `width` columns.
    pub(crate) fn mark(&mut self, width: usize, columns: &[u32]) {
        if self.marks.len() < width {
            self.marks.resize(width.next_power_of_two(), 0);
        }
        self.write(columns, |position| position + 1);
    }

    /// Forgets the columns that were marked.
    pub(crate) fn clear(&mut self, columns: &[u32]) {
        self.write(columns, |_| 0);
    }

    fn write(&mut self, columns: &[u32], mark: impl Fn(u32) -> u32) {
        // Says that the check of the index is no work. Four at a time, since the compiler does not unroll the loop.
        let last = self.marks.len().saturating_sub(1);
        let (groups, rest) = columns.as_chunks::<4>();
        let mut position = 0;
        for group in groups {
            for &j in group {
                self.marks[j as usize & last] = mark(position);
                position += 1;
            }
        }
        for (&j, position) in rest.iter().zip(position..) {
            self.marks[j as usize & last] = mark(position);
        }
    }

    /// The cells of another row in the marked columns; its own columns count from `first_col`. `out` has one value before
    /// that of the first position, which stays as it is.
    pub(crate) fn gather(&self, row: (&[u32], &[f64]), first_col: u32, out: &mut [f64]) {
        match first_col {
            0 => self.gather_columns(row, |j| j, out),
            _ => self.gather_columns(row, |j| j - first_col, out),
        }
    }

    fn gather_columns(&self, (columns, values): (&[u32], &[f64]), column: impl Fn(u32) -> u32, out: &mut [f64]) {
        let last = self.marks.len().saturating_sub(1);
        let before = out[0];
        out.fill(0.0);
        let ((groups, last_columns), (fours, last_values)) = (columns.as_chunks::<4>(), values.as_chunks::<4>());
        for (group, values) in groups.iter().zip(fours) {
            for (&j, &value) in group.iter().zip(values) {
                out[self.marks[column(j) as usize & last] as usize] = value;
            }
        }
        for (&j, &value) in last_columns.iter().zip(last_values) {
            out[self.marks[column(j) as usize & last] as usize] = value;
        }
        // What is not wanted went there.
        out[0] = before;
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
            assert!(out[0].is_nan());
            assert_eq!(&out[1..], expected, "{columns:?}");
            let shifted: Vec<u32> = side.0.iter().map(|j| j + 5).collect();
            marks.gather((&shifted, side.1), 5, &mut out);
            assert_eq!(&out[1..], expected, "{columns:?}");
            marks.clear(columns);
        }
    }
}
