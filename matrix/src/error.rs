//! What is wrong with parts that do not form a matrix.

use thiserror::Error;

/// Raw parts that do not form a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CsrError {
    /// Too many columns for 32-bit indexes.
    #[error("a sparse matrix has at most {} columns, not {cols}", u32::MAX)]
    TooManyColumns {
        /// The number of columns.
        cols: usize,
    },
    /// Offsets that do not ascend from 0 to the number of values, or lists of different lengths.
    #[error("the row offsets of a sparse matrix ascend from 0 to the number of non-zeros, one more than rows")]
    Offsets,
    /// A column index outside of the matrix, or not above the one before it.
    #[error("row {row} of the sparse matrix: column indexes ascend strictly and stay below {cols}")]
    Columns {
        /// The row.
        row: usize,
        /// The number of columns.
        cols: usize,
    },
}

/// Memory of another owner that does not hold a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BorrowError {
    /// Bytes that are no whole number of values, or do not begin where a value may.
    #[error("{bytes} bytes from address {address:#x} on are no run of aligned values of {width} bytes")]
    Bytes {
        /// The number of bytes.
        bytes: usize,
        /// Where they begin.
        address: usize,
        /// Bytes of a value.
        width: usize,
    },
    /// Another number of cells than the matrix has.
    #[error("a {rows} x {cols} matrix does not have {cells} cells")]
    Cells {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// The number of cells.
        cells: usize,
    },
    /// A matrix that does not lie row after row.
    #[error("a matrix that is borrowed lies row after row without gaps")]
    Order,
    /// Parts that form no sparse matrix.
    #[error(transparent)]
    Sparse(#[from] CsrError),
}
