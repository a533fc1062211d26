//! `SpoofRow`: chains of row-wise operations over tiles of rows of the main input (Table 1), with products of rows and
//! side matrices, and outputs by row, by column, in full, or accumulated as `t(X) %*% S`, of which multi-aggregates have
//! several in one pass. Rows of a CSR main input that have no non-zeros are not visited where they contribute nothing.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::{Accumulation, over_strips};
use crate::aggregate::Aggregation;
use crate::cumulative::run_blocks;
use crate::fit::cells;
use crate::nonzeros::{by_position, combined_cells};
use crate::operator::{Operator, Workspace};
use crate::output::{expand_rows, in_best_format, split_parts, with_pattern};
use crate::row_output::RowOutput;
use crate::suited::{may_leave_few, suited_rows};
use crate::visited::VisitedRows;
use crate::work::Work;
use crate::write::{TileShape, Write};
use fuseline_ir::cplan::{COutput, RowType, Variant};
use fuseline_matrix::{Buffer, Csr, CsrRows, Dense, MatrixBlock};
use smallvec::SmallVec;

/// Cells of a result for each non-zero of a main input, at most, for which there is room before it is known how many are not zero.
const ROOM_OF_NON_ZERO: usize = 64;

/// Executes a Row plan.
pub(crate) fn execute(operator: &Operator<'_>) -> Result<MatrixBlock, SkeletonError> {
    let visited = operator.visited();
    let row = Row::new(operator, visited.as_ref())?;
    if operator.binding.plan.variant == Variant::Row(RowType::MultiAgg) {
        return Ok(one_below_the_other(operator, &row.aggregates()?).into());
    }
    match &operator.binding.plan.outputs[0] {
        COutput::FullAgg(..) => Ok(row.full()),
        output if output.accumulates_rows() => Ok(row.aggregates()?.remove(0).into()),
        _ => row.by_row(),
    }
}

struct Row<'a> {
    operator: &'a Operator<'a>,
    visited: Option<&'a VisitedRows<'a>>,
    outputs: SmallVec<[RowOutput; 1]>,
}

impl<'a> Row<'a> {
    fn new(operator: &'a Operator<'a>, visited: Option<&'a VisitedRows<'a>>) -> Result<Self, SkeletonError> {
        let binding = &operator.binding;
        let outputs = binding.plan.outputs.iter().map(|&output| RowOutput::new(binding, output));
        Ok(Row { operator, visited, outputs: outputs.collect::<Result<_, _>>()? })
    }

    /// The rows that are left out, all of which are zero.
    fn skipped_rows(&self) -> usize {
        self.visited.map_or(0, VisitedRows::skipped)
    }

    /// One output row, or cell, for each row.
    fn by_row(&self) -> Result<MatrixBlock, SkeletonError> {
        if let (Some(csr), true) = (self.operator.binding.main.csr(), self.lies_by_position()) {
            let joins = !self.operator.binding.fit.joined.is_empty();
            return Ok(if joins {
                combined_cells(self.operator)
            } else {
                with_pattern(self.operator.env, csr, by_position(self.operator))
            });
        }
        let cols = self.outputs[0].cells_per_row();
        if let Some(visited) = self.visited.filter(|visited| self.has_sparse_result(visited, cols)) {
            let fills = self.may_fill(visited, cols);
            return Ok(if fills { self.suited_rows(cols) } else { self.sparse_rows(visited, cols) });
        }
        cells(self.operator.binding.fit.rows, cols)?;
        if self.visited.is_none() && self.may_leave_few(cols) {
            return Ok(self.suited_rows(cols));
        }
        let work = self.operator.work(self.visited);
        let visited_rows = self.operator.binding.fit.rows - self.skipped_rows();
        let mut out = Dense::uninit_in(self.operator.env.buffers, visited_rows, cols);
        let write = Write::to(self.operator, &out);
        let block_cells = |block| work.block_rows(block).len() * cols;
        run_blocks(self.operator, &mut out, block_cells, work.len(), |workspace, block, part| {
            self.run_units(&work, workspace, block, &write, part);
        });
        write.note(&mut out);
        Ok(match self.visited {
            Some(visited) => expand_rows(self.operator.env, out, visited, 0.0).into(),
            None => out.into(),
        })
    }

    /// Whether rows of so many cells that are stored may have few non-zeros.
    fn may_leave_few(&self, cols: usize) -> bool {
        let (binding, dims) = (&self.operator.binding, [self.operator.binding.fit.rows, cols]);
        matches!(binding.plan.outputs[0], COutput::Store(node) if may_leave_few(self.operator, node, dims))
    }

    /// One output row for each row, in the format that suits the number of non-zeros.
    fn suited_rows(&self, cols: usize) -> MatrixBlock {
        let work = self.operator.work(self.visited);
        let spanned = |block| match self.visited {
            Some(visited) => visited.spanned(work.block_rows(block)),
            None => work.block_rows(block),
        };
        let heights = (0..work.len()).map(|block| spanned(block).len());
        let dims = [self.operator.binding.fit.rows, cols];
        suited_rows(self.operator, dims, heights, |workspace, block, cells| match self.visited {
            Some(visited) if visited.listed().is_some() => {
                cells.fill(0.0);
                self.run_visited(&work, workspace, block, visited, |number, row| {
                    cells[(number - spanned(block).start) * cols..][..cols].copy_from_slice(row);
                });
            }
            _ => self.run_units(&work, workspace, block, &Write::aside(), cells),
        })
    }

