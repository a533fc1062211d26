//! Triangles of matrices.

use crate::blocks::{average_row, build_csr, in_best_format};
use crate::{KernelContext, push_nonzero};
use fuseline_matrix::{Dense, Layout, MatrixBlock};

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
            let kept = build_csr(
                context,
                [rows, cols],
                average_row(&csr),
                || (),
                |i, (), result| {
                    let (columns, values) = csr.row(i);
                    for (&j, &value) in columns.iter().zip(values).filter(|(j, _)| part.contains(i, **j as usize)) {
                        push_nonzero(result, j, value);
                    }
                },
            );
            in_best_format(context, kept.into())
        }
        layout => {
            let cells = layout.into_dense();
            let kept = Dense::from_fn(rows, cols, |i, j| {
                let is_inside = part.contains(i, j);
                if is_inside && keeps_values { cells.get(i, j) } else { f64::from(u8::from(is_inside)) }
            });
            in_best_format(context, kept.into())
        }
    }
}
