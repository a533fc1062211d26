//! The exact solver against a naive one, against enumeration, and at the end of its budgets.

mod group_sets;
mod multi_aggregates;

use super::super::effort::Effort;
use super::super::enumerate::{self, SearchResult};
use super::super::space::SearchSpace;
use super::super::tests::{campaign, random_dag, random_machine};
use super::super::*;
use super::{elimination, solve};
use crate::cover::outside_inputs;
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::machine::Machine;
use crate::template::{self, TEMPLATES};
use crate::testing::Random;
use bumpalo::Bump;
use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::memo::{MemoEntry, TemplateType};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Relative difference that the order of sums explains.
const ROUNDING: f64 = 1e-9;

/// Branches and partial assignments that no test runs out of.
const ENOUGH: u64 = 1 << 20;

/// The most groups that may or may not be materialised for which the naive solver tries all sets.
const MOST_FREE: usize = 12;

/// A partition with what it comes from.
struct Case<'a> {
    context: &'a Context<'a>,
    memo: &'a MemoTable,
    partition: &'a PlanPartition,
    model: CostModel,
}

/// Calls the function for the partitions of a DAG that leave something to decide.
fn for_each_partition(dag: &HopDag, function: impl FnMut(&Case<'_>)) {
    for_each_partition_on(&CostModel::default(), dag, function);
}

/// [`for_each_partition`] under another cost model.
fn for_each_partition_on(model: &CostModel, dag: &HopDag, mut function: impl FnMut(&Case<'_>)) {
    let limits = TemplateLimits::tiny();
    let context = Context::new(dag, &limits);
    let mut memo = prepare(&context, &explore(&context, TEMPLATES), SelectPolicy::CostBased);
    prune_impossible(&context, model, &mut memo);
    for partition in &partition(&context, &memo) {
        if !partition.points.is_empty() {
            function(&Case { context: &context, memo: &memo, partition, model: model.clone() });
        }
    }
}

impl Case<'_> {
    fn search<'s>(&'s self, scratch: &'s Bump) -> PartitionSearch<'s> {
        PartitionSearch::new(self.context, self.memo, self.partition, &self.model, scratch)
    }

    fn solve(&self, limit: u64) -> PartitionPlan {
        self.solve_within(limit, f64::INFINITY).expect("the partition is small")
    }

    /// The best plan within a budget, where a plan is known that spends so much above a lower bound; none where the budget
    /// ends before the problem is stated.
    fn solve_within(&self, limit: u64, slack: f64) -> Option<PartitionPlan> {
        solve(&self.search(&Bump::new()), &Effort::of_steps(limit), slack)
    }

    fn enumerate(&self, enumeration: Enumeration) -> SearchResult {
        let scratch = Bump::new();
        let space = SearchSpace::new(self.search(&scratch));
        let limits =
            SearchLimits { enumeration, budget: Budget::of(u64::MAX), visits: u64::MAX, exhaustive_points: 64 };
        enumerate::search(&space, SelectPolicy::CostBased, &limits, &Effort::of_steps(u64::MAX))
    }

    fn required(&self) -> BTreeSet<HopId> {
        self.partition.roots.iter().chain(&self.partition.externally_consumed).copied().collect()
    }

    fn is_member(&self, id: HopId) -> bool {
        self.partition.members.binary_search(&id).is_ok()
    }
}

/// Whether operators with the entry need a driver.
fn is_driven(entry: &MemoEntry) -> bool {
    template::of(entry.ttype).is_driven()
}

/// All operators of a partition, found by trying every set of producers to cut off, without any thought for speed.
struct Naive<'a> {
    case: &'a Case<'a>,
}

