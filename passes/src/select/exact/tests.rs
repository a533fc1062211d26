//! The exact solver against the judge of all plans, against enumeration, and at the end of its budgets.

mod group_sets;
mod multi_aggregates;

use super::super::effort::Effort;
use super::super::enumerate::{self, SearchResult};
use super::super::space::SearchSpace;
use super::super::tests::{Judge, campaign, random_dag, random_machine, random_sparse_dag};
use super::super::*;
use super::{Decided, elimination, solve};
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::joint::plan_seconds;
use crate::machine::Machine;
use crate::partition::partition;
use crate::template::TEMPLATES;
use crate::testing::Random;
use bumpalo::Bump;
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use std::collections::{BTreeMap, BTreeSet};

/// Relative difference that the order of sums explains.
const ROUNDING: f64 = 1e-9;

/// Branches and partial assignments that no test runs out of.
const ENOUGH: u64 = 1 << 20;

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
    let limits = TemplateLimits::default();
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
        solve(&self.search(&Bump::new()), &Effort::of_steps(limit), slack, Decided::All)
    }

    fn enumerate(&self, enumeration: Enumeration) -> SearchResult {
        let scratch = Bump::new();
        let space = SearchSpace::new(self.search(&scratch));
        let limits = SearchLimits {
            enumeration,
            budget: Budget::of(u64::MAX),
            visits: u64::MAX,
            exhaustive_points: 64,
            ..SearchLimits::default()
        };
        enumerate::search(&space, SelectPolicy::CostBased, &limits, &Effort::of_steps(u64::MAX))
    }
}

/// Seconds of a DAG whose partitions the solver decides, without multi-aggregates.
fn solved_seconds(context: &Context<'_>, model: &CostModel) -> f64 {
    let mut memo = prepare(context, &explore(context, TEMPLATES), SelectPolicy::CostBased);
    prune_impossible(context, model, &mut memo);
    let mut operators: BTreeMap<HopId, Operator> = BTreeMap::new();
    for partition in &partition(context, &memo) {
        let scratch = Bump::new();
        let search = PartitionSearch::new(context, &memo, partition, model, &scratch);
        let Some(plan) = solve(&search, &Effort::of_steps(ENOUGH), f64::INFINITY, Decided::All) else {
            return f64::INFINITY;
        };
        assert_eq!(plan.bound, plan.seconds);
        operators.extend(plan.operators.into_iter().map(|operator| (operator.root(), operator)));
    }
    let mut needed = BTreeSet::new();
    let mut pending = context.dag.roots();
    let mut seconds = 0.0;
    while let Some(id) = pending.pop() {
        if !matches!(context.hop(id).op, HopOp::Read(_) | HopOp::Literal(_)) && needed.insert(id) {
            let operator = operators.get(&id).cloned().unwrap_or_else(|| Operator::basic(context, id));
            seconds += model.operator_seconds(context, &operator);
            pending.extend(operator.inputs);
        }
    }
    seconds
}

/// P094, P095, P108: the solver finds what trying every plan finds; X9.
#[test]
fn the_solver_equals_the_judge() {
    let (mut judged, mut gained) = (0, 0);
    // An operator over 16,384 non-zeros that is the work of one thread, where one over 32,768 is that of several.
    for seed in campaign(1_000).chain([63_077]) {
        let mut random = Random(seed);
        let operations = 3 + random.below(6);
        let dag = if seed % 4 < 2 { random_dag } else { random_sparse_dag }(&mut random, operations);
        let machine = if seed.is_multiple_of(2) { Machine::default() } else { random_machine(&mut random) };
        let (limits, model) = (TemplateLimits::default(), CostModel::new(machine));
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let Some(optimum) = (Judge { context: &context, memo: &memo, model: &model }).optimum() else { continue };
        let seconds = solved_seconds(&context, &model);
        let is_equal = seconds == optimum || (seconds - optimum).abs() <= ROUNDING * optimum;
        assert!(is_equal, "{seed}: {seconds} != {optimum}\n{dag}");
        judged += 1;
        gained += usize::from(optimum < plan_seconds(&context, &FusionPlan::default(), &model));
    }
    println!("{judged} judged, {gained} with fusion");
    assert!(judged > 500 && gained > 200, "{judged} judged, {gained} with fusion");
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

/// Nearly all partitions of up to 40 points are proven optimal within the budget among plans that fuse all other edges, and
/// most of those of up to 20 points among all plans. Prints what they take, by their number of points in steps of five.
#[test]
fn partitions_of_up_to_40_points_are_proven_optimal() {
    #[derive(Default)]
    struct Row {
        partitions: u32,
        proven: u32,
        proven_of_all: u32,
        priced: u64,
        slowest: std::time::Duration,
        total: std::time::Duration,
    }
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for seed in campaign(150) {
        let mut random = Random(seed);
        let operations = 10 + random.below(40);
        for_each_partition(&random_dag(&mut random, operations), |case| {
            let effort = Effort::of_budget(SearchLimits::default().budget);
            let scratch = Bump::new();
            let search = case.search(&scratch);
            let points = solve(&search, &effort, f64::INFINITY, Decided::Points);
            let start = std::time::Instant::now();
            let plan = search.decide(SelectPolicy::CostBased, &SearchLimits::default());
            let row = rows.entry(case.partition.points.len() / 5 * 5).or_default();
            row.partitions += 1;
            row.proven += u32::from(points.is_some_and(|points| points.is_optimal()));
            row.proven_of_all += u32::from(plan.is_optimal());
            row.priced = row.priced.max(plan.stats.operators);
            row.slowest = row.slowest.max(start.elapsed());
            row.total += start.elapsed();
        });
    }
    let [mut decided, mut proven_points, mut small, mut proven_small] = [0; 4];
    for (points, Row { partitions, proven, proven_of_all, priced, slowest, total }) in rows {
        if points < 40 {
            decided += partitions;
            proven_points += proven;
        }
        if points < 20 {
            small += partitions;
            proven_small += proven_of_all;
        }
        let mean = total / partitions;
        println!(
            "{points:>2} points: of {partitions} {proven} proven, {proven_of_all} of all plans, {mean:?} on average, \
             {slowest:?} and {priced} operators at most"
        );
    }
    assert!(decided > 100 && proven_points * 100 >= decided * 98, "{proven_points} of {decided} proven");
    assert!(proven_small * 100 >= small * 70, "{proven_small} of {small} proven among all plans");
}
