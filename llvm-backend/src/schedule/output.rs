//! What becomes of the values of an output.

use fuseline_ir::cplan::{COutput, CPlan, CellType, OuterType, RowType, Variant};

/// What becomes of the values of an output node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// Stores them as they are.
    Store,
    /// Aggregates the cells of each row.
    RowAgg,
    /// Aggregates the cells of each column into what the output holds.
    ColAgg,
    /// Aggregates everything in the unit.
    FullAgg,
    /// Adds, row by row, the products of the output's left vector and its node's vector or number.
    OuterSum,
    /// Adds the products with the rows of V: `W %*% V`.
    TimesFactor,
    /// Adds the transposed products with the rows of U: `t(W) %*% U`.
    TransposedTimesFactor,
}

impl OutputKind {
    /// Whether the values are the weights of rows of a factor, one for each position.
    pub(crate) fn takes_weights(self) -> bool {
        matches!(self, OutputKind::TimesFactor | OutputKind::TransposedTimesFactor)
    }

    /// The kind of an output of the plan.
    pub(crate) fn of(plan: &CPlan, output: &COutput) -> OutputKind {
        match plan.output_variant(output) {
            Variant::Cell(CellType::NoAgg)
            | Variant::Row(RowType::NoAgg | RowType::NoAggB1 | RowType::NoAggConst | RowType::RowAgg)
            | Variant::Outer(OuterType::NoAgg) => OutputKind::Store,
            Variant::Cell(CellType::RowAgg) => OutputKind::RowAgg,
            Variant::Cell(CellType::ColAgg)
            | Variant::Row(RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst) => OutputKind::ColAgg,
            Variant::Cell(CellType::FullAgg)
            | Variant::MAgg
            | Variant::Row(RowType::FullAgg)
            | Variant::Outer(OuterType::FullAgg) => OutputKind::FullAgg,
            Variant::Row(RowType::ColAggT | RowType::ColAggB1 | RowType::ColAggB1T) => OutputKind::OuterSum,
            Variant::Row(RowType::MultiAgg) => unreachable!("an output by itself is no multi-aggregate"),
            Variant::Outer(OuterType::RightMM) => OutputKind::TimesFactor,
            Variant::Outer(OuterType::LeftMM) => OutputKind::TransposedTimesFactor,
        }
    }
}
