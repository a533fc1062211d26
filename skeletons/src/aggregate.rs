//! Full aggregates, of one output (Cell, Row, Outer) or several (MAgg): units give one value per output, blocks merge
//! those of their units, and the blocks' values merge in block order.

use crate::abi::Output;
use crate::blocks::{DensePartition, SparsePartition};
use crate::operator::{Operator, UnitOf, Workspace};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use smallvec::{SmallVec, smallvec};

/// The most outputs that are kept on the stack.
const INLINE: usize = 4;

/// One value per output while it is aggregated, and the number of visited cells.
struct Partial {
    values: SmallVec<[f64; INLINE]>,
    visited: usize,
}

/// The full aggregates of an operator.
pub(crate) struct Aggregation<'a> {
    operator: &'a Operator<'a>,
    aggs: SmallVec<[AggOp; INLINE]>,
}

impl<'a> Aggregation<'a> {
    pub(crate) fn new(operator: &'a Operator<'a>) -> Self {
        let aggs = operator.binding.plan.outputs.iter();
        Aggregation { operator, aggs: aggs.map(|output| output.agg.unwrap_or(AggOp::Sum)).collect() }
    }

    /// Over all cells of the grid.
    pub(crate) fn over_tiles(&self, partition: &DensePartition) -> MatrixBlock {
        let partials = self.operator.run(vec![(); partition.len()], |workspace, block, ()| {
            let mut partial = self.start();
            for tile in partition.tiles(block) {
                self.unit(workspace, UnitOf::Tile(tile), &mut partial);
            }
            partial
        });
        self.finish(&partials, false)
    }

    /// Over the positions of a CSR main input, where the values of all other cells are zero (Row: the values of all
    /// rows without positions, if those are skipped).
    pub(crate) fn over_segments(&self, csr: &Csr, partition: &SparsePartition<'_>, skips_empty: bool) -> MatrixBlock {
        let partials = self.operator.run(vec![(); partition.len()], |workspace, block, ()| {
            let mut partial = self.start();
            partition.for_each_segment(block, |segment| {
                if segment.start < segment.end || !skips_empty {
                    self.unit(workspace, UnitOf::Segment(csr, segment), &mut partial);
                    partial.visited += segment.end - segment.start;
                }
            });
            partial
        });
        let is_row = self.operator.binding.plan.template() == TemplateType::Row;
        self.finish(&partials, !is_row)
    }

    /// Over the non-zeros of a dense main input.
    pub(crate) fn over_nonzeros(&self, dense: &Dense, partition: &DensePartition) -> MatrixBlock {
        let partials = self.operator.run(vec![(); partition.len()], |workspace, block, ()| {
            let mut partial = self.start();
            for tile in partition.tiles(block) {
                let count = workspace.build_from_dense(dense, tile);
                if count > 0 {
                    self.unit(workspace, UnitOf::Built(tile), &mut partial);
                    partial.visited += count;
                }
            }
            partial
        });
        self.finish(&partials, true)
    }

    fn start(&self) -> Partial {
        Partial { values: self.aggs.iter().map(|agg| agg.neutral()).collect(), visited: 0 }
    }

    fn unit(&self, workspace: &mut Workspace, unit: UnitOf<'_>, partial: &mut Partial) {
        let mut cells: SmallVec<[f64; INLINE]> = smallvec![0.0; self.aggs.len()];
        let mut outputs: SmallVec<[Output<'_>; INLINE]> =
            cells.chunks_exact_mut(1).map(|values| Output { values, row_stride: 1 }).collect();
        self.operator.genexec(workspace, unit, &mut outputs);
        drop(outputs);
        self.merge(&mut partial.values, &cells);
    }

    fn merge(&self, into: &mut [f64], values: &[f64]) {
        for ((cell, &value), agg) in into.iter_mut().zip(values).zip(&self.aggs) {
            *cell = agg.merge(*cell, value);
        }
    }

    /// Merges the blocks; one zero stands for all cells that were not visited.
    fn finish(&self, partials: &[Partial], skips_zeros: bool) -> MatrixBlock {
        let binding = &self.operator.binding;
        let mut merged = self.start();
        for partial in partials {
            self.merge(&mut merged.values, &partial.values);
            merged.visited += partial.visited;
        }
        if skips_zeros && merged.visited < binding.rows.saturating_mul(binding.cols) {
            for (cell, agg) in merged.values.iter_mut().zip(&self.aggs) {
                if !agg.ignores_zeros() {
                    *cell = agg.merge(*cell, 0.0);
                }
            }
        }
        Dense::from_vec(merged.values.len(), 1, merged.values.into_vec()).into()
    }
}
