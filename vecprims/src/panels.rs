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

    /// The values of the panels of `len` columns from `first` on.
    ///
    /// # Panics
    /// If `first` does not begin a panel, or the panels end before.
    pub fn covering(&self, first: usize, len: usize) -> &[f64] {
        assert!(first.is_multiple_of(PANEL), "column {first} begins a panel");
        let start = first.checked_mul(self.inner).filter(|&start| start <= self.values.len());
        let rest = start.map_or(&self.values[..0], |start| &self.values[start..]);
        let covered = start.and(panel_len(len, self.inner)).and_then(|needed| rest.get(..needed));
        covered.unwrap_or_else(|| panic!("the panels have {len} columns from {first} on"))
    }
}

/// The values of the panels of so many columns, where that can be counted.
fn panel_len(cols: usize, inner: usize) -> Option<usize> {
    cols.checked_next_multiple_of(PANEL)?.checked_mul(inner)
}
