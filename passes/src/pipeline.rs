//! Fusion of one DAG, all stages on one screen: explore, partition, select, construct, compile, replace.

#[cfg(test)]
mod tests;

use crate::construct::{ConstructedPlan, Rejection, construct};
use crate::cost::{CostModel, Predictions};
use crate::cover::Operator;
use crate::explore::explore;
use crate::facts::{Context, TemplateLimits};
use crate::replace::{CompiledCover, Replaced, replace};
use crate::select::{FusionPlan, Recall, SearchLimits, SearchStats, SelectPolicy, select_recalling};
use crate::sketch::{InputSketches, SparsityEstimates};
use crate::template::TEMPLATES;
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_ir::hop::{HopDag, OperatorId};
use fuseline_ir::memo::MemoTable;
use serde::Serialize;
use std::fmt;
use thiserror::Error;

/// How to optimise.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OptimizerOptions {
    /// The selection policy.
    pub policy: SelectPolicy,
    /// Size floors of templates, and the meaning of zeros.
    pub template_limits: TemplateLimits,
    /// The machine's cost model.
    pub model: CostModel,
    /// Limits of plan enumeration.
    pub search_limits: SearchLimits,
    /// How the non-zeros of sparse inputs are spread, where that is known: facts of a DAG, like its sizes.
    #[serde(skip)]
    pub sketches: InputSketches,
}

impl OptimizerOptions {
    /// A DAG with what conditions and costs need to know of it.
    pub fn context<'a>(&'a self, dag: &'a HopDag) -> Context<'a> {
        Context::with_estimates(dag, &self.template_limits, SparsityEstimates::new(dag, &self.sketches))
    }
}

/// What the compiler of CPlans cannot do; the cover stays unfused.
#[derive(Clone, Debug, Error)]
#[error("{reason}")]
pub struct Unsupported {
    /// Why.
    pub reason: String,
}

/// Compiles the plans of a DAG, or finds them compiled; the results are in the order of the plans. The run time supplies
/// it.
pub type Compile<'a> = dyn FnMut(&[VerifiedCPlan]) -> Vec<Result<OperatorId, Unsupported>> + 'a;

/// What the stages hand on, for printing, checking and timing.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stage<'a> {
    /// The memo table.
    Explored(&'a HopDag, &'a MemoTable),
    /// The partitions with their assignments, and the covers.
    Selected(Selection<'a>),
    /// The CPlans, and the covers without one.
    Constructed(&'a HopDag, &'a [ConstructedPlan], &'a [Rejection]),
    /// The DAG with fused operators.
    Replaced(&'a HopDag),
}

/// A fusion plan with all that it was chosen from and by.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The DAG with its derived facts.
    pub context: &'a Context<'a>,
    /// The memo table as explored.
    pub memo: &'a MemoTable,
    /// The policy and the cost model.
    pub options: &'a OptimizerOptions,
    /// The plan.
    pub plan: &'a FusionPlan,
}

/// What was done to a DAG.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of partitions.
    pub partitions: usize,
    /// Number of partitions whose plan is proven to be the cheapest.
    pub optimal: usize,
    /// The share of the plan's cost by which another one may be cheaper; none where nothing is proven.
    pub gap: Option<f64>,
    /// Counters of plan enumeration.
    pub search: SearchStats,
    /// Number of constructed CPlans.
    pub cplans: usize,
    /// The fused operators, as they are in the old DAG.
    pub fused: Vec<CompiledCover>,
    /// Covers that were chosen and stay unfused.
    pub rejected: Vec<Rejection>,
    /// What the cost model expects of each operator of the new DAG.
    pub predictions: Predictions,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, costed, skipped) = (self.search.points, self.search.costed(), self.search.skipped());
        write!(
            f,
            "{} partitions, {points} points, {costed} plans costed, {skipped} skipped, {} CPlans, {} fused",
            self.partitions,
            self.cplans,
            self.fused.len()
        )
    }
}

/// What is decided of a DAG before anything is constructed.
#[derive(Debug)]
pub struct Planned {
    /// The memo table.
    pub memo: MemoTable,
    /// The fused operators.
    pub plan: FusionPlan,
}

impl Planned {
    /// Explores a DAG and selects its fused operators.
    pub fn of(context: &Context<'_>, options: &OptimizerOptions) -> Planned {
        Planned::within(context, options, &options.search_limits, &mut Recall::default())
    }

    /// [`Planned::of`] with limits of its own, and with what was decided about other forms of the DAG.
    pub(crate) fn within(
        context: &Context<'_>,
        options: &OptimizerOptions,
        limits: &SearchLimits,
        recall: &mut Recall,
    ) -> Planned {
        let memo = explore(context, TEMPLATES);
        let plan = select_recalling(context, &memo, options.policy, &options.model, limits, recall);
        Planned { memo, plan }
    }
}

/// Fuses the operators of a DAG. The same DAG and options always give the same result.
pub fn optimize(
    dag: &HopDag,
    options: &OptimizerOptions,
    compile: &mut Compile<'_>,
    observer: &mut dyn FnMut(Stage<'_>),
) -> (HopDag, Report) {
    let planned = Planned::of(&options.context(dag), options);
    realize(dag, &planned, options, compile, observer)
}

/// Fuses the operators of a DAG as planned.
pub fn realize(
    dag: &HopDag,
    planned: &Planned,
    options: &OptimizerOptions,
    compile: &mut Compile<'_>,
    observer: &mut dyn FnMut(Stage<'_>),
) -> (HopDag, Report) {
    let context = options.context(dag);
    let Planned { memo, plan } = planned;
    observer(Stage::Explored(dag, memo));
    observer(Stage::Selected(Selection { context: &context, memo, options, plan }));

    let (constructed, mut rejected) = construct(&context, &plan.covers);
    observer(Stage::Constructed(dag, &constructed, &rejected));

    let cplans: Vec<VerifiedCPlan> = constructed.iter().map(|plan| plan.cplan.clone()).collect();
    let mut fused = Vec::new();
    for (plan, result) in constructed.into_iter().zip(compile(&cplans)) {
        match result {
            Ok(operator) => fused.push(CompiledCover { plan, operator }),
            Err(Unsupported { reason }) => rejected.push(Rejection { cover: plan.cover, reason }),
        }
    }

    let Replaced { dag: replaced, operators } = replace(dag, &fused);
    observer(Stage::Replaced(&replaced));
    let mut predictions = options.model.predict(&options.context(&replaced));
    for (cover, operator) in fused.iter().zip(operators) {
        if let Some(operator) = operator {
            let cover = Operator::of_cover(&context, &cover.plan.cover);
            predictions[operator] = Some(options.model.prediction(&context, &cover));
        }
    }
    let proven = plan.partitions.iter().filter(|partition| plan.is_optimal() || partition.is_optimal());
    let optimal = proven.count();
    let (partitions, search) = (plan.partitions.len(), plan.stats());
    let (gap, cplans) = (plan.gap(), cplans.len());
    (replaced, Report { partitions, optimal, gap, search, cplans, fused, rejected, predictions })
}
