//! Full aggregates, of one output (Cell, Row, Outer) or several (MAgg): units give one value per output, blocks merge
//! those of their units, the values of a strip's blocks merge in block order, and strips merge in their tree.

use crate::abi::Output;
use crate::factors::DenseFactors;
use crate::operator::{Operator, UnitLayout};
use crate::visited::VisitedRows;
use crate::work::UnitOf;
use crate::zeros::{ZeroValues, take_equal_cells};
use fuseline_ir::cplan::COutput;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Dense, MatrixBlock};
use smallvec::{SmallVec, smallvec};

/// The most outputs that are kept on the stack.
const INLINE_OUTPUTS: usize = 4;

/// One value per output.
type Values = SmallVec<[f64; INLINE_OUTPUTS]>;

/// The full aggregates of an operator.
pub(crate) struct Aggregation<'a> {
    pub(crate) operator: &'a Operator<'a>,
    aggs: SmallVec<[AggOp; INLINE_OUTPUTS]>,
}

impl<'a> Aggregation<'a> {
    /// Of a plan all of whose outputs are aggregates.
    pub(crate) fn new(operator: &'a Operator<'a>) -> Self {
        Aggregation { operator, aggs: operator.binding.plan.outputs.iter().filter_map(COutput::agg).collect() }
    }

    /// Over the units of all strips.
    pub(crate) fn over(&self, visited: Option<&VisitedRows<'_>>) -> Total {
        let (values, positions) = self.operator.reduce(
            visited,
            |work| {
                let results = self.operator.run(vec![(); work.len()], |workspace, block, ()| {
                    let (mut partial, mut positions) = (self.start(), 0);
                    work.for_each_unit(block, |unit| {
                        if !self.operator.leaves_out(unit) {
                            self.unit(&mut workspace.layout, unit, &mut partial);
                            positions += self.operator.positions(&workspace.layout, unit);
                        }
                    });
                    (partial, positions)
                });
                self.merge_blocks(results)
            },
            |(left, left_count), (right, right_count)| (self.merged(left, &right), left_count + right_count),
        );
        Total { aggs: self.aggs.clone(), values, positions }
    }

    /// Over what is visited of the tiles of a main input and of a product of factors.
    pub(crate) fn over_tiles(&self, factors: &DenseFactors<'_>) -> Total {
        let (values, positions) = self.operator.reduce(
            None,
            |work| {
                let results = self.operator.run(vec![(); work.len()], |workspace, block, ()| {
                    let mut partial = self.start();
                    let visited = factors.for_each_unit(workspace, work.tiles(), block, |layout, _, unit, count| {
                        if count > 0 {
                            self.unit(layout, unit, &mut partial);
                        }
                    });
                    (partial, visited)
                });
                self.merge_blocks(results)
            },
            |(left, left_count), (right, right_count)| (self.merged(left, &right), left_count + right_count),
        );
        Total { aggs: self.aggs.clone(), values, positions }
    }

    fn start(&self) -> Values {
        self.aggs.iter().map(|agg| agg.neutral()).collect()
    }

    fn unit(&self, layout: &mut UnitLayout, unit: UnitOf<'_>, partial: &mut Values) {
        let mut cells: SmallVec<[f64; INLINE_OUTPUTS]> = smallvec![0.0; self.aggs.len()];
        let mut outputs: SmallVec<[Output<'_>; INLINE_OUTPUTS]> =
            cells.chunks_exact_mut(1).map(|values| Output { values, row_stride: 1 }).collect();
        self.operator.genexec(layout, unit, &mut outputs);
        drop(outputs);
        self.merge(partial, &cells);
    }

    fn merge(&self, into: &mut [f64], values: &[f64]) {
        for ((cell, &value), agg) in into.iter_mut().zip(values).zip(&self.aggs) {
            *cell = agg.merge(*cell, value);
        }
    }

    fn merged(&self, mut values: Values, others: &[f64]) -> Values {
        self.merge(&mut values, others);
        values
    }

    /// The aggregates of all blocks, in their order, and how many positions they visited.
    fn merge_blocks(&self, blocks: Vec<(Values, usize)>) -> (Values, usize) {
        blocks.into_iter().fold((self.start(), 0), |(values, positions), (partial, count)| {
            (self.merged(values, &partial), positions + count)
        })
    }
}

/// The aggregates of all visited cells.
pub(crate) struct Total {
    aggs: SmallVec<[AggOp; INLINE_OUTPUTS]>,
    values: Values,
    /// How many positions, of sparse units, were visited.
    positions: usize,
}

impl Total {
    /// Takes those of so many cells that were not visited, with one value for each output.
    pub(crate) fn with_others(self, zeros: &ZeroValues, cells: usize) -> Self {
        let count = cells - self.positions;
        self.with_zeros(zeros, count)
    }

    /// Takes `count` cells that were not visited, with one value for each output.
    pub(crate) fn with_zeros(mut self, zeros: &ZeroValues, count: usize) -> Self {
        for ((cell, &zero), &agg) in self.values.iter_mut().zip(zeros).zip(&self.aggs) {
            *cell = take_equal_cells(agg, *cell, zero, count);
        }
        self
    }

    /// One cell below the other.
    pub(crate) fn into_block(self) -> MatrixBlock {
        Dense::from_vec(self.values.len(), 1, self.values.into_vec()).into()
    }
}
