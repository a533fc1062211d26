//! What becomes of the values of outputs at the end of a unit (the table in `skeletons::abi`).

use super::frame::{Frame, matrix, with_values};
use super::value::Value;
use cranelift_entity::EntityRef;
use fuseline_ir::cplan::{CNodeId, COutput, FACTOR_U, FACTOR_V};
use fuseline_ir::ops::AggOp;
use fuseline_skeletons::abi::{Main, Output};
use fuseline_vecprims::{CsrTile, Primitives, Tile, TileMut};

/// Writes an output of the plan.
pub(crate) fn write(frame: &mut Frame<'_>, declared: &COutput, output: &mut Output<'_>) {
    match *declared {
        COutput::Store(node) | COutput::Cumulative(_, node) if frame.is_row_plan() => store_rows(frame, node, output),
        COutput::Store(node) | COutput::Cumulative(_, node) => store_cells(frame, node, output),
        COutput::RowAgg(agg, node) => row_agg(frame, agg, node, output),
        COutput::ColAgg(agg, node) if frame.is_row_plan() => col_agg_of_rows(frame, agg, node, output),
        COutput::ColAgg(agg, node) => col_agg_of_cells(frame, agg, node, output),
        COutput::FullAgg(agg, node) if frame.is_row_plan() => output.values[0] = full_agg_of_rows(frame, agg, node),
        COutput::FullAgg(agg, node) => output.values[0] = full_agg_of_cells(frame, agg, node),
        COutput::RowProduct { long, short, .. } => add_row_product(frame, long, short, output),
        COutput::TimesFactor(node) => add_times_factor(frame, node, output),
        COutput::TransposedTimesFactor(node) => add_transposed_times_factor(frame, node, output),
    }
}

/// The value of a node at every cell of the unit.
fn spread(frame: &mut Frame<'_>, node: CNodeId) -> Value {
    let value = frame.value(node);
    let (rows, len) = match frame.unit.main {
        Main::Dense { .. } => (frame.unit.rows, frame.unit.cols),
        Main::Sparse { values, .. } => (1, values.len()),
    };
    if value.by_col && (value.by_row || rows == 1) {
        return value;
    }
    let place = frame.fill(rows * len, |memory, out| {
        let (values, row_stride) = (memory.values(value), if value.by_row { value.row_stride } else { 0 });
        for (r, row) in out.chunks_exact_mut(len.max(1)).enumerate() {
            let values = &values[r * row_stride..];
            if value.by_col { row.copy_from_slice(&values[..len]) } else { row.fill(values[0]) }
        }
    });
    Value::rows(place, len, len)
}

/// A scalar as one value per row, next to each other.
fn per_row(frame: &mut Frame<'_>, node: CNodeId) -> Value {
    let value = frame.value(node);
    if value.by_row && value.row_stride == 1 {
        return value;
    }
    let place = frame.fill(frame.unit.rows, |memory, out| {
        let values = memory.values(value);
        for (r, cell) in out.iter_mut().enumerate() {
            *cell = values[if value.by_row { r * value.row_stride } else { 0 }];
        }
    });
    Value::per_row(place, 1)
}

fn copy_rows(tile: Tile<'_>, rows: usize, len: usize, output: &mut Output<'_>) {
    for r in 0..rows {
        let row = &tile.values[r * tile.row_stride..][..len];
        output.values[r * output.row_stride..][..len].copy_from_slice(row);
    }
}

fn store_cells(frame: &mut Frame<'_>, node: CNodeId, output: &mut Output<'_>) {
    let value = spread(frame, node);
    let memory = frame.memory();
    match memory.sparse_main() {
        Some(main) => {
            let count = main.values.len();
            output.values[..count].copy_from_slice(&memory.values(value)[..count]);
        }
        None => copy_rows(memory.tile(value), frame.unit.rows, frame.unit.cols, output),
    }
}

/// A vector per row, a value per position, or a scalar.
fn store_rows(frame: &mut Frame<'_>, node: CNodeId, output: &mut Output<'_>) {
    let (value, rows) = (frame.value(node), frame.unit.rows);
    if frame.lies_by_position(node) {
        output.values[..value.len].copy_from_slice(&frame.memory().values(value)[..value.len]);
    } else if value.by_col {
        copy_rows(frame.memory().tile(value), rows, value.len, output);
    } else {
        let value = per_row(frame, node);
        output.values[..rows].copy_from_slice(&frame.memory().values(value)[..rows]);
    }
}

fn row_agg(frame: &mut Frame<'_>, agg: AggOp, node: CNodeId, output: &mut Output<'_>) {
    let value = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    let (rows, cols, out) = (frame.unit.rows, frame.unit.cols, TileMut::new(output.values, 1));
    match memory.sparse_main() {
        Some(main) => primitives.segment_row_agg(agg, main.row_offsets, memory.values(value), cols, out),
        None => primitives.row_agg(agg, rows, cols, memory.tile(value), out),
    }
}

