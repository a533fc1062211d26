//! What interesting points decide: each edge by itself, and that no operator crosses a materialised one.

use super::enumeration::ways;
use super::*;
use crate::partition::InterestingPoint;

/// So many squares, each of the one before, from `x` on, four chains of functions of the last one, and the sum of its product
/// with `x`.
fn shared_by_chains_and_a_sum(squares: usize) -> (HopDag, HopId, HopId) {
    let mut d = Dag::default();
    let x = d.read("X", 4000, 2000);
    let shared = (0..squares).fold(x, |value, _| d.op(UnaryOp::Pow2, &[value]));
    for (number, op) in [UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Atan, UnaryOp::Sigmoid].into_iter().enumerate() {
        let chain = (0..3).fold(shared, |value, _| d.op(op, &[value]));
        d.write(&format!("chain{number}"), chain);
    }
    let product = d.mult(shared, x);
    let sum = d.sum(product);
    d.write("sum", sum);
    (d.dag, shared, sum)
}

/// P107: of one value, operators that take long to compute what follows read what is written once; one that waits for `x`
/// anyway computes it anew meanwhile. Neither all fused nor all materialised is as cheap.
#[test]
fn a_value_may_be_read_by_some_and_fused_by_others() {
    let mut mixed = 0;
    for squares in [32, 40, 48] {
        let (dag, shared, sum) = shared_by_chains_and_a_sum(squares);
        for enumeration in [Enumeration::All, Enumeration::Exact] {
            let chosen = plan_with(&dag, SelectPolicy::CostBased, &ways(enumeration));
            let PartitionPlan { operators, partition, assignment, .. } = &chosen.partitions[0];
            let is_materialized = operators.iter().any(|operator| operator.root() == shared);
            let is_fused = operators.iter().any(|operator| operator.root() == sum && operator.covers(shared));
            if !is_materialized || !is_fused {
                continue;
            }
            mixed += 1;
            let points = partition.points.iter().zip(assignment).filter(|(point, _)| point.producer == shared);
            let true_points = points.clone().filter(|(_, is_true)| **is_true).count();
            assert!(0 < true_points && true_points < points.count());
            for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
                assert!(seconds(&chosen) < 0.999 * seconds(&plan(&dag, policy)), "{policy:?}");
            }
        }
    }
    assert!(mixed >= 2, "{mixed} plans do both");
}

/// P109: no operator fuses an edge that is materialised; a value may be at hand over another edge.
#[test]
fn no_operator_crosses_a_materialised_edge() {
    let (mut materialized, mut at_hand) = (0, 0);
    for seed in campaign(300) {
        let mut random = Random(seed);
        let dag = if seed % 2 == 0 { random_dag } else { random_sparse_dag }(&mut random, 12);
        let chosen = plan_with(&dag, SelectPolicy::CostBased, &ways(Enumeration::All));
        let others = plan_with(&dag, SelectPolicy::Random { seed }, &ways(Enumeration::All));
        for PartitionPlan { partition, assignment, operators, .. } in chosen.partitions.iter().chain(&others.partitions)
        {
            let is_true = |point| partition.points.binary_search(&point).is_ok_and(|place| assignment[place]);
            for &point in partition.points.iter().filter(|&&point| is_true(point)) {
                materialized += 1;
                let InterestingPoint { consumer, producer } = point;
                for operator in operators.iter().filter(|it| it.covers(consumer) && it.covers(producer)) {
                    let mut readers = operator.members.iter().filter(|&&id| dag[id].inputs.contains(&producer));
                    let is_fused = |&&consumer: &&HopId| !is_true(InterestingPoint { consumer, producer });
                    assert!(readers.any(|reader| is_fused(&reader)), "{seed}: {point:?} {operator:?}\n{dag}");
                    at_hand += 1;
                }
            }
        }
    }
    assert!(materialized > 500 && at_hand > 0, "{materialized} {at_hand}");
}

/// P100: fuse-no-redundancy computes nothing twice, and fuses whatever else can be: no operator has a larger one of its
/// template that includes a value which is read nowhere else.
#[test]
fn fuse_no_redundancy_fuses_all_that_is_read_once() {
    let model = CostModel::default();
    let (mut fused, mut basic) = (0, 0);
    for seed in campaign(150) {
        let mut random = Random(seed);
        let dag = if seed % 2 == 0 { random_dag } else { random_sparse_dag }(&mut random, 8);
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let judge = Judge { context: &context, memo: &memo, model: &model };
        let policy = SelectPolicy::FuseNoRedundancy;
        for partition in select(&context, &memo, policy, &model, &SearchLimits::default()).partitions {
            for operator in &partition.operators {
                let Some(possible) = judge.operators(operator.root()) else { continue };
                let is_read_once = |&id: &HopId| id == operator.root() || context.consumer_count(id) == 1;
                let is_larger = |other: &&Operator| {
                    (operator.template.is_none() || other.template == operator.template)
                        && other.members.len() > operator.members.len()
                        && operator.members.iter().all(|&member| other.covers(member))
                        && other.members.iter().all(is_read_once)
                };
                let larger = possible.iter().find(is_larger);
                assert!(larger.is_none(), "{seed}: {operator:?} could be {larger:?}\n{dag}");
                *(if operator.template.is_some() { &mut fused } else { &mut basic }) += 1;
            }
        }
    }
    assert!(fused > 200 && basic > 50, "{fused} fused, {basic} basic");
}
