//! A small evaluator of DAGs in plain double arithmetic, by the scalar references of the op table, for the operations
//! that rules name.

use fuseline_ir::Value;
use fuseline_ir::hop::infer::seq_length;
use fuseline_ir::hop::{CastOp, DataGenOp, Function, Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp, ShapeOp};
use fuseline_ir::ops::{AggOp, Direction};
use fuseline_ir::types::{DataType, ScalarType};
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

    fn count(&self) -> usize {
        self.values[0] as usize
    }
}

/// The value of every operator.
pub(super) fn evaluate(dag: &HopDag, variables: &BTreeMap<String, Cells>) -> Vec<Cells> {
    let mut values: Vec<Cells> = Vec::new();
    for hop in dag.hops.values() {
        let inputs: Vec<&Cells> = hop.inputs.iter().map(|input| &values[input.as_u32() as usize]).collect();
        let mut value = operator(dag, hop, &inputs, variables);
        if matches!(hop.data_type, DataType::Scalar(ScalarType::I64 | ScalarType::Bool)) {
            // Integers have one zero.
            value.values[0] += 0.0;
        }
        values.push(value);
    }
    values
}

/// The value of one operator of a DAG.
pub(super) fn value(dag: &HopDag, id: HopId, variables: &BTreeMap<String, Cells>) -> Cells {
    evaluate(dag, variables).swap_remove(id.as_u32() as usize)
}

/// Whether an operator asks for a range without cells, which is an error when a program runs unless it is the whole
/// matrix.
pub(super) fn has_empty_range(dag: &HopDag, variables: &BTreeMap<String, Cells>) -> bool {
    let values = evaluate(dag, variables);
    let is_empty = |hop: &Hop| {
        let input = |position: usize| &values[hop.inputs[position].as_u32() as usize];
        let bounds = [1, 2, 3, 4].map(|position| input(position).count());
        let is_whole = bounds == [1, input(0).rows, 1, input(0).cols];
        (bounds[1] < bounds[0] || bounds[3] < bounds[2]) && !is_whole
    };
    dag.hops.values().any(|hop| hop.op == HopOp::Index && is_empty(hop))
}

fn operator(dag: &HopDag, hop: &Hop, inputs: &[&Cells], variables: &BTreeMap<String, Cells>) -> Cells {
    match &hop.op {
        HopOp::Read(name) => variables[name].clone(),
        // Texts are read where they are needed.
        HopOp::Literal(value) => Cells::scalar(value.as_f64().unwrap_or(f64::NAN)),
        HopOp::Unary(op) => element_wise(inputs, |x| op.eval(x[0])),
        HopOp::Binary(op) | HopOp::Outer(op) => element_wise(inputs, |x| op.eval(x[0], x[1])),
        HopOp::Ternary(op) => element_wise(inputs, |x| op.eval(x[0], x[1], x[2])),
        HopOp::AggUnary(op, direction) => aggregate(*op, *direction, inputs[0]),
        HopOp::Cumulative(op) => generate(inputs[0].rows, inputs[0].cols, |r, c| {
            (1..=r).fold(op.merge(op.neutral(), inputs[0].at(0, c)), |sum, r| op.merge(sum, inputs[0].at(r, c)))
        }),
        HopOp::MatMul => {
            let [left, right] = inputs else { panic!("products have two inputs") };
            generate(left.rows, right.cols, |r, c| {
                (0..left.cols).fold(0.0, |sum, k| sum + left.values[r * left.cols + k] * right.at(k, c))
            })
        }
        HopOp::Reorg(op) => reorganise(*op, inputs[0]),
        HopOp::Nary(op) => concatenate(*op, inputs),
        HopOp::Index => {
            let bounds: Vec<usize> = inputs[1..].iter().map(|bound| bound.count()).collect();
            let (row, col) = (bounds[0] - 1, bounds[2] - 1);
            generate(bounds[1] - row, bounds[3] - col, |r, c| inputs[0].values[(row + r) * inputs[0].cols + col + c])
        }
        HopOp::LeftIndex => {
            let bounds: Vec<usize> = inputs[2..].iter().map(|bound| bound.count()).collect();
            generate(inputs[0].rows, inputs[0].cols, |r, c| {
                let inside = (bounds[0]..=bounds[1]).contains(&(r + 1)) && (bounds[2]..=bounds[3]).contains(&(c + 1));
                if inside { inputs[1].at(r + 1 - bounds[0], c + 1 - bounds[2]) } else { inputs[0].at(r, c) }
            })
        }
        HopOp::DataGen(DataGenOp::Matrix) => {
            let source = inputs[0];
            generate(inputs[1].count(), inputs[2].count(), |r, c| {
                if dag[hop.inputs[0]].is_matrix() { source.values[r * inputs[2].count() + c] } else { source.values[0] }
            })
        }
        HopOp::DataGen(DataGenOp::Seq) => {
            let [from, to, by] = [0, 1, 2].map(|position: usize| inputs[position].values[0]);
            // A sequence that does not end has no value; no rows differ from those of any other.
            let rows = seq_length(from, to, by).unwrap_or(0);
            generate(rows as usize, 1, |r, _| from + r as f64 * by)
        }
        HopOp::Shape(op) => Cells::scalar(match op {
            ShapeOp::Nrow => inputs[0].rows as f64,
            ShapeOp::Ncol => inputs[0].cols as f64,
            ShapeOp::Length => inputs[0].values.len() as f64,
        }),
        HopOp::Cast(CastOp::AsInteger) => Cells::scalar(inputs[0].values[0].trunc()),
        HopOp::Cast(CastOp::AsLogical) => Cells::scalar(f64::from(u8::from(inputs[0].values[0] != 0.0))),
        HopOp::Cast(_) => inputs[0].clone(),
        HopOp::Parameterized { function: Function::RemoveEmpty, .. } => {
            remove_empty(inputs[0], dag.literal_value(hop.inputs[1]))
        }
        other => panic!("the evaluator of these tests does not know {other:?}"),
    }
}

