//! Element-wise operations of three operands.

use super::pattern::{filled, over_pattern};
use super::{Source, broadcast, dense_result, single_as_scalar, sparse};
use crate::blocks::{in_best_format, suited_rows};
use crate::{KernelContext, KernelError, Operand};
use fuseline_ir::ops::TernaryOp;
use fuseline_matrix::{Csr, MatrixBlock};
use fuseline_vecprims::{Operand as VectorOperand, TileMut};

/// `op` of three operands of which at least one is a matrix.
///
/// # Errors
/// Shapes that do not fit.
pub fn ternary(
    context: &KernelContext<'_>,
    op: TernaryOp,
    operands: [Operand<'_>; 3],
) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = broadcast(op.mnemonic(), &operands)?;
    let operands = operands.map(|operand| single_as_scalar(operand, (rows, cols)));
    if let Some(result) = over_nonzeros(context, op, operands, (rows, cols)) {
        return Ok(in_best_format(context, result.into()));
    }
    if let Some(result) = beside_scalars(context, op, operands, (rows, cols)) {
        return Ok(result);
    }
    let was_sparse =
        operands.iter().any(|operand| matches!(operand, Operand::Matrix(block) if block.format().is_sparse()));
    let sources = operands.map(|operand| Source::new(context, operand, rows, cols));
    let [a, b, c] = &sources;
    // Equal shapes and scalars are long runs, however narrow the matrix is.
    let row_cells = if sources.iter().all(|source| source.is_run(cols)) { None } else { Some(cols) };
    let compute = |first: usize, out: &mut [f64]| {
        let mut laid_out = [None, None, None];
        let [of_a, of_b, of_c] = &mut laid_out;
        let operands = [(a, of_a), (b, of_b), (c, of_c)]
            .map(|(source, laid_out)| source.rows(context, first, out.len(), row_cells, laid_out));
        let len = row_cells.unwrap_or(out.len());
        context.primitives.ternary(op, out.len() / len.max(1), len, operands, TileMut::new(out, len));
    };
    // Choices and replacements may leave few cells; sums of dense operands hardly do.
    if was_sparse || !op.is_sum() {
        return Ok(suited_rows(context, rows, cols, compute));
    }
    Ok(dense_result(context, [rows, cols], row_cells, op.flops(), &sources, compute))
}

/// The result over the non-zeros of an operand whose zeros stay zeros.
fn over_nonzeros(
    context: &KernelContext<'_>,
    op: TernaryOp,
    operands: [Operand<'_>; 3],
    dims: (usize, usize),
) -> Option<Csr> {
    let (driver, pattern) = (0..3).find_map(|position| {
        let pattern = sparse::sparse_of(operands[position], dims)?;
        zeros_stay(op, operands, position).then_some((position, pattern))
    })?;
    let [a, b, c] = operands;
    Some(match driver {
        0 => over_pattern(context, &pattern, [b, c], |x, [b, c], out| evaluate(context, op, [x, b, c], out)),
        1 => over_pattern(context, &pattern, [a, c], |x, [a, c], out| evaluate(context, op, [a, x, c], out)),
        _ => over_pattern(context, &pattern, [a, b], |x, [a, b], out| evaluate(context, op, [a, b, x], out)),
    })
}

/// The result of a sparse operand and two scalars, which make something else of its zeros.
fn beside_scalars(
    context: &KernelContext<'_>,
    op: TernaryOp,
    operands: [Operand<'_>; 3],
    dims: (usize, usize),
) -> Option<MatrixBlock> {
    Some(match operands {
        [x, Operand::Scalar(b), Operand::Scalar(c)] => {
            filled(context, &*sparse::sparse_of(x, dims)?, [b, c], |x, [b, c], out| {
                evaluate(context, op, [x, b, c], out);
            })
        }
        [Operand::Scalar(a), x, Operand::Scalar(c)] => {
            filled(context, &*sparse::sparse_of(x, dims)?, [a, c], |x, [a, c], out| {
                evaluate(context, op, [a, x, c], out);
            })
        }
        [Operand::Scalar(a), Operand::Scalar(b), x] => {
            filled(context, &*sparse::sparse_of(x, dims)?, [a, b], |x, [a, b], out| {
                evaluate(context, op, [a, b, x], out);
            })
        }
        _ => return None,
    })
}

/// The operation on one run of cells.
fn evaluate(context: &KernelContext<'_>, op: TernaryOp, sources: [VectorOperand<'_>; 3], out: &mut [f64]) {
    let len = out.len();
    context.primitives.ternary(op, 1, len, sources, TileMut::new(out, len));
}

/// Whether the operation is zero wherever the operand at `position` is, by IEEE rules.
fn zeros_stay(op: TernaryOp, operands: [Operand<'_>; 3], position: usize) -> bool {
    let mut cells = operands.map(|operand| match operand {
        Operand::Scalar(value) => Some(value),
        Operand::Matrix(_) => None,
    });
    match (op, position) {
        // Whichever is chosen is zero.
        (TernaryOp::IfElse, 0 | 1) if cells[2] == Some(0.0) => true,
        (TernaryOp::IfElse, 2) if cells[1] == Some(0.0) => true,
        _ => {
            cells[position] = Some(0.0);
            matches!(cells, [Some(a), Some(b), Some(c)] if op.eval(a, b, c) == 0.0)
        }
    }
}
