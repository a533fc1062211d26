//! Partitions, their parts and their interesting points.

use super::*;
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::template::TEMPLATES;
use crate::testing::{self, Dag};
use fuseline_ir::hop::HopDag;
use fuseline_ir::ops::{AggOp, Direction, UnaryOp};

fn partitions(dag: &HopDag) -> Vec<PlanPartition> {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    partition(&context, &explore(&context, TEMPLATES))
}

/// P104 to P107: the terms of the paper on Expression (2).
#[test]
fn expression_2_is_one_partition() {
    let (dag, groups) = testing::mlogreg();
    let all = partitions(&dag);
    assert_eq!(all.len(), 1);
    let [_, range, q, sums, scaled, difference, _, last] = groups;
    let partition = &all[0];
    assert_eq!(partition.members, groups);
    assert_eq!(partition.roots, [last]);
    assert_eq!(partition.inputs.iter().map(|id| id.as_u32()).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(partition.materialization_points, [range, q]);
    // Consumers of the two, and the switches from Cell plans to the Row plans above them.
    let expected = [(q, range), (sums, q), (scaled, range), (scaled, sums), (difference, q), (last, difference)];
    let points: Vec<_> = partition.points.iter().map(|point| (point.consumer, point.producer)).collect();
    assert_eq!(points, expected);
    assert!(partition.externally_consumed.is_empty());
}

/// P101, P103: a column aggregation closes all templates, so what follows is a partition of its own.
#[test]
fn closed_aggregates_separate_partitions() {
    let mut d = Dag::default();
    let (x, y, w) = (d.read("X", 1000, 100), d.read("Y", 1000, 100), d.read("w", 1, 100));
    let product = d.mult(x, y);
    let sums = d.op((AggOp::Sum, Direction::Col), &[product]);
    let exp = d.op(UnaryOp::Exp, &[sums]);
    let scaled = d.mult(exp, w);
    d.write("o", scaled);
    let all = partitions(&d.dag);
    assert_eq!(all.iter().map(|p| p.members.clone()).collect::<Vec<_>>(), [vec![product, sums], vec![exp, scaled]]);
    assert_eq!(all[0].roots, [sums]);
    assert_eq!(all[1].inputs, [w, sums]);
}

/// P108: the edge to the sparse product is a template switch although nothing else consumes it.
#[test]
fn a_template_switch_is_an_interesting_point() {
    let (dag, product, sum) = testing::outer_plus_dense();
    let all = partitions(&dag);
    assert_eq!(all[0].points, [InterestingPoint { consumer: sum, producer: product }]);
    assert!(all[0].materialization_points.is_empty());
}

#[test]
fn a_written_intermediate_is_externally_consumed() {
    let (mut dag, [xy, ..]) = testing::sum_of_products();
    dag.write("xy", xy);
    let all = partitions(&dag);
    assert_eq!(all[0].externally_consumed, [xy]);
    assert_eq!(all[0].materialization_points, [xy]);
    assert_eq!(all[0].points.len(), 1);
}
