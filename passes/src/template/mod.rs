//! Templates: the open-fuse-merge-close abstraction (section 3.2) and the conditions of each template.
//!
//! Each condition is local to an operator and one of its inputs; what few of them must know beyond (consumers, the
//! outer product below an expression) the [`Context`] of the DAG knows.

mod cell;
mod conditions;
mod outer;
mod row;
#[cfg(test)]
mod tests;

pub use cell::CellTemplate;
pub use outer::OuterTemplate;
pub use row::RowTemplate;

pub(crate) use conditions::{is_cell_aggregate, is_inner_product, row_cumulative_step, transposed_product};
pub(crate) use outer::{LeftProduct, factor_v, left_product};
pub(crate) use row::aggregated_rows;

use crate::facts::Context;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{CloseStatus, TemplateType};

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
