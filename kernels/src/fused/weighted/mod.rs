//! Weighted operators: a product of two factors, `P = U %*% t(V)`, computed only where a driver of its size needs it. A
//! sparse driver is visited by its non-zeros; a dense one by tiles of `P` that stay in cache.

mod cells;
mod tiles;

use super::{FusedValue, Inputs, check};
use crate::blocks::{in_best_format, map_parts_with, row_bytes, sum_strips};
use crate::elementwise::{binary, with_values};
use crate::gemm::{Output, Strided, gemm_add};
use crate::product::accumulate;
use crate::{KernelContext, KernelError, Operand};
use cells::{Cells, Weight};
use fuseline_ir::hop::{FusedOp, LossWeight, ProductWeight, Side};
use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use fuseline_ir::schedule::Strips;
use fuseline_ir::schedule::product::Extents;
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, Layout, MatrixBlock, strips};
use fuseline_vecprims::{Tile, TileMut};
use std::ops::Range;
use tiles::{Block, Tiles};

/// Runs a weighted operator.
///
/// # Errors
/// Inputs that do not fit.
pub(super) fn weighted(context: &KernelContext<'_>, inputs: &Inputs<'_>) -> Result<FusedValue, KernelError> {
    if context.strict_ieee && weighs_by_indicator(inputs.op) {
        return with_indicator(context, inputs);
    }
    let (driver, other) = match inputs.get("W") {
        Some(_) if inputs.get("X").is_some() => (inputs.matrix("W")?, Some(inputs.matrix("X")?)),
        Some(_) => (inputs.matrix("W")?, None),
        None => (inputs.matrix("X")?, None),
    };
    let may_skip_zeros = !context.strict_ieee && inputs.op != FusedOp::WeightedSquaredLoss(LossWeight::None);
    let epsilon = if inputs.get("e").is_some() { inputs.scalar("e")? } else { 0.0 };
    let tiles = Tiles::new(context, driver, other, inputs.matrix("U")?, inputs.matrix("V")?, may_skip_zeros)?;
    let evaluate = |cells: &mut Cells<'_>| evaluate(inputs.op, epsilon, cells);
    Ok(match inputs.op {
        FusedOp::WeightedSquaredLoss(LossWeight::Pre) => {
            FusedValue::Scalar(sum(&tiles, &evaluate, |rows| squares_beside(&tiles, rows)))
        }
        FusedOp::WeightedSquaredLoss(_) | FusedOp::WeightedCrossEntropy { .. } => {
            FusedValue::Scalar(sum(&tiles, &evaluate, |_| 0.0))
        }
        FusedOp::WeightedProduct(_, Side::Left) => FusedValue::Matrix(times_u(&tiles, &evaluate)),
        FusedOp::WeightedProduct(_, Side::Right) => FusedValue::Matrix(times_v(&tiles, &evaluate)),
        _ => FusedValue::Matrix(cell_by_cell(&tiles, &evaluate)),
    })
}

/// From cells of the product to those of the result; for sums, their sum.
fn evaluate(op: FusedOp, epsilon: f64, cells: &mut Cells<'_>) -> f64 {
    use Weight::{Driver, Other};
    match op {
        FusedOp::WeightedSquaredLoss(LossWeight::Post) => {
            return cells.left(BinaryOp::Minus, Other).unary(UnaryOp::Pow2).dot_driver();
        }
        FusedOp::WeightedSquaredLoss(LossWeight::PostNonZero) => {
            return cells.left(BinaryOp::MinusNz, Driver).sum_of_squares();
        }
        FusedOp::WeightedSquaredLoss(LossWeight::Pre) => {
            return cells.left(BinaryOp::Mult, Driver).left(BinaryOp::Minus, Other).sum_of_squares();
        }
        FusedOp::WeightedSquaredLoss(LossWeight::None) => {
            return cells.left(BinaryOp::Minus, Driver).sum_of_squares();
        }
        FusedOp::WeightedCrossEntropy { plus } => {
            if plus {
                cells.plus(epsilon);
            }
            return cells.unary(UnaryOp::Log).dot_driver();
        }
        FusedOp::WeightedSigmoid { minus, log } => {
            if minus {
                cells.unary(UnaryOp::Neg);
            }
            cells.unary(UnaryOp::Sigmoid);
            if log {
                cells.unary(UnaryOp::Log);
            }
            cells.left(BinaryOp::Mult, Driver);
        }
        FusedOp::WeightedUnary(combine, function) => {
            cells.unary(function).left(combine, Driver);
        }
        FusedOp::WeightedProduct(ProductWeight::Divide, _) => {
            cells.left(BinaryOp::Div, Driver);
        }
        FusedOp::WeightedProduct(ProductWeight::DividePlus, _) => {
            cells.plus(epsilon).left(BinaryOp::Div, Driver);
        }
        FusedOp::WeightedProduct(ProductWeight::MinusNonZero, _) => {
            cells.left(BinaryOp::MinusNz, Driver).unary(UnaryOp::Neg);
        }
        FusedOp::WeightedProduct(ProductWeight::Minus, _) => {
            cells.right(BinaryOp::Minus, Other).left(BinaryOp::Mult, Driver);
        }
        FusedOp::WeightedProduct(ProductWeight::Times, _) | FusedOp::WeightedMultiply => {
            cells.left(BinaryOp::Mult, Driver);
        }
        FusedOp::TransposeSelf(_)
        | FusedOp::MatrixChain(_)
        | FusedOp::BinaryAggregate(_)
        | FusedOp::TernaryAggregate(_)
        | FusedOp::OuterAggregate(..) => unreachable!("{op} is no weighted operator"),
    }
    0.0
}

