//! The MAgg template: several aggregations of the same cells in one pass.

use super::Template;
use crate::cover::Operator;
use crate::facts::{Context, aggregates_all_cells};
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{CloseStatus, TemplateType};

/// What is known of MAgg operators. Exploration finds none: they are composed of Cell operators after selection.
#[derive(Clone, Copy, Debug)]
pub struct MultiAggregateTemplate;

impl Template for MultiAggregateTemplate {
    fn ttype(&self) -> TemplateType {
        TemplateType::MAgg
    }

    fn open(&self, _: &Context<'_>, _: HopId) -> bool {
        false
    }

    fn fuse(&self, _: &Context<'_>, _: HopId, _: HopId) -> bool {
        false
    }

    fn merge(&self, _: &Context<'_>, _: HopId, _: HopId) -> bool {
        false
    }

    fn close(&self, _: &Context<'_>, _: HopId) -> CloseStatus {
        CloseStatus::ClosedInvalid
    }

    fn ends_at(&self, context: &Context<'_>, _: &Operator, root: HopId) -> bool {
        aggregates_all_cells(context, root)
    }
}
