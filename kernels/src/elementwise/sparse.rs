//! Element-wise operations over the non-zeros of sparse operands.

use crate::blocks::{block_rows, build_csr, map_parts_with, row_ranges};
use crate::{KernelContext, Operand, push_nonzero};
use fuseline_ir::ops::{BinaryOp, BinaryZero};
use fuseline_matrix::{Csr, CsrRows, MatrixBlock};
use fuseline_vecprims::{Form, Tile, TileMut};

/// The operand as a sparse matrix of the size of the result.
pub(super) fn sparse_of(operand: Operand<'_>, dims: (usize, usize)) -> Option<&Csr> {
    match operand {
        Operand::Matrix(MatrixBlock::Sparse(csr)) if (csr.rows(), csr.cols()) == dims => Some(csr),
        _ => None,
    }
}

/// The result over non-zeros alone, where zeros of a sparse operand stay zeros.
pub(super) fn binary(
    context: &KernelContext<'_>,
    op: BinaryOp,
    left: Operand<'_>,
    right: Operand<'_>,
    dims: (usize, usize),
) -> Option<Csr> {
    let (a, b) = (sparse_of(left, dims), sparse_of(right, dims));
    if let (Some(a), Some(b), BinaryZero::Joint) = (a, b, op.zero()) {
        return Some(union(context, op, a, b));
    }
    // The other operand's cells at the non-zeros are gathered, so that one vector operation serves all of them.
    let evaluate = |x: &[f64], y: &[f64], out: &mut [f64]| {
        let len = out.len();
        let (x, y) = (Tile::new(x, len), Tile::new(y, len));
        context.primitives.binary(op, Form::VectVect, 1, len, x, y, TileMut::new(out, len));
    };
    if let Some(a) = a.filter(|_| zeros_stay(context, op, true, right)) {
        return Some(over_pattern(context, a, [right], |x, [y], out| evaluate(x, y, out)));
    }
    if let Some(b) = b.filter(|_| zeros_stay(context, op, false, left)) {
        return Some(over_pattern(context, b, [left], |y, [x], out| evaluate(x, y, out)));
    }
    None
}

