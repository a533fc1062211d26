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
    /// If the tile does not cover them, or the panels are more than can be addressed.
    pub fn transposing(rows: Tile<'_>, cols: usize, inner: usize) -> Panels {
        let _ = rows.covering(cols, inner);
        let len = panel_len(cols, inner).unwrap_or(usize::MAX);
        let mut values = vec![0.0; len];
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
        let start = first.checked_mul(self.inner).filter(|&start| start <= self.values.len());
        let rest = start.map_or(&self.values[..0], |start| &self.values[start..]);
        let holds = panel_len(len, self.inner).is_some_and(|needed| needed <= rest.len());
        assert!(holds && start.is_some(), "the panels have {len} columns from {first} on");
        rest.as_ptr()
    }
}

/// The values of the panels of so many columns, where that can be counted.
fn panel_len(cols: usize, inner: usize) -> Option<usize> {
    cols.checked_next_multiple_of(PANEL)?.checked_mul(inner)
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
    fn extents_that_wrap_are_refused() {
        // 2^60 columns of 16 values have 2^64 cells, as has the fourth part of 2^62 columns.
        let wide = std::panic::catch_unwind(|| Panels::transposing(Tile::new(&[0.0; 16], 0), 1 << 60, 16));
        assert!(wide.is_err());
        let panels = Panels::transposing(Tile::new(&[0.0; 64], 4), 16, 4);
        let multiple = (1 << 62_usize) / PANEL * PANEL;
        for (first, len) in [(0, 1 << 62), (0, usize::MAX), (multiple, 8), (0, 1 << 60), (24 << 40, 0)] {
            assert!(std::panic::catch_unwind(|| panels.covering(first, len)).is_err(), "{first}, {len}");
        }
    }

    #[test]
    #[should_panic(expected = "columns from 24 on")]
    fn products_end_within_the_panels() {
        let _ = Panels::transposing(Tile::new(&[0.0; 64], 1), 40, 1).covering(24, 30);
    }
}
