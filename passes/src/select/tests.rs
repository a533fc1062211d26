//! Chosen plans: the paper's examples, exhaustive search, and limits.

use super::*;
use crate::explore::explore_in;
use crate::template::TEMPLATES;
use crate::testing::{self, Dag, Random};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

fn plan_with(dag: &HopDag, policy: SelectPolicy, limits: &SearchLimits) -> FusionPlan {
    let template_limits = TemplateLimits::tiny();
    let context = Context::new(dag, &template_limits);
    select_in(&context, &explore_in(&context, TEMPLATES), policy, &CostModel::default(), limits)
}

fn plan(dag: &HopDag, policy: SelectPolicy) -> FusionPlan {
    plan_with(dag, policy, &SearchLimits::default())
}

fn seconds(plan: &FusionPlan) -> f64 {
    plan.partitions.iter().map(|partition| partition.seconds).sum()
}

/// A random DAG of element-wise operations, aggregates and products, dense and sparse.
fn random_dag(random: &mut Random, operations: usize) -> HopDag {
    let mut d = Dag::default();
    let mut matrices =
        vec![d.read("X", 2000, 1000), d.sparse("S", 2000, 1000, 1 << random.below(20)), d.read("y", 2000, 1)];
    let (v, u, w) = (d.read("v", 1000, 1), d.read("U", 2000, 10), d.read("W", 10, 1000));
    matrices.push(d.matmul(u, w));
    for number in 0..operations {
        let pick = |random: &mut Random, list: &[HopId]| list[list.len() - 1 - random.below(list.len().min(6))];
        let (left, right) = (pick(random, &matrices), pick(random, &matrices));
        let hop = match random.below(8) {
            0 => d.op(UnaryOp::Exp, &[left]),
            1 if d.dag[left].size.is_matrix() => d.op((AggOp::Sum, Direction::Row), &[left]),
            2 if d.dag[left].size.is_matrix() => d.matmul(left, v),
            3 => {
                let sum = d.sum(left);
                d.write(&format!("s{number}"), sum);
                continue;
            }
            _ => d.op([BinaryOp::Plus, BinaryOp::Mult, BinaryOp::Minus][random.below(3)], &[left, right]),
        };
        matrices.push(hop);
    }
    d.write("last", *matrices.last().expect("there are matrices"));
    d.dag
}

/// P132, P144: pruning never loses the optimum; the heuristics are never better.
#[test]
fn pruned_search_equals_exhaustive_search() {
    let mut random = Random(42);
    let mut decided = 0;
    for _ in 0..300 {
        let dag = random_dag(&mut random, 9);
        let limits = SearchLimits { plans: 1 << 14, exhaustive_points: 12, ..SearchLimits::default() };
        let exhaustive = plan_with(&dag, SelectPolicy::Exhaustive, &limits);
        let pruned = plan_with(&dag, SelectPolicy::CostBased, &limits);
        if exhaustive.partitions.iter().any(|partition| partition.partition.points.len() > 12) {
            continue;
        }
        decided += usize::from(exhaustive.stats().points > 2);
        let difference = (seconds(&exhaustive) - seconds(&pruned)).abs();
        assert!(difference <= 1e-9 * seconds(&exhaustive), "{} != {}\n{dag}", seconds(&exhaustive), seconds(&pruned));
        for heuristic in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
            assert!(seconds(&pruned) <= seconds(&plan(&dag, heuristic)) * (1.0 + 1e-9));
        }
    }
    assert!(decided > 100, "only {decided} DAGs had something to decide");
}

/// P129: the lower bound of an assignment undercuts every plan that materialises at least as much. An assignment that
/// materialises what is at hand inside of an operator anyway costs as much as one without that point, so only
/// assignments that no cheaper part undercuts count.
#[test]
fn the_bound_of_the_maximal_fusion_is_admissible() {
    let mut random = Random(3);
    for _ in 0..200 {
        let dag = random_dag(&mut random, 9);
        let template_limits = TemplateLimits::tiny();
        let context = Context::new(&dag, &template_limits);
        let memo = prepare(&context, &explore_in(&context, TEMPLATES), SelectPolicy::CostBased);
        let model = CostModel::default();
        for partition in partition_in(&context, &memo) {
            let space = space::SearchSpace::new(&context, &memo, &partition, &model);
            let none = vec![false; space.points()];
            for trial in 0..16 {
                let assignment: Vec<bool> =
                    (0..space.points()).map(|point| trial > 0 && (trial >> (point % 4)) & 1 == 1).collect();
                let cost = space.cost(&assignment, f64::INFINITY).expect("there is no limit");
                assert!(space.lower_bound(&none) <= cost);
            }
        }
    }
}

/// P100: every intermediate with several consumers is materialised.
#[test]
fn fuse_no_redundancy_computes_nothing_twice() {
    let mut random = Random(11);
    for _ in 0..100 {
        let dag = random_dag(&mut random, 12);
        let plan = plan(&dag, SelectPolicy::FuseNoRedundancy);
        let mut covered: Vec<HopId> = plan.covers.iter().flat_map(|cover| cover.members.iter().copied()).collect();
        let total = covered.len();
        covered.sort_unstable();
        covered.dedup();
        assert_eq!(covered.len(), total);
    }
}

