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
    let name = format!("M{:03}", variables.len());
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

/// Reads a vector that fits a product, and scales it: multiplication by small integers and division by powers of two
/// give the same bits in every order.
fn random_scaling(dag: &mut HopDag, variables: &mut Variables, random: &mut Random, scaled: HopId) -> HopId {
    let (rows, cols) = dag[scaled].size.known_dims().expect("sizes of this test are known");
    let (rows, cols) = if random.below(2) == 0 { (rows as usize, 1) } else { (1, cols as usize) };
    let is_turned = random.below(4) == 0;
    let dims = if is_turned { (cols, rows) } else { (rows, cols) };
    let mut vector = matrix(dag, variables, random, dims.0, dims.1);
    let op = random.pick(&[BinaryOp::Mult, BinaryOp::Div]);
    if let Some(cells) = variables.values_mut().last().filter(|_| op == BinaryOp::Div) {
        cells.values.iter_mut().for_each(|value| *value = value.exp2());
    }
    if is_turned {
        vector = add(dag, HopOp::Reorg(ReorgOp::Transpose), &[vector]);
    }
    let swapped = op == BinaryOp::Mult && random.below(2) == 0;
    add(dag, op, &if swapped { [vector, scaled] } else { [scaled, vector] })
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
fn chains_with_scalings_keep_their_values_and_cost_no_more() {
    let mut random = Random(29);
    let mut cheaper = 0;
    for _ in 0..300 {
        let (mut dag, mut variables) = (HopDag::new(), Variables::new());
        let count = 2 + random.below(3);
        let dims: Vec<usize> = (0..=count).map(|_| random.pick(&[1, 2, 3, 7, 12])).collect();
        let mut factors = Vec::new();
        for pair in dims.windows(2) {
            let mut factor = matrix(&mut dag, &mut variables, &mut random, pair[0], pair[1]);
            while random.below(2) == 0 {
                factor = random_scaling(&mut dag, &mut variables, &mut random, factor);
            }
            factors.push(factor);
        }
        let mut product = random_product(&mut dag, &mut random, &factors);
        if random.below(3) == 0 {
            product = random_scaling(&mut dag, &mut variables, &mut random, product);
        }
        dag.write("o", product);
        let (result, report) = rewrite_with_report(&dag, &RewriteOptions::default());
        assert!(report.cost.1 <= report.cost.0, "{report}");
        assert_same_values(&dag, &result, &variables);
        cheaper += usize::from(report.cost.1 < report.cost.0);
    }
    assert!(cheaper > 100, "only {cheaper} of 300 chains got cheaper");
}

/// Scalings by real numbers, zeros, infinities and numbers near the ends of the range of doubles: what depends on where
/// a scaling is applied the oracle leaves open.
#[test]
fn scalings_of_any_numbers_agree_with_the_oracle() {
    let mut random = Random(31);
    let reals = [0.3, -1.7, 5.0, 0.0, 1e-3, -4.0, 0.1, 7.0];
    let extremes = [1e308, -1e200, 1e-200, 5e-324, 0.0, 1.0, f64::INFINITY, f64::NAN];
    let mut changed = 0;
    for round in 0..400 {
        let numbers = if round % 4 == 0 { &extremes } else { &reals };
        let (mut dag, mut variables) = (HopDag::new(), Variables::new());
        let dims = [4, 3, 2].map(|most: usize| 1 + random.below(most));
        let [x, y] = [(dims[0], dims[1]), (dims[1], dims[2])]
            .map(|(rows, cols)| matrix(&mut dag, &mut variables, &mut random, rows, cols));
        let mut scaled = [x, y];
        for factor in &mut scaled {
            *factor = random_scaling(&mut dag, &mut variables, &mut random, *factor);
        }
        let product = add(&mut dag, HopOp::MatMul, &scaled);
        let result = random_scaling(&mut dag, &mut variables, &mut random, product);
        let keeps_integers = random.below(2) == 0;
        for cells in variables.values_mut().skip(if keeps_integers { 2 } else { 0 }) {
            cells.values.iter_mut().for_each(|value| *value = random.pick(numbers));
        }
        changed += usize::from(rewrite(&dag, &RewriteOptions::default()).to_string() != dag.to_string());
        for strict_ieee in [false, true] {
            let options = RewriteOptions { strict_ieee, ..RewriteOptions::default() };
            let agrees = rewritten_agrees(dag.clone(), result, &variables, &options);
            assert_eq!(agrees, Ok(()), "round {round}");
        }
    }
    assert!(changed > 0);
}

/// The cells of all element-wise multiplications and divisions.
fn scaled_cells(dag: &HopDag) -> u64 {
    let is_scaling = |op: &HopOp| matches!(op, HopOp::Binary(BinaryOp::Mult | BinaryOp::Div));
    let cells = |size: SizeInfo| size.nnz.or(size.cells()).expect("sizes of this test are known");
    dag.hops.values().filter(|hop| is_scaling(&hop.op)).map(|hop| cells(hop.size)).sum()
}

/// What scales rows or columns of a large matrix scales the vector beside it.
#[test]
fn vectors_are_scaled_in_the_place_of_large_matrices() {
    let (rows, cols) = (10_000, 1_000);
    for nnz in [None, Some(100_000)] {
        for expression in 0..6 {
            let mut dag = HopDag::new();
            let x = dag.read_matrix("X", SizeInfo { nnz, ..SizeInfo::dims(rows, cols) });
            let [r, w] = ["r", "w"].map(|name| dag.read_matrix(name, SizeInfo::dims(rows, 1)));
            let [c, v] =
                [("c", 1, cols), ("v", cols, 1)].map(|(name, r, c)| dag.read_matrix(name, SizeInfo::dims(r, c)));
            let transpose = HopOp::Reorg(ReorgOp::Transpose);
            let by_columns = add(&mut dag, BinaryOp::Mult, &[x, c]);
            let inputs = match expression {
                0 => [by_columns, v],
                1 => [add(&mut dag, BinaryOp::Div, &[x, c]), v],
                2 => [add(&mut dag, BinaryOp::Mult, &[by_columns, r]), v],
                3 => [add(&mut dag, transpose.clone(), &[w]), add(&mut dag, BinaryOp::Mult, &[r, by_columns])],
                4 => {
                    let by_rows = add(&mut dag, BinaryOp::Div, &[x, r]);
                    [add(&mut dag, transpose, &[by_rows]), w]
                }
                _ => {
                    let transposed = add(&mut dag, transpose.clone(), &[by_columns]);
                    let by_rows = add(&mut dag, BinaryOp::Mult, &[by_columns, r]);
                    [transposed, add(&mut dag, HopOp::MatMul, &[by_rows, v])]
                }
            };
            let product = add(&mut dag, HopOp::MatMul, &inputs);
            dag.write("o", product);
            let result = rewrite(&dag, &RewriteOptions::default());
            assert!(scaled_cells(&result) <= 3 * rows, "{result}");
            let strict = RewriteOptions { strict_ieee: true, ..RewriteOptions::default() };
            assert!(scaled_cells(&rewrite(&dag, &strict)) >= nnz.unwrap_or(rows * cols));
        }
    }
}

/// A scaled matrix that is needed anyway is not scaled again.
#[test]
fn shared_scalings_stay() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::dims(1000, 100));
    let [c, v] = [("c", 1, 100), ("v", 100, 1)].map(|(name, r, c)| dag.read_matrix(name, SizeInfo::dims(r, c)));
    let scaled = add(&mut dag, BinaryOp::Mult, &[x, c]);
    let product = add(&mut dag, HopOp::MatMul, &[scaled, v]);
    dag.write("S", scaled);
    dag.write("o", product);
    assert_eq!(rewrite(&dag, &RewriteOptions::default()).to_string(), dag.to_string());
}

/// A scaled matrix of which all uses are products is never made: each product has a better place for the scaling.
#[test]
fn shared_scalings_go_where_every_use_has_a_better_place() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::dims(10_000, 100));
    let c = dag.read_matrix("c", SizeInfo::dims(1, 100));
    let [v, y] = [("V", 100), ("Y", 10_000)].map(|(name, rows)| dag.read_matrix(name, SizeInfo::dims(rows, 2)));
    let scaled = add(&mut dag, BinaryOp::Mult, &[x, c]);
    let product = add(&mut dag, HopOp::MatMul, &[scaled, v]);
    let transposed = add(&mut dag, HopOp::Reorg(ReorgOp::Transpose), &[scaled]);
    let other = add(&mut dag, HopOp::MatMul, &[transposed, y]);
    dag.write("o", product);
    dag.write("p", other);
    let result = rewrite(&dag, &RewriteOptions::default());
    assert_eq!(scaled_cells(&result), 400, "{result}");
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
