//! What hand-coded operators are expected to take: what generated ones would that compute the same.

use crate::cost::{CostModel, Prediction, Predictions};
use crate::cover::Operator;
use crate::facts::{Context, TemplateLimits};
use fuseline_ir::hop::{FusedOp, Hop, HopDag, HopId, HopOp, LossWeight};
use fuseline_ir::memo::TemplateType;
use smallvec::smallvec;

/// Adds the seconds of the hand-coded operators of a DAG to what is predicted of the others.
pub fn predict(model: &CostModel, limits: &TemplateLimits, dag: &HopDag, predictions: &mut Predictions) {
    for (id, hop) in &dag.hops {
        if let HopOp::Fused(op) = hop.op {
            predictions[id] = prediction(model, limits, dag, hop, op);
        }
    }
}

fn prediction(model: &CostModel, limits: &TemplateLimits, dag: &HopDag, hop: &Hop, op: FusedOp) -> Option<Prediction> {
    let template = template(op)?;
    let inputs: Vec<&Hop> = hop.inputs.iter().map(|&input| &dag[input]).collect();
    let is_sized = |hop: &&Hop| hop.is_scalar() || hop.size.known_dims().is_some();
    if !inputs.iter().all(is_sized) {
        return None;
    }
    let (definition, root) = op.as_dag(&inputs).ok()?;
    let context = Context::new(&definition, limits);
    let is_input = |id: &HopId| matches!(definition[*id].op, HopOp::Read(_) | HopOp::Literal(_));
    let (inputs, members) = definition.hops.keys().partition(is_input);
    let operator = Operator { template: Some(template), roots: smallvec![root], members, inputs };
    let prediction = model.prediction(&context, &operator);
    prediction.seconds.is_finite().then_some(prediction)
}

/// The template of the generated operator that computes the same; none where no template does.
fn template(op: FusedOp) -> Option<TemplateType> {
    match op {
        FusedOp::TransposeSelf(_) | FusedOp::MatrixChain(_) => Some(TemplateType::Row),
        FusedOp::BinaryAggregate(_) | FusedOp::TernaryAggregate(_) => Some(TemplateType::Cell),
        // Squares beside the weights are added without the product, which no generated operator does.
        FusedOp::WeightedSquaredLoss(LossWeight::Pre) => Some(TemplateType::Cell),
        FusedOp::OuterAggregate(..) => None,
        FusedOp::WeightedSquaredLoss(_)
        | FusedOp::WeightedSigmoid { .. }
        | FusedOp::WeightedProduct(..)
        | FusedOp::WeightedMultiply
        | FusedOp::WeightedCrossEntropy { .. }
        | FusedOp::WeightedUnary(..) => Some(TemplateType::Outer),
    }
}
