//! A small evaluator of DAGs by the scalar references of the op table, for the operations that rules name.

use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{AggOp, Direction};
use std::collections::BTreeMap;

/// A matrix, row by row; scalars are 1 x 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) values: Vec<f64>,
}

impl Cells {
    pub(super) fn scalar(value: f64) -> Self {
        Cells { rows: 1, cols: 1, values: vec![value] }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        let row = if self.rows == 1 { 0 } else { row };
        let col = if self.cols == 1 { 0 } else { col };
        self.values[row * self.cols + col]
    }
}

/// The value of every operator.
pub(super) fn evaluate(dag: &HopDag, variables: &BTreeMap<String, Cells>) -> Vec<Cells> {
    let mut values: Vec<Cells> = Vec::new();
    for hop in dag.hops.values() {
        let inputs: Vec<&Cells> = hop.inputs.iter().map(|input| &values[input.as_u32() as usize]).collect();
        values.push(operator(&hop.op, &inputs, variables));
    }
    values
}

/// The value of one operator of a DAG.
pub(super) fn value(dag: &HopDag, id: HopId, variables: &BTreeMap<String, Cells>) -> Cells {
    evaluate(dag, variables).swap_remove(id.as_u32() as usize)
}

fn operator(op: &HopOp, inputs: &[&Cells], variables: &BTreeMap<String, Cells>) -> Cells {
    match op {
        HopOp::Read(name) => variables[name].clone(),
        HopOp::Literal(value) => Cells::scalar(value.as_f64().expect("numbers only")),
        HopOp::Unary(op) => element_wise(inputs, |x| op.eval(x[0])),
        HopOp::Binary(op) => element_wise(inputs, |x| op.eval(x[0], x[1])),
        HopOp::Ternary(op) => element_wise(inputs, |x| op.eval(x[0], x[1], x[2])),
        HopOp::AggUnary(op, direction) => aggregate(*op, *direction, inputs[0]),
        HopOp::Reorg(ReorgOp::Transpose) => generate(inputs[0].cols, inputs[0].rows, |r, c| inputs[0].at(c, r)),
        other => panic!("the evaluator of these tests does not know {other:?}"),
    }
}

fn generate(rows: usize, cols: usize, cell: impl Fn(usize, usize) -> f64) -> Cells {
    let values = (0..rows * cols).map(|i| cell(i / cols, i % cols)).collect();
    Cells { rows, cols, values }
}

fn element_wise(inputs: &[&Cells], f: impl Fn(&[f64]) -> f64) -> Cells {
    let rows = inputs.iter().map(|input| input.rows).max().unwrap_or(1);
    let cols = inputs.iter().map(|input| input.cols).max().unwrap_or(1);
    generate(rows, cols, |r, c| f(&inputs.iter().map(|input| input.at(r, c)).collect::<Vec<f64>>()))
}

fn aggregate(op: AggOp, direction: Direction, input: &Cells) -> Cells {
    let over = |rows: std::ops::Range<usize>, cols: std::ops::Range<usize>| {
        let count = (rows.len() * cols.len()) as f64;
        let cells = rows.flat_map(|r| cols.clone().map(move |c| input.at(r, c)));
        let square = |x: f64| if op == AggOp::SumSq { x * x } else { x };
        let total = cells.map(square).fold(op.neutral(), |acc, x| op.merge(acc, x));
        if op == AggOp::Mean { total / count } else { total }
    };
    match direction {
        Direction::Full => Cells::scalar(over(0..input.rows, 0..input.cols)),
        Direction::Row => generate(input.rows, 1, |r, _| over(r..r + 1, 0..input.cols)),
        Direction::Col => generate(1, input.cols, |_, c| over(0..input.rows, c..c + 1)),
    }
}
