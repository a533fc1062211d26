//! What a fusion plan executes: its fused operators and the basic ones between them, each with its price.

use super::report::ExploitedSparsity;
use crate::construct::outside_inputs;
use crate::cost::{CostModel, CostTerms, CostVector, Operator, cost_vector, multi_aggregate_vector};
use crate::template::Context;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;

/// A basic or fused operator of a plan, its members and inputs as they are executed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedOperator {
    pub(crate) template: Option<TemplateType>,
    pub(crate) roots: Vec<HopId>,
    pub(crate) members: Vec<HopId>,
    pub(crate) inputs: Vec<HopId>,
}

impl PlannedOperator {
    pub(crate) fn basic(context: &Context<'_>, root: HopId) -> Self {
        PlannedOperator {
            template: None,
            roots: vec![root],
            members: vec![root],
            inputs: outside_inputs(context.dag, &[root]),
        }
    }

    pub(crate) fn of_cover(context: &Context<'_>, cover: &FusionCover) -> Self {
        PlannedOperator {
            template: Some(cover.template),
            roots: cover.roots.clone(),
            members: cover.members.clone(),
            inputs: outside_inputs(context.dag, &cover.members),
        }
    }

    pub(crate) fn covers(&self, id: HopId) -> bool {
        self.members.binary_search(&id).is_ok()
    }

    /// The operator as the cost model takes it, for its first root.
    pub(crate) fn operator(&self) -> Operator {
        Operator {
            template: self.template,
            root: self.roots[0],
            members: self.members.clone(),
            inputs: self.inputs.clone(),
        }
    }

    /// What it writes, computes and reads; none where that is impossible.
    pub(crate) fn vector(&self, context: &Context<'_>) -> Option<CostVector> {
        match self.template {
            Some(template) if self.roots.len() > 1 => {
                Some(multi_aggregate_vector(context, template, &self.roots, &self.members, &self.inputs))
            }
            _ => cost_vector(context, &self.operator()),
        }
    }

    /// The terms of its estimated time.
    pub(crate) fn terms(&self, context: &Context<'_>, model: &CostModel) -> CostTerms {
        self.vector(context).map_or(CostTerms::FORBIDDEN, |vector| model.terms(context, self.template, &vector))
    }

    /// Estimated seconds.
    pub(crate) fn seconds(&self, context: &Context<'_>, model: &CostModel) -> f64 {
        self.terms(context, model).seconds()
    }

    /// The input whose zeros it skips, if any.
    pub(crate) fn driver(&self, context: &Context<'_>) -> Option<ExploitedSparsity> {
        let vector = self.vector(context)?;
        let driver = vector.driver.filter(|_| vector.sparsity < 1.0 || self.template == Some(TemplateType::Outer))?;
        Some(ExploitedSparsity { driver: driver.as_u32(), share: vector.sparsity })
    }

    /// Whether it reads or computes matrices, so that the cost model has something to say of it.
    pub(crate) fn is_on_matrices(&self, context: &Context<'_>) -> bool {
        self.inputs.iter().chain(&self.roots).any(|&id| context.hop(id).is_matrix())
    }
}

/// The operators that the outputs and effects of a DAG need where these are fused, in ascending order of their first
/// roots. Reads and literals are none.
pub(crate) fn execution(context: &Context<'_>, covers: &[FusionCover]) -> Vec<PlannedOperator> {
    let fused: Vec<PlannedOperator> = covers.iter().map(|cover| PlannedOperator::of_cover(context, cover)).collect();
    execution_with(context, &fused, |root| PlannedOperator::basic(context, root))
}

/// [`execution`] where `missing` gives the operators of what no fused operator computes.
pub(crate) fn execution_with(
    context: &Context<'_>,
    fused: &[PlannedOperator],
    missing: impl Fn(HopId) -> PlannedOperator,
) -> Vec<PlannedOperator> {
    let mut operator_of = SecondaryMap::<HopId, Option<u32>>::new();
    for (number, operator) in fused.iter().enumerate() {
        for &root in &operator.roots {
            operator_of[root] = Some(number as u32);
        }
    }
    let mut is_taken = vec![false; fused.len()];
    let mut seen = EntitySet::new();
    let mut pending = context.dag.roots();
    let mut operators = Vec::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) || matches!(context.hop(id).op, HopOp::Read(_) | HopOp::Literal(_)) {
            continue;
        }
        let operator = match operator_of[id] {
            Some(number) if std::mem::replace(&mut is_taken[number as usize], true) => continue,
            Some(number) => fused[number as usize].clone(),
            None => missing(id),
        };
        pending.extend(operator.inputs.iter().copied());
        operators.push(operator);
    }
    operators.sort_by(|one, other| one.roots.cmp(&other.roots));
    operators
}
