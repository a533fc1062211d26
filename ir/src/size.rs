//! Sizes: the dimensions and the number of non-zeros of a matrix, as far as they are known, and the format that follows.

use crate::work::{CELL_BYTES, NON_ZERO_BYTES, ROW_BYTES};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Dimensions and number of non-zeros; unknown is `None`.
///
/// `nnz` is an upper estimate: exact for inputs, worst case for intermediates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SizeInfo {
    /// Number of rows.
    pub rows: Option<u64>,
    /// Number of columns.
    pub cols: Option<u64>,
    /// Number of non-zero cells.
    pub nnz: Option<u64>,
}

/// Matrices with a smaller share of non-zeros are stored sparse.
pub const SPARSITY_TURN_POINT: f64 = 0.4;

/// Up to so many cells a matrix that is made of zeros is stored dense: something is to be added to it.
pub const MOST_DENSE_ZEROS: u64 = 1 << 20;

/// How the cells of a matrix are stored, as far as plans tell formats apart.
///
/// Values that are narrower than doubles are none of these: they make a matrix smaller, but neither its size nor its plan
/// tells how wide they are. They come in here once prices tell, with a width in [`SizeInfo`] that its format follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Every cell, row after row.
    #[default]
    Dense,
    /// The non-zeros, row after row.
    Sparse,
}

impl Format {
    /// The format that suits a matrix of this shape with so many non-zeros.
    ///
    /// A row takes the place of two thirds of a non-zero, and the time of several where it has few: it counts as one. So a
    /// column is never stored sparse, and an indicator of four classes is not.
    #[inline]
    pub fn suited_to(rows: f64, cols: f64, nnz: f64) -> Self {
        if nnz + rows < SPARSITY_TURN_POINT * rows * cols { Format::Sparse } else { Format::Dense }
    }

    /// Whether non-zeros are stored, and zeros are not.
    #[inline]
    pub fn is_sparse(self) -> bool {
        self == Format::Sparse
    }

    /// Bytes of a matrix in this format. Saturates.
    pub fn bytes(self, rows: u64, cols: u64, nnz: u64) -> u64 {
        match self {
            Format::Dense => rows.saturating_mul(cols).saturating_mul(CELL_BYTES),
            Format::Sparse => {
                let offsets = rows.saturating_add(1).saturating_mul(ROW_BYTES);
                nnz.saturating_mul(NON_ZERO_BYTES).saturating_add(offsets)
            }
        }
    }
}

impl SizeInfo {
    /// Nothing is known.
    pub const UNKNOWN: SizeInfo = SizeInfo { rows: None, cols: None, nnz: None };

    /// Known dimensions, unknown sparsity.
    pub fn dims(rows: u64, cols: u64) -> Self {
        SizeInfo { rows: Some(rows), cols: Some(cols), nnz: None }
    }

    /// Known dimensions and number of non-zeros.
    pub fn with_nnz(rows: u64, cols: u64, nnz: u64) -> Self {
        SizeInfo { rows: Some(rows), cols: Some(cols), nnz: Some(nnz) }
    }

    /// The dimensions alone.
    pub fn without_nnz(self) -> Self {
        SizeInfo { nnz: None, ..self }
    }

    /// Both dimensions, when both are known.
    pub fn known_dims(&self) -> Option<(u64, u64)> {
        Some((self.rows?, self.cols?))
    }

    /// Number of cells, when both dimensions are known. Saturates.
    #[inline]
    pub fn cells(&self) -> Option<u64> {
        let (rows, cols) = self.known_dims()?;
        Some(rows.saturating_mul(cols))
    }

