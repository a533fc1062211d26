//! Sparse matrices in compressed sparse row format.

use crate::dense::Dense;
use sprs::CsMatI;
use thiserror::Error;

/// A sparse matrix: row `i` owns positions `row_offsets[i]..row_offsets[i + 1]` of `columns` and `values`.
///
/// Columns ascend strictly within a row. NaN is a non-zero; zeros of either sign may be stored explicitly but never
/// are by our own operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    rows: usize,
    cols: usize,
    row_offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// Consecutive rows of a sparse matrix under construction.
#[derive(Clone, Debug, Default)]
pub struct CsrRows {
    /// Non-zeros of each row.
    pub lengths: Vec<usize>,
    /// Column of each non-zero, ascending within a row.
    pub columns: Vec<u32>,
    /// Value of each non-zero.
    pub values: Vec<f64>,
}

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

impl Csr {
    /// A matrix from its parts.
    ///
    /// # Errors
    /// The parts do not form a matrix.
    pub fn new(
        rows: usize,
        cols: usize,
        row_offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self, CsrError> {
        if u32::try_from(cols).is_err() {
            return Err(CsrError::TooManyColumns { cols });
        }
        let bounds_fit = row_offsets.len() == rows + 1
            && row_offsets.first() == Some(&0)
            && row_offsets.last() == Some(&values.len())
            && columns.len() == values.len()
            && row_offsets.is_sorted();
        if !bounds_fit {
            return Err(CsrError::Offsets);
        }
        for row in 0..rows {
            let columns = &columns[row_offsets[row]..row_offsets[row + 1]];
            let ascend = columns.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascend || columns.last().is_some_and(|&last| last as usize >= cols) {
                return Err(CsrError::Columns { row, cols });
            }
        }
        Ok(Csr { rows, cols, row_offsets, columns, values })
    }

    /// A matrix from parts that our own operations built.
    pub fn from_parts(rows: usize, cols: usize, row_offsets: Vec<usize>, columns: Vec<u32>, values: Vec<f64>) -> Self {
        debug_assert!(
            Csr::new(rows, cols, row_offsets.clone(), columns.clone(), values.clone()).is_ok(),
            "operations build well-formed matrices"
        );
        Csr { rows, cols, row_offsets, columns, values }
    }

    /// A matrix of blocks of rows below each other, as threads build them.
    pub fn from_blocks(cols: usize, blocks: Vec<CsrRows>) -> Self {
        let rows = blocks.iter().map(|block| block.lengths.len()).sum();
        let nnz = blocks.iter().map(|block| block.values.len()).sum();
        let mut row_offsets = Vec::with_capacity(rows + 1);
        row_offsets.push(0);
        let (mut columns, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
        for block in blocks {
            for length in block.lengths {
                row_offsets.push(row_offsets[row_offsets.len() - 1] + length);
            }
            columns.extend_from_slice(&block.columns);
            values.extend_from_slice(&block.values);
        }
        Csr::from_parts(rows, cols, row_offsets, columns, values)
    }

    /// A matrix without non-zeros.
    pub fn empty(rows: usize, cols: usize) -> Self {
        Csr { rows, cols, row_offsets: vec![0; rows + 1], columns: Vec::new(), values: Vec::new() }
    }

    /// The non-zeros of a dense matrix.
    pub fn from_dense(dense: &Dense) -> Self {
        let nnz = dense.count_nonzeros();
        let (mut columns, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
        let mut row_offsets = Vec::with_capacity(dense.rows() + 1);
        row_offsets.push(0);
        for i in 0..dense.rows() {
            for (j, &value) in dense.row(i).iter().enumerate() {
                if value != 0.0 {
                    columns.push(j as u32);
                    values.push(value);
                }
            }
            row_offsets.push(values.len());
        }
        Csr { rows: dense.rows(), cols: dense.cols(), row_offsets, columns, values }
    }

    /// Whether zeros are stored explicitly.
    pub fn has_stored_zeros(&self) -> bool {
        self.values.contains(&0.0)
    }

    /// The matrix without explicitly stored zeros.
    pub fn without_stored_zeros(&self) -> Csr {
        let mut compact = Csr::empty(self.rows, self.cols);
        for i in 0..self.rows {
            let (columns, values) = self.row(i);
            for (&j, &value) in columns.iter().zip(values).filter(|(_, value)| **value != 0.0) {
                compact.columns.push(j);
                compact.values.push(value);
            }
            compact.row_offsets[i + 1] = compact.values.len();
        }
        compact
    }

    /// All cells.
    pub fn to_dense(&self) -> Dense {
        let mut dense = Dense::zeros(self.rows, self.cols);
        for i in 0..self.rows {
            let (columns, values) = self.row(i);
            let row = &mut dense.values_mut()[i * self.cols..(i + 1) * self.cols];
            for (&j, &value) in columns.iter().zip(values) {
                row[j as usize] = value;
            }
        }
        dense
    }

    /// A matrix of `sprs`, without copying when it is in row-major order.
    ///
    /// # Errors
    /// The parts do not form a matrix of ours (indexes that are not sorted).
    pub fn from_sprs(matrix: CsMatI<f64, u32, usize>) -> Result<Self, CsrError> {
        let matrix = if matrix.is_csr() { matrix } else { matrix.to_csr() };
        let (rows, cols) = matrix.shape();
        let (row_offsets, columns, values) = matrix.into_raw_storage();
        Csr::new(rows, cols, row_offsets, columns, values)
    }

    /// As a matrix of `sprs`, without copying.
    pub fn into_sprs(self) -> CsMatI<f64, u32, usize> {
        CsMatI::new((self.rows, self.cols), self.row_offsets, self.columns, self.values)
    }

    /// As a borrowed matrix of `sprs`.
    pub fn view(&self) -> sprs::CsMatViewI<'_, f64, u32, usize> {
        sprs::CsMatViewI::new((self.rows, self.cols), &self.row_offsets, &self.columns, &self.values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored positions.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Row offsets, one more than rows.
    pub fn row_offsets(&self) -> &[usize] {
        &self.row_offsets
    }

    /// Column of each position.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Value of each position.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.row_offsets[i]..self.row_offsets[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The cell in row `i` and column `j`, by binary search: for tests and single lookups only.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (columns, values) = self.row(i);
        u32::try_from(j).ok().and_then(|j| columns.binary_search(&j).ok()).map_or(0.0, |position| values[position])
    }

    /// The transpose, by counting sort in linear time.
    pub fn transpose(&self) -> Csr {
        let mut row_offsets = vec![0; self.cols + 1];
        for &j in &self.columns {
            row_offsets[j as usize + 1] += 1;
        }
        for j in 0..self.cols {
            row_offsets[j + 1] += row_offsets[j];
        }
        let mut next = row_offsets.clone();
        let (mut columns, mut values) = (vec![0; self.nnz()], vec![0.0; self.nnz()]);
        for i in 0..self.rows {
            let (row_columns, row_values) = self.row(i);
            for (&j, &value) in row_columns.iter().zip(row_values) {
                let position = next[j as usize];
                next[j as usize] += 1;
                columns[position] = i as u32;
                values[position] = value;
            }
        }
        Csr { rows: self.cols, cols: self.rows, row_offsets, columns, values }
    }
}
