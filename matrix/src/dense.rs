//! Dense matrices, row after row.

use crate::borrowed::Borrowed;
use crate::buffer::{Buffer, BufferPool};
use crate::error::BorrowError;
use crate::memory::Memory;
use crate::refusal::AllocationFailure;
use crate::run_context::StopListener;
use bytemuck::{Pod, cast_slice};
use ndarray::{Array2, ArrayBase, ArrayView2, Data, Ix2};
use std::sync::Arc;

/// A dense matrix: cell (i, j) at `i * cols + j`.
#[derive(Clone, Debug)]
pub struct Dense {
    rows: usize,
    cols: usize,
    values: Buffer,
    /// Whether it is known that no cell is NaN.
    is_nan_free: bool,
}

/// Cells that are made one by one between two looks at a request to stop.
const MADE_AT_ONCE: usize = 1 << 14;

/// The number of cells of a matrix that is to be made. Unwinds with [`AllocationFailure`] where that is more than can be
/// counted.
fn cells(rows: usize, cols: usize) -> usize {
    rows.checked_mul(cols).unwrap_or_else(|| AllocationFailure::raise::<f64>(usize::MAX))
}

impl Dense {
    /// A matrix of zeros. Unwinds with [`AllocationFailure`] where the system refuses the memory, as do all that make a
    /// matrix.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Dense { rows, cols, values: Buffer::zeroed(cells(rows, cols)), is_nan_free: false }
    }

    /// A matrix of zeros with recycled memory.
    pub fn zeros_in(pool: &Arc<BufferPool>, rows: usize, cols: usize) -> Self {
        Dense { rows, cols, values: BufferPool::take_zeroed(pool, cells(rows, cols)), is_nan_free: false }
    }

    /// A matrix of unspecified content with recycled memory, to be written once.
    pub fn uninit_in(pool: &Arc<BufferPool>, rows: usize, cols: usize) -> Self {
        Dense { rows, cols, values: BufferPool::take(pool, cells(rows, cols)), is_nan_free: false }
    }

    /// A matrix of these values, row after row, without copying.
    ///
    /// # Panics
    /// The number of values is not `rows * cols`.
    pub fn from_vec(rows: usize, cols: usize, values: Vec<f64>) -> Self {
        Dense::from_buffer(rows, cols, values.into())
    }

    /// A matrix of the values of a buffer, row after row, without copying.
    ///
    /// # Panics
    /// The number of values is not `rows * cols`.
    pub fn from_buffer(rows: usize, cols: usize, values: Buffer) -> Self {
        let len = values.len();
        assert!(rows.checked_mul(cols) == Some(len), "a {rows} x {cols} matrix does not have {len} cells");
        Dense { rows, cols, values, is_nan_free: false }
    }

    pub(crate) fn from_memory(rows: usize, cols: usize, values: Memory<f64>) -> Self {
        debug_assert_eq!(rows.checked_mul(cols), Some(values.len()));
        Dense { rows, cols, values: values.into(), is_nan_free: false }
    }

    /// A matrix whose cell (i, j) is `cell(i, j)`. Unwinds after a request to stop.
    pub fn from_fn(rows: usize, cols: usize, mut cell: impl FnMut(usize, usize) -> f64) -> Self {
        let mut matrix = Dense::zeros(rows, cols);
        let stop = StopListener::current();
        for (i, row) in matrix.values.chunks_exact_mut(cols.max(1)).enumerate() {
            for (part, cells) in row.chunks_mut(MADE_AT_ONCE).enumerate() {
                stop.check();
                cells.iter_mut().zip(part * MADE_AT_ONCE..).for_each(|(made, j)| *made = cell(i, j));
            }
        }
        matrix
    }

    /// An `ndarray` matrix; copied only if it is not in row-major order.
    pub fn from_ndarray(array: Array2<f64>) -> Self {
        let (rows, cols) = array.dim();
        if array.is_standard_layout() {
            let (values, offset) = array.into_raw_vec_and_offset();
            if offset.unwrap_or(0) == 0 && values.len() == rows * cols {
                return Dense::from_vec(rows, cols, values);
            }
            let start = offset.unwrap_or(0);
            return Dense::from_vec(rows, cols, values[start..start + rows * cols].to_vec());
        }
        Dense::from_vec(rows, cols, array.iter().copied().collect())
    }

    /// A matrix of values that another owner keeps, row after row, without copying.
    ///
    /// # Errors
    /// The number of values is not `rows * cols`.
    pub fn borrowed(rows: usize, cols: usize, values: Borrowed<f64>) -> Result<Self, BorrowError> {
        let cells = values.len();
        if rows.checked_mul(cols) != Some(cells) {
            return Err(BorrowError::Cells { rows, cols, cells });
        }
        Ok(Dense::from_memory(rows, cols, values.into()))
    }

    /// A matrix that reads the cells of a shared `ndarray` matrix where they are.
    ///
    /// # Errors
    /// The array does not lie in row-major order.
    pub fn borrow_ndarray<S>(array: Arc<ArrayBase<S, Ix2>>) -> Result<Self, BorrowError>
    where
        S: Data<Elem = f64> + 'static,
        ArrayBase<S, Ix2>: Send + Sync,
    {
        let (rows, cols) = array.dim();
        if !array.is_standard_layout() {
            return Err(BorrowError::Order);
        }
        let values = Borrowed::new(array, |array| cast_slice(array.as_slice().unwrap_or_default()))?;
        Dense::borrowed(rows, cols, values)
    }

    /// Whether the cells are in memory of another owner.
    pub fn is_borrowed(&self) -> bool {
        self.values.is_borrowed()
    }

    /// Whether another owner may change the cells between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        self.values.may_change()
    }

    /// A view as an `ndarray` matrix, without copying.
    pub fn view(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((self.rows, self.cols), &self.values[..]).expect("a dense matrix has rows * cols cells")
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The cells, row after row.
    #[inline]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The cells, to be written.
    pub fn values_mut(&mut self) -> &mut [f64] {
        self.is_nan_free = false;
        &mut self.values
    }

    /// Whether it is known that no cell is NaN.
    pub fn is_nan_free(&self) -> bool {
        self.is_nan_free
    }

    /// Notes, until cells are written, whether it is known that none is NaN.
    pub fn set_nan_free(&mut self, is_known: bool) {
        self.is_nan_free = is_known;
    }

    /// The cells of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.cols..(i + 1) * self.cols]
    }

    /// The cell in row `i` and column `j`.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    /// The number of cells that are not equal to zero; NaN counts.
    pub fn count_nonzeros(&self) -> usize {
        count_nonzeros(&self.values)
    }

    /// The cells in another shape, without copying.
    ///
    /// # Panics
    /// The number of cells differs.
    pub fn reshape(self, rows: usize, cols: usize) -> Self {
        let len = self.values.len();
        assert!(rows.checked_mul(cols) == Some(len), "a {rows} x {cols} matrix does not have {len} cells");
        Dense { rows, cols, ..self }
    }
}

impl PartialEq for Dense {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.cols) == (other.rows, other.cols) && self.values[..] == other.values[..]
    }
}

/// The number of values that are not equal to zero; NaN counts.
pub fn count_nonzeros<T: Pod + PartialEq>(values: &[T]) -> usize {
    values.iter().filter(|&&value| value != T::zeroed()).count()
}