/// Whether the weights are 1 where the driver is not zero.
fn weighs_by_indicator(op: FusedOp) -> bool {
    matches!(
        op,
        FusedOp::WeightedSquaredLoss(LossWeight::PostNonZero)
            | FusedOp::WeightedProduct(ProductWeight::MinusNonZero, _)
    )
}

/// A weighted operator with its indicator weights as a matrix, whose zeros annihilate only what is finite.
fn with_indicator(context: &KernelContext<'_>, inputs: &Inputs<'_>) -> Result<FusedValue, KernelError> {
    let (op, x) = match inputs.op {
        FusedOp::WeightedProduct(_, side) => {
            (FusedOp::WeightedProduct(ProductWeight::Minus, side), inputs.matrix("W")?)
        }
        _ => (FusedOp::WeightedSquaredLoss(LossWeight::Post), inputs.matrix("X")?),
    };
    let indicator = binary(context, BinaryOp::NotEqual, Operand::Matrix(x), Operand::Scalar(0.0))?;
    let operands = op.inputs().iter().map(|&name| match name {
        "W" => Ok(Operand::Matrix(&indicator)),
        "X" => Ok(Operand::Matrix(x)),
        name => inputs.matrix(name).map(Operand::Matrix),
    });
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    weighted(context, &Inputs { op, inputs: &operands })
}

type Evaluate<'e> = dyn Fn(&mut Cells<'_>) -> f64 + Sync + 'e;

/// The sum of what cells give, and of what blocks of rows give besides.
fn sum(tiles: &Tiles<'_>, evaluate: &Evaluate<'_>, besides: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
    let strips = Strips::new(tiles.extents().rows, row_bytes(&tiles.driver), tiles.context.strip_bytes, 1);
    let of_strip = |rows| sum_of_strip(tiles, evaluate, &besides, rows);
    strips::reduce(tiles.context.pool, strips, of_strip, |left, right| left + right)
}

/// The sum over the blocks of some rows.
fn sum_of_strip(
    tiles: &Tiles<'_>,
    evaluate: &Evaluate<'_>,
    besides: impl Fn(Range<usize>) -> f64 + Sync,
    rows: Range<usize>,
) -> f64 {
    let partials = map_parts_with(
        tiles.context,
        tiles.blocks(rows),
        || tiles.scratch(),
        |scratch, rows: Range<usize>| {
            let mut total = besides(rows.clone());
            tiles.for_each(rows, scratch, evaluate, &mut |_, sum| total += sum);
            total
        },
    );
    partials.into_iter().fold(0.0, |sum, partial| sum + partial)
}