    /// Computes the visited rows of a block, each of which `take` is given with its number.
    fn run_visited(
        &self,
        work: &Work<'_>,
        workspace: &mut Workspace,
        block: usize,
        visited: &VisitedRows<'_>,
        mut take: impl FnMut(usize, &[f64]),
    ) {
        let cols = self.outputs[0].cells_per_row();
        work.for_each_unit(block, |unit| {
            let rows = unit.rows();
            let layout = &mut workspace.layout;
            let mut buffer = std::mem::replace(&mut layout.output, Buffer::zeroed(0));
            let values = self.operator.reserve(&mut buffer, rows.len() * cols);
            self.operator.genexec(layout, unit, &mut [Output { values: &mut *values, row_stride: cols }]);
            let numbers = visited.numbers(rows);
            values.chunks_exact(cols).enumerate().for_each(|(r, cells)| take(numbers.get(r), cells));
            layout.output = buffer;
        });
    }

    /// Computes the rows of a block.
    fn run_units(&self, work: &Work<'_>, workspace: &mut Workspace, block: usize, write: &Write, cells: &mut [f64]) {
        let (first_row, cols) = (work.block_rows(block).start, self.outputs[0].cells_per_row());
        work.for_each_unit(block, |unit| {
            let rows = unit.rows();
            let values = &mut cells[(rows.start - first_row) * cols..(rows.end - first_row) * cols];
            let shape = TileShape { rows: rows.len(), cols };
            write.unit(self.operator, &mut workspace.layout, unit, shape, Output { values, row_stride: cols });
        });
    }

    /// Whether the stored value has a cell for each position of the main input, and is zero elsewhere.
    fn lies_by_position(&self) -> bool {
        let binding = &self.operator.binding;
        binding.fit.positions.contains(binding.plan.outputs[0].node())
    }

    /// Whether a result of so many columns is best built sparse: it is as sparse as the main input, or most of its rows
    /// are not visited.
    fn has_sparse_result(&self, visited: &VisitedRows<'_>, cols: usize) -> bool {
        let plan = self.operator.binding.plan;
        let expected = match plan.variant {
            Variant::Row(RowType::NoAgg) => visited.csr().nnz(),
            _ => visited.len().saturating_mul(cols),
        };
        plan.sparse_safe
            && u32::try_from(cols).is_ok()
            && MatrixBlock::best_format(visited.csr().rows(), cols, expected).is_sparse()
    }

    /// Whether a result that would be as sparse as the main input may have values in all cells of the rows that are visited, which
    /// are too many to be stored one by one, and few enough for room for all.
    fn may_fill(&self, visited: &VisitedRows<'_>, cols: usize) -> bool {
        let (csr, cells) = (visited.csr(), visited.len().saturating_mul(cols));
        (1..=csr.nnz().saturating_mul(ROOM_OF_NON_ZERO)).contains(&cells)
            && !MatrixBlock::best_format(csr.rows(), cols, cells).is_sparse()
            && self.may_leave_few(cols)
    }

    /// One output row for each row, of which the zeros are left out unit by unit.
    fn sparse_rows(&self, visited: &VisitedRows<'_>, cols: usize) -> MatrixBlock {
        let work = self.operator.work(Some(visited));
        let blocks = self.operator.run(vec![(); work.len()], |workspace, block, ()| {
            let spanned = visited.spanned(work.block_rows(block));
            let mut out = CsrRows::of_empty_rows(spanned.len());
            self.run_visited(&work, workspace, block, visited, |number, cells| {
                out.fill(number - spanned.start, cells);
            });
            out
        });
        let env = self.operator.env;
        let together = || Csr::from_blocks_in(env.buffers, cols, &blocks);
        let csr = match blocks.len() {
            0 => Csr::empty(visited.csr().rows(), cols),
            1 => together(),
            _ => env.pool.install(together),
        };
        in_best_format(env, csr.into())
    }

    fn full(&self) -> MatrixBlock {
        let total = Aggregation::new(self.operator).over(self.visited);
        let cells = self.skipped_rows().saturating_mul(self.outputs[0].cells_per_row());
        total.with_zeros(&smallvec::smallvec![0.0], cells).into_block()
    }

    /// All outputs, aggregated over the rows in one pass.
    fn aggregates(&self) -> Result<Vec<Dense>, SkeletonError> {
        let outputs: Vec<Accumulation<'_>> =
            self.outputs.iter().map(|output| output.accumulation(self.operator)).collect();
        let accumulated = over_strips(self.operator, &outputs, self.visited);
        let finish = |(output, cells): (&RowOutput, Dense)| output.finish(self.operator, cells, self.skipped_rows());
        Ok(self.outputs.iter().zip(accumulated).map(finish).collect())
    }
}

/// A column of the cells of all parts, each by row.
fn one_below_the_other(operator: &Operator<'_>, parts: &[Dense]) -> Dense {
    let len = parts.iter().map(|part| part.values().len()).sum();
    let mut column = Dense::uninit_in(operator.env.buffers, len, 1);
    let targets = split_parts(column.values_mut(), parts.iter().map(|part| part.values().len()));
    targets.into_iter().zip(parts).for_each(|(target, part)| target.copy_from_slice(part.values()));
    column
}
