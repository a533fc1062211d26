//! Element-wise operations with broadcasting.
//!
//! A sparse operand is exploited where the op table says that its zeros stay zeros; everything else is dense. Under
//! the default meaning of zeros a zero annihilates in `*`, `&` and as a numerator whatever the other operand is; with
//! `strict_ieee` only where the other operand is finite (and no zero, for a denominator).

mod gather;
mod outer;
mod pattern;
mod sparse;
mod ternary;
mod union;

pub use outer::outer;
pub(crate) use pattern::with_values;
pub(crate) use sparse::{RowReader, zeros_stay};
pub use ternary::ternary;
pub(crate) use union::union_row;

use crate::blocks::{
    BLOCK_CELLS, PART_CELLS, PartByPart, block_rows, cells_of_rows, in_best_format, on_threads_for, suited_rows,
    write_blocks,
};
use crate::{KernelContext, KernelError, Operand};
use fuseline_ir::ops::{BinaryOp, UnaryOp, UnaryZero};
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, Layout, MatrixBlock};
use fuseline_vecprims::{Operand as Rows, Tile, TileMut};
use std::borrow::Cow;

/// `op` of every cell.
pub fn unary(context: &KernelContext<'_>, op: UnaryOp, matrix: &MatrixBlock) -> MatrixBlock {
    match matrix.layout() {
        Layout::Sparse(csr) if op.zero() == UnaryZero::Preserves => {
            let result = pattern::over_pattern(context, &csr, [], |values, [], out| {
                let len = out.len();
                context.primitives.unary(op, 1, len, values.tile, TileMut::new(out, len));
            });
            in_best_format(context, result.into())
        }
        Layout::Sparse(csr) => pattern::filled(context, &csr, [], |values, [], out| {
            let len = out.len();
            context.primitives.unary(op, 1, len, values.tile, TileMut::new(out, len));
        }),
        Layout::Dense(dense) => {
            let mut result = Dense::uninit_in(context.buffers, dense.rows(), dense.cols());
            map_run(context, op, dense.values(), &mut result);
            result.into()
        }
    }
}

fn map_run(context: &KernelContext<'_>, op: UnaryOp, values: &[f64], result: &mut Dense) {
    let length = block_rows(values.len(), 1);
    let write = PartByPart::new(context, values.len(), PART_CELLS).of_flops(op.flops(), 1);
    write_blocks(context, result, length, &write, |start, out| {
        let len = out.len();
        let run = Tile::new(&values[start..start + len], len);
        context.primitives.unary(op, 1, len, run, TileMut::new(out, len));
    });
}

/// An operand as a dense tile source: values and strides.
#[derive(Debug)]
struct Source<'a> {
    values: Values<'a>,
    row_stride: usize,
    col_stride: usize,
}