impl Naive<'_> {
    /// The entries of a group for an operator of this template to continue with: the best one, and where that is
    /// driven all that have references of their own.
    fn resumes(&self, group: HopId, template: TemplateType, cut: &BTreeSet<HopId>) -> Vec<MemoEntry> {
        if cut.contains(&group) {
            return vec![];
        }
        let serves = |entry: &&MemoEntry| {
            entry.close.is_open() && template::of(template).continues_with(entry.ttype) && self.is_usable(entry, cut)
        };
        let all: Vec<MemoEntry> = self.case.memo.entries(group).iter().filter(serves).copied().collect();
        let key =
            |entry: &&MemoEntry| (entry.ttype == template, entry.references().count(), std::cmp::Reverse(**entry));
        match all.iter().max_by_key(key) {
            Some(best) if is_driven(best) => {
                let driven = || all.iter().filter(|entry| is_driven(entry));
                let is_part = |one: &MemoEntry, of: &MemoEntry| {
                    let (one, of) = (distinct(one), distinct(of));
                    one.is_subset(&of) && one != of
                };
                driven().filter(|entry| !driven().any(|other| is_part(entry, other))).copied().collect()
            }
            best => best.copied().into_iter().collect(),
        }
    }

    fn is_usable(&self, entry: &MemoEntry, cut: &BTreeSet<HopId>) -> bool {
        let resumed: Vec<Vec<MemoEntry>> =
            distinct(entry).iter().map(|&group| self.resumes(group, entry.ttype, cut)).collect();
        let leads_on = |entries: &Vec<MemoEntry>| entries.iter().any(is_driven);
        let reaches = !is_driven(entry) || resumed.is_empty() || resumed.iter().any(leads_on);
        reaches && resumed.iter().all(|entries| !entries.is_empty())
    }

    /// All sets of members below an entry of a group.
    fn expand(&self, group: HopId, entry: &MemoEntry, cut: &BTreeSet<HopId>) -> BTreeSet<BTreeSet<HopId>> {
        let mut all = BTreeSet::from([BTreeSet::from([group])]);
        for reference in distinct(entry) {
            let below: BTreeSet<BTreeSet<HopId>> = self
                .resumes(reference, entry.ttype, cut)
                .iter()
                .flat_map(|next| self.expand(reference, next, cut))
                .collect();
            all = all.iter().flat_map(|one| below.iter().map(move |other| one | other)).collect();
        }
        all
    }

    fn fused(&self, root: HopId, template: TemplateType, cut: &BTreeSet<HopId>) -> Vec<Operator> {
        let is_start = |entry: &&MemoEntry| {
            entry.ttype == template && entry.close.is_valid() && entry.has_references() && self.is_usable(entry, cut)
        };
        let construct = |members: BTreeSet<HopId>| {
            let members: Vec<HopId> = members.into_iter().collect();
            let inputs = outside_inputs(self.case.context.dag, &members);
            let (template, members) = (Some(template), members.into());
            Operator { template, roots: vec![root].into(), members, inputs }.constructible(self.case.context)
        };
        let all: Vec<_> = (self.case.memo.entries(root).iter().filter(is_start))
            .flat_map(|start| self.expand(root, start, cut).into_iter().map(|members| (distinct(start), members)))
            .filter_map(|(own, members)| Some((own, construct(members)?)))
            .collect();
        let is_largest = |own: &BTreeSet<HopId>| !all.iter().any(|(other, _)| own.is_subset(other) && own != other);
        all.iter().filter(|(own, _)| is_largest(own)).map(|(_, operator)| operator.clone()).collect()
    }

    /// By group: the least cost by the groups that an operator reads.
    fn prices(&self, root: HopId) -> BTreeMap<BTreeSet<HopId>, f64> {
        let case = self.case;
        let interesting: BTreeSet<HopId> =
            case.partition.points.iter().map(|point| point.producer).filter(|&id| id < root).collect();
        let interesting: Vec<HopId> = interesting.into_iter().collect();
        let mut prices: BTreeMap<BTreeSet<HopId>, f64> = BTreeMap::new();
        let mut price = |operator: &Operator| {
            let seconds = case.model.operator_seconds(case.context, operator);
            let reads = operator.inputs.iter().copied().filter(|&id| case.is_member(id)).collect();
            let slot = prices.entry(reads).or_insert(f64::INFINITY);
            *slot = slot.min(seconds);
        };
        let mut has_fused = false;
        for number in 0..1_u32 << interesting.len() {
            let chosen = interesting.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
            let cut: BTreeSet<HopId> = chosen.map(|(_, &id)| id).collect();
            for template in TEMPLATES {
                for operator in self.fused(root, template.ttype(), &cut) {
                    price(&operator);
                    has_fused |= cut.len() == interesting.len();
                }
            }
        }
        if !has_fused {
            let inputs = outside_inputs(case.context.dag, &[root]);
            price(&Operator { template: None, roots: vec![root].into(), members: vec![root].into(), inputs });
        }
        prices
    }

    /// The cost of the cheapest plan, by trying every set of groups to materialise; none where there are too many.
    fn optimum(&self) -> Option<f64> {
        let required = self.case.required();
        let producers: BTreeSet<HopId> = self.case.partition.points.iter().map(|point| point.producer).collect();
        let mut prices: BTreeMap<HopId, BTreeMap<BTreeSet<HopId>, f64>> = BTreeMap::new();
        let mut pending: Vec<HopId> = required.iter().copied().collect();
        while let Some(group) = pending.pop() {
            if producers.range(..group).count() > MOST_FREE {
                return None;
            }
            if let Entry::Vacant(slot) = prices.entry(group) {
                let found = slot.insert(self.prices(group));
                pending.extend(found.keys().flatten().copied());
            }
        }
        let free: Vec<HopId> = prices.keys().copied().filter(|group| !required.contains(group)).collect();
        if free.len() > MOST_FREE {
            return None;
        }
        let cost = |number: u32| {
            let chosen = free.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1).map(|(_, &group)| group);
            let materialized: BTreeSet<HopId> = required.iter().copied().chain(chosen).collect();
            let cheapest = |group: &HopId| {
                let possible = prices[group].iter().filter(|(reads, _)| reads.is_subset(&materialized));
                possible.map(|(_, &seconds)| seconds).fold(f64::INFINITY, f64::min)
            };
            materialized.iter().map(cheapest).sum::<f64>()
        };
        Some((0..1 << free.len()).map(cost).fold(f64::INFINITY, f64::min))
    }
}

