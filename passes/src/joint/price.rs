//! The price of a whole DAG under a fusion plan: every fused operator, and every basic one that is left.

use crate::cost::CostModel;
use crate::explain::execution;
use crate::facts::Context;
use crate::pipeline::OptimizerOptions;
use crate::select::FusionPlan;
use fuseline_ir::hop::HopOp;

/// What decides between two forms, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    /// Operators on matrices of which sizes are unknown: they have no price, so that none may come in.
    pub(super) unknown: usize,
    /// Operators that a constraint forbids.
    pub(super) forbidden: usize,
    /// Seconds of the other operators of the fused plan.
    pub(super) seconds: f64,
    /// The cost by the measure of rewriting.
    pub(super) cost: u128,
}

/// Prices that are this close are equal: sums of the same terms in another order differ by less.
pub(super) const RELATIVE_TOLERANCE: f64 = 1e-9;

impl Price {
    /// The price of a plan, for a DAG of this cost by the measure of rewriting.
    pub(super) fn of(context: &Context<'_>, plan: &FusionPlan, options: &OptimizerOptions, cost: u128) -> Price {
        let (forbidden, seconds) = forbidden_and_seconds(context, plan, &options.model);
        Price { unknown: unknown_operators(context), forbidden, seconds, cost }
    }

    /// Whether the price is lower than another.
    pub(super) fn beats(&self, other: &Price) -> bool {
        let [own, others] = [self, other].map(|price| (price.unknown, price.forbidden));
        if own != others {
            return own < others;
        }
        let is_equal = (self.seconds - other.seconds).abs() <= RELATIVE_TOLERANCE * other.seconds;
        if is_equal { self.cost < other.cost } else { self.seconds < other.seconds }
    }

    /// Seconds of all operators; infinite where a constraint forbids one.
    pub(super) fn total_seconds(&self) -> f64 {
        total_seconds(self.forbidden, self.seconds)
    }
}

/// Seconds that a DAG takes under a fusion plan: the sum over the fused and basic operators that its outputs and effects
/// need. Operators that several fused operators cover are paid in each. Infinite where a constraint forbids an operator.
pub fn plan_seconds(context: &Context<'_>, plan: &FusionPlan, model: &CostModel) -> f64 {
    let (forbidden, seconds) = forbidden_and_seconds(context, plan, model);
    total_seconds(forbidden, seconds)
}

fn total_seconds(forbidden: usize, seconds: f64) -> f64 {
    if forbidden > 0 { f64::INFINITY } else { seconds }
}

/// The number of operators that a constraint forbids, and the seconds of the others.
fn forbidden_and_seconds(context: &Context<'_>, plan: &FusionPlan, model: &CostModel) -> (usize, f64) {
    let prices =
        execution(context, &plan.covers).into_iter().map(|operator| model.operator_seconds(context, &operator));
    prices.fold(
        (0, 0.0),
        |(forbidden, sum), seconds| {
            if seconds.is_finite() { (forbidden, sum + seconds) } else { (forbidden + 1, sum) }
        },
    )
}

/// The number of live operators that make a matrix of which a dimension is unknown.
fn unknown_operators(context: &Context<'_>) -> usize {
    let live = context.dag.hops.iter().filter(|(id, _)| context.is_live(*id));
    let computed = live.filter(|(_, hop)| hop.is_matrix() && !matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_)));
    computed.filter(|(_, hop)| hop.size.known_dims().is_none()).count()
}
