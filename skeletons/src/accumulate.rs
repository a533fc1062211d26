//! Accumulated outputs (column aggregates and products over rows): each block has a private accumulator, and these
//! merge in block order.

use crate::abi::Output;
use crate::operator::{Operator, Workspace};
use crate::output::{accumulator, merge};
use crate::work::Work;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::Dense;

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

    /// Over the units of the work. Units of some columns accumulate into the cells of these columns; those of positions
    /// that have none are left out, if they contribute nothing.
    pub(crate) fn over(&self, work: &Work<'_>, skips_empty: bool) -> Dense {
        self.over_blocks(work.len(), |workspace, block, cells| {
            work.for_each_unit(block, |unit| {
                if !(skips_empty && unit.has_no_positions()) {
                    let output = Output { values: &mut cells[unit.first_col()..], row_stride: self.row_stride };
                    self.operator.genexec(workspace, unit, &mut [output]);
                }
            });
        })
    }

    /// Over so many blocks, each of which accumulates into cells of its own.
    pub(crate) fn over_blocks(
        &self,
        blocks: usize,
        each: impl Fn(&mut Workspace, usize, &mut [f64]) + Sync + Send,
    ) -> Dense {
        let partials = self.operator.run(vec![(); blocks], |workspace, block, ()| {
            let mut cells = self.start();
            each(workspace, block, cells.values_mut());
            cells
        });
        merge(self.operator.env, partials, self.len, self.agg)
    }
}
