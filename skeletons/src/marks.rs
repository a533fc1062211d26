//! Where the columns of a sparse row meet those of rows of other matrices: without a search for each position, and without
//! a branch that depends on where rows meet, as one for each position does in a merge.

/// The columns of one row at a time, each marked with its position. Marks of earlier rows stay, and are told by their size.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// By column: one more than `before` and the position for the columns of the row, at most `before` for others.
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
        self.before = match self.before.checked_add(self.positions).filter(|before| before.checked_add(count).is_some()) {
            Some(before) => before,
            None => {
                self.marks.fill(0);
                0
            }
        };
        self.positions = count;
        if self.marks.len() < width {
            self.marks.resize(width, 0);
        }
        for (&j, mark) in columns.iter().zip(self.before + 1..) {
            self.marks[j as usize] = mark;
        }
    }

    /// The cells of another row in the marked columns. `out` has one value more than there are positions, which may hold
    /// anything.
    pub(crate) fn gather(&self, (columns, values): (&[u32], &[f64]), out: &mut [f64]) {
        let first = self.before + 1;
        out.fill(0.0);
        for (&j, &value) in columns.iter().zip(values) {
            let position = self.marks[j as usize].wrapping_sub(first).min(self.positions);
            out[position as usize] = value;
        }
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
            let mut out = vec![f64::NAN; expected.len() + 1];
            marks.mark(8, columns);
            marks.gather(side, &mut out);
            assert_eq!(&out[..expected.len()], expected, "{columns:?}");
        }
    }

    #[test]
    fn marks_begin_anew_before_they_run_out() {
        let mut marks = Marks { before: u32::MAX - 4, ..Marks::default() };
        let mut out = [f64::NAN; 4];
        marks.mark(8, &[1, 2, 5]);
        marks.gather((&[1, 5], &[1.0, 2.0]), &mut out);
        assert_eq!(out[..3], [1.0, 0.0, 2.0]);
        marks.mark(8, &[0, 2, 3]);
        marks.gather((&[0, 1, 5], &[3.0, 4.0, 5.0]), &mut out);
        assert_eq!((&out[..3], marks.before), (&[3.0, 0.0, 0.0][..], 0));
    }
}
