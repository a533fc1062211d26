//! Accumulated outputs (column aggregates and products over rows): each block has a private accumulator, and these
//! merge in block order.

use crate::abi::Output;
use crate::blocks::{DensePartition, SparsePartition};
use crate::operator::{Operator, UnitOf};
use crate::output::{accumulator, merge};
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Csr, Dense};

/// An accumulated output of `len` cells.
#[derive(Clone, Copy)]
pub(crate) struct Accumulation<'a> {
    pub(crate) operator: &'a Operator<'a>,
    pub(crate) len: usize,
    pub(crate) row_stride: usize,
    pub(crate) agg: AggOp,
}

impl Accumulation<'_> {
    fn start(&self) -> Dense {
        accumulator(self.operator.env.buffers, self.len, self.agg)
    }

    /// Over tiles. Tiles of some columns accumulate into the cells of these columns.
    pub(crate) fn over_tiles(&self, partition: &DensePartition) -> Dense {
        let partials = self.operator.run(vec![(); partition.len()], |workspace, block, ()| {
            let mut cells = self.start();
            for tile in partition.tiles(block) {
                let values = &mut cells.values_mut()[tile.first_col..];
                let output = Output { values, row_stride: self.row_stride };
                self.operator.genexec(workspace, UnitOf::Tile(tile), &mut [output]);
            }
            cells
        });
        merge(self.operator.env, partials, self.len, self.agg)
    }

    /// Over segments; those without positions are left out if they contribute nothing.
    pub(crate) fn over_segments(&self, csr: &Csr, partition: &SparsePartition<'_>, skips_empty: bool) -> Dense {
        let partials = self.operator.run(vec![(); partition.len()], |workspace, block, ()| {
            let mut cells = self.start();
            partition.for_each_segment(block, |segment| {
                if segment.start < segment.end || !skips_empty {
                    let output = Output { values: cells.values_mut(), row_stride: self.row_stride };
                    self.operator.genexec(workspace, UnitOf::Segment(csr, segment), &mut [output]);
                }
            });
            cells
        });
        merge(self.operator.env, partials, self.len, self.agg)
    }
}