/// The groups that an entry refers to, each once.
fn distinct(entry: &MemoEntry) -> BTreeSet<HopId> {
    entry.references().collect()
}

/// The solver finds what trying everything finds; X9.
#[test]
fn the_solver_equals_a_naive_one() {
    let (mut compared, mut decided) = (0, 0);
    // An operator over 16,384 non-zeros that is the work of one thread, where one over 32,768 is that of several.
    for seed in campaign(2_000).chain([63_077]) {
        let mut random = Random(seed);
        let operations = 3 + random.below(8);
        let dag = random_dag(&mut random, operations);
        let machine = if seed.is_multiple_of(2) { Machine::default() } else { random_machine(&mut random) };
        for_each_partition_on(&CostModel::new(machine), &dag, |case| {
            let Some(optimum) = (Naive { case }).optimum() else { return };
            let Some(plan) = case.solve_within(ENOUGH, f64::INFINITY) else {
                assert!(optimum.is_infinite(), "{seed}\n{dag}");
                return;
            };
            let is_equal = plan.seconds == optimum || (plan.seconds - optimum).abs() <= ROUNDING * optimum;
            assert!(is_equal, "{seed}: {} != {optimum}\n{dag}", plan.seconds);
            assert_eq!(plan.bound, plan.seconds, "{seed}");
            compared += 1;
            decided += usize::from(case.partition.points.len() > 2);
        });
    }
    println!("{compared} partitions, {decided} with more than two points");
    assert!(decided > 100, "only {decided} partitions had something to decide");
}

/// No assignment of interesting points is cheaper than the exact plan, and where that is one, it is the cheapest of all.
#[test]
fn no_enumerated_plan_is_cheaper() {
    let (mut compared, mut cheaper) = (0, 0);
    for seed in campaign(2_000) {
        let mut random = Random(seed);
        let operations = 4 + random.below(12);
        let dag = random_dag(&mut random, operations);
        for_each_partition(&dag, |case| {
            if case.partition.points.len() > 14 {
                return;
            }
            let plan = case.solve(ENOUGH);
            let enumerated = case.enumerate(Enumeration::All);
            assert!(
                plan.seconds <= enumerated.seconds * (1.0 + ROUNDING),
                "{seed}: {} > {}\n{:?}\n{dag}",
                plan.seconds,
                enumerated.seconds,
                plan.operators
            );
            compared += 1;
            cheaper += usize::from(plan.seconds < enumerated.seconds * (1.0 - ROUNDING));
        });
    }
    println!("{compared} partitions, {cheaper} of them cheaper than any assignment of interesting points");
    assert!(compared > 1_000 && cheaper > 10, "{compared} compared, {cheaper} cheaper");
}

/// The operators that a known plan rules out belong to no better one.
#[test]
fn a_known_plan_loses_nothing() {
    let (mut fewer, mut compared) = (0, 0);
    for seed in campaign(1_000) {
        let mut random = Random(seed);
        let operations = 8 + random.below(14);
        let dag = random_dag(&mut random, operations);
        for_each_partition(&dag, |case| {
            let optimum = case.solve(ENOUGH);
            let scratch = Bump::new();
            let space = SearchSpace::new(case.search(&scratch));
            let first = enumerate::first_plan(&space, &Effort::of_steps(ENOUGH));
            assert!(first.bound <= optimum.seconds * (1.0 + ROUNDING), "{seed}: {} is no bound\n{dag}", first.bound);
            assert!(first.seconds >= optimum.bound * (1.0 - ROUNDING), "{seed}\n{dag}");
            if !optimum.is_optimal() || first.bound >= first.seconds {
                return;
            }
            let slack = first.seconds * (1.0 + ROUNDING) - first.bound;
            let known = case.solve_within(ENOUGH, slack);
            let known = known.expect("no larger than without");
            assert!(known.is_optimal() && (known.seconds / optimum.seconds - 1.0).abs() <= ROUNDING, "{seed}\n{dag}");
            assert!(known.stats.operators <= optimum.stats.operators);
            fewer += usize::from(known.stats.operators < optimum.stats.operators);
            compared += 1;
        });
    }
    assert!(compared > 100 && fewer > 20, "{compared} compared, fewer operators in {fewer}");
}

