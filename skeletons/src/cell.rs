//! `SpoofCell`: element-wise chains over the cells of the main input, without aggregation or aggregated by row, by column
//! or in full (Table 1). Dense inputs run as long runs of cells; sparse ones as runs of non-zeros (module `nonzeros`)
//! where zeros of the main input give zeros, or all the same.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::Accumulation;
use crate::aggregate::Aggregation;
use crate::cumulative::run_blocks;
use crate::nonzeros;
use crate::operator::Operator;
use crate::output::{in_best_format, split_parts};
use crate::suited::{may_leave_few, suited_rows};
use crate::work::{UnitOf, Work};
use crate::write::Write;
use fuseline_ir::cplan::COutput;
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::{Sums, Tile};
use fuseline_matrix::{Dense, MatrixBlock, NanWatch};

/// Executes a Cell plan.
pub(crate) fn execute(operator: &Operator<'_>) -> Result<MatrixBlock, SkeletonError> {
    let binding = &operator.binding;
    let (rows, cols, output) = (binding.fit.rows, binding.fit.cols, binding.plan.outputs[0]);
    if rows == 0 || cols == 0 {
        return Ok(without_cells(&output, rows, cols).into());
    }
    if let (Some(csr), true) = (binding.main.csr(), binding.fit.runs_sparse_entry) {
        return nonzeros::execute(operator, csr, &output);
    }
    binding.cells()?;
    Ok(match output {
        COutput::RowAgg(agg, _) => dense_rows(operator, agg),
        COutput::ColAgg(agg, _) => dense_columns(operator, agg),
        COutput::FullAgg(..) => Aggregation::new(operator).over(None).into_block(),
        COutput::Store(node) if may_leave_few(operator, node, [rows, cols]) => suited_cells(operator),
        COutput::Store(_) | COutput::Cumulative(..) => dense_cells(operator),
        COutput::RowProduct { .. } | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
            unreachable!("Cell plans have no products")
        }
    })
}

/// The result where the main input has no cells: the neutral elements of aggregates.
fn without_cells(output: &COutput, rows: usize, cols: usize) -> Dense {
    let (rows, cols) = match output {
        COutput::RowAgg(..) => (rows, 1),
        COutput::ColAgg(..) => (1, cols),
        COutput::FullAgg(..) => (1, 1),
        COutput::Store(_)
        | COutput::Cumulative(..)
        | COutput::RowProduct { .. }
        | COutput::TimesFactor(_)
        | COutput::TransposedTimesFactor(_) => (rows, cols),
    };
    let neutral = output.agg().map_or(0.0, AggOp::neutral);
    Dense::from_fn(rows, cols, |_, _| neutral)
}

/// All cells, in the format that suits the number of non-zeros.
fn suited_cells(operator: &Operator<'_>) -> MatrixBlock {
    let (rows, cols, work) = (operator.binding.fit.rows, operator.binding.fit.cols, operator.work(None));
    let tiles = work.tiles();
    let cells_of = |block: usize| tiles.block(block).rows * tiles.block(block).cols;
    if !cells_of(0).is_multiple_of(cols) {
        // Blocks are parts of rows.
        return in_best_format(operator.env, dense_cells(operator));
    }
    let heights = (0..work.len()).map(|block| cells_of(block) / cols);
    suited_rows(operator, [rows, cols], heights, |workspace, block, cells| {
        let origin = tiles.block(block);
        for tile in tiles.tiles(block) {
            let output = Output { values: &mut cells[offset_in(origin, tile)..], row_stride: origin.cols };
            operator.genexec(&mut workspace.layout, UnitOf::Tile(tile, None), &mut [output]);
        }
    })
}

/// Where the cells of a tile begin among those of its block.
fn offset_in(block: Tile, tile: Tile) -> usize {
    (tile.first_row - block.first_row) * block.cols + tile.first_col - block.first_col
}

fn dense_cells(operator: &Operator<'_>) -> MatrixBlock {
    let (binding, work) = (&operator.binding, operator.work(None));
    let mut out = Dense::uninit_in(operator.env.buffers, binding.fit.rows, binding.fit.cols);
    let write = Write::to(operator, &out);
    run_blocks(
        operator,
        &mut out,
        |block| work.block_len(block),
        work.len(),
        |workspace, block, part| {
            let origin = work.tiles().block(block);
            for tile in work.tiles().tiles(block) {
                let output = Output { values: &mut part[offset_in(origin, tile)..], row_stride: origin.cols };
                write.unit(operator, &mut workspace.layout, UnitOf::Tile(tile, None), tile.into(), output);
            }
        },
    );
    write.note(&mut out);
    out.into()
}

fn dense_rows(operator: &Operator<'_>, agg: AggOp) -> MatrixBlock {
    let work = operator.work(None);
    let mut out = Dense::uninit_in(operator.env.buffers, operator.binding.fit.rows, 1);
    let parts = split_parts(out.values_mut(), (0..work.len()).map(|block| work.block_rows(block).len()));
    let nan = NanWatch::default();
    operator.run(parts, |workspace, block, part| {
        let first_row = work.block_rows(block).start;
        for tile in work.tiles().tiles(block) {
            let cells = &mut part[tile.first_row - first_row..][..tile.rows];
            let (layout, unit) = (&mut workspace.layout, UnitOf::Tile(tile, None));
            if tile.first_col == 0 {
                operator.genexec(layout, unit, &mut [Output { values: cells, row_stride: 1 }]);
            } else {
                // Rows longer than a unit have tiles of one row.
                let mut value = [0.0];
                operator.genexec(layout, unit, &mut [Output { values: &mut value, row_stride: 1 }]);
                cells[0] = agg.merge(cells[0], value[0]);
            }
        }
        nan.look(part);
    });
    out.set_nan_free(nan.saw_none());
    out.into()
}

fn dense_columns(operator: &Operator<'_>, agg: AggOp) -> MatrixBlock {
    let (rows, cols) = (operator.binding.fit.rows, operator.binding.fit.cols);
    let accumulation = Accumulation { operator, len: cols, row_stride: cols, agg, is_full: false };
    if !matches!(operator.schedule.sums(rows, 0), Some(Sums::ByColumns(_))) {
        return accumulation.over(None).into();
    }
    let of_strip = |work: &Work<'_>| {
        accumulation.by_columns(work.tiles(), 1, |workspace, block, part| {
            let first_col = work.tiles().block(block).first_col;
            for tile in work.tiles().tiles(block) {
                let output = Output { values: &mut part[tile.first_col - first_col..], row_stride: cols };
                operator.genexec(&mut workspace.layout, UnitOf::Tile(tile, None), &mut [output]);
            }
        })
    };
    operator.reduce(None, of_strip, |left, right| accumulation.merge(vec![left, right])).into()
}
