//! Accumulated outputs (column aggregates and products over rows): each block has a private accumulator, and these
//! merge in block order.

use crate::abi::Output;
use crate::operator::Operator;
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
        let partials = self.operator.run(vec![(); work.len()], |workspace, block, ()| {
            let mut cells = self.start();
            work.for_each_unit(block, |unit| {
                if !(skips_empty && unit.has_no_positions()) {
                    let values = &mut cells.values_mut()[unit.first_col()..];
                    let output = Output { values, row_stride: self.row_stride };
                    self.operator.genexec(workspace, unit, &mut [output]);
                }
            });
            cells
        });
        merge(self.operator.env, partials, self.len, self.agg)
    }
}
