//! Aggregations and their directions.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An aggregation function over cells.
///
/// Every aggregate but the count propagates NaN. The aggregate of no cells is 0 for the sums and the count, 1 for the
/// product, `+Inf` for the minimum, `-Inf` for the maximum, and NaN for the mean and the variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AggOp {
    /// Sum of the cells.
    Sum,
    /// Sum of the squared cells.
    SumSq,
    /// Smallest cell.
    Min,
    /// Largest cell.
    Max,
    /// Product of the cells.
    Prod,
    /// Number of cells that are not zero; NaN is not.
    Nnz,
    /// Sum divided by the number of cells.
    Mean,
    /// Sample variance: the sum of the squared distances from the mean, divided by the number of cells less one; 0 for
    /// a single cell.
    Var,
}

impl AggOp {
    /// Every aggregation function.
    pub const ALL: &[AggOp] =
        &[AggOp::Sum, AggOp::SumSq, AggOp::Min, AggOp::Max, AggOp::Prod, AggOp::Nnz, AggOp::Mean, AggOp::Var];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            AggOp::Sum => "sum",
            AggOp::SumSq => "sumsq",
            AggOp::Min => "min",
            AggOp::Max => "max",
            AggOp::Prod => "prod",
            AggOp::Nnz => "nnz",
            AggOp::Mean => "mean",
            AggOp::Var => "var",
        }
    }

    /// The function's part of the paper's label, as in `ua(R+)`.
    pub fn label(self) -> &'static str {
        match self {
            AggOp::Sum => "+",
            AggOp::SumSq => "sq+",
            AggOp::Min => "min",
            AggOp::Max => "max",
            AggOp::Prod => "*",
            AggOp::Nnz => "nnz",
            AggOp::Mean => "mean",
            AggOp::Var => "var",
        }
    }

    /// The value an accumulator starts from.
    pub fn neutral(self) -> f64 {
        match self {
            AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => 0.0,
            AggOp::Prod => 1.0,
            AggOp::Min => f64::INFINITY,
            AggOp::Max => f64::NEG_INFINITY,
        }
    }

    /// Whether cells equal to zero never change the result (the sums and the count), so that an aggregation over
    /// non-zeros alone is right. Extremes and products are only pseudo-sparse-safe: one zero stands for all of them.
    pub fn ignores_zeros(self) -> bool {
        matches!(self, AggOp::Sum | AggOp::SumSq | AggOp::Nnz)
    }

    /// Whether partial results merge into the result. A mean and a variance need more than the partial results.
    pub fn merges(self) -> bool {
        !matches!(self, AggOp::Mean | AggOp::Var)
    }

    /// Whether a cumulative form exists: `cumsum`, `cumprod`, `cummin`, `cummax`.
    pub fn is_cumulative(self) -> bool {
        matches!(self, AggOp::Sum | AggOp::Prod | AggOp::Min | AggOp::Max)
    }

    /// The aggregate of a single value, of those functions that [merge](AggOp::merges).
    pub fn of_one(self, value: f64) -> f64 {
        match self {
            AggOp::SumSq => value * value,
            AggOp::Nnz => f64::from(u8::from(value != 0.0)),
            AggOp::Sum | AggOp::Min | AggOp::Max | AggOp::Prod | AggOp::Mean | AggOp::Var => value,
        }
    }

    /// The operation that merges two partial accumulators.
    pub fn merge(self, x: f64, y: f64) -> f64 {
        match self {
            AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => x + y,
            AggOp::Prod => x * y,
            AggOp::Min => crate::math::min(x, y),
            AggOp::Max => crate::math::max(x, y),
        }
    }

    /// The function that makes the result of all cells of the partial results of some, for those that
    /// [merge](AggOp::merges).
    pub fn of_partials(self) -> AggOp {
        match self {
            AggOp::SumSq | AggOp::Nnz => AggOp::Sum,
            other => other,
        }
    }

    /// Floating-point operations per aggregated cell.
    pub fn flops(self) -> f64 {
        match self {
            AggOp::Sum | AggOp::Mean | AggOp::Min | AggOp::Max | AggOp::Prod | AggOp::Nnz => 1.0,
            AggOp::SumSq => 2.0,
            AggOp::Var => 4.0,
        }
    }
}

impl fmt::Display for AggOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

impl FromStr for AggOp {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        AggOp::ALL
            .iter()
            .copied()
            .find(|op| op.mnemonic() == text)
            .ok_or_else(|| format!("`{text}` is no aggregation function"))
    }
}

/// The direction of an aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    /// All cells to a scalar.
    Full,
    /// Each row to one cell: an m x 1 column.
    Row,
    /// Each column to one cell: a 1 x n row.
    Col,
}

impl Direction {
    /// Every direction.
    pub const ALL: &[Direction] = &[Direction::Full, Direction::Row, Direction::Col];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            Direction::Full => "full",
            Direction::Row => "row",
            Direction::Col => "col",
        }
    }

    /// The direction's part of the paper's label: `RC`, `R` or `C`.
    pub fn label(self) -> &'static str {
        match self {
            Direction::Full => "RC",
            Direction::Row => "R",
            Direction::Col => "C",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

impl FromStr for Direction {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Direction::ALL
            .iter()
            .copied()
            .find(|direction| direction.mnemonic() == text)
            .ok_or_else(|| format!("`{text}` is no direction"))
    }
}