/// Whatever the budget, the bound undercuts the optimum, and the optimum the plan.
#[test]
fn budgets_end_with_a_bound() {
    let mut unproven = 0;
    for seed in campaign(500) {
        let mut random = Random(seed);
        let operations = 12 + random.below(12);
        let dag = random_dag(&mut random, operations);
        for_each_partition(&dag, |case| {
            let optimum = case.solve(ENOUGH);
            if !optimum.is_optimal() {
                return;
            }
            for limit in [4, 8, 16] {
                // The budget may end before the problem is stated.
                let Some(plan) = case.solve_within(limit, f64::INFINITY) else { continue };
                assert!(plan.bound <= optimum.seconds * (1.0 + ROUNDING), "{seed}: {limit}\n{dag}");
                assert!(plan.seconds >= optimum.seconds * (1.0 - ROUNDING), "{seed}: {limit}\n{dag}");
                unproven += usize::from(!plan.is_optimal());
            }
        });
    }
    assert!(unproven > 20, "only {unproven} budgets ended before the proof");
}

/// Mini-buckets bound from below, and the search that they guide finds what full buckets give.
#[test]
fn elimination_finds_the_least_sum() {
    use super::factor::Factor;
    let mut random = Random(7);
    let scratch = Bump::new();
    for _ in 0..200 {
        let count = 1 + random.below(9);
        let factors: Vec<Factor<'_>> = (0..1 + random.below(10))
            .map(|_| {
                let scope: BTreeSet<usize> = (0..1 + random.below(3)).map(|_| random.below(count)).collect();
                let mut factor = Factor::uniform(Factor::scope(scope, &scratch), 0.0);
                factor.table.iter_mut().for_each(|value| *value = random.below(1000) as f64);
                factor
            })
            .collect();
        let value = |assignment: &[bool]| factors.iter().map(|factor| factor.at(assignment)).sum::<f64>();
        let assignment = |number: usize| (0..count).map(|bit| number >> bit & 1 == 1).collect::<Vec<bool>>();
        let least = (0..1 << count).map(|number| value(&assignment(number))).fold(f64::INFINITY, f64::min);
        for most in [1, 2, 16] {
            let elimination =
                elimination::Elimination::new(count, factors.clone(), most, true, &Effort::of_steps(ENOUGH));
            assert!(elimination.bound <= least);
            let found = elimination.minimum(&Effort::of_steps(ENOUGH), &value);
            assert_eq!((found.value, found.bound), (least, least));
            let hurried = elimination.minimum(&Effort::of_steps(1), &value);
            assert!(hurried.bound <= least && hurried.value >= least);
            assert_eq!(value(&found.assignment), least);
        }
    }
}

/// Nearly all partitions of up to 40 points are proven optimal within the budget. Prints what they take, by their number
/// of points in steps of five.
#[test]
fn partitions_of_up_to_40_points_are_proven_optimal() {
    #[derive(Default)]
    struct Row {
        partitions: u32,
        proven: u32,
        priced: u64,
        slowest: std::time::Duration,
        total: std::time::Duration,
    }
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for seed in campaign(150) {
        let mut random = Random(seed);
        let operations = 10 + random.below(40);
        for_each_partition(&random_dag(&mut random, operations), |case| {
            let start = std::time::Instant::now();
            let effort = Effort::of_budget(SearchLimits::default().budget);
            let plan = solve(&case.search(&Bump::new()), &effort, f64::INFINITY);
            let row = rows.entry(case.partition.points.len() / 5 * 5).or_default();
            row.partitions += 1;
            row.proven += u32::from(plan.as_ref().is_some_and(PartitionPlan::is_optimal));
            row.priced = row.priced.max(plan.map_or(0, |plan| plan.stats.operators));
            row.slowest = row.slowest.max(start.elapsed());
            row.total += start.elapsed();
        });
    }
    let (mut decided, mut all_proven) = (0, 0);
    for (points, Row { partitions, proven, priced, slowest, total }) in rows {
        if points < 40 {
            decided += partitions;
            all_proven += proven;
        }
        let mean = total / partitions;
        println!(
            "{points:>2} points: {proven} of {partitions} proven, {mean:?} on average, {slowest:?} and {priced} operators at most"
        );
    }
    assert!(decided > 100 && all_proven * 100 >= decided * 98, "{all_proven} of {decided} proven");
}
