//! Partitions, their parts and their interesting points.

use super::*;
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::template::TEMPLATES;
use crate::testing::{self, Dag};
use fuseline_ir::hop::HopDag;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use std::collections::BTreeSet;

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

/// P108: scaling a sparse matrix is a single operator, of a template that the product above lacks.
#[test]
fn a_single_operator_is_worth_a_template_switch() {
    let mut d = Dag::default();
    let (x, u, v) = (d.sparse("X", 1000, 500, 1000), d.read("u", 1000, 1), d.read("v", 500, 1));
    let scaled = d.op(BinaryOp::Div, &[x, u]);
    let product = d.matmul(scaled, v);
    let sum = d.sum(product);
    d.write("s", sum);
    let all = partitions(&d.dag);
    assert_eq!(all[0].points, [InterestingPoint { consumer: product, producer: scaled }]);
}

/// P108: where valid plans of the input have a template that the consumer has no entry of, the edge is a point.
#[test]
fn template_switches_are_those_of_the_definition() {
    let mut switches = 0;
    for seed in 0..300 {
        let dag = testing::random_dag(&mut testing::Random(seed), 12);
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        for partition in partition(&context, &memo) {
            for &consumer in &partition.members {
                let types: BTreeSet<TemplateType> = memo.entries(consumer).iter().map(|entry| entry.ttype).collect();
                for producer in memo.entries(consumer).iter().flat_map(MemoEntry::references) {
                    let valid = memo.entries(producer).iter().filter(|entry| entry.close.is_valid());
                    if valid.into_iter().any(|entry| !types.contains(&entry.ttype)) {
                        let point = InterestingPoint { consumer, producer };
                        assert!(partition.points.contains(&point), "{seed}: {point:?}\n{dag}");
                        switches += 1;
                    }
                }
            }
        }
    }
    assert!(switches > 20, "{switches} switches");
}

/// `X * exp(v)`: the function of the column, which a Cell operator computes for each cell of its row, is a point; of a Row
/// operator, which computes it once per row, it is none.
#[test]
fn a_vector_that_cells_compute_again_is_an_interesting_point() {
    let mut d = Dag::default();
    let (x, w) = (d.read("X", 1000, 100), d.read("w", 1000, 1));
    let exp = d.op(UnaryOp::Exp, &[w]);
    let scaled = d.mult(x, exp);
    let sum = d.sum(scaled);
    d.write("s", sum);
    let all = partitions(&d.dag);
    assert_eq!(all[0].points, [InterestingPoint { consumer: scaled, producer: exp }]);

    let mut d = Dag::default();
    let (x, p, v) = (d.read("X", 1000, 100), d.read("P", 1000, 100), d.read("v", 100, 1));
    let product = d.matmul(x, v);
    let scaled = d.mult(p, product);
    let sums = d.op((AggOp::Sum, Direction::Row), &[scaled]);
    d.write("s", sums);
    assert!(partitions(&d.dag)[0].points.is_empty());
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
