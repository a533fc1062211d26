//! Transposition of dense values, for factors and accumulators.

/// Rows and columns that are read and written together, so that both sides use whole cache lines.
const BLOCK: usize = 16;

/// Writes the transpose of `values` (`rows` x `cols`) to `out` (`cols` x `rows`).
pub(crate) fn transpose(values: &[f64], rows: usize, cols: usize, out: &mut [f64]) {
    for first_row in (0..rows).step_by(BLOCK) {
        for first_col in (0..cols).step_by(BLOCK) {
            for i in first_row..(first_row + BLOCK).min(rows) {
                for j in first_col..(first_col + BLOCK).min(cols) {
                    out[j * rows + i] = values[i * cols + j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_changes_places() {
        for (rows, cols) in [(0, 3), (1, 5), (17, 33), (16, 16)] {
            let values: Vec<f64> = (0..rows * cols).map(|cell| cell as f64).collect();
            let mut out = vec![f64::NAN; rows * cols];
            transpose(&values, rows, cols, &mut out);
            assert!((0..rows).all(|i| (0..cols).all(|j| out[j * rows + i] == values[i * cols + j])));
        }
    }
}
