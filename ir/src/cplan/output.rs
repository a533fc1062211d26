//! Outputs of CPlans: which values leave an operator, and what becomes of them.

use super::{CNodeId, CPlan, CellType, OuterType, RowType, Shapes, Variant};
use crate::ops::AggOp;
use crate::template::TemplateType;
use smallvec::{SmallVec, smallvec};

/// An output of a CPlan: what becomes of the values of a node, or of the products of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum COutput {
    /// Values as they are: m x n for cells, one row for each row for vectors, m x 1 for scalars of rows.
    Store(CNodeId),
    /// Values with a place each, merged with all of the same column above them, in the order of the rows.
    Cumulative(AggOp, CNodeId),
    /// Cells aggregated per row of the main input: m x 1. In Row plans a node ([`super::CNode::RowAgg`]) does that.
    RowAgg(AggOp, CNodeId),
    /// Cells, or vectors of rows, aggregated per column: 1 x n, or 1 x the length of the vectors.
    ColAgg(AggOp, CNodeId),
    /// All values aggregated: 1 x 1.
    FullAgg(AggOp, CNodeId),
    /// The products of the cells of two values of each row, added up over the rows.
    RowProduct {
        /// A vector: as long as a row of the main input, or of any length where `short` is a scalar.
        long: CNodeId,
        /// A vector, or a scalar where the order is [`ProductOrder::LongByShort`].
        short: CNodeId,
        /// Which of the two runs along the rows of the result.
        order: ProductOrder,
    },
    /// `W %*% V`, for W of the node's values and the right factor V: m x r.
    TimesFactor(CNodeId),
    /// `t(W) %*% U`, for W of the node's values and the left factor U: n x r.
    TransposedTimesFactor(CNodeId),
}

/// Rows and columns of a [`COutput::RowProduct`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductOrder {
    /// n x k, with a row for each cell of the long value: `t(X) %*% S`.
    LongByShort,
    /// k x n, with a row for each cell of the short value: `t(S) %*% X`.
    ShortByLong,
}

impl COutput {
    /// A product `t(left) %*% right` over the rows, of which this order says which factor is the long one.
    pub fn row_product(left: CNodeId, right: CNodeId, order: ProductOrder) -> COutput {
        match order {
            ProductOrder::LongByShort => COutput::RowProduct { long: left, short: right, order },
            ProductOrder::ShortByLong => COutput::RowProduct { long: right, short: left, order },
        }
    }

    /// The node whose values leave the operator; of a product the right factor.
    pub fn node(&self) -> CNodeId {
        match *self {
            COutput::Store(node)
            | COutput::Cumulative(_, node)
            | COutput::RowAgg(_, node)
            | COutput::ColAgg(_, node)
            | COutput::FullAgg(_, node)
            | COutput::TimesFactor(node)
            | COutput::TransposedTimesFactor(node) => node,
            COutput::RowProduct { short: right, order: ProductOrder::LongByShort, .. }
            | COutput::RowProduct { long: right, order: ProductOrder::ShortByLong, .. } => right,
        }
    }

    /// The left factor of a product over rows.
    pub fn left(&self) -> Option<CNodeId> {
        match *self {
            COutput::RowProduct { long: left, order: ProductOrder::LongByShort, .. }
            | COutput::RowProduct { short: left, order: ProductOrder::ShortByLong, .. } => Some(left),
            COutput::Store(_)
            | COutput::Cumulative(..)
            | COutput::RowAgg(..)
            | COutput::ColAgg(..)
            | COutput::FullAgg(..)
            | COutput::TimesFactor(_)
            | COutput::TransposedTimesFactor(_) => None,
        }
    }

    /// The nodes that the output reads, by position: of a product the left factor, then the right one.
    pub fn operands(&self) -> SmallVec<[CNodeId; 2]> {
        match self.left() {
            Some(left) => smallvec![left, self.node()],
            None => smallvec![self.node()],
        }
    }

    /// The output on other operands.
    pub fn map_operands(self, mut map: impl FnMut(CNodeId) -> CNodeId) -> COutput {
        match self {
            COutput::Store(node) => COutput::Store(map(node)),
            COutput::Cumulative(op, node) => COutput::Cumulative(op, map(node)),
            COutput::RowAgg(op, node) => COutput::RowAgg(op, map(node)),
            COutput::ColAgg(op, node) => COutput::ColAgg(op, map(node)),
            COutput::FullAgg(op, node) => COutput::FullAgg(op, map(node)),
            COutput::RowProduct { long, short, order } => {
                COutput::RowProduct { long: map(long), short: map(short), order }
            }
            COutput::TimesFactor(node) => COutput::TimesFactor(map(node)),
            COutput::TransposedTimesFactor(node) => COutput::TransposedTimesFactor(map(node)),
        }
    }

