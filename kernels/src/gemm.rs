//! The general dense matrix product, on the `gemm` crate.
//!
//! The crate is called on one thread for each fixed block of the product, so that the bits do not depend on the number
//! of threads.

use fuseline_matrix::Dense;

/// A dense operand, or a part of one, by its strides in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'a> {
    values: &'a [f64],
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Strided<'a> {
    pub(crate) fn of(matrix: &'a Dense) -> Self {
        Strided { values: matrix.values(), row_stride: matrix.cols(), col_stride: 1 }
    }

    /// Rows of values, `row_stride` apart.
    pub(crate) fn rows(values: &'a [f64], row_stride: usize) -> Self {
        Strided { values, row_stride, col_stride: 1 }
    }

    pub(crate) fn transposed(self) -> Self {
        Strided { row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    /// The part that begins in this row and column.
    pub(crate) fn starting_at(self, row: usize, col: usize) -> Self {
        let start = row * self.row_stride + col * self.col_stride;
        Strided { values: self.values.get(start..).unwrap_or_default(), ..self }
    }

    /// Whether all cells of a `rows` x `cols` matrix lie within the values.
    fn holds(&self, rows: usize, cols: usize) -> bool {
        rows == 0 || cols == 0 || (rows - 1) * self.row_stride + (cols - 1) * self.col_stride < self.values.len()
    }
}

/// Dimensions of a product: `rows` x `inner` times `inner` x `cols`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extents {
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) cols: usize,
}

/// Writes `left %*% right` to `out`, whose rows are `out_stride` values apart.
pub(crate) fn gemm_into(out: &mut [f64], out_stride: usize, extents: Extents, left: Strided<'_>, right: Strided<'_>) {
    gemm(out, out_stride, extents, left, right, false);
}

/// Adds `left %*% right` to `out`, whose rows are `out_stride` values apart.
pub(crate) fn gemm_add(out: &mut [f64], out_stride: usize, extents: Extents, left: Strided<'_>, right: Strided<'_>) {
    gemm(out, out_stride, extents, left, right, true);
}

fn gemm(out: &mut [f64], out_stride: usize, extents: Extents, left: Strided<'_>, right: Strided<'_>, adds: bool) {
    let Extents { rows, inner, cols } = extents;
    if rows == 0 || cols == 0 {
        return;
    }
    assert!(out_stride >= cols && (rows - 1) * out_stride + cols <= out.len(), "the output covers the product");
    if inner == 0 {
        if adds {
            return;
        }
        out.chunks_mut(out_stride).take(rows).for_each(|row| row[..cols].fill(0.0));
        return;
    }
    assert!(left.holds(rows, inner) && right.holds(inner, cols), "operands cover the product");
    // SAFETY: the first assertion says that the last cell written lies within `out`, the second that the last cell
    // read of either operand lies within its slice, and strides are not negative. `out` is a unique borrow, so it
    // overlaps neither operand.
    unsafe {
        gemm::gemm(
            rows,
            cols,
            inner,
            out.as_mut_ptr(),
            1,
            out_stride as isize,
            adds,
            left.values.as_ptr(),
            left.col_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.col_stride as isize,
            right.row_stride as isize,
            if adds { 1.0 } else { 0.0 },
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Extents, Strided, gemm_add, gemm_into};
    use fuseline_matrix::Dense;

    /// Small whole numbers, so that every order of sums gives the same bits.
    #[test]
    fn products_of_every_small_inner_dimension() {
        for (rows, cols) in [(1, 1), (3, 5), (17, 9)] {
            for inner in 0..6 {
                let left = Dense::from_fn(rows, inner, |i, k| (i * 7 + k * 3) as f64 - 8.0);
                let right = Dense::from_fn(cols, inner, |j, k| (j * 5 + k * 11) as f64 - 9.0);
                let cell = |i: usize, j: usize| (0..inner).map(|k| left.get(i, k) * right.get(j, k)).sum::<f64>();
                let (extents, stride) = (Extents { rows, inner, cols }, cols + 2);
                let mut out = vec![1.5; rows * stride];
                let (a, b) = (Strided::of(&left), Strided::of(&right).transposed());
                gemm_into(&mut out, stride, extents, a, b);
                gemm_add(&mut out, stride, extents, a, b);
                for (place, &value) in out.iter().enumerate() {
                    let (i, j) = (place / stride, place % stride);
                    let expected = if j < cols { 2.0 * cell(i, j) } else { 1.5 };
                    assert_eq!(value, expected, "{rows} x {inner} x {cols} at {i}, {j}");
                }
            }
        }
    }
}