/// Whether the operation is zero wherever the sparse operand (the left one or not) is.
pub(crate) fn zeros_stay(context: &KernelContext<'_>, op: BinaryOp, sparse_is_left: bool, other: Operand<'_>) -> bool {
    let at_zero = |value: f64| if sparse_is_left { op.eval(0.0, value) } else { op.eval(value, 0.0) };
    if let Operand::Scalar(value) = other
        && at_zero(value) == 0.0
    {
        return true;
    }
    let annihilates = match op.zero() {
        BinaryZero::Annihilates => true,
        BinaryZero::LeftAnnihilates => sparse_is_left,
        BinaryZero::Joint | BinaryZero::Fills => false,
    };
    if !annihilates {
        return false;
    }
    let always = [0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().all(|value| at_zero(value) == 0.0);
    let is_licensed = op.zero() == BinaryZero::Annihilates || op == BinaryOp::Div;
    always || is_licensed && (!context.strict_ieee || is_harmless(op, other))
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

/// Evaluates at the non-zeros of `pattern`, given their values and the cells of the other operands there.
pub(super) fn over_pattern<const N: usize>(
    context: &KernelContext<'_>,
    pattern: &Csr,
    others: [Operand<'_>; N],
    evaluate: impl Fn(&[f64], [&[f64]; N], &mut [f64]) + Sync,
) -> Csr {
    let (rows, cols) = (pattern.rows(), pattern.cols());
    let step = block_rows(pattern.nnz().checked_div(rows).unwrap_or(0) + 1);
    let readers = || others.map(|operand| RowReader::new(operand, (rows, cols)));
    let blocks = map_parts_with(context, row_ranges(rows, step), readers, |readers, range| {
        let mut cells = [const { Vec::new() }; N];
        for (reader, cells) in readers.iter_mut().zip(&mut cells) {
            range.clone().for_each(|i| reader.gather(i, pattern.row(i).0, cells));
        }
        let positions = pattern.row_offsets()[range.start]..pattern.row_offsets()[range.end];
        let mut results = vec![0.0; positions.len()];
        evaluate(&pattern.values()[positions.clone()], cells.each_ref().map(Vec::as_slice), &mut results);
        let mut block = CsrRows::default();
        for i in range {
            let start = block.values.len();
            let offset = pattern.row_offsets()[i] - positions.start;
            for (&j, &result) in pattern.row(i).0.iter().zip(&results[offset..]) {
                push_nonzero(&mut block, j, result);
            }
            block.lengths.push(block.values.len() - start);
        }
        block
    });
    Csr::from_blocks(cols, &blocks)
}

/// Reads cells of an operand by column, row after row.
#[derive(Debug)]
pub(crate) struct RowReader<'a> {
    operand: Operand<'a>,
    dims: (usize, usize),
    /// A sparse row, scattered; zeros between uses.
    scattered: Vec<f64>,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(operand: Operand<'a>, dims: (usize, usize)) -> Self {
        RowReader { operand, dims, scattered: Vec::new() }
    }

    /// Appends the cells of row `i` in these columns.
    pub(crate) fn gather(&mut self, i: usize, columns: &[u32], out: &mut Vec<f64>) {
        let block = match self.operand {
            Operand::Scalar(value) => return out.resize(out.len() + columns.len(), value),
            Operand::Matrix(block) => block,
        };
        let row = if block.rows() == self.dims.0 { i } else { 0 };
        match block {
            block if block.cols() == 1 && self.dims.1 != 1 => out.resize(out.len() + columns.len(), block.get(row, 0)),
            MatrixBlock::Dense(dense) => {
                let cells = dense.row(row);
                out.extend(columns.iter().map(|&j| cells[j as usize]));
            }
            MatrixBlock::Sparse(csr) => {
                self.scattered.resize(self.dims.1, 0.0);
                let (own_columns, values) = csr.row(row);
                for (&j, &value) in own_columns.iter().zip(values) {
                    self.scattered[j as usize] = value;
                }
                out.extend(columns.iter().map(|&j| self.scattered[j as usize]));
                own_columns.iter().for_each(|&j| self.scattered[j as usize] = 0.0);
            }
        }
    }
}

/// Merges the patterns of two sparse matrices of one shape, for operations with `f(0, 0) = 0`.
fn union(context: &KernelContext<'_>, op: BinaryOp, a: &Csr, b: &Csr) -> Csr {
    let (rows, cols) = (a.rows(), a.cols());
    let cost = (a.nnz() + b.nnz()).checked_div(rows).unwrap_or(0) + 1;
    build_csr(
        context,
        (rows, cols),
        cost,
        || (),
        |i, (), result| union_row(|x, y| op.eval(x, y), a.row(i), b.row(i), result),
    )
}

/// Appends `f` of two sparse rows, where `f(0, 0) = 0`.
pub(crate) fn union_row(
    f: impl Fn(f64, f64) -> f64,
    (a_columns, a_values): (&[u32], &[f64]),
    (b_columns, b_values): (&[u32], &[f64]),
    result: &mut CsrRows,
) {
    let (mut p, mut q) = (0, 0);
    while p < a_columns.len() || q < b_columns.len() {
        let a_column = a_columns.get(p).copied().unwrap_or(u32::MAX);
        let b_column = b_columns.get(q).copied().unwrap_or(u32::MAX);
        let j = a_column.min(b_column);
        let x = if a_column == j { a_values[p] } else { 0.0 };
        let y = if b_column == j { b_values[q] } else { 0.0 };
        p += usize::from(a_column == j);
        q += usize::from(b_column == j);
        push_nonzero(result, j, f(x, y));
    }
}
