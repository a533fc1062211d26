//! Matrix products over dense and sparse operands, of operands themselves or of their transposes.

mod dense;
mod selection;
pub(crate) mod sparse;
mod symmetric;

pub use symmetric::{TransposedSide, tsmm};

use crate::blocks::{add_to, in_best_format, map_parts, merge_partials};
use crate::gemm::Strided;
use crate::{KernelContext, KernelError};
use fuseline_ir::Format;
use fuseline_ir::schedule::product::{Extents, FEW_COLUMNS, ProductLoop};
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, Layout, MatrixBlock};
use std::ops::Range;

fn check(left: (usize, usize), right: (usize, usize), fits: bool) -> Result<(), KernelError> {
    let rule = "the columns of the left must be as many as the rows of the right";
    if fits { Ok(()) } else { Err(KernelError::Shapes { operation: "%*%".to_owned(), left, right, rule }) }
}

/// `left %*% right`.
///
/// # Errors
/// The columns of the left are not as many as the rows of the right.
pub fn matmul(
    context: &KernelContext<'_>,
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    check(left.dims(), right.dims(), left.cols() == right.rows())?;
    if context.strict_ieee && (left.format().is_sparse() || right.format().is_sparse()) {
        return Ok(dense::product(context, &left.to_dense(), &right.to_dense()).into());
    }
    if let Some(narrow) = left.narrow_dense().filter(|_| right.cols() == 1 && right.format() == Format::Dense) {
        return Ok(dense::times_vector(context, (&*narrow).into(), right.to_dense().values()).into());
    }
    if let Some(selected) = selection(context, left, right) {
        return Ok(in_best_format(context, selected));
    }
    Ok(match (left.layout(), right.layout()) {
        (Layout::Dense(left), Layout::Dense(right)) => dense::product(context, &left, &right).into(),
        (Layout::Sparse(left), Layout::Dense(right)) => {
            suited(context, sparse::times_dense(context, &left, &right), left.nnz().saturating_mul(right.cols()))
        }
        (Layout::Dense(_), Layout::Sparse(csr)) if sparse::is_sooner_transposed(left.dims(), &csr) => {
            return matmul_transposed_left(context, &crate::transpose(context, left), right);
        }
        (Layout::Dense(left), Layout::Sparse(right)) => {
            suited(context, sparse::dense_times(context, &left, &right), right.nnz().saturating_mul(left.rows()))
        }
        (Layout::Sparse(left), Layout::Sparse(right)) => {
            in_best_format(context, sparse::times_sparse(context, &left, &right).into())
        }
    })
}

/// The product, if the left side selects rows, or the right one columns of a dense matrix.
fn selection(context: &KernelContext<'_>, left: &MatrixBlock, right: &MatrixBlock) -> Option<MatrixBlock> {
    if let Layout::Sparse(selector) = left.layout()
        && let Some(rows) = selection::rows(context, &selector, right)
    {
        return Some(rows);
    }
    match (left.layout(), right.layout()) {
        (Layout::Dense(left), Layout::Sparse(selector)) => {
            selection::columns(context, &left, &selector).map(MatrixBlock::from)
        }
        _ => None,
    }
}

/// `t(left) %*% right`, without forming the transpose, unless both are sparse and the product is, too, or large, or zeros
/// annihilate nothing.
///
/// # Errors
/// The two have different numbers of rows.
pub fn matmul_transposed_left(
    context: &KernelContext<'_>,
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    check((left.cols(), left.rows()), right.dims(), left.rows() == right.rows())?;
    if let Some(narrow) = left.narrow_dense().filter(|_| right.cols() <= FEW_COLUMNS && right.format() == Format::Dense)
    {
        return Ok(dense::transposed_times_skinny(context, (&*narrow).into(), &right.to_dense()).into());
    }
    Ok(match (left.layout(), right.layout()) {
        (Layout::Dense(left), Layout::Dense(right)) => dense::transposed_product(context, &left, &right).into(),
        (Layout::Sparse(left), Layout::Dense(right)) if !context.strict_ieee => {
            transposed_times_dense(context, &left, &right)
        }
        (Layout::Dense(left), Layout::Sparse(right)) if !context.strict_ieee => {
            // The transposed product is the one whose sparse operand comes first.
            crate::transpose(context, &transposed_times_dense(context, &right, &left))
        }
        (Layout::Sparse(a), Layout::Sparse(b)) if !context.strict_ieee => {
            match sparse::sum_of_row_products(context, &a, &b, false) {
                Some(dense) => in_best_format(context, dense.into()),
                None => return matmul(context, &crate::transpose(context, left), right),
            }
        }
        _ => return matmul(context, &crate::transpose(context, left), right),
    })
}

/// `t(left) %*% right`, in the format that suits it.
fn transposed_times_dense(context: &KernelContext<'_>, left: &Csr, right: &Dense) -> MatrixBlock {
    suited(context, sparse::transposed_times_dense(context, left, right), left.nnz().saturating_mul(right.cols()))
}

/// The product of a sparse and a dense matrix with at most so many non-zeros, in the format that suits these.
fn suited(context: &KernelContext<'_>, product: Dense, most_non_zeros: usize) -> MatrixBlock {
    let format = MatrixBlock::best_format(product.rows(), product.cols(), most_non_zeros);
    let product = product.into();
    if format.is_sparse() { in_best_format(context, product) } else { product }
}

/// `left %*% t(right)`, without forming the transpose where both are dense.
///
/// # Errors
/// The two have different numbers of columns.
pub fn matmul_transposed_right(
    context: &KernelContext<'_>,
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    check(left.dims(), (right.cols(), right.rows()), left.cols() == right.cols())?;
    let (Layout::Dense(a), Layout::Dense(b)) = (left.layout(), right.layout()) else {
        return matmul(context, left, &crate::transpose(context, right));
    };
    let extents = Extents { rows: a.rows(), inner: a.cols(), cols: b.rows() };
    Ok(match ProductLoop::with_transposed_right(extents) {
        ProductLoop::Dots if b.rows() == 1 => dense::times_vector(context, (&*a).into(), b.values()).into(),
        ProductLoop::Dots => dense::times_vector(context, (&*b).into(), a.values()).reshape(1, b.rows()).into(),
        ProductLoop::ShortRows => dense::short_transposed(context, &a, &b).into(),
        ProductLoop::ScaledRows | ProductLoop::RowProducts | ProductLoop::Packed => {
            dense::gemm(context, extents, Strided::of(&a), Strided::of(&b).transposed()).into()
        }
    })
}

/// Sums of private accumulators of `len` values, one per range, merged in order.
pub(crate) fn accumulate(
    context: &KernelContext<'_>,
    ranges: Vec<Range<usize>>,
    len: usize,
    add: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Buffer {
    let partials = map_parts(context, ranges, |range| {
        let mut acc = BufferPool::take_zeroed(context.buffers, len);
        add(range, &mut acc);
        acc
    });
    let sums = merge_partials(context, partials, add_to);
    sums.unwrap_or_else(|| BufferPool::take_zeroed(context.buffers, len))
}
