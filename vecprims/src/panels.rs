//! A factor of small matrix products, laid out so that their inner loops read it in order.

use crate::tile::Tile;

/// Columns of a panel: three registers of the widest instruction set, and whole triples of all the others'.
pub const PANEL: usize = 24;

/// The transpose of some rows, as panels of [`PANEL`] columns: cell `k` of column `c` lies at
/// `(c / PANEL * inner + k) * PANEL + c % PANEL`. Columns that fill the last panel up hold zeros.
#[derive(Clone, Debug)]
pub struct Panels {
    values: Vec<f64>,
    inner: usize,
}

impl Panels {
    /// Transposes `cols` rows of `inner` values.
    ///
    /// # Panics
    /// If the tile does not cover them.
    pub fn transposing(rows: Tile<'_>, cols: usize, inner: usize) -> Panels {
        let _ = rows.covering(cols, inner);
        let mut values = vec![0.0; cols.next_multiple_of(PANEL) * inner];
        for (number, panel) in values.chunks_exact_mut((PANEL * inner).max(1)).enumerate() {
            for c in 0..PANEL.min(cols - number * PANEL) {
                let row = &rows.values[(number * PANEL + c) * rows.row_stride..][..inner];
                panel[c..].iter_mut().step_by(PANEL).zip(row).for_each(|(cell, &value)| *cell = value);
            }
        }
        Panels { values, inner }
    }

    /// Values of each column.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// The panels of `len` columns from `first` on, which must begin a panel.
    pub(crate) fn covering(&self, first: usize, len: usize) -> *const f64 {
        assert!(first.is_multiple_of(PANEL), "column {first} begins a panel");
        let available = self.values.len() - (first * self.inner).min(self.values.len());
        assert!(len.next_multiple_of(PANEL) * self.inner <= available, "the panels have {len} columns from {first} on");
        self.values[first * self.inner..].as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_the_transpose_and_zeros() {
        let (cols, inner) = (30, 3);
        let rows: Vec<f64> = (0..cols * 5).map(|value| value as f64 + 1.0).collect();
        let panels = Panels::transposing(Tile::new(&rows, 5), cols, inner);
        assert_eq!((panels.inner(), panels.values.len()), (inner, 2 * PANEL * inner));
        for (index, &value) in panels.values.iter().enumerate() {
            let (panel, k, c) = (index / PANEL / inner, index / PANEL % inner, index % PANEL);
            let column = panel * PANEL + c;
            assert_eq!(value, if column < cols { rows[column * 5 + k] } else { 0.0 }, "{column}, {k}");
        }
    }

    #[test]
    #[should_panic(expected = "begins a panel")]
    fn products_begin_with_a_panel() {
        let _ = Panels::transposing(Tile::new(&[0.0; 64], 1), 64, 1).covering(8, 8);
    }

    #[test]
    #[should_panic(expected = "columns from 24 on")]
    fn products_end_within_the_panels() {
        let _ = Panels::transposing(Tile::new(&[0.0; 64], 1), 40, 1).covering(24, 30);
    }
}
