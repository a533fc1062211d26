//! Prices by operator and by cover: of whole plans, and for comparison with what operators take when they run.

use super::{CostModel, CostTerms, cost_vector};
use crate::cover::Operator;
use crate::facts::Context;
use crate::hops::over_windows;
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use std::iter::Sum;

/// The seconds that the cost model expects of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// With all threads.
    pub seconds: f64,
    /// Of one thread, not counting what is paid once.
    pub alone: f64,
}

impl Prediction {
    /// Of what takes no time to speak of.
    pub const FREE: Prediction = Prediction { seconds: 0.0, alone: 0.0 };

    /// Of what may take any time, and threads any part of it.
    pub const UNKNOWN: Prediction = Prediction { seconds: 0.0, alone: f64::INFINITY };

    /// The seconds that the others of so many threads save: as many as those of the machine do, but no more than their share.
    pub fn saved_by(&self, threads: usize) -> f64 {
        (self.alone - self.seconds).min(self.alone - self.alone / threads.max(1) as f64)
    }
}

impl Sum for Prediction {
    fn sum<I: Iterator<Item = Prediction>>(predictions: I) -> Prediction {
        predictions.fold(Prediction::FREE, |sum, one| Prediction {
            seconds: sum.seconds + one.seconds,
            alone: sum.alone + one.alone,
        })
    }
}

/// What the cost model expects of the operators of a DAG, where it has a price.
pub type Predictions = SecondaryMap<HopId, Option<Prediction>>;

impl CostModel {
    /// Seconds of the fused operator of a cover; infinite where a constraint forbids it.
    pub fn cover_seconds(&self, context: &Context<'_>, cover: &FusionCover) -> f64 {
        self.cover_terms(context, cover).seconds()
    }

    /// The terms that [`Self::cover_seconds`] adds up.
    pub fn cover_terms(&self, context: &Context<'_>, cover: &FusionCover) -> CostTerms {
        self.operator_terms(context, &Operator::of_cover(context, cover))
    }

    /// What is expected of an operator; any time where a constraint forbids it.
    pub fn prediction(&self, context: &Context<'_>, operator: &Operator) -> Prediction {
        let vector = cost_vector(context, operator);
        let price = |model: &CostModel| {
            let terms = vector.as_ref().map(|vector| model.terms(context, operator.template, vector));
            terms.unwrap_or(CostTerms::FORBIDDEN).seconds()
        };
        Prediction { seconds: price(self), alone: price(&self.of_one_thread()) }
    }

    /// What every operator of a DAG takes by itself. Operators that the model does not know, such as decompositions and
    /// functions on frames, those of unknown sizes, and those on scalars alone have no price.
    pub fn predict(&self, context: &Context<'_>) -> Predictions {
        let mut predictions = Predictions::new();
        for (id, hop) in &context.dag.hops {
            let is_sized = |id: &HopId| {
                let hop = context.hop(*id);
                hop.is_scalar() || hop.is_matrix() && hop.size.known_dims().is_some()
            };
            let has_matrices = hop.is_matrix() || hop.inputs.iter().any(|&input| context.hop(input).is_matrix());
            if (is_priced(&hop.op) || over_windows(context.dag, id).is_some())
                && has_matrices
                && is_sized(&id)
                && hop.inputs.iter().all(is_sized)
            {
                predictions[id] = Some(self.prediction(context, &Operator::basic(context, id)));
            }
        }
        predictions
    }
}

/// Whether the cost model knows what an operator computes.
fn is_priced(op: &HopOp) -> bool {
    matches!(
        op,
        HopOp::Unary(_)
            | HopOp::Binary(_)
            | HopOp::Outer(_)
            | HopOp::Ternary(_)
            | HopOp::Nary(_)
            | HopOp::AggUnary(..)
            | HopOp::MatMul
            | HopOp::Cumulative(_)
            | HopOp::Reorg(_)
            | HopOp::Index
            | HopOp::DataGen(_)
    )
}
