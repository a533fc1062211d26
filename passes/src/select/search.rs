//! The search for the plan of one partition: what it looks at, and the order of the searches that look.

use super::effort::Effort;
use super::entry::{Member, Point, slice};
use super::enumerate;
use super::exact;
use super::space::SearchSpace;
use super::{PartitionPlan, ROUNDING, SearchLimits, SearchStats, SelectPolicy, is_exact};
use crate::cost::CostModel;
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoTable;
use smallvec::SmallVec;

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

    /// The operator of the DAG that a point may materialise.
    pub(super) fn producer(&self, point: Point) -> HopId {
        self.partition.points[point.index()].producer
    }

    /// The plan that a policy chooses within the limits.
    pub(super) fn decide(&self, policy: SelectPolicy, limits: &SearchLimits) -> PartitionPlan {
        let space = SearchSpace::new(*self);
        let (plan, effort) = if is_exact(policy, limits) {
            let effort = Effort::of_groups(limits, self.partition.members.len());
            (self.decide_exactly(&space, limits, &effort), effort)
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
        let slack = first.seconds * (1.0 + ROUNDING) - first.bound;
        let mut exact = effort.in_half(|effort| exact::solve(self, effort, slack)).map(|exact| exact.or_cheaper(first));
        if let Some(exact) = exact.take_if(|exact| exact.is_optimal()) {
            return exact;
        }
        // The budget ended before the proof: the better of both plans.
        let enumerated = enumerate::search(space, SelectPolicy::CostBased, limits, effort).into_plan(space);
        match exact {
            Some(exact) => exact.or_cheaper(enumerated),
            None => enumerated,
        }
    }
}