#[derive(Debug)]
enum Values<'a> {
    Constant([f64; 1]),
    Cells(Cow<'a, Dense>),
    /// Of a matrix as large as the result, whose rows are laid out when they are needed.
    Sparse(Cow<'a, Csr>),
}

impl<'a> Source<'a> {
    /// The operand of an operation whose result has these dimensions; single cells are scalars by now.
    fn new(context: &KernelContext<'_>, operand: Operand<'a>, rows: usize, cols: usize) -> Self {
        match operand {
            Operand::Scalar(value) => Source { values: Values::Constant([value]), row_stride: 0, col_stride: 0 },
            Operand::Matrix(block) => {
                let (own_rows, own_cols) = block.dims();
                // A single row or column that is not the result's own repeats.
                let row_stride = if own_rows == rows { own_cols } else { 0 };
                let col_stride = usize::from(own_cols == cols && !(own_cols == 1 && cols != 1));
                let values = match block.layout() {
                    Layout::Dense(dense) => Values::Cells(dense),
                    Layout::Sparse(csr) if (own_rows, own_cols) == (rows, cols) => Values::Sparse(csr),
                    Layout::Sparse(csr) => Values::Cells(Cow::Owned(all_cells(context, &csr))),
                };
                Source { values, row_stride, col_stride }
            }
        }
    }

    /// Whether the operand has one value for each cell of the result, row after row.
    fn is_contiguous(&self, cols: usize) -> bool {
        self.col_stride == 1 && self.row_stride == cols
    }

    /// Whether the cells of the result are one run for the operand: it has one value for each, or one for all.
    fn is_run(&self, cols: usize) -> bool {
        self.is_contiguous(cols) || self.col_stride == 0 && self.row_stride == 0
    }

    /// What so many cells of the result need from `first` on, which begins a row: in rows of `row_cells`, or as one run. Sparse rows,
    /// which are whole, are laid out.
    fn rows<'b>(
        &'b self,
        context: &KernelContext<'_>,
        first: usize,
        cells: usize,
        row_cells: Option<usize>,
        laid_out: &'b mut Option<Buffer>,
    ) -> Rows<'b> {
        let (start, row_stride) = match row_cells {
            Some(row_cells) => (first / row_cells.max(1) * self.row_stride, self.row_stride),
            None => (first * self.col_stride, 0),
        };
        let values = match &self.values {
            Values::Constant(value) => &value[..],
            Values::Cells(dense) => &dense.values()[start.min(dense.values().len())..],
            Values::Sparse(csr) => {
                let cells = laid_out.insert(BufferPool::take(context.buffers, cells));
                csr.write_cells(start / csr.cols(), cells);
                cells
            }
        };
        if self.col_stride == 0 { Rows::scalars(values, row_stride) } else { Rows::cells(values, row_stride) }
    }
}

/// All cells of a sparse operand, in memory that is recycled, by all threads.
fn all_cells(context: &KernelContext<'_>, csr: &Csr) -> Dense {
    let blocks = csr.rows().saturating_mul(csr.cols()).div_ceil(BLOCK_CELLS);
    on_threads_for(context, blocks, || csr.filled_in(context.buffers, csr.values(), 0.0))
}

