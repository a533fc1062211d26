//! Element-wise operations with broadcasting.
//!
//! A sparse operand is exploited where the op table says that its zeros stay zeros; everything else is dense. Under
//! the default meaning of zeros a zero annihilates in `*`, `&` and as a numerator whatever the other operand is; with
//! `strict_ieee` only where the other operand is finite (and no zero, for a denominator).

use crate::{KernelContext, KernelError, Operand, block_rows};
use fuseline_ir::ops::{BinaryOp, BinaryZero, TernaryOp, UnaryOp, UnaryZero};
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use fuseline_vecprims::{Form, Operand as VectorOperand, Tile, TileMut};
use rayon::prelude::*;
use std::borrow::Cow;

/// `op` of every cell.
pub fn unary(context: &KernelContext<'_>, op: UnaryOp, matrix: &MatrixBlock) -> MatrixBlock {
    match matrix {
        MatrixBlock::Sparse(csr) if op.zero() == UnaryZero::Preserves => {
            let mut values = vec![0.0; csr.nnz()];
            map_run(context, op, csr.values(), &mut values);
            MatrixBlock::from(with_values(csr, values)).in_best_format()
        }
        matrix => {
            let dense = matrix.to_dense();
            let mut result = Dense::uninit_in(context.buffers, dense.rows(), dense.cols());
            map_run(context, op, dense.values(), result.values_mut());
            result.into()
        }
    }
}

fn map_run(context: &KernelContext<'_>, op: UnaryOp, values: &[f64], out: &mut [f64]) {
    context.pool.install(|| {
        out.par_chunks_mut(crate::BLOCK_CELLS).zip(values.par_chunks(crate::BLOCK_CELLS)).for_each(|(out, run)| {
            let len = run.len();
            context.primitives.unary(op, 1, len, Tile::new(run, len), TileMut::new(out, len));
        });
    });
}

/// The pattern of `csr` with other values, without those that became zero.
fn with_values(csr: &Csr, values: Vec<f64>) -> Csr {
    if values.iter().all(|&value| value != 0.0) {
        return Csr::from_parts(csr.rows(), csr.cols(), csr.row_offsets().to_vec(), csr.columns().to_vec(), values);
    }
    let mut row_offsets = vec![0];
    let (mut columns, mut kept) = (Vec::new(), Vec::new());
    for range in csr.row_offsets().windows(2).map(|pair| pair[0]..pair[1]) {
        for (&column, &value) in csr.columns()[range.clone()].iter().zip(&values[range]) {
            if value != 0.0 {
                columns.push(column);
                kept.push(value);
            }
        }
        row_offsets.push(kept.len());
    }
    Csr::from_parts(csr.rows(), csr.cols(), row_offsets, columns, kept)
}

/// An operand as a dense tile source: values and strides.
#[derive(Debug)]
struct Source<'a> {
    values: Cow<'a, [f64]>,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Source<'a> {
    fn new(operand: Operand<'a>, rows: usize, cols: usize) -> Self {
        match operand {
            Operand::Scalar(value) => Source { values: Cow::Owned(vec![value]), row_stride: 0, col_stride: 0 },
            Operand::Matrix(block) => {
                let (own_rows, own_cols) = block.dims();
                let values = match block.to_dense() {
                    Cow::Borrowed(dense) => Cow::Borrowed(dense.values()),
                    Cow::Owned(dense) => Cow::Owned(dense.values().to_vec()),
                };
                if (own_rows, own_cols) == (1, 1) && (rows, cols) != (1, 1) {
                    return Source { values, row_stride: 0, col_stride: 0 };
                }
                // A single row or column that is not the result's own repeats.
                let row_stride = if own_rows == rows { own_cols } else { 0 };
                let col_stride = usize::from(own_cols == cols && !(own_cols == 1 && cols != 1));
                Source { values, row_stride, col_stride }
            }
        }
    }

    /// Whether the operand has one value for each cell of the result, row after row.
    fn is_contiguous(&self, cols: usize) -> bool {
        self.col_stride == 1 && self.row_stride == cols
    }

    fn is_constant(&self) -> bool {
        self.col_stride == 0 && self.row_stride == 0
    }

    fn tile(&self, first_row: usize) -> &[f64] {
        &self.values[(first_row * self.row_stride).min(self.values.len())..]
    }
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
        let axis = |a: usize, b: usize| match (a, b) {
            (a, b) if a == b => Some(a),
            (1, b) => Some(b),
            (a, 1) => Some(a),
            _ => None,
        };
        let is_vector = |(rows, cols): (usize, usize)| (rows == 1) != (cols == 1);
        let is_outer = is_vector(so_far) && is_vector(dims) && (so_far.0 == 1) != (dims.0 == 1);
        result = match (axis(so_far.0, dims.0), axis(so_far.1, dims.1)) {
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
    if let Some(result) = sparse_binary(context, op, left, right, (rows, cols)) {
        return Ok(result.in_best_format());
    }
    let was_sparse = [left, right].iter().any(|operand| matches!(operand, Operand::Matrix(block) if block.is_sparse()));
    let (a, b) = (Source::new(left, rows, cols), Source::new(right, rows, cols));
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let flat = |source: &Source<'_>| source.is_contiguous(cols) || source.is_constant();
    // Equal shapes and scalars are one long run, however narrow the matrix is.
    let (height, width) = if flat(&a) && flat(&b) { (1, rows * cols) } else { (rows, cols) };
    let chunk = if height == 1 { crate::BLOCK_CELLS } else { block_rows(width) * width };
    context.pool.install(|| {
        result.values_mut().par_chunks_mut(chunk.max(1)).enumerate().for_each(|(block, out)| {
            let first = block * chunk;
            let (tile_rows, len) = if height == 1 { (1, out.len()) } else { (out.len() / width, width) };
            let part = |source: &Source<'_>| match (height, source.col_stride) {
                (1, 0) => (0, 0),
                (1, _) => (first, 0),
                _ => (first / width.max(1) * source.row_stride, source.row_stride),
            };
            let ((a_start, a_row), (b_start, b_row)) = (part(&a), part(&b));
            binary_tile(context, op, (tile_rows, len), (&a, a_start, a_row), (&b, b_start, b_row), out);
        });
    });
    let result = MatrixBlock::from(result);
    Ok(if was_sparse { result.in_best_format() } else { result })
}

