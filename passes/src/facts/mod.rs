//! Facts of a DAG that all stages share, each derived once.

mod conditions;
mod context;
mod operation;
mod storage;

pub(crate) use conditions::{
    CumulativeStep, aggregated_rows, aggregates_all_cells, aggregates_rows, can_share_pass, is_cell_aggregate,
    is_cumulative_by_column, is_inner_product, is_row_product, is_transpose_of_product, row_cumulative_step,
    transposed_product,
};
pub(crate) use context::is_outer_product_like;
pub use context::{Context, OuterFacts};
pub use operation::{IN_REGISTER_SHARE, Operation};
pub(crate) use operation::{has_few_columns, has_short_rows};
pub(crate) use storage::{SCALAR_BYTES, cells, sparsity, stored_non_zeros, stored_rows};
pub use storage::{Storage, bytes, bytes_of};

use serde::Serialize;

/// Sizes up to which templates apply, and the meaning of zeros.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateLimits {
    /// The narrow operand of a matrix product in a Row operator has fewer columns than this.
    pub skinny_cols: u64,
    /// The rank of a product below which Row operators compute rows of it where they are used, in the place of the product
    /// being written and read: each cell takes so many multiply-adds. Zero for the paper's, which have no such products.
    pub low_rank: u64,
    /// How many operators a condition may look at to find out whether an expression uses a matrix.
    pub look_around: usize,
    /// Exactly IEEE: a zero annihilates nothing, so sparsity is exploited only where the other operand is a finite
    /// constant.
    pub strict_ieee: bool,
}

impl Default for TemplateLimits {
    fn default() -> Self {
        TemplateLimits { skinny_cols: 64, low_rank: 32, look_around: 64, strict_ieee: false }
    }
}
