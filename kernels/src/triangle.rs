//! Triangles of matrices.

use crate::blocks::build_csr;
use crate::select::average_row;
use crate::{KernelContext, push_nonzero};
use fuseline_matrix::{CsrRows, Dense, Layout, MatrixBlock};

/// A part of a matrix on one side of its diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// Below the diagonal; else above.
    pub is_lower: bool,
    /// With the diagonal.
    pub has_diagonal: bool,
}

impl Triangle {
    fn contains(self, i: usize, j: usize) -> bool {
        if self.is_lower { j < i + usize::from(self.has_diagonal) } else { i < j + usize::from(self.has_diagonal) }
    }
}

/// The cells of a matrix that lie in a triangle (`keeps_values`), or ones in their places; zeros elsewhere.
pub fn triangle(context: &KernelContext<'_>, matrix: &MatrixBlock, part: Triangle, keeps_values: bool) -> MatrixBlock {
    let (rows, cols) = matrix.dims();
    match matrix.layout() {
        Layout::Sparse(csr) if keeps_values => {
            let keep = |i: usize, (): &mut (), result: &mut CsrRows| {
                let (columns, values) = csr.row(i);
                for (&j, &value) in columns.iter().zip(values).filter(|(j, _)| part.contains(i, **j as usize)) {
                    push_nonzero(result, j, value);
                }
            };
            MatrixBlock::from(build_csr(context, (rows, cols), average_row(&csr), || (), keep)).in_best_format()
        }
        layout => {
            let cells = layout.into_dense();
            let cell = |i: usize, j: usize| match part.contains(i, j) {
                true if keeps_values => cells.get(i, j),
                is_inside => f64::from(u8::from(is_inside)),
            };
            MatrixBlock::from(Dense::from_fn(rows, cols, cell)).in_best_format()
        }
    }
}
