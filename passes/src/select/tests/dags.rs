//! DAGs whose partitions have something to decide.

use crate::testing::{Dag, Random};
use fuseline_ir::hop::{HopDag, HopId, HopOp, NaryOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

/// The matrices that operations of a random DAG read: all of 2000 x 1000 but for the vectors.
struct Sources {
    column: HopId,
    vector: HopId,
    factors: [HopId; 2],
}

const CELLWISE: &[BinaryOp] = &[BinaryOp::Plus, BinaryOp::Mult, BinaryOp::Minus, BinaryOp::Max];

/// A random DAG of element-wise operations, aggregates and products, dense and sparse: with diamonds, several roots,
/// intermediates that leave the DAG or its partition, switches of the template, Outer products, and chains of diamonds,
/// whose waists are cut sets.
pub(in crate::select) fn random_dag(random: &mut Random, operations: usize) -> HopDag {
    let mut d = Dag::default();
    let mut matrices = vec![d.read("X", 2000, 1000), d.read("Y", 2000, 1000)];
    matrices.push(d.sparse("S", 2000, 1000, 1 << random.below(20)));
    let [u, w] = [d.read("U", 2000, 10), d.read("W", 10, 1000)];
    let sources = Sources { column: d.read("y", 2000, 1), vector: d.read("v", 1000, 1), factors: [u, w] };
    if random.below(2) == 0 {
        matrices.push(d.matmul(u, w));
    }
    let mut done = 0;
    while done < operations {
        let recent = matrices.len().min(if random.below(3) == 0 { 6 } else { 3 });
        let pick = |random: &mut Random| matrices[matrices.len() - 1 - random.below(recent)];
        let operands = [pick(random), pick(random)];
        done += 1;
        if random.below(5) == 0 {
            matrices.push(diamond(&mut d, random, operands[0]));
            done += 2;
        } else {
            matrices.extend(operation(&mut d, random, operands, &sources, done));
        }
    }
    d.write("last", *matrices.last().expect("there are matrices"));
    d.dag
}

/// Two values of one, together again.
fn diamond(d: &mut Dag, random: &mut Random, waist: HopId) -> HopId {
    let left = d.op(random.pick(&[UnaryOp::Exp, UnaryOp::Abs, UnaryOp::Sigmoid]), &[waist]);
    let right = d.op(random.pick(&[UnaryOp::Pow2, UnaryOp::Sqrt]), &[waist]);
    d.op(random.pick(CELLWISE), &[left, right])
}

/// One operation, if its result is one that others can use.
fn operation(
    d: &mut Dag,
    random: &mut Random,
    [left, right]: [HopId; 2],
    sources: &Sources,
    number: usize,
) -> Option<HopId> {
    let is_wide = |d: &Dag, id: HopId| d.dag[id].size.cols == Some(1000);
    match random.below(12) {
        0 => Some(d.op(UnaryOp::Exp, &[left])),
        1 => Some(d.op((AggOp::Sum, Direction::Row), &[left])),
        2 if is_wide(d, left) => Some(d.matmul(left, sources.vector)),
        3 => {
            let sum = d.sum(left);
            d.write(&format!("sum{number}"), sum);
            None
        }
        4 => {
            let sums = d.op((AggOp::Sum, Direction::Col), &[left]);
            d.write(&format!("sums{number}"), sums);
            None
        }
        5 => {
            let transposed = d.t(left);
            let product = d.matmul(transposed, sources.column);
            d.write(&format!("product{number}"), product);
            None
        }
        6 if is_wide(d, left) => {
            let [u, w] = sources.factors;
            let product = d.matmul(u, w);
            Some(d.mult(left, product))
        }
        7 if is_wide(d, left) => {
            let transposed = d.t(sources.factors[1]);
            let product = d.matmul(left, transposed);
            d.write(&format!("update{number}"), product);
            None
        }
        8 => {
            d.write(&format!("kept{number}"), left);
            Some(d.op(UnaryOp::Abs, &[left]))
        }
        _ => Some(d.op(random.pick(CELLWISE), &[left, right])),
    }
}

/// `x + exp(x)`, of the result `y + exp(y)`, and so on: one composite cut set per waist. The last value is summed.
pub(super) fn chain_of_diamonds(length: usize) -> (HopDag, Vec<HopId>) {
    let mut d = Dag::default();
    let waists = diamonds(&mut d, length);
    let sum = d.sum(*waists.last().expect("the chain has a last waist"));
    d.write("s", sum);
    (d.dag, waists)
}

/// A chain of diamonds whose last value is multiplied with a vector, so that Row operators may compute it, too.
pub(super) fn chain_of_diamonds_by_row(length: usize) -> (HopDag, Vec<HopId>) {
    let mut d = Dag::default();
    let waists = diamonds(&mut d, length);
    let v = d.read("v", 1000, 1);
    let product = d.matmul(*waists.last().expect("the chain has a last waist"), v);
    d.write("p", product);
    (d.dag, waists)
}

fn diamonds(d: &mut Dag, length: usize) -> Vec<HopId> {
    let x = d.read("X", 2000, 1000);
    let mut waists = vec![d.op(UnaryOp::Abs, &[x])];
    for _ in 0..length {
        let waist = *waists.last().expect("the chain has a first waist");
        let exp = d.op(UnaryOp::Exp, &[waist]);
        waists.push(d.plus(waist, exp));
    }
    waists
}

/// `sum(exp(X) * Y)` and `sum(exp(X) * Z)`.
pub(super) fn shared_exponential() -> HopDag {
    let mut d = Dag::default();
    let x = d.read("X", 2000, 1000);
    let shared = d.op(UnaryOp::Exp, &[x]);
    for name in ["Y", "Z"] {
        let other = d.read(name, 2000, 1000);
        let product = d.mult(shared, other);
        let sum = d.sum(product);
        d.write(name, sum);
    }
    d.dag
}

/// `sum(log(abs(X) * abs(Y)))` and `sum(abs(X) + abs(Y) + A + B + C)`: four points, the readers of two shared values.
pub(in crate::select) fn overlapping_sums() -> HopDag {
    let mut d = Dag::default();
    let shared = ["X", "Y"].map(|name| {
        let matrix = d.read(name, 2000, 1000);
        d.op(UnaryOp::Abs, &[matrix])
    });
    let product = d.op(BinaryOp::Mult, &shared);
    let logarithms = d.op(UnaryOp::Log, &[product]);
    let mut total = d.op(BinaryOp::Plus, &shared);
    for name in ["A", "B", "C"] {
        let matrix = d.read(name, 2000, 1000);
        total = d.plus(total, matrix);
    }
    for (name, cells) in [("logarithms", logarithms), ("total", total)] {
        let sum = d.sum(cells);
        d.write(name, sum);
    }
    d.dag
}

/// A polynomial of an argument with so many coefficients after the first, by Horner's rule.
pub(super) fn polynomial(d: &mut Dag, argument: HopId, coefficients: usize) -> HopId {
    let mut value = argument;
    for number in 0..coefficients {
        let coefficient = d.number(0.5 + number as f64);
        let sum = d.plus(value, coefficient);
        value = d.mult(sum, argument);
    }
    value
}

/// A random DAG of polynomials of two shared values, quotients and functions of these, and sums over some of them.
pub(super) fn random_polynomials(random: &mut Random) -> HopDag {
    let mut d = Dag::default();
    let matrices = [d.read("X", 2000, 1000), d.sparse("S", 2000, 1000, 1 << random.below(20))];
    let mut values: Vec<HopId> = matrices
        .iter()
        .map(|&matrix| d.op(random.pick(&[UnaryOp::Exp, UnaryOp::Abs, UnaryOp::Sqrt]), &[matrix]))
        .collect();
    values.extend(matrices);
    for number in 0..2 + random.below(3) {
        let [one, other] = [0; 2].map(|_| values[random.below(values.len())]);
        let value = match random.below(4) {
            0 => d.op(random.pick(CELLWISE), &[one, other]),
            1 => d.op(random.pick(&[UnaryOp::Exp, UnaryOp::Log]), &[one]),
            _ => polynomial(&mut d, one, 1 + random.below(4)),
        };
        values.push(value);
        if random.below(3) == 0 {
            let sum = d.op((AggOp::Sum, random.pick(Direction::ALL)), &[value]);
            d.write(&format!("sum{number}"), sum);
        }
    }
    let last = *values.last().expect("there are values");
    if random.below(2) == 0 {
        d.write("last", last);
    } else {
        let sum = d.sum(last);
        d.write("last", sum);
    }
    d.dag
}

/// A random DAG over sparse matrices, dense ones, and vectors along both sides: scalings, element-wise functions and sums
/// of these, functions of vectors inside of them, closed by aggregates and by products on either side.
pub(in crate::select) fn random_sparse_dag(random: &mut Random, operations: usize) -> HopDag {
    let mut d = Dag::default();
    let (rows, cols) = (2000, 1000);
    let mut matrices = vec![d.read("X", rows, cols)];
    for name in ["R", "S", "T"] {
        matrices.push(d.sparse(name, rows, cols, 1 << random.below(21)));
    }
    let vectors = [d.read("u", rows, 1), d.read("w", 1, cols)];
    let factors = [d.read("v", cols, 1), d.read("V", cols, 8)];
    let left = d.read("y", rows, 1);
    let mut vectors = vectors.to_vec();
    for number in 0..operations {
        let recent = matrices.len().min(5);
        let [one, other] = [0; 2].map(|_| matrices[matrices.len() - 1 - random.below(recent)]);
        let vector = random.pick(&vectors);
        match random.below(10) {
            0 => matrices.push(d.op(random.pick(&[UnaryOp::Pow2, UnaryOp::Abs, UnaryOp::Sqrt, UnaryOp::Exp]), &[one])),
            1 => {
                let factor = d.number(2.0);
                matrices.push(d.op(random.pick(&[BinaryOp::Mult, BinaryOp::Plus, BinaryOp::NotEqual]), &[one, factor]));
            }
            2 => matrices.push(d.op(random.pick(&[BinaryOp::Mult, BinaryOp::Div]), &[one, vector])),
            3 if random.below(2) == 0 => {
                let operands: Vec<HopId> =
                    (0..4).map(|_| matrices[matrices.len() - 1 - random.below(recent)]).collect();
                matrices.push(d.op(HopOp::Nary(random.pick(&[NaryOp::Plus, NaryOp::Max])), &operands));
            }
            3 => vectors.push(d.op(random.pick(&[UnaryOp::Exp, UnaryOp::Abs]), &[vector])),
            4 => {
                let closed = d.op((random.pick(&[AggOp::Sum, AggOp::Max]), random.pick(Direction::ALL)), &[one]);
                d.write(&format!("aggregate{number}"), closed);
            }
            5 => {
                let product = d.matmul(one, random.pick(&factors));
                d.write(&format!("right{number}"), product);
            }
            6 => {
                let transposed = d.t(one);
                let product = d.matmul(transposed, left);
                d.write(&format!("left{number}"), product);
            }
            _ => matrices.push(d.op(random.pick(CELLWISE), &[one, other])),
        }
    }
    let last = *matrices.last().expect("there are matrices");
    let sum = d.sum(last);
    d.write("last", sum);
    d.dag
}
