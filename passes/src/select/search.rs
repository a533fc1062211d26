//! The search for the plan of one partition: what it looks at, and the order of the searches that look.

use super::effort::Effort;
use super::entry::{Member, Point, slice};
use super::enumerate;
use super::exact::{self, Decided};
use super::space::SearchSpace;
use super::{FoundBy, PartitionPlan, ROUNDING, SearchLimits, SearchStats, SelectPolicy, is_exact};
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoTable;
use smallvec::SmallVec;

/// Partitions with more groups than this spend an eighth of what is left on the references that are no interesting points, in
/// the place of half: most of them have too many operators to be proven optimal, whatever is spent.
const SMALL_PARTITION: usize = 14;

/// What the plan of one partition is searched in, and priced by.
#[derive(Clone, Copy)]
pub(super) struct PartitionSearch<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) memo: &'a MemoTable,
    pub(super) partition: &'a PlanPartition,
    pub(super) model: &'a CostModel,
    /// Memory for what is needed until the partition is decided.
    pub(super) scratch: &'a Bump,
    /// The groups that every plan materialises, ascending: roots, and what is consumed outside.
    pub(super) required: &'a [Member],
    /// By id, from that of the first member on.
    by_id: &'a [Option<Member>],
}

impl<'a> PartitionSearch<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        memo: &'a MemoTable,
        partition: &'a PlanPartition,
        model: &'a CostModel,
        scratch: &'a Bump,
    ) -> Self {
        let members = &partition.members;
        let span = (members[members.len() - 1].as_u32() - members[0].as_u32()) as usize + 1;
        let by_id = bumpalo::vec![in scratch; None; span].into_bump_slice_mut();
        for (place, id) in members.iter().enumerate() {
            by_id[(id.as_u32() - members[0].as_u32()) as usize] = Some(Member::new(place));
        }
        let search = PartitionSearch { context, memo, partition, model, scratch, required: &[], by_id };
        let starts = partition.roots.iter().chain(&partition.externally_consumed);
        let mut required: SmallVec<[Member; 16]> = starts.filter_map(|&id| search.member(id)).collect();
        required.sort_unstable();
        PartitionSearch { required: slice(scratch, required), ..search }
    }

    /// The groups, ascending.
    pub(super) fn members(&self) -> impl Iterator<Item = Member> + use<> {
        (0..self.partition.members.len()).map(Member::new)
    }

    /// The operator of the DAG that a group computes.
    pub(super) fn id(&self, member: Member) -> HopId {
        self.partition.members[member.index()]
    }

    /// The group that computes an operator of the DAG, if one of the partition does.
    pub(super) fn member(&self, id: HopId) -> Option<Member> {
        let place = id.as_u32().checked_sub(self.partition.members[0].as_u32())?;
        self.by_id.get(place as usize).copied().flatten()
    }

    /// The interesting point that materialises a group for another one that reads it, if that is one.
    pub(super) fn point(&self, consumer: Member, producer: Member) -> Option<Point> {
        let point = InterestingPoint { consumer: self.id(consumer), producer: self.id(producer) };
        self.partition.points.binary_search(&point).ok().map(Point::new)
    }

    /// The groups that interesting points may materialise, some of them several times.
    pub(super) fn producers(&self) -> impl Iterator<Item = Member> + use<'a> {
        let search = *self;
        self.partition.points.iter().filter_map(move |point| search.member(point.producer))
    }

    /// The operator of the DAG that a point may materialise.
    pub(super) fn producer(&self, point: Point) -> HopId {
        self.partition.points[point.index()].producer
    }

    /// The plan that a policy chooses within the limits.
    pub(super) fn decide(&self, policy: SelectPolicy, limits: &SearchLimits) -> PartitionPlan {
        let space = SearchSpace::new(*self);
        let (plan, effort) = if is_exact(policy, limits) {
            let effort = Effort::of_groups(limits, self.partition.members.len());
            let plan = self.decide_exactly(&space, limits, &effort);
            let exhausted = u64::from(!plan.is_optimal());
            (PartitionPlan { stats: SearchStats { exhausted, ..plan.stats }, ..plan }, effort)
        } else {
            let effort = Effort::of_any_size(limits);
            (enumerate::search(&space, policy, limits, &effort).into_plan(&space), effort)
        };
        PartitionPlan { stats: SearchStats { visits: effort.spent(), ..plan.stats }, ..plan }
    }

    /// The cheapest plan that a heuristic, the exact solver or, where the effort of these ends, enumeration finds.
    fn decide_exactly(&self, space: &SearchSpace<'_>, limits: &SearchLimits, effort: &Effort) -> PartitionPlan {
        // Often a heuristic costs what the bound allows: then there is nothing to search.
        let first = effort.in_half(|effort| enumerate::first_plan(space, effort)).into_plan(space);
        if first.is_optimal() {
            return first;
        }
        let lower_bound = first.bound;
        let best = first.or_cheaper(self.unfused());
        let gain = best.seconds - lower_bound;
        effort.in_proportion(gain, |effort| self.improve_exactly(best, lower_bound, space, limits, effort))
    }

    /// The cheapest plan that the exact solver or enumeration finds, at least as cheap as this one. None takes less than
    /// the lower bound.
    ///
    /// Interesting points are decided first: other edges are worth reading from memory now and then, and a good plan rules
    /// most of them out.
    fn improve_exactly(
        &self,
        mut best: PartitionPlan,
        lower_bound: f64,
        space: &SearchSpace<'_>,
        limits: &SearchLimits,
        effort: &Effort,
    ) -> PartitionPlan {
        let points =
            effort.in_half(|effort| exact::solve(self, effort, slack(best.seconds, lower_bound), Decided::Points));
        let are_points_decided = points.as_ref().is_some_and(PartitionPlan::is_optimal);
        if let Some(points) = points {
            let least = points.seconds.min(best.seconds);
            let is_bound = exact::points_decide(self, slack(least, lower_bound));
            let bound = if is_bound { points.bound } else { lower_bound };
            best = PartitionPlan { bound, ..points }.or_cheaper(best);
        }
        if best.is_optimal() {
            return best;
        }
        if !are_points_decided {
            // The budget ended before the proof: the better of both plans.
            return best.or_cheaper(enumerate::search(space, SelectPolicy::CostBased, limits, effort).into_plan(space));
        }
        let slack = slack(best.seconds, lower_bound);
        let solve = |effort: &Effort| exact::solve(self, effort, slack, Decided::All);
        let all = if self.partition.members.len() <= SMALL_PARTITION {
            effort.in_half(solve)
        } else {
            effort.in_half(|effort| effort.in_half(|effort| effort.in_half(solve)))
        };
        match all {
            Some(all) => all.or_cheaper(best),
            None => best,
        }
    }

    /// The plan without fusion: basic operators of the groups that every plan materialises, and of those that these need.
    fn unfused(&self) -> PartitionPlan {
        let mut needed = FixedBitSet::with_capacity(self.partition.members.len());
        needed.extend(self.required.iter().map(|member| member.index()));
        let mut operators = Vec::new();
        // Readers follow what they read.
        for member in (0..self.partition.members.len()).rev().map(Member::new) {
            if needed.contains(member.index()) {
                let operator = Operator::basic(self.context, self.id(member));
                needed.extend(operator.inputs.iter().filter_map(|&id| self.member(id)).map(Member::index));
                operators.push(operator);
            }
        }
        operators.reverse();
        PartitionPlan {
            partition: self.partition.clone(),
            assignment: exact::assignment(self.partition, &operators),
            seconds: operators.iter().map(|operator| self.model.operator_seconds(self.context, operator)).sum(),
            operators,
            bound: 0.0,
            found_by: FoundBy::Heuristics,
            stats: SearchStats::default(),
        }
    }
}

/// What a better plan than one of so many seconds may spend above a lower bound, and a hair more.
fn slack(seconds: f64, lower_bound: f64) -> f64 {
    seconds * (1.0 + ROUNDING) - lower_bound
}