    /// The function that aggregates values, or merges them downwards; none where they are stored or multiplied.
    pub fn function(&self) -> Option<AggOp> {
        match *self {
            COutput::Cumulative(op, _) => Some(op),
            _ => self.agg(),
        }
    }

    /// Whether each value has a place of its own in the result.
    pub fn stores(&self) -> bool {
        matches!(self, COutput::Store(_) | COutput::Cumulative(..))
    }

    /// The function that aggregates values; none where they have places of their own or are multiplied.
    pub fn agg(&self) -> Option<AggOp> {
        match *self {
            COutput::RowAgg(op, _) | COutput::ColAgg(op, _) | COutput::FullAgg(op, _) => Some(op),
            COutput::Store(_)
            | COutput::Cumulative(..)
            | COutput::RowProduct { .. }
            | COutput::TimesFactor(_)
            | COutput::TransposedTimesFactor(_) => None,
        }
    }

    /// The function that combines what parts of the work give for one cell: that of the aggregate, or the sum of products.
    /// None where values have places of their own.
    pub fn merge(&self) -> Option<AggOp> {
        match self {
            COutput::Store(_) | COutput::Cumulative(..) => None,
            COutput::RowAgg(op, _) | COutput::ColAgg(op, _) | COutput::FullAgg(op, _) => Some(*op),
            COutput::RowProduct { .. } | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
                Some(AggOp::Sum)
            }
        }
    }

    /// Whether rows of the main input contribute to the same cells, so that those that contribute nothing need no visit.
    pub fn accumulates_rows(&self) -> bool {
        match self {
            COutput::Store(_) | COutput::Cumulative(..) | COutput::RowAgg(..) => false,
            COutput::ColAgg(..)
            | COutput::FullAgg(..)
            | COutput::RowProduct { .. }
            | COutput::TimesFactor(_)
            | COutput::TransposedTimesFactor(_) => true,
        }
    }

    /// Whether the values are the weights of rows of a factor, one for each cell.
    pub fn takes_weights(&self) -> bool {
        match self {
            COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => true,
            COutput::Store(_)
            | COutput::Cumulative(..)
            | COutput::RowAgg(..)
            | COutput::ColAgg(..)
            | COutput::FullAgg(..)
            | COutput::RowProduct { .. } => false,
        }
    }

    /// How errors name what becomes of the values.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            COutput::Store(_) => "store",
            COutput::Cumulative(..) => "cumulative",
            COutput::RowAgg(..) => "row_agg",
            COutput::ColAgg(..) => "col_agg",
            COutput::FullAgg(..) => "full_agg",
            COutput::RowProduct { .. } => "row_product",
            COutput::TimesFactor(_) => "times_factor",
            COutput::TransposedTimesFactor(_) => "transposed_times_factor",
        }
    }
}

impl CPlan {
    /// The variant of a plan of this template with this output alone; none where the template has no such outputs.
    ///
    /// Shapes are those of the plan: in Row plans the length of the output's vector tells variants apart.
    pub fn output_variant(&self, output: &COutput, shapes: &Shapes) -> Option<Variant> {
        match self.template() {
            TemplateType::Cell => cell_type(output).map(Variant::Cell),
            TemplateType::Row => row_type(output, shapes).map(Variant::Row),
            TemplateType::MAgg => matches!(output, COutput::FullAgg(..)).then_some(Variant::MAgg),
            TemplateType::Outer => outer_type(output).map(Variant::Outer),
        }
    }
}

fn cell_type(output: &COutput) -> Option<CellType> {
    match output {
        COutput::Store(_) => Some(CellType::NoAgg),
        COutput::Cumulative(..) => Some(CellType::CumAgg),
        COutput::RowAgg(..) => Some(CellType::RowAgg),
        COutput::ColAgg(..) => Some(CellType::ColAgg),
        COutput::FullAgg(..) => Some(CellType::FullAgg),
        COutput::RowProduct { .. } | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => None,
    }
}

fn row_type(output: &COutput, shapes: &Shapes) -> Option<RowType> {
    match *output {
        COutput::Store(node) => Some(shapes.vector_length(node).map_or(RowType::RowAgg, RowType::no_agg)),
        COutput::Cumulative(..) => Some(RowType::CumAgg),
        // A scalar has no columns; the verifier says so.
        COutput::ColAgg(_, node) => Some(shapes.vector_length(node).map_or(RowType::ColAgg, RowType::col_agg)),
        COutput::FullAgg(..) => Some(RowType::FullAgg),
        COutput::RowProduct { order: ProductOrder::ShortByLong, .. } => Some(RowType::ColAggB1),
        COutput::RowProduct { short, .. } if shapes.is_vector(short) => Some(RowType::ColAggB1T),
        COutput::RowProduct { .. } => Some(RowType::ColAggT),
        COutput::RowAgg(..) | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => None,
    }
}

