//! What each kind of enumeration does on the DAGs of an algorithm.

use fuseline::ir::hop::HopDag;
use fuseline_passes::partition::PointKinds;
use fuseline_passes::pipeline::{OptimizerOptions, Planned};
use fuseline_passes::select::{Budget, Enumeration, FusionPlan, PartitionPlan, SearchLimits, SearchStats};

/// What one kind of enumeration does on all DAGs of an algorithm.
pub(crate) struct Searched {
    pub(crate) enumeration: Enumeration,
    pub(crate) stats: SearchStats,
    /// Plans that there are: 2 to the power of the points, summed over the search spaces.
    pub(crate) plans: f64,
    /// Search spaces, and of these the ones whose plan is proven to be the cheapest.
    pub(crate) spaces: usize,
    pub(crate) proven: usize,
}

impl Searched {
    /// Whether a search ended at a limit.
    pub(crate) fn is_capped(&self) -> bool {
        self.stats.exhausted > 0
    }

    /// Plans that this enumeration costs. Without pruning these are all, whether or not the search came to its end.
    pub(crate) fn costed(&self) -> f64 {
        match self.enumeration {
            Enumeration::None | Enumeration::Partition => self.plans,
            _ => self.stats.costed() as f64,
        }
    }
}

/// What a search over all DAGs does in the space of these points, where at most so many plans are costed per search space;
/// the exact solver has the limits that users have.
pub(crate) fn searched(dags: &[HopDag], enumeration: Enumeration, points: PointKinds, most_plans: u64) -> Searched {
    let search_limits = match enumeration {
        Enumeration::Exact => SearchLimits { points, ..SearchLimits::default() },
        _ => SearchLimits { enumeration, points, budget: Budget::of(most_plans), ..SearchLimits::default() },
    };
    let options = OptimizerOptions { search_limits, ..OptimizerOptions::default() };
    let fusion_plans: Vec<FusionPlan> =
        dags.iter().map(|dag| Planned::of(&options.context(dag), &options).plan).collect();
    // A partition may be dearer than need be for the sake of a multi-aggregate, in a plan that is optimal as a whole.
    let proven = |plan: &FusionPlan| {
        if plan.is_optimal() {
            plan.partitions.len()
        } else {
            plan.partitions.iter().filter(|partition| partition.is_optimal()).count()
        }
    };
    let plans: Vec<&PartitionPlan> = fusion_plans.iter().flat_map(|plan| &plan.partitions).collect();
    Searched {
        enumeration,
        stats: plans.iter().fold(SearchStats::default(), |sum, plan| sum + plan.stats),
        plans: plans.iter().map(|plan| (plan.partition.points.len() as f64).exp2()).sum(),
        spaces: plans.len(),
        proven: fusion_plans.iter().map(proven).sum(),
    }
}
