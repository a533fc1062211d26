//! Construction of CPlans (sections 2.1 and 2.2): each cover becomes a backend-independent plan with its inputs.
//!
//! Members are translated in topological order into hash-consed nodes; everything else they read becomes an input,
//! accessed by cell, by row or as a whole, depending on its dimensions. Literals of the script are baked in, other
//! scalars are inputs. What cannot be constructed is reported and stays unfused.

mod builder;
mod canonical;
mod cells;
mod optimize;
mod rows;
#[cfg(test)]
mod tests;

use crate::facts::Context;
use crate::template::{CoverError, verify_cover};
use fuseline_ir::cplan::{CNode, CPlan, VerifiedCPlan, VerifierErrors};
use fuseline_ir::hop::{FusionCover, HopId};
use fuseline_ir::memo::TemplateType;
use thiserror::Error;

pub use canonical::OptimizedCPlan;
pub use optimize::optimize_cplan;

/// Why a cover has no CPlan.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ConstructError {
    /// An operator that the template cannot express.
    #[error("{template} operators have no {label}")]
    Operation {
        /// The template.
        template: TemplateType,
        /// The operator's label.
        label: String,
    },
    /// An input whose dimensions fit no access.
    #[error("an input {size} fits no access of a {template} operator over {space}")]
    Input {
        /// The template.
        template: TemplateType,
        /// The input's size.
        size: fuseline_ir::SizeInfo,
        /// What the operator runs over.
        space: fuseline_ir::SizeInfo,
    },
    /// No input can be the main input.
    #[error("no input can be the main input of the {0} operator")]
    NoMainInput(TemplateType),
    /// The cover is none.
    #[error("the cover is malformed: {0}")]
    Cover(#[from] CoverError),
    /// The plan breaks a rule of CPlans.
    #[error("the constructed plan is malformed: {0}")]
    Malformed(VerifierErrors),
}

/// An input of a fused operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoverInput {
    /// The value of an operator.
    Hop(HopId),
    /// The transpose of the value of an operator, for which the DAG needs one more operator.
    Transpose(HopId),
    /// The cell of a 1 x 1 matrix, as a scalar, for which the DAG needs a cast.
    Scalar(HopId),
}

/// A cover with its CPlan.
#[derive(Clone, Debug)]
pub struct ConstructedPlan {
    /// What is covered.
    pub cover: FusionCover,
    /// The plan.
    pub cplan: VerifiedCPlan,
    /// Its inputs, in the order of the plan's inputs.
    pub inputs: Vec<CoverInput>,
    /// For each root of the cover, the position of its output in the plan.
    pub outputs: Vec<u32>,
    /// The operator computes the transpose of what its root does.
    pub transposed_output: bool,
}

/// A cover that stays unfused.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// What was to be covered.
    pub cover: FusionCover,
    /// Why not.
    pub reason: String,
}

/// Constructs the plans of covers, in their order, and reports those that have none.
pub fn construct(context: &Context<'_>, covers: &[FusionCover]) -> (Vec<ConstructedPlan>, Vec<Rejection>) {
    let mut constructed = Vec::new();
    let mut rejected = Vec::new();
    for cover in covers {
        match construct_cover(context, cover) {
            Ok(plan) => constructed.push(plan),
            Err(error) => rejected.push(Rejection { cover: cover.clone(), reason: error.to_string() }),
        }
    }
    (constructed, rejected)
}

/// Constructs the plan of one cover.
///
/// # Errors
/// The template cannot express the covered operators over these inputs.
pub fn construct_cover(context: &Context<'_>, cover: &FusionCover) -> Result<ConstructedPlan, ConstructError> {
    verify_cover(context, cover)?;
    let drafts = drafts(context, cover)?;
    let optimized = drafts.into_iter().map(|draft| (optimize_cplan(&draft.cplan), draft));
    let (optimized, draft) = optimized
        .min_by_key(|(optimized, _)| canonical_key(&optimized.cplan))
        .ok_or(ConstructError::NoMainInput(cover.template))?;
    let inputs = optimized.inputs.iter().map(|&old| draft.inputs[old.as_u32() as usize]).collect();
    let mut outputs = Vec::with_capacity(cover.roots.len());
    for root in 0..cover.roots.len() {
        let position = optimized.outputs.iter().position(|&output| output == root);
        outputs.push(position.unwrap_or(root) as u32);
    }
    let cplan = optimized.cplan.verify().map_err(ConstructError::Malformed)?;
    Ok(ConstructedPlan { cover: cover.clone(), cplan, inputs, outputs, transposed_output: draft.transposed_output })
}

/// The plans of a cover before optimisation, one for each main input that is as good as any.
fn drafts(context: &Context<'_>, cover: &FusionCover) -> Result<Vec<Draft>, ConstructError> {
    match cover.template {
        TemplateType::Row => rows::draft(context, cover).map(|draft| vec![draft]),
        TemplateType::Cell => cells::drafts(context, cover, cells::Form::of_cell),
        TemplateType::MAgg => cells::drafts(context, cover, cells::Form::of_multi_aggregate),
        TemplateType::Outer => cells::drafts(context, cover, cells::Form::of_outer),
    }
}

/// The order among plans that differ in which of several equally good inputs is the main one: that which reads the main
/// input first, then the text.
fn canonical_key(plan: &CPlan) -> (Option<usize>, String) {
    (plan.nodes.values().position(|node| *node == CNode::Main), plan.to_string())
}

/// A plan before optimisation.
struct Draft {
    cplan: CPlan,
    inputs: Vec<CoverInput>,
    transposed_output: bool,
}