fn binary_tile(
    context: &KernelContext<'_>,
    op: BinaryOp,
    (rows, len): (usize, usize),
    (a, a_start, a_row): (&Source<'_>, usize, usize),
    (b, b_start, b_row): (&Source<'_>, usize, usize),
    out: &mut [f64],
) {
    let a_tile = Tile::new(&a.values[a_start.min(a.values.len())..], a_row);
    let b_tile = Tile::new(&b.values[b_start.min(b.values.len())..], b_row);
    let form = match (a.col_stride, b.col_stride) {
        (1, 1) => Form::VectVect,
        (1, _) => Form::VectScalar,
        (_, 1) => Form::ScalarVect,
        // Two scalars or single cells: only for a 1 x 1 result.
        _ => return out.iter_mut().for_each(|cell| *cell = op.eval(a_tile.values[0], b_tile.values[0])),
    };
    context.primitives.binary(op, form, rows, len, a_tile, b_tile, TileMut::new(out, len));
}

/// The result over non-zeros alone, where zeros of a sparse operand stay zeros.
fn sparse_binary(
    context: &KernelContext<'_>,
    op: BinaryOp,
    left: Operand<'_>,
    right: Operand<'_>,
    dims: (usize, usize),
) -> Option<MatrixBlock> {
    let sparse = |operand: Operand<'_>| match operand {
        Operand::Matrix(MatrixBlock::Sparse(csr)) if (csr.rows(), csr.cols()) == dims => Some(csr.clone()),
        _ => None,
    };
    if let (Some(a), Some(b)) = (sparse(left), sparse(right))
        && op.zero() == BinaryZero::Joint
    {
        return Some(union(op, &a, &b).into());
    }
    if let Some(a) = sparse(left)
        && zeros_stay(context, op, true, right)
    {
        return Some(over_pattern(op, &a, right, dims, false).into());
    }
    if let Some(b) = sparse(right)
        && zeros_stay(context, op, false, left)
    {
        return Some(over_pattern(op, &b, left, dims, true).into());
    }
    None
}

/// Whether the operation is zero wherever the sparse operand (the left one or not) is.
fn zeros_stay(context: &KernelContext<'_>, op: BinaryOp, sparse_is_left: bool, other: Operand<'_>) -> bool {
    if let Operand::Scalar(value) = other {
        let result = if sparse_is_left { op.eval(0.0, value) } else { op.eval(value, 0.0) };
        if result == 0.0 {
            return true;
        }
    }
    let annihilates = match op.zero() {
        BinaryZero::Annihilates => true,
        BinaryZero::LeftAnnihilates => sparse_is_left && op == BinaryOp::Div,
        BinaryZero::Joint | BinaryZero::Fills => false,
    };
    annihilates && (!context.strict_ieee || is_harmless(op, other))
}

/// Whether a zero annihilates every cell of the operand by IEEE rules: finite, and no zero for a denominator.
fn is_harmless(op: BinaryOp, other: Operand<'_>) -> bool {
    let fits = |value: f64| value.is_finite() && !(op == BinaryOp::Div && value == 0.0);
    match other {
        Operand::Scalar(value) => fits(value),
        Operand::Matrix(MatrixBlock::Dense(dense)) => dense.values().iter().all(|&value| fits(value)),
        Operand::Matrix(MatrixBlock::Sparse(csr)) => {
            op != BinaryOp::Div && csr.values().iter().all(|&value| fits(value))
        }
    }
}

/// Evaluates at the non-zeros of `pattern`; `swapped` when it is the right operand.
fn over_pattern(op: BinaryOp, pattern: &Csr, other: Operand<'_>, dims: (usize, usize), swapped: bool) -> Csr {
    let mut row_offsets = Vec::with_capacity(dims.0 + 1);
    row_offsets.push(0);
    let (mut columns, mut values) = (Vec::with_capacity(pattern.nnz()), Vec::with_capacity(pattern.nnz()));
    let mut scattered = vec![0.0; dims.1];
    for i in 0..dims.0 {
        let (row_columns, row_values) = pattern.row(i);
        let lookup = RowLookup::new(other, i, dims, &mut scattered);
        for (&j, &value) in row_columns.iter().zip(row_values) {
            let other = lookup.get(j as usize);
            let result = if swapped { op.eval(other, value) } else { op.eval(value, other) };
            if result != 0.0 {
                columns.push(j);
                values.push(result);
            }
        }
        lookup.clear(other, i, &mut scattered);
        row_offsets.push(values.len());
    }
    Csr::from_parts(dims.0, dims.1, row_offsets, columns, values)
}

/// Row `i` of an operand, readable by column.
enum RowLookup<'a> {
    Constant(f64),
    Dense(&'a [f64]),
    Scattered(Vec<f64>),
}

impl<'a> RowLookup<'a> {
    fn new(operand: Operand<'a>, i: usize, dims: (usize, usize), scattered: &mut Vec<f64>) -> Self {
        let block = match operand {
            Operand::Scalar(value) => return RowLookup::Constant(value),
            Operand::Matrix(block) => block,
        };
        let row = if block.rows() == dims.0 { i } else { 0 };
        match block {
            block if block.cols() == 1 && dims.1 != 1 => RowLookup::Constant(block.get(row, 0)),
            MatrixBlock::Dense(dense) => RowLookup::Dense(dense.row(row)),
            MatrixBlock::Sparse(csr) => {
                let mut cells = std::mem::take(scattered);
                let (columns, values) = csr.row(row);
                for (&j, &value) in columns.iter().zip(values) {
                    cells[j as usize] = value;
                }
                RowLookup::Scattered(cells)
            }
        }
    }

    fn get(&self, j: usize) -> f64 {
        match self {
            RowLookup::Constant(value) => *value,
            RowLookup::Dense(row) => row[j],
            RowLookup::Scattered(row) => row[j],
        }
    }

    /// Gives the scatter buffer back, all zeros.
    fn clear(self, operand: Operand<'_>, i: usize, scattered: &mut Vec<f64>) {
        if let (RowLookup::Scattered(mut cells), Operand::Matrix(MatrixBlock::Sparse(csr))) = (self, operand) {
            for &j in csr.row(if csr.rows() == 1 { 0 } else { i }).0 {
                cells[j as usize] = 0.0;
            }
            *scattered = cells;
        }
    }
}

/// Merges the patterns of two sparse matrices of one shape, for operations with `f(0, 0) = 0`.
fn union(op: BinaryOp, a: &Csr, b: &Csr) -> Csr {
    let mut row_offsets = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for i in 0..a.rows() {
        let ((a_columns, a_values), (b_columns, b_values)) = (a.row(i), b.row(i));
        let (mut p, mut q) = (0, 0);
        while p < a_columns.len() || q < b_columns.len() {
            let (ja, jb) =
                (a_columns.get(p).copied().unwrap_or(u32::MAX), b_columns.get(q).copied().unwrap_or(u32::MAX));
            let j = ja.min(jb);
            let x = if ja == j { a_values[p] } else { 0.0 };
            let y = if jb == j { b_values[q] } else { 0.0 };
            p += usize::from(ja == j);
            q += usize::from(jb == j);
            let result = op.eval(x, y);
            if result != 0.0 {
                columns.push(j);
                values.push(result);
            }
        }
        row_offsets.push(values.len());
    }
    Csr::from_parts(a.rows(), a.cols(), row_offsets, columns, values)
}

/// `op` of three operands of which at least one is a matrix; always dense.
///
/// # Errors
/// Shapes that do not fit.
pub fn ternary(
    context: &KernelContext<'_>,
    op: TernaryOp,
    operands: [Operand<'_>; 3],
) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = broadcast(op.mnemonic(), &operands)?;
    let [a, b, c] = operands.map(|operand| Source::new(operand, rows, cols));
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows(cols);
    context.pool.install(|| {
        result.values_mut().par_chunks_mut((step * cols).max(1)).enumerate().for_each(|(block, out)| {
            let (first, len) = (block * step, cols);
            let sources = [&a, &b, &c].map(|source| match source.col_stride {
                0 => VectorOperand::scalars(source.tile(first), source.row_stride),
                _ => VectorOperand::cells(source.tile(first), source.row_stride),
            });
            context.primitives.ternary(op, out.len() / cols.max(1), len, sources, TileMut::new(out, len));
        });
    });
    Ok(MatrixBlock::from(result).in_best_format())
}
