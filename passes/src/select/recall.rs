//! What was decided about parts of some forms of a DAG, for other forms that have the same parts.
//!
//! The forms that the search over rewrites prices ([`crate::joint`]) differ in an operator or two, so that most of their
//! partitions are the same, wherever they stand in the DAG. A [`Part`] says what a decision looks at: operators with what
//! they read, each by a number for its value, and who reads them; two parts that are equal are decided alike. Debug builds
//! decide all the same, and compare.

mod part;

use super::multi_aggregate::{Arranged, Pass};
use super::renumber::Renumbered;
use super::{PartitionPlan, SearchLimits};
use crate::cover::Operator;
use crate::facts::Context;
use crate::partition::PlanPartition;
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable};
use part::{Part, Values};

/// Decisions of one search, whose policy and prices are the same throughout and whose limits only shrink, so that what was
/// decided earlier is as good as what would be decided now.
#[derive(Default)]
pub(crate) struct Recall {
    values: Values,
    partitions: Decisions<PartitionQuestion, PartitionPlan>,
    arrangements: Decisions<ArrangementQuestion, Arranged>,
}

/// A form of a DAG, with what was decided about others.
pub(super) struct RecallFor<'r> {
    /// By operator, the number of its value.
    values: SecondaryMap<HopId, u32>,
    recall: &'r mut Recall,
}

/// Decisions, each with what it is about; operators by their numbers within it.
struct Decisions<Q, D>(Vec<Decision<Q, D>>);

struct Decision<Q, D> {
    part: Part,
    question: Q,
    limits: SearchLimits,
    decided: D,
}

impl<Q, D> Default for Decisions<Q, D> {
    fn default() -> Self {
        Decisions(Vec::new())
    }
}

/// What the plan of a partition is decided from, besides its operators.
#[derive(PartialEq)]
struct PartitionQuestion {
    partition: PlanPartition,
    entries: Vec<Vec<MemoEntry>>,
}

/// What multi-aggregates of some partitions are decided from, besides their operators.
#[derive(PartialEq)]
struct ArrangementQuestion {
    partitions: Vec<PartitionQuestion>,
    plans: Vec<PlanOutline>,
    outside: Vec<Operator>,
    passes: Vec<Pass>,
}

/// What a plan costs, and its operators.
#[derive(PartialEq)]
struct PlanOutline {
    operators: Vec<Operator>,
    seconds: f64,
    bound: f64,
}

/// The plans of some partitions, and what their aggregates may share passes with.
pub(super) struct Arrangeable<'p> {
    pub(super) plans: Vec<&'p PartitionPlan>,
    /// Aggregates outside of the partitions.
    pub(super) outside: &'p [Operator],
    /// All passes so far.
    pub(super) passes: &'p [Pass],
}

impl Recall {
    /// For a form of the DAG.
    pub(super) fn of_form(&mut self, context: &Context<'_>) -> RecallFor<'_> {
        RecallFor { values: self.values.number(context), recall: self }
    }
}

impl RecallFor<'_> {
    /// The plan of a partition: an earlier one, or what is decided now; and how many visits that took.
    pub(super) fn partition(
        &mut self,
        context: &Context<'_>,
        memo: &MemoTable,
        partition: &PlanPartition,
        limits: &SearchLimits,
        decide: impl Fn(&SearchLimits) -> PartitionPlan,
    ) -> (PartitionPlan, u64) {
        let decide = |limits: &SearchLimits| {
            let plan = decide(limits);
            let visits = plan.stats.visits;
            (plan, visits)
        };
        let (part, ids) = Part::new(context, &self.values, partition.members.iter().copied());
        match PartitionQuestion::new(memo, partition, &ids) {
            Some(question) => self.recall.partitions.answer((part, question), &ids, limits, decide),
            None => decide(limits),
        }
    }

    /// The passes of some partitions: earlier ones, or those decided now; and how many visits that took.
    pub(super) fn arrangement(
        &mut self,
        context: &Context<'_>,
        memo: &MemoTable,
        arrangeable: &Arrangeable<'_>,
        limits: &SearchLimits,
        decide: impl Fn(&SearchLimits) -> (Arranged, u64),
    ) -> (Arranged, u64) {
        let (part, ids) = Part::new(context, &self.values, arrangeable.operators());
        match ArrangementQuestion::new(memo, arrangeable, &ids) {
            Some(question) => self.recall.arrangements.answer((part, question), &ids, limits, decide),
            None => decide(limits),
        }
    }
}

impl<Q: PartialEq, D: Renumbered + PartialEq> Decisions<Q, D> {
    /// The decision about a part of a DAG, whose operators are these, with the visits that it took now.
    fn answer(
        &mut self,
        (part, question): (Part, Q),
        ids: &[HopId],
        limits: &SearchLimits,
        decide: impl Fn(&SearchLimits) -> (D, u64),
    ) -> (D, u64) {
        let here = |number: HopId| ids.get(number.as_u32() as usize).copied();
        let known = self.0.iter().find(|known| known.question == question && known.part == part);
        if let Some((known, decided)) = known.and_then(|known| Some((known, known.decided.renumbered(&here)?))) {
            debug_assert!(decided == decide(&known.limits).0, "equal parts are decided differently");
            return (decided, 0);
        }
        let (decided, visits) = decide(limits);
        let number = |id: HopId| part::number(ids, id);
        if let Some(renumbered) = decided.renumbered(&number) {
            self.0.push(Decision { part, question, limits: limits.clone(), decided: renumbered });
        }
        (decided, visits)
    }
}

impl PartitionQuestion {
    /// None if it is about operators without a number.
    fn new(memo: &MemoTable, partition: &PlanPartition, ids: &[HopId]) -> Option<PartitionQuestion> {
        let number = |id: HopId| part::number(ids, id);
        let entries = |&member: &HopId| -> Option<Vec<MemoEntry>> {
            memo.entries(member).iter().map(|entry| entry.renumbered(&number)).collect()
        };
        let entries = partition.members.iter().map(entries).collect::<Option<_>>()?;
        Some(PartitionQuestion { partition: partition.renumbered(&number)?, entries })
    }
}

impl ArrangementQuestion {
    /// None if it is about operators without a number.
    fn new(memo: &MemoTable, arrangeable: &Arrangeable<'_>, ids: &[HopId]) -> Option<ArrangementQuestion> {
        let number = |id: HopId| part::number(ids, id);
        let partitions = arrangeable.plans.iter().map(|plan| PartitionQuestion::new(memo, &plan.partition, ids));
        let plans = arrangeable.plans.iter().map(|plan| {
            let operators = plan.operators.renumbered(&number)?;
            Some(PlanOutline { operators, seconds: plan.seconds, bound: plan.bound })
        });
        Some(ArrangementQuestion {
            partitions: partitions.collect::<Option<_>>()?,
            plans: plans.collect::<Option<_>>()?,
            outside: arrangeable.outside.iter().map(|operator| operator.renumbered(&number)).collect::<Option<_>>()?,
            passes: arrangeable.passes.iter().map(|pass| pass.renumbered(&number)).collect::<Option<_>>()?,
        })
    }
}

impl Arrangeable<'_> {
    /// All operators that a decision may be about.
    fn operators(&self) -> impl Iterator<Item = HopId> {
        let inside = self.plans.iter().flat_map(|plan| plan.partition.members.iter().copied());
        let outside = self.outside.iter().chain(self.passes.iter().map(|pass| &pass.operator));
        inside.chain(outside.flat_map(|operator| operator.members.iter().copied()))
    }
}
