//! The price of a whole DAG under a fusion plan: every fused operator, and every basic one that is left.

use crate::construct::outside_inputs;
use crate::cost::CostModel;
use crate::select::FusionPlan;
use crate::template::Context;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{HopId, HopOp};

/// Seconds that a DAG takes under a fusion plan: the sum over the fused and basic operators that its outputs and effects
/// need. Operators that several fused operators cover are paid in each.
pub fn plan_seconds(context: &Context<'_>, plan: &FusionPlan, model: &CostModel) -> f64 {
    let mut cover_of = SecondaryMap::<HopId, Option<usize>>::new();
    for (number, cover) in plan.covers.iter().enumerate() {
        for &root in &cover.roots {
            cover_of[root] = Some(number);
        }
    }
    let mut needed = EntitySet::new();
    needed.extend(context.dag.roots());
    let mut is_paid = vec![false; plan.covers.len()];
    let mut seconds = 0.0;
    // Users come before what they use; the last root of a cover comes before all that the cover reads.
    for id in context.dag.hops.keys().rev() {
        if !needed.contains(id) {
            continue;
        }
        match cover_of[id] {
            None => {
                seconds += model.basic_seconds(context, id);
                needed.extend(context.hop(id).inputs.iter().copied());
            }
            Some(number) if !is_paid[number] => {
                is_paid[number] = true;
                let cover = &plan.covers[number];
                needed.extend(outside_inputs(context.dag, &cover.members));
                seconds += model.cover_seconds(context, cover);
            }
            Some(_) => {}
        }
    }
    seconds
}

/// The number of live operators that make a matrix of which a dimension is unknown.
pub(super) fn unknown_operators(context: &Context<'_>) -> usize {
    let is_unknown = |id: &HopId| {
        let hop = context.hop(*id);
        context.is_live(*id)
            && hop.is_matrix()
            && hop.size.known_dims().is_none()
            && !matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_))
    };
    context.dag.hops.keys().filter(is_unknown).count()
}