/// Hands on the results, block by block, with the part of the output that belongs to the rows of the block, of which
/// there are as many cells before each row, and the number of the first row.
fn write(
    tiles: &Tiles<'_>,
    evaluate: &Evaluate<'_>,
    output: &mut [f64],
    cells_before: impl Fn(usize) -> usize,
    write: impl Fn(Block<'_>, &mut [f64], usize) + Sync,
) {
    let mut rest = output;
    let mut parts = Vec::new();
    for rows in tiles.blocks(0..tiles.extents().rows) {
        let (own, others) = rest.split_at_mut(cells_before(rows.end) - cells_before(rows.start));
        parts.push((rows, own));
        rest = others;
    }
    map_parts_with(
        tiles.context,
        parts,
        || tiles.scratch(),
        |scratch, (rows, out)| {
            let first = rows.start;
            tiles.for_each(rows, scratch, evaluate, &mut |results, _| write(results, out, first));
        },
    );
}

/// The sum of squares of the other matrix beside the non-zeros of the driver, where only these are visited.
fn squares_beside(tiles: &Tiles<'_>, rows: Range<usize>) -> f64 {
    let (Some(pattern), Some(other)) = (tiles.pattern(), &tiles.other) else { return 0.0 };
    let mut cells = Vec::new();
    rows.fold(0.0, |sum, i| {
        cells.clear();
        let columns = pattern.row(i).0;
        match other {
            Layout::Dense(dense) => {
                let mut row = dense.row(i);
                let mut start = 0;
                for &column in columns {
                    let (before, rest) = row.split_at(column as usize - start);
                    cells.extend_from_slice(before);
                    (row, start) = (&rest[1..], column as usize + 1);
                }
                cells.extend_from_slice(row);
            }
            Layout::Sparse(csr) => {
                let (own, values) = csr.row(i);
                let is_beside = |column: &u32| columns.binary_search(column).is_err();
                cells.extend(own.iter().zip(values).filter(|(column, _)| is_beside(column)).map(|(_, &value)| value));
            }
        }
        let len = cells.len();
        sum + tiles.context.primitives.full_agg(AggOp::SumSq, 1, len, Tile::new(&cells, len))
    })
}

/// The results cell by cell: m x n, with the zeros of the driver where only its non-zeros are visited.
fn cell_by_cell(tiles: &Tiles<'_>, evaluate: &Evaluate<'_>) -> MatrixBlock {
    if let Some(pattern) = tiles.pattern() {
        let values = at_non_zeros(tiles, pattern, evaluate);
        return in_best_format(tiles.context, with_values(tiles.context, pattern, values).into());
    }
    let Extents { rows, cols, .. } = tiles.extents();
    let context = tiles.context;
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    write(
        tiles,
        evaluate,
        result.values_mut(),
        |row| row * cols,
        |results, out, first| {
            let Block::Dense { rows, cols: part, values } = results else { return };
            let target = TileMut::new(&mut out[(rows.start - first) * cols + part.start..], cols);
            context.primitives.copy(rows.len(), part.len(), Tile::new(values, part.len()), target);
        },
    );
    let result = MatrixBlock::from(result);
    if tiles.driver.format().is_sparse() { in_best_format(context, result) } else { result }
}

/// The results at the non-zeros of the driver.
fn at_non_zeros(tiles: &Tiles<'_>, pattern: &Csr, evaluate: &Evaluate<'_>) -> Buffer {
    let mut values = BufferPool::take_zeroed(tiles.context.buffers, pattern.nnz());
    let offsets = pattern.row_offsets();
    write(
        tiles,
        evaluate,
        &mut values,
        |row| offsets[row],
        |results, out, first| {
            let Block::Sparse { rows, tile } = results else { return };
            let start = offsets[rows.start] - offsets[first];
            out[start..start + tile.values.len()].copy_from_slice(tile.values);
        },
    );
    values
}

/// The results, as a matrix, times `V`: m x k.
fn times_v(tiles: &Tiles<'_>, evaluate: &Evaluate<'_>) -> MatrixBlock {
    let Extents { rows, inner: rank, .. } = tiles.extents();
    let (context, v) = (tiles.context, &*tiles.v);
    let mut result = Dense::zeros_in(context.buffers, rows, rank);
    write(
        tiles,
        evaluate,
        result.values_mut(),
        |row| row * rank,
        |results, out, first| match results {
            Block::Sparse { rows, tile } => {
                let out = TileMut::new(&mut out[(rows.start - first) * rank..], rank);
                context.primitives.sparse_vect_mat_mult(tile, rank, Tile::new(v.values(), rank), out);
            }
            Block::Dense { rows, cols, values } => {
                let extents = Extents { rows: rows.len(), inner: cols.len(), cols: rank };
                let out = Output::new(&mut out[(rows.start - first) * rank..], rank);
                let (tile, v) = (Strided::rows(values, cols.len()), Strided::of(v).starting_at(cols.start, 0));
                gemm_add(context.primitives, out, extents, tile, v);
            }
        },
    );
    result.into()
}

/// The transposed results, as a matrix, times `U`: n x k.
fn times_u(tiles: &Tiles<'_>, evaluate: &Evaluate<'_>) -> MatrixBlock {
    let Extents { inner: rank, rows, cols } = tiles.extents();
    let (context, u) = (tiles.context, &*tiles.u);
    let sums = sum_strips(context, rows, row_bytes(&tiles.driver), cols * rank, |rows| {
        accumulate(context, tiles.private_blocks(rows), cols * rank, |rows, sums| {
            tiles.for_each(rows, &mut tiles.scratch(), evaluate, &mut |results, _| {
                add_times_rows(context, results, u, sums);
            });
        })
    });
    Dense::from_buffer(cols, rank, sums).into()
}

/// Adds transposed results times rows of `U`.
fn add_times_rows(context: &KernelContext<'_>, results: Block<'_>, u: &Dense, sums: &mut [f64]) {
    let rank = u.cols();
    match results {
        Block::Sparse { rows, tile } => {
            let u = Tile::new(&u.values()[rows.start * rank..rows.end * rank], rank);
            context.primitives.sparse_outer_mult_add(tile, rank, u, TileMut::new(sums, rank));
        }
        Block::Dense { rows, cols, values } => {
            let extents = Extents { rows: cols.len(), inner: rows.len(), cols: rank };
            let tile = Strided::rows(values, cols.len()).transposed();
            let sums = Output::new(&mut sums[cols.start * rank..], rank);
            gemm_add(context.primitives, sums, extents, tile, Strided::of(u).starting_at(rows.start, 0));
        }
    }
}
