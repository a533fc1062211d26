//! Construction of CPlans (sections 2.1 and 2.2): each cover becomes a backend-independent plan with its inputs.
//!
//! Members are translated in topological order into hash-consed nodes; everything else they read becomes an input,
//! accessed by cell, by row or as a whole, depending on its dimensions. Literals of the script are baked in, other
//! scalars are inputs. What cannot be constructed is reported and stays unfused.

mod builder;
mod cells;
mod optimize;
mod rows;
#[cfg(test)]
mod tests;

use crate::cost::{Operator, iteration_space, sparse_driver};
use crate::select::FusionPlan;
use crate::template::{Context, TemplateLimits};
use fuseline_ir::cplan::{CPlan, VerifiedCPlan, VerifierErrors};
use fuseline_ir::hop::{FusionCover, HopDag, HopId};
use fuseline_ir::memo::TemplateType;
use thiserror::Error;

pub use optimize::{OptimizedCPlan, optimize_cplan};

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
    /// A product of row vectors neither of which is as long as a row of the main input.
    #[error("neither factor of the product is as long as a row of the main input")]
    ShortFactors,
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

/// Constructs the plans of all covers, in their order, and reports those that have none.
pub fn construct(dag: &HopDag, plan: &FusionPlan, limits: &TemplateLimits) -> (Vec<ConstructedPlan>, Vec<Rejection>) {
    construct_in(&Context::new(dag, limits), plan)
}

/// [`construct`] with the derived facts at hand.
pub fn construct_in(context: &Context<'_>, plan: &FusionPlan) -> (Vec<ConstructedPlan>, Vec<Rejection>) {
    let mut constructed = Vec::new();
    let mut rejected = Vec::new();
    for cover in &plan.covers {
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
    let draft = match cover.template {
        TemplateType::Row => rows::draft(context, cover)?,
        TemplateType::Cell | TemplateType::MAgg | TemplateType::Outer => cells::draft(context, cover)?,
    };
    let optimized = optimize_cplan(&draft.cplan);
    let inputs = optimized.inputs.iter().map(|&old| draft.inputs[old.as_u32() as usize]).collect();
    let cplan = optimized.cplan.verify().map_err(ConstructError::Malformed)?;
    Ok(ConstructedPlan { cover: cover.clone(), cplan, inputs, transposed_output: draft.transposed_output })
}

/// A plan before optimisation.
struct Draft {
    cplan: CPlan,
    inputs: Vec<CoverInput>,
    transposed_output: bool,
}

/// The distinct operators outside of a cover that its members read, ascending.
pub(crate) fn outside_inputs(dag: &HopDag, members: &[HopId]) -> Vec<HopId> {
    let mut inputs: Vec<HopId> = members
        .iter()
        .flat_map(|&member| dag[member].inputs.iter().copied())
        .filter(|input| members.binary_search(input).is_err())
        .collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

/// The cover as the cost model sees operators.
pub(crate) fn as_operator(dag: &HopDag, cover: &FusionCover) -> Operator {
    Operator {
        template: Some(cover.template),
        root: cover.roots[0],
        members: cover.members.clone(),
        inputs: outside_inputs(dag, &cover.members),
    }
}

/// The main input of an operator over cells, and whether the operator may skip its zeros: the sparsest input that the
/// result is zero with, else the densest one.
fn main_of_cells(context: &Context<'_>, cover: &FusionCover) -> Result<(HopId, bool), ConstructError> {
    let operator = as_operator(context.dag, cover);
    let space = iteration_space(context, &operator.members, operator.root);
    if let Some(driver) = sparse_driver(context, &operator.members, &cover.roots, &operator.inputs, &space) {
        return Ok((driver, true));
    }
    let sparsity = |id: HopId| context.hop(id).size.sparsity();
    let candidates = operator.inputs.iter().copied().filter(|&id| context.hop(id).size.same_dims(&space));
    candidates
        .reduce(|best, id| if sparsity(id) > sparsity(best) { id } else { best })
        .filter(|_| cover.template != TemplateType::Outer)
        .map(|main| (main, false))
        .ok_or(ConstructError::NoMainInput(cover.template))
}