fn generate(rows: usize, cols: usize, cell: impl Fn(usize, usize) -> f64) -> Cells {
    let values = (0..rows * cols).map(|i| cell(i / cols, i % cols)).collect();
    Cells { rows, cols, values }
}

fn element_wise(inputs: &[&Cells], f: impl Fn(&[f64]) -> f64) -> Cells {
    // Vectors and scalars are repeated, to no cells at all if need be.
    let rows = inputs.iter().map(|input| input.rows).find(|&rows| rows != 1).unwrap_or(1);
    let cols = inputs.iter().map(|input| input.cols).find(|&cols| cols != 1).unwrap_or(1);
    generate(rows, cols, |r, c| f(&inputs.iter().map(|input| input.at(r, c)).collect::<Vec<f64>>()))
}

fn reorganise(op: ReorgOp, input: &Cells) -> Cells {
    let (rows, cols) = (input.rows, input.cols);
    match op {
        ReorgOp::Transpose => generate(cols, rows, |r, c| input.values[c * cols + r]),
        ReorgOp::Rev => generate(rows, cols, |r, c| input.at(rows - 1 - r, c)),
        ReorgOp::Diag if cols == 1 => generate(rows, rows, |r, c| if r == c { input.values[r] } else { 0.0 }),
        ReorgOp::Diag => generate(rows, 1, |r, _| input.at(r, r)),
    }
}

fn concatenate(op: NaryOp, inputs: &[&Cells]) -> Cells {
    match op {
        NaryOp::Rbind => Cells {
            rows: inputs.iter().map(|input| input.rows).sum(),
            cols: inputs[0].cols,
            values: inputs.iter().flat_map(|input| input.values.iter().copied()).collect(),
        },
        NaryOp::Cbind => {
            let flipped: Vec<Cells> = inputs.iter().map(|input| reorganise(ReorgOp::Transpose, input)).collect();
            reorganise(ReorgOp::Transpose, &concatenate(NaryOp::Rbind, &flipped.iter().collect::<Vec<_>>()))
        }
        _ => panic!("no rule names {op:?}"),
    }
}

fn aggregate(op: AggOp, direction: Direction, input: &Cells) -> Cells {
    let over = |rows: std::ops::Range<usize>, cols: std::ops::Range<usize>| {
        let cells = rows.flat_map(|r| cols.clone().map(move |c| input.at(r, c)));
        reduce(op, &cells.collect::<Vec<f64>>())
    };
    match direction {
        Direction::Full => Cells::scalar(over(0..input.rows, 0..input.cols)),
        Direction::Row => generate(input.rows, 1, |r, _| over(r..r + 1, 0..input.cols)),
        Direction::Col => generate(1, input.cols, |_, c| over(0..input.rows, c..c + 1)),
    }
}

fn reduce(op: AggOp, cells: &[f64]) -> f64 {
    let count = cells.len() as f64;
    let add = |cells: &mut dyn Iterator<Item = f64>| cells.fold(0.0, |sum, x| sum + x);
    let sum = || add(&mut cells.iter().copied());
    match op {
        AggOp::SumSq => add(&mut cells.iter().map(|x| x * x)),
        AggOp::Nnz => cells.iter().filter(|x| **x != 0.0).count() as f64,
        AggOp::Mean => sum() / count,
        AggOp::Var => {
            let mean = sum() / count;
            let divisor = if count > 1.0 { count - 1.0 } else { count };
            add(&mut cells.iter().map(|x| (x - mean) * (x - mean))) / divisor
        }
        _ => cells.iter().fold(op.neutral(), |acc, &x| op.merge(acc, x)),
    }
}

/// The rows or columns that are not zero throughout; one of them where all are.
fn remove_empty(input: &Cells, margin: Option<&Value>) -> Cells {
    if margin == Some(&Value::Str("cols".to_owned())) {
        let flipped = reorganise(ReorgOp::Transpose, input);
        let kept = remove_empty(&flipped, Some(&Value::Str("rows".to_owned())));
        return reorganise(ReorgOp::Transpose, &kept);
    }
    let rows = input.values.chunks(input.cols.max(1)).filter(|row| row.iter().any(|x| *x != 0.0));
    let values: Vec<f64> = rows.flatten().copied().collect();
    if values.is_empty() {
        generate(1, input.cols, |_, _| 0.0)
    } else {
        Cells { rows: values.len() / input.cols, cols: input.cols, values }
    }
}
