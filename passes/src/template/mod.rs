//! Templates: the open-fuse-merge-close abstraction (section 3.2) and the conditions of each template.
//!
//! Each condition is local to an operator and one of its inputs; what few of them must know beyond (consumers, the
//! outer product below an expression) [`Context`] derives once per DAG, in linear time.

mod cell;
mod conditions;
mod context;
mod outer;
mod row;
#[cfg(test)]
mod tests;

pub use cell::CellTemplate;
pub use context::{Context, OuterFacts};
pub use outer::OuterTemplate;
pub use row::RowTemplate;

pub(crate) use conditions::{
    column_range, is_cell_aggregate, is_column_transpose, is_elementwise, is_inner_product, is_transpose,
    literal_sequence, row_cumulative_step, single_column, transposed_product, untransposed,
};
pub(crate) use outer::{LeftProduct, factor_v, left_product};
pub(crate) use row::aggregated_rows;

use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{CloseStatus, TemplateType};

/// Sizes from which on templates apply, and the meaning of zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateLimits {
    /// Outer products need more rows than this.
    pub outer_rows: u64,
    /// Outer products need more columns than this.
    pub outer_cols: u64,
    /// The narrow operand of a matrix product in a Row operator has fewer columns than this.
    pub skinny_cols: u64,
    /// How many operators a condition may look at to find out whether an expression uses a matrix.
    pub look_around: usize,
    /// Exactly IEEE: a zero annihilates nothing, so sparsity is exploited only where the other operand is a finite
    /// constant.
    pub strict_ieee: bool,
}

impl Default for TemplateLimits {
    fn default() -> Self {
        TemplateLimits { outer_rows: 256, outer_cols: 256, skinny_cols: 64, look_around: 64, strict_ieee: false }
    }
}

impl TemplateLimits {
    /// No lower limits on sizes, for tests on small matrices.
    pub fn tiny() -> Self {
        TemplateLimits { outer_rows: 1, outer_cols: 1, ..Self::default() }
    }
}

/// The conditions under which fused operators of one template start, grow and end.
pub trait Template: Sync + std::fmt::Debug {
    /// The type of the entries that this template makes.
    fn ttype(&self) -> TemplateType;

    /// Whether a fused operator may start at `hop`, covering it and reading materialised inputs.
    fn open(&self, context: &Context<'_>, hop: HopId) -> bool;

    /// Whether an open fused operator at `input` may expand to its consumer `hop`.
    fn fuse(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool;

    /// Whether an open fused operator at `hop` may expand to its input `input`, which has open plans of this template
    /// or of Cell.
    fn merge(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool;

    /// The status of the template after `hop`.
    fn close(&self, context: &Context<'_>, hop: HopId) -> CloseStatus;
}

/// The templates that exploration knows. MAgg is composed from Cell operators after selection.
pub const TEMPLATES: &[&dyn Template] = &[&RowTemplate, &CellTemplate, &OuterTemplate];