    /// The share of non-zero cells; 1 where unknown (worst case), and for a matrix without cells.
    #[inline]
    pub fn sparsity(&self) -> f64 {
        match (self.nnz, self.cells()) {
            (Some(nnz), Some(cells)) if cells > 0 => (nnz as f64 / cells as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// How a matrix of this size is stored, as far as is known.
    #[inline]
    pub fn format(&self) -> Format {
        match (self.nnz, self.known_dims()) {
            (Some(0), Some((rows, cols))) if rows.saturating_mul(cols) <= MOST_DENSE_ZEROS => Format::Dense,
            (Some(nnz), Some((rows, cols))) => Format::suited_to(rows as f64, cols as f64, nnz as f64),
            _ => Format::Dense,
        }
    }

    /// Bytes of a matrix of this size in its format, when both dimensions are known. Saturates.
    pub fn bytes(&self) -> Option<u64> {
        let (rows, cols) = self.known_dims()?;
        Some(self.format().bytes(rows, cols, self.nnz.unwrap_or(0)))
    }

    /// Whether both dimensions are known and equal to those of `other`.
    #[inline]
    pub fn same_dims(&self, other: &SizeInfo) -> bool {
        self.known_dims().is_some() && self.known_dims() == other.known_dims()
    }

    /// Known to be a column vector: one column, more than one row or unknown rows.
    pub fn is_col_vector(&self) -> bool {
        self.cols == Some(1) && self.rows != Some(1)
    }

    /// Known to be a row vector: one row, more than one column or unknown columns.
    pub fn is_row_vector(&self) -> bool {
        self.rows == Some(1) && self.cols != Some(1)
    }

    /// Known to be a row or column vector, or 1 x 1.
    pub fn is_vector(&self) -> bool {
        self.rows == Some(1) || self.cols == Some(1)
    }

    /// Known to be 1 x 1.
    pub fn is_single(&self) -> bool {
        self.known_dims() == Some((1, 1))
    }

    /// Known to have more than one row and more than one column.
    #[inline]
    pub fn is_matrix(&self) -> bool {
        matches!(self.known_dims(), Some((rows, cols)) if rows > 1 && cols > 1)
    }

    /// Known to have no cells or no non-zeros.
    pub fn is_empty(&self) -> bool {
        self.nnz == Some(0) || self.cells() == Some(0)
    }
}

/// Prints `[rows x cols, nnz=n]`, with `?` for what is unknown: `[100x4]`, `[?x10, nnz=7]`.
impl fmt::Display for SizeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |number| number.to_string());
        write!(f, "[{}x{}", part(self.rows), part(self.cols))?;
        if let Some(nnz) = self.nnz {
            write!(f, ", nnz={nnz}")?;
        }
        f.write_str("]")
    }
}

/// A number of bytes as people read it: `17 bytes`, `7.6 MiB`.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut amount = bytes as f64;
    let mut text = if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    for unit in UNITS {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        text = format!("{amount:.1} {unit}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_people_read_them() {
        let texts = [0, 1, 1023, 1024, 8_000_000, u64::MAX].map(bytes_text);
        assert_eq!(texts, ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "7.6 MiB", "16.0 EiB"]);
    }

    #[test]
    fn narrow_matrices_are_dense_sooner() {
        let is_sparse = |rows, cols, nnz| Format::suited_to(rows, cols, nnz).is_sparse();
        // Below 0.4 of the cells, if there are many of them in a row.
        assert!(is_sparse(1000.0, 1000.0, 398_999.0) && !is_sparse(1000.0, 1000.0, 399_000.0));
        // Indicators of five and of six classes.
        assert!(!is_sparse(1000.0, 5.0, 1000.0) && is_sparse(1000.0, 6.0, 1000.0));
        // One or two columns never are.
        assert!(!is_sparse(1e9, 1.0, 0.0) && !is_sparse(1e9, 2.0, 0.0));
        assert!(!is_sparse(0.0, 10.0, 0.0) && !is_sparse(10.0, 0.0, 0.0));
    }

    #[test]
    fn few_zeros_and_unknown_numbers_of_non_zeros_count_as_dense() {
        let format = |rows, cols, nnz| SizeInfo { rows: Some(rows), cols: Some(cols), nnz }.format();
        assert_eq!(format(1 << 10, 1 << 10, Some(0)), Format::Dense);
        assert_eq!(format(1 << 10, (1 << 10) + 1, Some(0)), Format::Sparse);
        assert_eq!(format(1 << 10, 1 << 10, Some(1)), Format::Sparse);
        assert_eq!(format(1 << 10, 1 << 20, None), Format::Dense);
        assert_eq!(SizeInfo { rows: None, cols: Some(9), nnz: Some(0) }.format(), Format::Dense);
    }

    #[test]
    fn bytes_follow_from_the_format() {
        assert_eq!(SizeInfo::dims(100, 10).bytes(), Some(8_000));
        assert_eq!(SizeInfo::with_nnz(100, 10, 300).bytes(), Some(8_000), "non-zeros and rows are 0.4 of the cells");
        assert_eq!(SizeInfo::with_nnz(100, 10, 299).bytes(), Some(12 * 299 + 8 * 101));
        assert_eq!(SizeInfo::UNKNOWN.bytes(), None);
        assert_eq!(SizeInfo::dims(u64::MAX, 2).bytes(), Some(u64::MAX));
    }
}
