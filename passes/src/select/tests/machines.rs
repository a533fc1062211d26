//! Selection on random machines: with little memory or none to spare, with clusters, caches, slow starts and slow
//! sparse formats.

use super::dags::random_dag;
use super::enumeration::{ROUNDING, ways};
use super::*;
use crate::joint::plan_seconds;
use crate::machine::{Bandwidth, Cache, Cluster, ComputeRates, Machine, OneTimeCosts, SparseAccess, StartCosts};
use crate::select::bound::Bound;
use crate::select::effort::Effort;
use crate::select::space::SearchSpace;

/// The most points for which all plans are costed.
const MOST_POINTS: usize = 12;

/// One of eight numbers from `least` to `most`, apart by factors.
fn between(random: &mut Random, least: f64, most: f64) -> f64 {
    least * (most / least).powf(random.below(8) as f64 / 7.0)
}

/// A consistent machine, one of three without enough memory for some or all operators, half of these with a cluster.
pub(in crate::select) fn random_machine(random: &mut Random) -> Machine {
    let memory = between(random, 1e9, 1e11);
    let write = between(random, 1e8, 1e11);
    let cache = |capacity: f64, factor: f64| Cache {
        size: 4.0 * capacity,
        capacity,
        reach: 2.0 * capacity,
        write_reach: 3.0 * capacity,
        bandwidth: Bandwidth { read: memory * factor, write: write * factor },
    };
    let rate = between(random, 1e8, 1e11);
    let machine = Machine {
        caches: [cache(1e4, 4.0), cache(1e6, 3.0), cache(between(random, 1e6, 1e8), 2.0)],
        memory: Bandwidth { read: memory, write },
        compute: ComputeRates {
            function: rate / 4.0,
            matrix_product: rate * 8.0,
            row_cells: rate / 2.0,
            ..ComputeRates::uniform(rate)
        },
        sparse: SparseAccess {
            non_zero: random.below(3) as f64 * 1e-9,
            again: random.below(3) as f64 * 1e-9,
            line: random.below(3) as f64 * 1e-9,
            gather: random.below(3) as f64 * 1e-9,
            row: random.below(3) as f64 * 1e-8,
            store: random.below(3) as f64 * 1e-8,
            store_row: random.below(3) as f64 * 1e-8,
        },
        start: StartCosts {
            basic: random.below(3) as f64 * 1e-5,
            scalar: random.below(3) as f64 * 1e-5,
            fused: random.below(3) as f64 * 1e-5,
            fused_rows: random.below(3) as f64 * 1e-5,
            parallel: random.below(3) as f64 * 1e-5,
            run: random.below(3) as f64 * 1e-8,
            row: random.below(3) as f64 * 1e-8,
            narrow: random.below(3) as f64 * 1e-9,
        },
        once: OneTimeCosts { compile: 1e-3, fresh_page: 1e-7 },
        overlap: random.below(3) as f64 / 2.0,
        exposed: random.below(3) as f64 / 10.0,
        hidden_write: random.below(3) as f64 / 2.0,
        lanes: 1 + random.below(8),
        threads: 1 + random.below(4),
        memory_budget: (random.below(3) == 0).then(|| between(random, 1e3, 1e8)),
        cluster: (random.below(2) == 0).then(|| random_cluster(random)),
    };
    assert!(machine.is_consistent());
    machine
}

fn random_cluster(random: &mut Random) -> Cluster {
    Cluster {
        workers: 1 + random.below(8),
        broadcast_memory: between(random, 1e4, 1e8),
        block_size: [500, 1000][random.below(2)],
        read_bandwidth: between(random, 1e8, 1e11),
        broadcast_bandwidth: between(random, 1e8, 1e11),
        join_bandwidth: between(random, 1e8, 1e11),
        start: random.below(3) as f64 * 1e-4,
    }
}

/// Whether two costs are equal, infinite ones included.
fn is_equal(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= ROUNDING * other
}

