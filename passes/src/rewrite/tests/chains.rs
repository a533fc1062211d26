//! Chains of products and multiplications on whole DAGs: cheaper or as they were, and the same values.

use super::super::{RewriteOptions, rewrite, rewrite_with_report};
use super::evaluate::{Cells, value};
use super::rules::rewritten_agrees;
use crate::testing::Random;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use std::collections::BTreeMap;

type Variables = BTreeMap<String, Cells>;

/// Reads a matrix of small integers, so that every order of sums and products gives the same bits.
fn matrix(dag: &mut HopDag, variables: &mut Variables, random: &mut Random, rows: usize, cols: usize) -> HopId {
    let name = format!("M{}", variables.len());
    let values = (0..rows * cols).map(|_| random.below(5) as f64 - 2.0).collect();
    variables.insert(name.clone(), Cells { rows, cols, values });
    dag.read_matrix(&name, SizeInfo::dims(rows as u64, cols as u64))
}

fn add(dag: &mut HopDag, op: impl Into<HopOp>, inputs: &[HopId]) -> HopId {
    dag.add(op.into(), inputs, None).expect("the inputs of this test fit")
}

/// A product of the factors `first..=last` in a random order of multiplication, now and then as a transpose of the
/// product of transposes, now and then an output.
fn random_product(dag: &mut HopDag, random: &mut Random, factors: &[HopId]) -> HopId {
    if let [factor] = factors {
        return *factor;
    }
    let middle = 1 + random.below(factors.len() - 1);
    let left = random_product(dag, random, &factors[..middle]);
    let right = random_product(dag, random, &factors[middle..]);
    let transpose = HopOp::Reorg(ReorgOp::Transpose);
    let product = if random.below(3) == 0 {
        let (left, right) = (add(dag, transpose.clone(), &[left]), add(dag, transpose.clone(), &[right]));
        let product = add(dag, HopOp::MatMul, &[right, left]);
        add(dag, transpose, &[product])
    } else {
        add(dag, HopOp::MatMul, &[left, right])
    };
    if random.below(6) == 0 {
        dag.write(&format!("inner{product}"), product);
    }
    product
}

fn assert_same_values(before: &HopDag, after: &HopDag, variables: &Variables) {
    for (one, other) in before.outputs.iter().zip(&after.outputs) {
        let (one, other) = (value(before, one.hop, variables), value(after, other.hop, variables));
        assert_eq!(one, other, "{before}\nbecomes\n{after}");
    }
}

#[test]
fn chains_of_products_keep_their_values_and_cost_no_more() {
    let mut random = Random(17);
    let mut cheaper = 0;
    for _ in 0..200 {
        let (mut dag, mut variables) = (HopDag::new(), Variables::new());
        let count = 3 + random.below(4);
        let dims: Vec<usize> = (0..=count).map(|_| random.pick(&[1, 2, 3, 7, 12])).collect();
        let factors: Vec<HopId> =
            dims.windows(2).map(|pair| matrix(&mut dag, &mut variables, &mut random, pair[0], pair[1])).collect();
        let product = random_product(&mut dag, &mut random, &factors);
        dag.write("o", product);
        let (result, report) = rewrite_with_report(&dag, &RewriteOptions::default());
        assert!(report.cost.1 <= report.cost.0, "{report}");
        assert_same_values(&dag, &result, &variables);
        cheaper += usize::from(report.cost.1 < report.cost.0);
    }
    assert!(cheaper > 100, "only {cheaper} of 200 chains got cheaper");
}

#[test]
fn chains_of_multiplications_keep_their_values_and_cost_no_more() {
    let mut random = Random(19);
    let mut cheaper = 0;
    for _ in 0..200 {
        let (mut dag, mut variables) = (HopDag::new(), Variables::new());
        let shapes = [(6, 4), (6, 4), (6, 1), (6, 1), (1, 4)];
        let mut leaves: Vec<HopId> =
            shapes.map(|(rows, cols)| matrix(&mut dag, &mut variables, &mut random, rows, cols)).to_vec();
        variables.insert("s".to_owned(), Cells::scalar(3.0));
        leaves.push(dag.read_scalar("s"));
        let mut chain = leaves[0];
        for _ in 0..2 + random.below(5) {
            let factor = random.pick(&leaves);
            chain = if random.below(6) == 0 {
                add(&mut dag, UnaryOp::Pow2, &[chain])
            } else {
                add(&mut dag, BinaryOp::Mult, &[chain, factor])
            };
        }
        dag.write("o", chain);
        let (result, report) = rewrite_with_report(&dag, &RewriteOptions::default());
        assert!(report.cost.1 <= report.cost.0, "{report}");
        assert_same_values(&dag, &result, &variables);
        cheaper += usize::from(report.cost.1 < report.cost.0);
    }
    assert!(cheaper > 50, "only {cheaper} of 200 chains got cheaper");
}

/// Another order rounds otherwise, but within the bound of the order that was written; and sizes stay true where factors
/// are sparse.
#[test]
fn chains_of_real_numbers_round_within_the_bound() {
    let mut random = Random(23);
    for round in 0..200 {
        let (mut dag, mut variables) = (HopDag::new(), Variables::new());
        let count = 3 + random.below(5);
        let dims: Vec<usize> = (0..=count).map(|_| random.pick(&[1, 2, 3, 7])).collect();
        let sparsity = random.pick(&[1, 3]);
        let mut factor = |rows: usize, cols: usize| {
            let name = format!("M{}", variables.len());
            let mut real = || if random.below(sparsity) > 0 { 0.0 } else { random.below(1 << 30) as f64 / 1e8 - 5.0 };
            let cells = Cells { rows, cols, values: (0..rows * cols).map(|_| real()).collect() };
            let nnz = cells.values.iter().filter(|value| **value != 0.0).count() as u64;
            variables.insert(name.clone(), cells);
            dag.read_matrix(&name, SizeInfo::with_nnz(rows as u64, cols as u64, nnz))
        };
        let factors: Vec<HopId> = dims.windows(2).map(|pair| factor(pair[0], pair[1])).collect();
        let product = random_product(&mut dag, &mut random, &factors);
        let agrees = rewritten_agrees(dag, product, &variables, &RewriteOptions::default());
        assert_eq!(agrees, Ok(()), "round {round}");
    }
}

#[test]
fn strict_ieee_keeps_the_order_of_products() {
    let (mut dag, mut variables, mut random) = (HopDag::new(), Variables::new(), Random(1));
    let shapes = [(50, 40), (40, 60), (60, 1)];
    let [a, b, v] = shapes.map(|(rows, cols)| matrix(&mut dag, &mut variables, &mut random, rows, cols));
    let ab = add(&mut dag, HopOp::MatMul, &[a, b]);
    let abv = add(&mut dag, HopOp::MatMul, &[ab, v]);
    dag.write("o", abv);
    let strict = RewriteOptions { strict_ieee: true, ..RewriteOptions::default() };
    assert_eq!(rewrite(&dag, &strict).to_string(), dag.to_string());
    assert_ne!(rewrite(&dag, &RewriteOptions::default()).to_string(), dag.to_string());
}
