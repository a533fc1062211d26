//! What each variant does with its outputs at the end of a unit (the table in `skeletons::abi`).

use super::kernel::{Frame, matrix, with_values};
use super::value::Value;
use cranelift_entity::EntityRef;
use fuseline_ir::cplan::{CNodeId, COutput, CellType, FACTOR_U, FACTOR_V, OuterType, RowType, Variant};
use fuseline_ir::ops::AggOp;
use fuseline_skeletons::abi::{Main, Output};
use fuseline_vecprims::TileMut;

/// Writes an output that by itself has this variant.
pub(crate) fn write(frame: &mut Frame<'_>, variant: Variant, declared: &COutput, output: &mut Output<'_>) {
    let agg = declared.agg.unwrap_or(AggOp::Sum);
    match variant {
        Variant::Cell(CellType::FullAgg) | Variant::MAgg | Variant::Outer(OuterType::FullAgg) => {
            output.values[0] = full_agg(frame, declared.node, agg);
        }
        Variant::Cell(cell_type) => cell(frame, cell_type, declared.node, agg, output),
        Variant::Outer(outer_type) => outer(frame, outer_type, declared.node, output),
        Variant::Row(row_type) => row(frame, row_type, declared, agg, output),
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

/// The aggregate over the cells of the unit (Cell, MAgg, Outer).
fn full_agg(frame: &mut Frame<'_>, node: CNodeId, agg: AggOp) -> f64 {
    let value = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match memory.sparse_main() {
        Some(main) => primitives.segment_full_agg(agg, main.row_offsets, memory.values(value)),
        None => primitives.full_agg(agg, frame.unit.rows, frame.unit.cols, memory.tile(value)),
    }
}

fn cell(frame: &mut Frame<'_>, cell_type: CellType, node: CNodeId, agg: AggOp, output: &mut Output<'_>) {
    let value = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    let (rows, cols) = (frame.unit.rows, frame.unit.cols);
    match (cell_type, memory.sparse_main()) {
        (CellType::NoAgg, Some(main)) => {
            let count = main.values.len();
            output.values[..count].copy_from_slice(&memory.values(value)[..count]);
        }
        (CellType::NoAgg, None) => copy_rows(memory.tile(value), rows, cols, output),
        (CellType::RowAgg, Some(main)) => {
            let out = TileMut::new(output.values, 1);
            primitives.segment_row_agg(agg, main.row_offsets, memory.values(value), cols, out);
        }
        (CellType::RowAgg, None) => {
            primitives.row_agg(agg, rows, cols, memory.tile(value), TileMut::new(output.values, 1));
        }
        (CellType::ColAgg, Some(main)) => {
            primitives.sparse_col_agg(agg, with_values(main, memory.values(value)), output.values);
        }
        (CellType::ColAgg, None) => primitives.col_agg(agg, rows, cols, memory.tile(value), output.values),
        (CellType::FullAgg, _) => unreachable!("full aggregates are handled with those of other templates"),
    }
}

fn copy_rows(tile: fuseline_vecprims::Tile<'_>, rows: usize, len: usize, output: &mut Output<'_>) {
    for r in 0..rows {
        let row = &tile.values[r * tile.row_stride..][..len];
        output.values[r * output.row_stride..][..len].copy_from_slice(row);
    }
}

fn outer(frame: &mut Frame<'_>, outer_type: OuterType, node: CNodeId, output: &mut Output<'_>) {
    let value = spread(frame, node);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    let (rows, cols) = (frame.unit.rows, frame.unit.cols);
    let [u, v] = [FACTOR_U, FACTOR_V].map(|factor| memory.side(factor.index()));
    let non_zeros = memory.sparse_main().map(|main| with_values(main, memory.values(value)));
    let (weights, rank) = (memory.tile(value), v.cols);
    match (outer_type, non_zeros) {
        (OuterType::NoAgg, Some(cells)) => output.values[..cells.values.len()].copy_from_slice(cells.values),
        (OuterType::NoAgg, None) => copy_rows(weights, rows, cols, output),
        (OuterType::RightMM, Some(cells)) => {
            primitives.sparse_mat_mult_add(cells, rank, matrix(v), TileMut::new(output.values, output.row_stride));
        }
        (OuterType::RightMM, None) => {
            let out = TileMut::new(output.values, output.row_stride);
            primitives.mat_mult_add(rows, cols, rank, weights, matrix(v), out);
        }
        (OuterType::LeftMM, Some(cells)) => {
            primitives.sparse_outer_mult_add(cells, rank, matrix(u), TileMut::new(output.values, output.row_stride));
        }
        (OuterType::LeftMM, None) => {
            let out = TileMut::new(output.values, output.row_stride);
            primitives.outer_mult_add(rows, rank, cols, matrix(u), weights, out);
        }
        (OuterType::FullAgg, _) => unreachable!("full aggregates are handled with those of other templates"),
    }
}

fn row(frame: &mut Frame<'_>, row_type: RowType, declared: &COutput, agg: AggOp, output: &mut Output<'_>) {
    match row_type {
        RowType::RowAgg => {
            let value = per_row(frame, declared.node);
            output.values[..frame.unit.rows].copy_from_slice(&frame.memory().values(value)[..frame.unit.rows]);
        }
        RowType::NoAgg | RowType::NoAggB1 | RowType::NoAggConst => {
            let value = frame.value(declared.node);
            copy_rows(frame.memory().tile(value), frame.unit.rows, value.len, output);
        }
        RowType::FullAgg => output.values[0] = row_full_agg(frame, declared.node, agg),
        RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst => {
            let is_sparse = frame.is_sparse_row(declared.node);
            let value = frame.value(declared.node);
            let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
            match memory.sparse_main() {
                Some(main) if is_sparse => primitives.sparse_col_agg(agg, main, output.values),
                _ => primitives.col_agg(agg, frame.unit.rows, value.len, memory.tile(value), output.values),
            }
        }
        RowType::ColAggT | RowType::ColAggB1 | RowType::ColAggB1T => {
            accumulate_product(frame, row_type, declared, output);
        }
        RowType::MultiAgg => unreachable!("an output by itself is no multi-aggregate"),
    }
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

fn row_full_agg(frame: &mut Frame<'_>, node: CNodeId, agg: AggOp) -> f64 {
    let rows = frame.unit.rows;
    let is_sparse = frame.is_sparse_row(node);
    let is_scalar = !frame.value(node).by_col;
    // The scalars of the rows are one run.
    let value = if is_scalar { per_row(frame, node) } else { frame.value(node) };
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    match memory.sparse_main() {
        Some(main) if is_sparse => primitives.segment_full_agg(agg, main.row_offsets, main.values),
        _ if is_scalar => primitives.full_agg(agg, 1, rows, memory.tile(Value { by_row: false, ..value })),
        _ => primitives.full_agg(agg, rows, value.len, memory.tile(value)),
    }
}

fn accumulate_product(frame: &mut Frame<'_>, row_type: RowType, declared: &COutput, output: &mut Output<'_>) {
    let left = declared.left.expect("verified: these variants have a left vector");
    let (long, short) = if row_type == RowType::ColAggB1 { (declared.node, left) } else { (left, declared.node) };
    let is_sparse = frame.is_sparse_row(long);
    // The short vector may be the scalar of each row.
    let short = if row_type == RowType::ColAggT { per_row(frame, short) } else { frame.value(short) };
    let long = frame.value(long);
    let (memory, primitives) = (frame.memory(), frame.kernel.primitives);
    let row_stride = if row_type == RowType::ColAggT { 1 } else { output.row_stride };
    match memory.sparse_main() {
        Some(main) if is_sparse => {
            let out = TileMut::new(output.values, row_stride);
            primitives.sparse_outer_mult_add(main, short.len, memory.tile(short), out);
        }
        _ => {
            let out = TileMut::new(output.values, output.row_stride);
            let (a, b) = (memory.tile(long), memory.tile(short));
            primitives.outer_mult_add(frame.unit.rows, long.len, short.len, a, b, out);
        }
    }
}
