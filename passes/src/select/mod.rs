//! Candidate selection (section 4): from partial fusion plans to the fused operators of a DAG.
//!
//! Every policy starts from the same memo table, decides per partition which interesting points to materialise, and
//! reads the fused operators off the table under that assignment.

mod bound;
mod certificate;
mod costing;
mod cut_sets;
mod effort;
mod entry;
mod enumerate;
mod exact;
mod inseparable;
mod limits;
mod multi_aggregate;
mod outline;
mod prune;
mod random;
mod reachability;
mod recall;
mod renumber;
mod repetition;
mod search;
mod shares;
mod space;
mod statistics;
#[cfg(test)]
mod tests;

use crate::cost::{CostModel, prune_impossible};
use crate::cover::Operator;
use crate::explore::prune_dominated;
use crate::facts::Context;
use crate::partition::{self, PlanPartition};
use bumpalo::Bump;
use effort::Effort;
use fuseline_ir::hop::FusionCover;
use fuseline_ir::memo::MemoTable;
use multi_aggregate::Pass;
use search::PartitionSearch;
use serde::Serialize;
use std::str::FromStr;

pub use certificate::{CertificateError, check_bounds, check_plan};
pub use limits::{Budget, Enumeration, FoundBy, SearchLimits};
pub(crate) use recall::Recall;
pub use statistics::SearchStats;

/// Relative difference of seconds that the order of sums explains.
const ROUNDING: f64 = 1e-12;

/// How to choose among the candidate plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum SelectPolicy {
    /// Maximal fusion, with redundant computation of shared operators.
    FuseAll,
    /// Fusion without redundant computation: everything with several consumers is materialised.
    FuseNoRedundancy,
    /// The cheapest plan by the cost model; [`SearchLimits::enumeration`] says how it is found.
    #[default]
    CostBased,
    /// The cheapest assignment, found by costing all of them.
    Exhaustive,
    /// Any valid plan, drawn from the seed and the DAG: an instrument of tests.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl SelectPolicy {
    /// Every policy that has a purpose besides tests.
    pub const ALL: &[SelectPolicy] =
        &[SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased, SelectPolicy::Exhaustive];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            SelectPolicy::FuseAll => "fuse-all",
            SelectPolicy::FuseNoRedundancy => "fuse-no-redundancy",
            SelectPolicy::CostBased => "cost",
            SelectPolicy::Exhaustive => "exhaustive",
            SelectPolicy::Random { .. } => "random",
        }
    }
}

impl FromStr for SelectPolicy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let policy = SelectPolicy::ALL.iter().copied().find(|policy| policy.mnemonic() == text);
        policy.ok_or_else(|| format!("`{text}` is no selection policy"))
    }
}

/// Which interesting points are materialised, by position in [`PlanPartition::points`].
pub type PlanAssignment = Vec<bool>;

/// The decision for one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionPlan {
    /// The partition.
    pub partition: PlanPartition,
    /// The chosen assignment. Where operators decide differently about a point, it is not materialised.
    pub assignment: PlanAssignment,
    /// The operators of the materialised groups, basic ones included, before merging; see [`FusionPlan::covers`] for those
    /// that run.
    pub operators: Vec<Operator>,
    /// Their estimated time in seconds.
    pub seconds: f64,
    /// Seconds that no other plan of the partition undercuts without multi-aggregates; equal to `seconds` where the plan
    /// is proven optimal. A plan for the sake of a multi-aggregate may take longer: [`FusionPlan::bound`] counts these.
    pub bound: f64,
    /// Which search found the plan.
    pub found_by: FoundBy,
    /// How it was found.
    pub stats: SearchStats,
}

impl PartitionPlan {
    /// Whether the plan is proven optimal, but for what the order of sums explains.
    pub fn is_optimal(&self) -> bool {
        is_proven(self.seconds, self.bound)
    }

    /// The cheaper one of two plans of the partition, with what was counted for both. Its own bound holds for both.
    fn or_cheaper(self, other: PartitionPlan) -> PartitionPlan {
        let bound = self.bound;
        let stats = SearchStats { points: self.stats.points, ..self.stats + other.stats };
        let cheaper = if other.seconds < self.seconds { other } else { self };
        PartitionPlan { bound: bound.min(cheaper.seconds), stats, ..cheaper }
    }
}

/// The chosen fused operators of a DAG.
#[derive(Clone, Debug, Default)]
pub struct FusionPlan {
    /// The operators to fuse, in ascending order of their first roots.
    pub covers: Vec<FusionCover>,
    /// How the partitions were decided.
    pub partitions: Vec<PartitionPlan>,
    /// Estimated seconds of the partitions' operators and of aggregates outside, multi-aggregates in one pass.
    pub seconds: f64,
    /// Seconds that no other plan undercuts, whatever it merges; zero where nothing is proven.
    pub bound: f64,
    /// Groups that the search visited.
    pub visits: u64,
}

impl FusionPlan {
    /// Whether the plan is proven optimal, but for what the order of sums explains.
    pub fn is_optimal(&self) -> bool {
        is_proven(self.seconds, self.bound)
    }