fn col_agg_of_cells(frame: &mut Frame<'_>, agg: AggOp, node: CNodeId, output: &mut Output<'_>) {
    let value = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match memory.sparse_main() {
        Some(main) => primitives.sparse_col_agg(agg, with_values(main, memory.values(value)), output.values),
        None => primitives.col_agg(agg, frame.unit.rows, frame.unit.cols, memory.tile(value), output.values),
    }
}

fn col_agg_of_rows(frame: &mut Frame<'_>, agg: AggOp, node: CNodeId, output: &mut Output<'_>) {
    let (value, sparse) = (frame.value(node), frame.sparse_rows(node));
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match sparse {
        Some(sparse) => primitives.sparse_col_agg(agg, sparse.rows(memory), output.values),
        None => primitives.col_agg(agg, frame.unit.rows, value.len, memory.tile(value), output.values),
    }
}

fn full_agg_of_cells(frame: &mut Frame<'_>, agg: AggOp, node: CNodeId) -> f64 {
    let value = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match memory.sparse_main() {
        Some(main) => full_agg_of_positions(primitives, agg, with_values(main, memory.values(value))),
        None => primitives.full_agg(agg, frame.unit.rows, frame.unit.cols, memory.tile(value)),
    }
}

/// Positions are one run, whatever their rows.
fn full_agg_of_positions(primitives: &Primitives, agg: AggOp, rows: CsrTile<'_>) -> f64 {
    let count = rows.row_offsets.last().map_or(0, |end| end - rows.row_offsets[0]);
    primitives.full_agg(agg, 1, count, Tile::new(rows.values, count))
}

fn full_agg_of_rows(frame: &mut Frame<'_>, agg: AggOp, node: CNodeId) -> f64 {
    let rows = frame.unit.rows;
    let sparse = frame.sparse_rows(node);
    let is_scalar = !frame.value(node).by_col;
    // The scalars of the rows are one run.
    let value = if is_scalar { per_row(frame, node) } else { frame.value(node) };
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match sparse.map(|sparse| sparse.rows(memory)) {
        Some(sparse) => full_agg_of_positions(primitives, agg, sparse),
        None if is_scalar => primitives.full_agg(agg, 1, rows, memory.tile(Value { by_row: false, ..value })),
        None => primitives.full_agg(agg, rows, value.len, memory.tile(value)),
    }
}

/// Adds the products of a vector of each row and another, or the scalar of the row.
fn add_row_product(frame: &mut Frame<'_>, long: CNodeId, short: CNodeId, output: &mut Output<'_>) {
    let sparse = frame.sparse_rows(long);
    let is_scalar = !frame.value(short).by_col;
    let short = if is_scalar { per_row(frame, short) } else { frame.value(short) };
    let long = frame.value(long);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match sparse.map(|sparse| sparse.rows(memory)) {
        Some(sparse) => {
            let row_stride = if is_scalar { 1 } else { output.row_stride };
            let out = TileMut::new(output.values, row_stride);
            primitives.sparse_outer_mult_add(sparse, short.len, memory.tile(short), out);
        }
        None => {
            let out = TileMut::new(output.values, output.row_stride);
            let (a, b) = (memory.tile(long), memory.tile(short));
            primitives.outer_mult_add(frame.unit.rows, long.len, short.len, a, b, out);
        }
    }
}

/// Adds `W %*% V`, with the node's values as W.
fn add_times_factor(frame: &mut Frame<'_>, node: CNodeId, output: &mut Output<'_>) {
    let weights = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    let (rows, cols, v) = (frame.unit.rows, frame.unit.cols, memory.side(FACTOR_V.index()));
    let out = TileMut::new(output.values, output.row_stride);
    match memory.sparse_main() {
        Some(main) => {
            primitives.sparse_mat_mult_add(with_values(main, memory.values(weights)), v.cols, matrix(v), out);
        }
        None => primitives.mat_mult_add(rows, cols, v.cols, memory.tile(weights), matrix(v), out),
    }
}

/// Adds `t(W) %*% U`, with the node's values as W.
fn add_transposed_times_factor(frame: &mut Frame<'_>, node: CNodeId, output: &mut Output<'_>) {
    let weights = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    let (rows, cols, u) = (frame.unit.rows, frame.unit.cols, memory.side(FACTOR_U.index()));
    let rank = memory.side(FACTOR_V.index()).cols;
    let out = TileMut::new(output.values, output.row_stride);
    match memory.sparse_main() {
        Some(main) => {
            primitives.sparse_outer_mult_add(with_values(main, memory.values(weights)), rank, matrix(u), out);
        }
        None => primitives.outer_mult_add(rows, rank, cols, matrix(u), memory.tile(weights), out),
    }
}