fn outer_type(output: &COutput) -> Option<OuterType> {
    match output {
        COutput::Store(_) => Some(OuterType::NoAgg),
        COutput::FullAgg(..) => Some(OuterType::FullAgg),
        COutput::TimesFactor(_) => Some(OuterType::RightMM),
        COutput::TransposedTimesFactor(_) => Some(OuterType::LeftMM),
        COutput::Cumulative(..) | COutput::RowAgg(..) | COutput::ColAgg(..) | COutput::RowProduct { .. } => None,
    }
}

/// An output by what it reads, as in the text form: what becomes of it, the variant of its plan says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedOutput {
    /// The node whose values leave the operator; of a product the right factor.
    pub node: CNodeId,
    /// The function of an aggregate, or of a cumulative output.
    pub agg: Option<AggOp>,
    /// The left factor of a product over rows.
    pub left: Option<CNodeId>,
}

impl StatedOutput {
    /// The output in a plan of this variant and these nodes.
    ///
    /// # Errors
    /// Why the variant has no such output: it needs what is not stated, or does not take what is.
    pub fn in_plan(&self, plan: &CPlan) -> Result<COutput, String> {
        match plan.variant {
            Variant::Row(RowType::MultiAgg) => self.one_of_several(plan),
            Variant::Cell(CellType::NoAgg)
            | Variant::Row(RowType::NoAgg | RowType::NoAggB1 | RowType::NoAggConst | RowType::RowAgg)
            | Variant::Outer(OuterType::NoAgg) => self.plain(plan, COutput::Store),
            Variant::Outer(OuterType::RightMM) => self.plain(plan, COutput::TimesFactor),
            Variant::Outer(OuterType::LeftMM) => self.plain(plan, COutput::TransposedTimesFactor),
            Variant::Cell(CellType::CumAgg) | Variant::Row(RowType::CumAgg) => {
                self.aggregate(plan, COutput::Cumulative)
            }
            Variant::Cell(CellType::RowAgg) => self.aggregate(plan, COutput::RowAgg),
            Variant::Cell(CellType::ColAgg)
            | Variant::Row(RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst) => {
                self.aggregate(plan, COutput::ColAgg)
            }
            Variant::Cell(CellType::FullAgg)
            | Variant::Row(RowType::FullAgg)
            | Variant::MAgg
            | Variant::Outer(OuterType::FullAgg) => self.aggregate(plan, COutput::FullAgg),
            Variant::Row(RowType::ColAggT | RowType::ColAggB1T) => self.product(plan, ProductOrder::LongByShort),
            Variant::Row(RowType::ColAggB1) => self.product(plan, ProductOrder::ShortByLong),
        }
    }

    /// An output of a multi-aggregate over rows: scalars are aggregated in full and vectors by column, and the left factor
    /// of a product is the long one if it may be.
    fn one_of_several(&self, plan: &CPlan) -> Result<COutput, String> {
        let shapes = plan.shapes();
        match self.left {
            Some(left) if shapes.is_long(left) || !shapes.is_vector(self.node) => {
                self.product(plan, ProductOrder::LongByShort)
            }
            Some(_) => self.product(plan, ProductOrder::ShortByLong),
            None if shapes.is_vector(self.node) => self.aggregate(plan, COutput::ColAgg),
            None => self.aggregate(plan, COutput::FullAgg),
        }
    }

    fn plain(&self, plan: &CPlan, output: fn(CNodeId) -> COutput) -> Result<COutput, String> {
        self.has_no_aggregation(plan)?;
        self.has_no_left(plan)?;
        Ok(output(self.node))
    }

    fn aggregate(&self, plan: &CPlan, output: fn(AggOp, CNodeId) -> COutput) -> Result<COutput, String> {
        self.has_no_left(plan)?;
        let agg = self.agg.ok_or_else(|| format!("{} needs an aggregation function", plan.variant.mnemonic()))?;
        Ok(output(agg, self.node))
    }

    fn product(&self, plan: &CPlan, order: ProductOrder) -> Result<COutput, String> {
        self.has_no_aggregation(plan)?;
        let left = self.left.ok_or_else(|| format!("{} needs a left vector", plan.variant.mnemonic()))?;
        Ok(COutput::row_product(left, self.node, order))
    }

    fn has_no_aggregation(&self, plan: &CPlan) -> Result<(), String> {
        match self.agg {
            None => Ok(()),
            Some(_) if self.left.is_some() => Err("products take no aggregation function".to_owned()),
            Some(_) => Err(format!("{} takes no aggregation function", plan.variant.mnemonic())),
        }
    }

    fn has_no_left(&self, plan: &CPlan) -> Result<(), String> {
        match self.left {
            None => Ok(()),
            Some(_) => Err(format!("{} takes no left vector", plan.variant.mnemonic())),
        }
    }
}
