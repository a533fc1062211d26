//! The general dense matrix product, on the `gemm` crate.
//!
//! The crate is called on one thread for each fixed block of output rows, so that the bits do not depend on the number
//! of threads.

use fuseline_matrix::Dense;

/// Strides of a matrix in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

impl<'a> Strided<'a> {
    pub(crate) fn of(matrix: &'a Dense) -> Self {
        Strided { values: matrix.values(), row_stride: matrix.cols(), col_stride: 1 }
    }

    pub(crate) fn transposed(self) -> Self {
        Strided { row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    /// Whether all cells of a `rows` x `cols` matrix lie within the values.
    fn holds(&self, rows: usize, cols: usize) -> bool {
        rows == 0 || cols == 0 || (rows - 1) * self.row_stride + (cols - 1) * self.col_stride < self.values.len()
    }
}

/// Writes rows `first_row..first_row + rows` of `left %*% right` to `out` (row after row), where `left` has `inner`
/// columns and `right` has `cols`.
pub(crate) fn gemm_rows(
    out: &mut [f64],
    cols: usize,
    first_row: usize,
    inner: usize,
    left: Strided<'_>,
    right: Strided<'_>,
) {
    let rows = out.len().checked_div(cols).unwrap_or(0);
    if rows == 0 {
        return;
    }
    if inner == 0 {
        out.fill(0.0);
        return;
    }
    assert!(left.holds(first_row + rows, inner) && right.holds(inner, cols), "operands cover the product");
    let start = first_row * left.row_stride;
    // SAFETY: `out` has rows * cols cells; the assertion above says that the last cell read of either operand lies
    // within its slice, and strides are not negative. `out` is a unique borrow, so it overlaps neither operand.
    unsafe {
        gemm::gemm(
            rows,
            cols,
            inner,
            out.as_mut_ptr(),
            1,
            cols as isize,
            false,
            left.values.as_ptr().add(start),
            left.col_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.col_stride as isize,
            right.row_stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
