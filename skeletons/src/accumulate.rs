//! Accumulated outputs (column aggregates and products over rows, and full aggregates beside them): each block of a strip
//! has private accumulators, which merge in block order, and strips merge in their tree.

use crate::abi::Output;
use crate::operator::{Operator, UnitLayout, Workspace};
use crate::output::{accumulator, merge, split_parts};
use crate::visited::VisitedRows;
use crate::work::{UnitOf, Work};
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::DensePartition;
use fuseline_matrix::{Dense, NanWatch};
use smallvec::{SmallVec, smallvec};

/// The most outputs that are kept on the stack.
const INLINE_OUTPUTS: usize = 4;

/// An accumulated output of `len` cells.
#[derive(Clone, Copy)]
pub(crate) struct Accumulation<'a> {
    pub(crate) operator: &'a Operator<'a>,
    pub(crate) len: usize,
    pub(crate) row_stride: usize,
    pub(crate) agg: AggOp,
    /// Whether units give a value, which blocks merge, instead of accumulating: a full aggregate, of one cell.
    pub(crate) is_full: bool,
}

impl Accumulation<'_> {
    fn start(&self) -> Dense {
        accumulator(self.operator.env.buffers, self.len, self.agg)
    }

    /// Over the units of all strips.
    pub(crate) fn over(&self, visited: Option<&VisitedRows<'_>>) -> Dense {
        over_strips(self.operator, std::slice::from_ref(self), visited).remove(0)
    }

    /// Over the units of a strip.
    pub(crate) fn over_units(&self, work: &Work<'_>) -> Dense {
        over_units(self.operator, std::slice::from_ref(self), work).remove(0)
    }

    /// Over so many blocks of a strip, each of which accumulates into cells of its own.
    pub(crate) fn over_blocks(
        &self,
        blocks: usize,
        each: impl Fn(&mut Workspace, usize, &mut [f64]) + Sync + Send,
    ) -> Dense {
        let partials = self.operator.run(vec![(); blocks], |workspace, block, ()| {
            self.operator.env.counters.add_private_sums();
            let mut cells = self.start();
            each(workspace, block, cells.values_mut());
            cells
        });
        self.merge(partials)
    }

    /// Over blocks of a strip each of which goes over all its rows, for a range of columns: `each` has the sums of these, so
    /// many for each column.
    pub(crate) fn by_columns(
        &self,
        partition: &DensePartition,
        cells_per_column: usize,
        each: impl Fn(&mut Workspace, usize, &mut [f64]) + Sync + Send,
    ) -> Dense {
        let mut sums = self.start();
        let lengths = (0..partition.len()).map(|block| partition.block(block).cols * cells_per_column);
        let nan = NanWatch::default();
        self.operator.run(split_parts(sums.values_mut(), lengths), |workspace, block, part| {
            each(workspace, block, part);
            nan.look(part);
        });
        sums.set_nan_free(nan.saw_none());
        sums
    }

    /// What the sums of parts of the rows add up to, in their order.
    pub(crate) fn merge(&self, partials: Vec<Dense>) -> Dense {
        merge(self.operator.env, partials, self.len, self.agg)
    }
}

/// All outputs of an operator, in one pass over the units of each strip. Units of some columns accumulate into the cells of
/// these columns.
pub(crate) fn over_strips(
    operator: &Operator<'_>,
    outputs: &[Accumulation<'_>],
    visited: Option<&VisitedRows<'_>>,
) -> Vec<Dense> {
    operator.reduce(
        visited,
        |work| over_units(operator, outputs, work),
        |left, right| {
            let pairs = outputs.iter().zip(left.into_iter().zip(right));
            pairs.map(|(output, (left, right))| output.merge(vec![left, right])).collect()
        },
    )
}

/// All outputs, in one pass over the units of a strip.
fn over_units(operator: &Operator<'_>, outputs: &[Accumulation<'_>], work: &Work<'_>) -> Vec<Dense> {
    let blocks = operator.run(vec![(); work.len()], |workspace, block, ()| {
        operator.env.counters.add_private_sums();
        let mut cells: Vec<Dense> = outputs.iter().map(Accumulation::start).collect();
        work.for_each_unit(block, |unit| {
            if !operator.leaves_out(unit) {
                accumulate_unit(operator, outputs, &mut cells, &mut workspace.layout, unit);
            }
        });
        cells
    });
    let mut partials: Vec<Vec<Dense>> = outputs.iter().map(|_| Vec::with_capacity(blocks.len())).collect();
    for cells in blocks {
        partials.iter_mut().zip(cells).for_each(|(partials, cells)| partials.push(cells));
    }
    outputs.iter().zip(partials).map(|(output, partials)| output.merge(partials)).collect()
}

fn accumulate_unit(
    operator: &Operator<'_>,
    outputs: &[Accumulation<'_>],
    cells: &mut [Dense],
    layout: &mut UnitLayout,
    unit: UnitOf<'_>,
) {
    let mut full: SmallVec<[f64; INLINE_OUTPUTS]> = smallvec![0.0; outputs.len()];
    let targets = outputs.iter().zip(&mut *cells).zip(full.chunks_exact_mut(1));
    let mut targets: SmallVec<[Output<'_>; INLINE_OUTPUTS]> = targets
        .map(|((output, cells), full)| Output {
            values: if output.is_full { full } else { &mut cells.values_mut()[unit.first_col()..] },
            row_stride: output.row_stride,
        })
        .collect();
    operator.genexec(layout, unit, &mut targets);
    drop(targets);
    for ((output, cells), &value) in outputs.iter().zip(cells).zip(&full).filter(|((output, _), _)| output.is_full) {
        let cell = &mut cells.values_mut()[0];
        *cell = output.agg.merge(*cell, value);
    }
}