/// P096-P098, P125, P129, P132, P142: whatever the machine, no pruning loses the optimum, the bound of the whole space
/// holds, and no assignment is cheaper than the exact plan, with a plan known or without.
#[test]
fn no_machine_breaks_a_bound() {
    let (mut decided, mut forbidden) = (0, 0);
    for seed in campaign(600) {
        let mut random = Random(seed);
        let operations = 4 + random.below(12);
        let dag = random_dag(&mut random, operations);
        let model = CostModel::new(random_machine(&mut random));
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let mut memo = prepare(&context, &explore(&context, TEMPLATES), SelectPolicy::CostBased);
        prune_impossible(&context, &model, &mut memo);
        let fits = |partition: &PlanPartition| (1..=MOST_POINTS).contains(&partition.points.len());
        for partition in partition(&context, &memo).into_iter().filter(fits) {
            let scratch = Bump::new();
            let task = PartitionSearch::new(&context, &memo, &partition, &model, &scratch);
            let space = SearchSpace::new(task);
            let search = |enumeration| {
                enumerate::search(&space, SelectPolicy::CostBased, &ways(enumeration), &Effort::of_steps(u64::MAX))
            };
            let all = search(Enumeration::Partition);
            for enumeration in [Enumeration::Cost, Enumeration::All] {
                let pruned = search(enumeration);
                assert!(is_equal(pruned.seconds, all.seconds), "{seed} {pruned:?} {all:?} {model:?}\n{dag}");
            }
            let solve = |slack| {
                let found = exact::solve(&task, &Effort::of_steps(u64::MAX), slack, exact::Decided::All);
                found.map_or(f64::INFINITY, |plan| plan.seconds)
            };
            let least = solve(f64::INFINITY);
            assert!(least <= all.seconds * (1.0 + ROUNDING), "{seed} {least} {} {model:?}\n{dag}", all.seconds);
            let bound = Bound::new(&space).seconds(&space.graph.whole(), &space.fuse_all());
            assert!(bound <= least, "{seed}: {bound} > {least} {model:?}\n{dag}");
            let decision = |enumeration| {
                let limits = SearchLimits { budget: Budget::of(1 << 40), ..ways(enumeration) };
                task.decide(SelectPolicy::CostBased, &limits)
            };
            let chosen = decision(Enumeration::Exact);
            assert!(is_equal(chosen.seconds, least), "{seed}: {} {least} {model:?}\n{dag}", chosen.seconds);
            decided += usize::from(least.is_finite());
            forbidden += usize::from(least.is_infinite());
        }
    }
    assert!(decided > 300 && forbidden > 10, "{decided} decided, {forbidden} forbidden");
}

/// P095, P102: whatever the policy, the enumeration and the machine, plans pass the checker.
#[test]
fn plans_of_all_policies_pass_the_checker() {
    let (mut passes, mut infeasible, mut certified) = (0, 0, 0);
    // In the last one a pass reads through a transpose that its inner product would need by itself.
    for seed in campaign(400).chain([8520]) {
        let mut random = Random(seed);
        let operations = 4 + random.below(14);
        let dag = random_dag(&mut random, operations);
        let model = CostModel::new(random_machine(&mut random));
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let policies = [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::Random { seed }];
        let policies = policies.into_iter().chain([SelectPolicy::Exhaustive]).map(|policy| (policy, Enumeration::All));
        let searches = Enumeration::ALL.iter().map(|&enumeration| (SelectPolicy::CostBased, enumeration));
        let mut cheapest = f64::INFINITY;
        for (policy, enumeration) in policies.chain(searches) {
            let limits =
                SearchLimits { enumeration, budget: Budget::of(300), exhaustive_points: 8, ..SearchLimits::default() };
            let plan = select(&context, &memo, policy, &model, &limits);
            let checked = check_plan(&context, &model, &plan);
            assert_eq!(checked, Ok(()), "{seed} {policy:?} {enumeration:?} {model:?}\n{dag}");
            passes += plan.covers.iter().filter(|cover| cover.template == TemplateType::MAgg).count();
            infeasible += usize::from(plan.seconds.is_infinite());
            if (policy, enumeration) == (SelectPolicy::CostBased, Enumeration::Exact) {
                let found = check_bounds(&context, &memo, &model, &limits, &plan);
                certified += found.unwrap_or_else(|error| panic!("{seed}: {error} {model:?}\n{dag}"));
                assert!(plan.bound <= cheapest * (1.0 + ROUNDING), "{seed}: {} {cheapest}\n{dag}", plan.bound);
            }
            // The others search other tables, and so other partitions.
            if matches!(policy, SelectPolicy::CostBased | SelectPolicy::Exhaustive) {
                cheapest = cheapest.min(plan.seconds);
            }
        }
    }
    println!("{passes} passes, {infeasible} plans infeasible, {certified} bounds certified");
    assert!(passes > 50 && infeasible > 50 && certified > 300);
}

/// Where no plan fits into memory, aggregates are not computed in passes that need even more, and the price is infinite.
#[test]
fn plans_that_do_not_fit_are_not_merged() {
    let dag = testing::three_sums();
    let limits = TemplateLimits::default();
    let context = Context::new(&dag, &limits);
    let memo = explore(&context, TEMPLATES);
    let model = CostModel::new(Machine { memory_budget: Some(1e3), ..Machine::default() });
    for enumeration in [Enumeration::All, Enumeration::Exact] {
        let plan = select(&context, &memo, SelectPolicy::CostBased, &model, &ways(enumeration));
        assert!(plan.covers.iter().all(|cover| cover.template != TemplateType::MAgg), "{:?}", plan.covers);
        assert_eq!((plan.seconds, plan_seconds(&context, &plan, &model)), (f64::INFINITY, f64::INFINITY));
    }
}