/// The size of the result of an element-wise operation.
fn broadcast(operation: &str, operands: &[Operand<'_>]) -> Result<(usize, usize), KernelError> {
    let mut result: Option<(usize, usize)> = None;
    for operand in operands {
        let Operand::Matrix(block) = operand else { continue };
        let dims = block.dims();
        let Some(so_far) = result else {
            result = Some(dims);
            continue;
        };
        let are_vectors = [so_far, dims].iter().all(|(rows, cols)| (*rows == 1) != (*cols == 1));
        let is_outer = are_vectors && (so_far.0 == 1) != (dims.0 == 1);
        result = match (common_extent(so_far.0, dims.0), common_extent(so_far.1, dims.1)) {
            (Some(rows), Some(cols)) if !is_outer => Some((rows, cols)),
            _ => {
                return Err(KernelError::Shapes {
                    operation: operation.to_owned(),
                    left: so_far,
                    right: dims,
                    rule: "equal sizes, a row vector of as many columns, a column vector of as many rows, or a single cell",
                });
            }
        };
    }
    Ok(result.unwrap_or((1, 1)))
}

/// The extent of a result in one direction, in which an operand of extent 1 repeats.
fn common_extent(one: usize, other: usize) -> Option<usize> {
    match (one, other) {
        _ if one == other => Some(one),
        (1, extent) | (extent, 1) => Some(extent),
        _ => None,
    }
}

/// A single cell in an operation of larger matrices is a scalar.
fn single_as_scalar(operand: Operand<'_>, dims: (usize, usize)) -> Operand<'_> {
    match operand {
        Operand::Matrix(block) if block.dims() == (1, 1) && dims != (1, 1) => Operand::Scalar(block.get(0, 0)),
        operand => operand,
    }
}

/// `op` of two operands of which at least one is a matrix.
///
/// # Errors
/// Shapes that do not fit.
pub fn binary(
    context: &KernelContext<'_>,
    op: BinaryOp,
    left: Operand<'_>,
    right: Operand<'_>,
) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = broadcast(op.dml().unwrap_or(op.mnemonic()), &[left, right])?;
    let [left, right] = [left, right].map(|operand| single_as_scalar(operand, (rows, cols)));
    if let Some(result) = sparse::binary(context, op, left, right, (rows, cols)) {
        return Ok(in_best_format(context, result.into()));
    }
    if let Some(result) = sparse::beside_scalar(context, op, left, right, (rows, cols)) {
        return Ok(result);
    }
    let was_sparse =
        [left, right].iter().any(|operand| matches!(operand, Operand::Matrix(block) if block.format().is_sparse()));
    let sources = [left, right].map(|operand| Source::new(context, operand, rows, cols));
    let [a, b] = &sources;
    // Equal shapes and scalars are one long run, however narrow the matrix is.
    let row_cells = if a.is_run(cols) && b.is_run(cols) { None } else { Some(cols) };
    let compute = |first: usize, out: &mut [f64]| {
        let mut laid_out = [None, None];
        let [of_a, of_b] = &mut laid_out;
        let operands = [(a, of_a), (b, of_b)]
            .map(|(source, laid_out)| source.rows(context, first, out.len(), row_cells, laid_out));
        binary_rows(context, op, operands, row_cells.unwrap_or(out.len()), out);
    };
    if was_sparse {
        return Ok(suited_rows(context, rows, cols, compute));
    }
    Ok(dense_result(context, [rows, cols], row_cells, op.flops(), &sources, compute))
}

/// The result of an operation of so many flops for each cell of sources that are dense, which `compute` gives in rows of
/// `row_cells`, or as one run.
fn dense_result(
    context: &KernelContext<'_>,
    [rows, cols]: [usize; 2],
    row_cells: Option<usize>,
    flops: f64,
    sources: &[Source<'_>],
    compute: impl Fn(usize, &mut [f64]) + Sync,
) -> MatrixBlock {
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let [block, part] = match row_cells {
        Some(_) => [block_rows(rows, cols) * cols, cells_of_rows(cols)],
        None => [block_rows(rows * cols, 1), PART_CELLS],
    };
    let matrices = sources.iter().filter(|source| source.is_contiguous(cols)).count();
    let write = PartByPart::new(context, rows * cols, part).of_flops(flops, matrices);
    write_blocks(context, &mut result, block, &write, compute);
    result.into()
}

/// The operation on rows of `len` cells of the result.
fn binary_rows(context: &KernelContext<'_>, op: BinaryOp, [a, b]: [Rows<'_>; 2], len: usize, out: &mut [f64]) {
    if a.scalar && b.scalar {
        // Two scalars or single cells: only for a 1 x 1 result.
        return out.iter_mut().for_each(|cell| *cell = op.eval(a.tile.values[0], b.tile.values[0]));
    }
    let rows = out.len() / len.max(1);
    context.primitives.binary(op, sparse::form(a, b), rows, len, a.tile, b.tile, TileMut::new(out, len));
}

/// The operands folded with `op` from left to right, cell by cell; a 1 x 1 matrix where all are scalars.
///
/// # Errors
/// Shapes that do not fit, or no operand.
pub fn nary(context: &KernelContext<'_>, op: BinaryOp, operands: &[Operand<'_>]) -> Result<MatrixBlock, KernelError> {
    let (Some(&first), rest) = (operands.first(), operands.get(1..).unwrap_or_default()) else {
        let problem = "no operand".to_owned();
        return Err(KernelError::Argument { operation: op.mnemonic(), problem });
    };
    let (mut first, mut folded) = (first, None);
    for &next in rest {
        match (folded.as_ref().map_or(first, Operand::Matrix), next) {
            (Operand::Scalar(x), Operand::Scalar(y)) => first = Operand::Scalar(op.eval(x, y)),
            (so_far, next) => folded = Some(binary(context, op, so_far, next)?),
        }
    }
    Ok(match (folded, first) {
        (Some(result), _) => result,
        (None, Operand::Matrix(block)) => block.clone(),
        (None, Operand::Scalar(value)) => MatrixBlock::single(value),
    })
}