    /// The share of its estimated time by which another plan may be cheaper; none where nothing is proven.
    pub fn gap(&self) -> Option<f64> {
        if self.is_optimal() { Some(0.0) } else { (self.bound > 0.0).then(|| 1.0 - self.bound / self.seconds) }
    }

    /// The counters of all partitions together.
    pub fn stats(&self) -> SearchStats {
        self.partitions.iter().fold(SearchStats::default(), |sum, plan| sum + plan.stats)
    }
}

/// Whether a bound proves that nothing takes less than so many seconds. Bounds keep a distance of [`ROUNDING`].
fn is_proven(seconds: f64, bound: f64) -> bool {
    bound >= seconds * (1.0 - 2.0 * ROUNDING)
}

/// The plans of the partitions with what their aggregates share.
struct Chosen {
    partitions: Vec<PartitionPlan>,
    /// Aggregates, several of them in one pass or one by itself.
    passes: Vec<Pass>,
    /// Seconds that nothing undercuts, whatever is merged.
    bound: f64,
    /// Groups visited.
    visits: u64,
}

impl Chosen {
    fn into_plan(self, context: &Context<'_>, model: &CostModel) -> FusionPlan {
        let Chosen { partitions, passes, bound, visits } = self;
        let outside = multi_aggregate::outside_partitions(context, &partitions);
        let seconds = multi_aggregate::seconds(context, model, partitions.iter(), &outside, &passes);
        let mut covers = multi_aggregate::covers(context, &partitions, &passes);
        covers.sort_by(|one, other| one.roots.cmp(&other.roots));
        FusionPlan { covers, partitions, seconds, bound: bound.min(seconds), visits }
    }
}

/// Chooses the fused operators of a DAG from its memo table.
pub fn select(
    context: &Context<'_>,
    memo: &MemoTable,
    policy: SelectPolicy,
    model: &CostModel,
    limits: &SearchLimits,
) -> FusionPlan {
    select_recalling(context, memo, policy, model, limits, &mut Recall::default())
}

/// [`select`], without deciding again what was decided about other forms of the DAG.
pub(crate) fn select_recalling(
    context: &Context<'_>,
    memo: &MemoTable,
    policy: SelectPolicy,
    model: &CostModel,
    limits: &SearchLimits,
    recall: &mut Recall,
) -> FusionPlan {
    let mut memo = prepare(context, memo, policy);
    prune_impossible(context, model, &mut memo);
    let mut recall = recall.of_form(context);
    // Phase 1 of 3: each partition by itself.
    let mut partitions = Vec::new();
    let mut visits = 0;
    for partition in &search_partitions(context, &memo, policy, limits) {
        let (plan, taken) = recall.partition(context, &memo, partition, limits, |limits| {
            PartitionSearch::new(context, &memo, partition, model, &Bump::new()).decide(policy, limits)
        });
        partitions.push(plan);
        visits += taken;
    }
    // Phase 2 of 3: aggregates merged greedily.
    let (passes, merging) = if merges(policy, limits) {
        multi_aggregate::greedy(context, model, &partitions, || Effort::of_groups(limits, 1))
    } else {
        (Vec::new(), 0)
    };
    let mut chosen = Chosen { partitions, passes, bound: 0.0, visits: visits + merging };
    // Phase 3 of 3: aggregates and the operators of their partitions decided together.
    if is_exact(policy, limits) {
        chosen = exact::Arranger { context, memo: &memo, model, limits }.arrange(chosen, &mut recall);
    }
    chosen.into_plan(context, model)
}

/// Whether aggregates that share an input may share a pass.
fn merges(policy: SelectPolicy, limits: &SearchLimits) -> bool {
    let is_heuristic = matches!(policy, SelectPolicy::FuseAll | SelectPolicy::FuseNoRedundancy);
    !(is_heuristic && limits.paper_heuristics)
}

/// Whether the exact solver searches.
fn is_exact(policy: SelectPolicy, limits: &SearchLimits) -> bool {
    policy == SelectPolicy::CostBased && limits.enumeration == Enumeration::Exact
}

/// The partitions, or all of them as one search space.
fn search_partitions(
    context: &Context<'_>,
    memo: &MemoTable,
    policy: SelectPolicy,
    limits: &SearchLimits,
) -> Vec<PlanPartition> {
    let partitions = partition::partition_by(context, memo, limits.points);
    if policy == SelectPolicy::CostBased && limits.enumeration == Enumeration::None && partitions.len() > 1 {
        return vec![partition::merge(context, memo, &partitions, limits.points)];
    }
    partitions
}

/// The memo table as a policy searches it: without plans that no policy needs, and for fuse-all without dominated
/// plans. Fuse-no-redundancy keeps these, since materialisation may invalidate the plans that dominate them.
/// A random plan may contain whatever a random part of the table holds.
pub fn prepare(context: &Context<'_>, memo: &MemoTable, policy: SelectPolicy) -> MemoTable {
    if let SelectPolicy::Random { seed } = policy {
        return random::thin_out(context.dag, memo, seed);
    }
    let mut memo = memo.clone();
    prune::prune_rows_without_row_operations(context, &mut memo);
    prune::prune_outer_without_driver(&mut memo);
    if policy == SelectPolicy::FuseAll {
        prune_dominated(context, &mut memo);
    }
    memo
}