/// Every chosen cover can be constructed, whatever the policy.
#[test]
fn all_covers_are_constructible() {
    let mut random = Random(5);
    let mut covers = 0;
    for _ in 0..150 {
        let dag = random_dag(&mut random, 14);
        for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased] {
            let plan = plan(&dag, policy);
            let (constructed, rejected) = crate::construct::construct(&dag, &plan, &TemplateLimits::tiny());
            assert!(rejected.is_empty(), "{policy:?}: {rejected:?}\n{dag}");
            covers += constructed.len();
        }
    }
    assert!(covers > 500);
}

#[test]
fn selection_is_deterministic() {
    let dag = random_dag(&mut Random(9), 20);
    let covers = |()| plan(&dag, SelectPolicy::CostBased).covers;
    assert_eq!(covers(()), covers(()));
}

/// A DAG with far more points than can be enumerated: the search ends, no worse than both heuristics.
#[test]
fn large_partitions_are_searched_within_the_budget() {
    let dag = random_dag(&mut Random(1), 120);
    let limits = SearchLimits { plans: 500, exhaustive_points: 0, ..SearchLimits::default() };
    let chosen = plan_with(&dag, SelectPolicy::CostBased, &limits);
    assert!(chosen.stats().points > 40);
    assert!(chosen.partitions.iter().all(|partition| partition.stats.evaluated <= 500));
    for heuristic in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
        assert!(seconds(&chosen) <= seconds(&plan(&dag, heuristic)) * (1.0 + 1e-9));
    }
}

/// P127, P131: maximal fusion is costed first, and what the bound excludes is counted.
#[test]
fn evaluated_and_skipped_plans_add_up() {
    let (dag, _) = testing::mlogreg();
    let plan = plan(&dag, SelectPolicy::CostBased);
    let stats = plan.stats();
    assert_eq!(stats.points, 6);
    assert!(stats.evaluated + stats.skipped >= 64, "{stats:?}");
    assert_eq!(plan.partitions[0].assignment, [false; 6]);
}

/// Long chains are selected and read off the table without recursion or quadratic work.
#[test]
fn a_long_chain_is_one_operator() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let mut last = x;
    for _ in 0..20_000 {
        last = d.op(UnaryOp::Abs, &[last]);
    }
    d.write("o", last);
    let plan = plan(&d.dag, SelectPolicy::CostBased);
    assert_eq!(plan.covers.len(), 1);
    assert_eq!(plan.covers[0].members.len(), 20_000);
    let (constructed, rejected) = crate::construct::construct(&d.dag, &plan, &TemplateLimits::tiny());
    assert!(rejected.is_empty());
    assert_eq!(constructed[0].cplan.nodes.len(), 20_001);
}

/// The verifier of covers refuses what no policy may choose.
#[test]
fn malformed_covers_are_refused() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let limits = TemplateLimits::default();
    let context = Context::new(&dag, &limits);
    let z = dag[xyz].inputs[1];
    let cover = |template, roots: &[HopId], members: &[HopId]| {
        let cover = FusionCover { template, roots: roots.to_vec(), members: members.to_vec() };
        verify_cover(&context, &cover)
    };
    use TemplateType::{Cell, MAgg, Outer, Row};
    assert_eq!(cover(Cell, &[sum], &[xy, xyz, sum]), Ok(()));
    assert_eq!(cover(Cell, &[sum], &[sum]), Err(CoverError::SingleOperation));
    assert_eq!(cover(Cell, &[xyz], &[xy, xyz, sum]), Err(CoverError::Dangling(sum)));
    assert_eq!(cover(Cell, &[sum], &[xyz, xy]), Err(CoverError::Member(xy)));
    assert_eq!(cover(Cell, &[sum], &[xy, xyz]), Err(CoverError::Member(sum)));
    assert_eq!(cover(Cell, &[xyz], &[z, xyz]), Err(CoverError::Unsupported { template: Cell, member: z }));
    assert_eq!(cover(Outer, &[sum], &[xyz, sum]), Err(CoverError::Root { template: Outer, root: sum }));
    assert_eq!(cover(MAgg, &[xyz, sum], &[xyz, sum]), Err(CoverError::Root { template: MAgg, root: xyz }));
    assert_eq!(cover(Row, &[sum], &[xy, xyz, sum]), Ok(()));
}

/// An Outer driver of which nothing is known counts as a tenth full.
#[test]
fn an_unknown_driver_counts_as_sparse() {
    let mut d = Dag::default();
    let (x, u, w) = (d.read("X", 2000, 2000), d.read("U", 2000, 10), d.read("W", 10, 2000));
    let product = d.matmul(u, w);
    let weighted = d.mult(x, product);
    let sum = d.sum(weighted);
    d.write("s", sum);
    let chosen = plan(&d.dag, SelectPolicy::CostBased);
    assert_eq!(chosen.covers[0].template, TemplateType::Outer);
    let mut dense = d.dag.clone();
    dense.hops[x].size = fuseline_ir::SizeInfo::with_nnz(2000, 2000, 4_000_000);
    assert_eq!(plan(&dense, SelectPolicy::Exhaustive).covers.len(), 1);
}
