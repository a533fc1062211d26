//! The variants of each template (Table 1): what a fused operator does with the values of its output.

use super::Length;
use crate::template::{Space, TemplateType};

/// Variants of the Cell template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellType {
    /// m x n: one value per cell.
    NoAgg,
    /// m x 1: aggregated per row.
    RowAgg,
    /// 1 x n: aggregated per column.
    ColAgg,
    /// 1 x 1.
    FullAgg,
}

/// Variants of the Row template; X (m x n) is the main input. B1 is SystemDS' name for the one side matrix that gives a
/// vector its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowType {
    /// m x n: the output node is a vector as long as a row of X.
    NoAgg,
    /// m x k: the output node is a vector as long as a row of a side input (a row times a side matrix).
    NoAggB1,
    /// m x k: the output node is a vector of another length (a range of columns, columns side by side).
    NoAggConst,
    /// m x 1: the output node is a scalar per row.
    RowAgg,
    /// 1 x n: the output node is a vector as long as a row of X, aggregated over the rows.
    ColAgg,
    /// 1 x k: the output node is a vector as long as a row of a side input, aggregated over the rows.
    ColAggB1R,
    /// 1 x k: the output node is a vector of another length, aggregated over the rows.
    ColAggConst,
    /// 1 x 1: the output node (scalar or vector) aggregated over everything.
    FullAgg,
    /// n x 1: `t(X) %*% s`: the sum over rows of a vector (length n) times a scalar of the row.
    ColAggT,
    /// k x n: `t(S) %*% X`: the sum over rows of a vector of another length (k) times one as long as a row of X (n).
    ColAggB1,
    /// n x k: `t(X) %*% S`: the sum over rows of a vector as long as a row of X (n) times one of another length (k).
    ColAggB1T,
    /// Several outputs that aggregate over the rows, in one pass: a column of all their cells, one output after the
    /// other and each by row. [`super::CPlan::output_variant`] says which variant each of them is.
    MultiAgg,
}

impl RowType {
    /// The variant without aggregation for an output vector of this length.
    pub fn no_agg(length: Length) -> Self {
        match length {
            Length::Main => RowType::NoAgg,
            Length::Cols(_) | Length::Cells(_) => RowType::NoAggB1,
            Length::Const(_) | Length::Cbind(_) => RowType::NoAggConst,
        }
    }

    /// The variant that aggregates an output vector of this length over the rows.
    pub fn col_agg(length: Length) -> Self {
        match length {
            Length::Main => RowType::ColAgg,
            Length::Cols(_) | Length::Cells(_) => RowType::ColAggB1R,
            Length::Const(_) | Length::Cbind(_) => RowType::ColAggConst,
        }
    }
}

/// Variants of the Outer template; X (m x n) drives, U is m x r, V is n x r.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OuterType {
    /// n x r: `t(W) %*% U`, with W the output node's cells.
    LeftMM,
    /// m x r: `W %*% V`.
    RightMM,
    /// m x n, sparse as X: W itself.
    NoAgg,
    /// 1 x 1: W aggregated.
    FullAgg,
}

/// A template with its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Cell.
    Cell(CellType),
    /// Row.
    Row(RowType),
    /// Several full aggregates over the same cells: k x 1.
    MAgg,
    /// Outer.
    Outer(OuterType),
}

impl Variant {
    /// The template.
    pub fn template(self) -> TemplateType {
        match self {
            Variant::Cell(_) => TemplateType::Cell,
            Variant::Row(_) => TemplateType::Row,
            Variant::MAgg => TemplateType::MAgg,
            Variant::Outer(_) => TemplateType::Outer,
        }
    }

    /// What its values belong to.
    pub fn space(self) -> Space {
        self.template().space()
    }

    /// Every variant of every template.
    pub const ALL: &[(Variant, &str)] = &[
        (Variant::Cell(CellType::NoAgg), "no_agg"),
        (Variant::Cell(CellType::RowAgg), "row_agg"),
        (Variant::Cell(CellType::ColAgg), "col_agg"),
        (Variant::Cell(CellType::FullAgg), "full_agg"),
        (Variant::Row(RowType::NoAgg), "no_agg"),
        (Variant::Row(RowType::NoAggB1), "no_agg_b1"),
        (Variant::Row(RowType::NoAggConst), "no_agg_const"),
        (Variant::Row(RowType::RowAgg), "row_agg"),
        (Variant::Row(RowType::ColAgg), "col_agg"),
        (Variant::Row(RowType::ColAggB1R), "col_agg_b1r"),
        (Variant::Row(RowType::ColAggConst), "col_agg_const"),
        (Variant::Row(RowType::FullAgg), "full_agg"),
        (Variant::Row(RowType::ColAggT), "col_agg_t"),
        (Variant::Row(RowType::ColAggB1), "col_agg_b1"),
        (Variant::Row(RowType::ColAggB1T), "col_agg_b1_t"),
        (Variant::Row(RowType::MultiAgg), "multi_agg"),
        (Variant::MAgg, "full_agg"),
        (Variant::Outer(OuterType::LeftMM), "left_mm"),
        (Variant::Outer(OuterType::RightMM), "right_mm"),
        (Variant::Outer(OuterType::NoAgg), "no_agg"),
        (Variant::Outer(OuterType::FullAgg), "full_agg"),
    ];

    /// The paper's name of the variant (Table 1).
    pub fn mnemonic(self) -> &'static str {
        Variant::ALL.iter().find(|(variant, _)| *variant == self).map_or("", |(_, mnemonic)| mnemonic)
    }
}
