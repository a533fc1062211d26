//! A plain evaluator of CPlans: one cell or row at a time, everything dense, sums from left to right.

use cranelift_entity::EntityRef;
use fuseline_ir::cplan::{CNode, CNodeId, CPlan, CellType, FACTOR_U, FACTOR_V, MAIN, OuterType, RowType, Variant};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::Dense;
use smallvec::SmallVec;

/// The result of a plan on dense inputs.
pub fn evaluate(plan: &CPlan, inputs: &[Dense], scalars: &[f64]) -> Dense {
    let evaluator = Evaluator { plan, inputs, scalars };
    match plan.variant {
        Variant::Row(row_type) => evaluator.row(row_type),
        _ => evaluator.cells(),
    }
}

struct Evaluator<'a> {
    plan: &'a CPlan,
    inputs: &'a [Dense],
    scalars: &'a [f64],
}

fn accumulate(agg: AggOp, accumulator: f64, value: f64) -> f64 {
    if agg == AggOp::SumSq { accumulator + value * value } else { agg.merge(accumulator, value) }
}

fn aggregate(agg: AggOp, values: impl IntoIterator<Item = f64>) -> f64 {
    let mut count = 0.0;
    let total = values.into_iter().fold(agg.neutral(), |accumulator, value| {
        count += 1.0;
        accumulate(agg, accumulator, value)
    });
    if agg == AggOp::Mean { total / count } else { total }
}

impl Evaluator<'_> {
    fn scalar(&self, input: usize) -> f64 {
        self.scalars[input - self.inputs.len()]
    }

    fn input(&self, input: impl EntityRef) -> &Dense {
        &self.inputs[input.index()]
    }

    /// The values of all nodes at one cell.
    fn cell(&self, i: usize, j: usize) -> SmallVec<[f64; 16]> {
        let mut values: SmallVec<[f64; 16]> = SmallVec::new();
        for node in self.plan.nodes.values() {
            let at = |id: CNodeId| values[id.index()];
            values.push(match *node {
                CNode::Main => self.input(MAIN).get(i, j),
                CNode::Scalar(input) => self.scalar(input.index()),
                CNode::Literal(bits) => bits.get(),
                CNode::SideCell(input) => self.input(input).get(i, j),
                CNode::SideRowScalar(input) => self.input(input).get(i, 0),
                CNode::SideColScalar(input) => self.input(input).get(0, j),
                CNode::OuterProduct => {
                    let (u, v) = (self.input(FACTOR_U).row(i), self.input(FACTOR_V).row(j));
                    u.iter().zip(v).map(|(x, y)| x * y).sum()
                }
                CNode::Unary(op, a) => op.eval(at(a)),
                CNode::Binary(op, a, b) => op.eval(at(a), at(b)),
                CNode::Ternary(op, a, b, c) => op.eval(at(a), at(b), at(c)),
                _ => unreachable!("a Row node"),
            });
        }
        values
    }

    fn cells(&self) -> Dense {
        let (rows, cols) = (self.inputs[0].rows(), self.inputs[0].cols());
        let value = |output: usize, i: usize, j: usize| {
            // Outer plans leave out the zeros of X.
            if self.plan.template() == TemplateType::Outer && self.inputs[0].get(i, j) == 0.0 {
                return 0.0;
            }
            self.cell(i, j)[self.plan.outputs[output].node.index()]
        };
        let agg = |output: usize| self.plan.outputs[output].agg.unwrap_or(AggOp::Sum);
        let all = |output: usize| {
            let cells = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
            aggregate(agg(output), cells.map(|(i, j)| value(output, i, j)))
        };
        match self.plan.variant {
            Variant::Cell(CellType::NoAgg) | Variant::Outer(OuterType::NoAgg) => {
                Dense::from_fn(rows, cols, |i, j| value(0, i, j))
            }
            Variant::Cell(CellType::RowAgg) => {
                Dense::from_fn(rows, 1, |i, _| aggregate(agg(0), (0..cols).map(|j| value(0, i, j))))
            }
            Variant::Cell(CellType::ColAgg) => {
                Dense::from_fn(1, cols, |_, j| aggregate(agg(0), (0..rows).map(|i| value(0, i, j))))
            }
            Variant::Outer(OuterType::RightMM) => {
                let v = self.input(FACTOR_V);
                Dense::from_fn(rows, v.cols(), |i, k| (0..cols).map(|j| value(0, i, j) * v.get(j, k)).sum())
            }
            Variant::Outer(OuterType::LeftMM) => {
                let u = self.input(FACTOR_U);
                Dense::from_fn(cols, u.cols(), |j, k| (0..rows).map(|i| value(0, i, j) * u.get(i, k)).sum())
            }
            Variant::Cell(CellType::FullAgg) | Variant::MAgg | Variant::Outer(OuterType::FullAgg) => {
                Dense::from_fn(self.plan.outputs.len(), 1, |output, _| all(output))
            }
            Variant::Row(_) => unreachable!("evaluated by rows"),
        }
    }

    /// The values of all nodes at one row; scalars are vectors of one cell.
    fn row_values(&self, i: usize) -> Vec<Vec<f64>> {
        let mut values: Vec<Vec<f64>> = Vec::new();
        for (id, node) in &self.plan.nodes {
            let at = |id: CNodeId| &values[id.index()];
            let spread = |a: CNodeId, k: usize| at(a)[if at(a).len() == 1 { 0 } else { k }];
            let operands = node.operands();
            let len = operands.iter().map(|&a| at(a).len()).find(|&len| len != 1).unwrap_or(1);
            values.push(match *node {
                CNode::Main => self.inputs[0].row(i).to_vec(),
                CNode::Scalar(input) => vec![self.scalar(input.index())],
                CNode::Literal(bits) => vec![bits.get()],
                CNode::SideRowScalar(input) => vec![self.input(input).get(i, 0)],
                CNode::SideRow(input, None) => self.input(input).row(i).to_vec(),
                CNode::SideRow(input, Some((first, last))) => {
                    self.input(input).row(i)[first as usize..last as usize].to_vec()
                }
                CNode::SideVector(input) => self.input(input).values().to_vec(),
                CNode::Unary(op, a) => (0..len).map(|k| op.eval(spread(a, k))).collect(),
                CNode::Binary(op, a, b) => (0..len).map(|k| op.eval(spread(a, k), spread(b, k))).collect(),
                CNode::Ternary(op, a, b, c) => {
                    (0..len).map(|k| op.eval(spread(a, k), spread(b, k), spread(c, k))).collect()
                }
                CNode::RowAgg(op, a) => vec![aggregate(op, at(a).iter().copied())],
                CNode::DotProduct(a, b) => vec![at(a).iter().zip(at(b)).map(|(x, y)| x * y).sum()],
                CNode::VectMatMult(a, input) => {
                    let matrix = self.input(input);
                    let product = |k| at(a).iter().enumerate().map(|(l, x)| x * matrix.get(l, k)).sum();
                    (0..matrix.cols()).map(product).collect()
                }
                _ => unreachable!("{id} is no Row node"),
            });
        }
        values
    }

    fn row(&self, row_type: RowType) -> Dense {
        let output = self.plan.outputs[0];
        let agg = output.agg.unwrap_or(AggOp::Sum);
        let rows: Vec<Vec<Vec<f64>>> = (0..self.inputs[0].rows()).map(|i| self.row_values(i)).collect();
        let at = |i: usize, node: CNodeId| &rows[i][node.index()];
        let sum = |value: &dyn Fn(usize) -> f64| (0..rows.len()).map(value).sum::<f64>();
        let cols = rows.first().map_or(0, |row| row[output.node.index()].len());
        let left = output.left.unwrap_or(output.node);
        let left_len = rows.first().map_or(0, |row| row[left.index()].len());
        match row_type {
            RowType::NoAgg | RowType::NoAggB1 | RowType::RowAgg => {
                Dense::from_fn(rows.len(), cols, |i, j| at(i, output.node)[j])
            }
            RowType::FullAgg => {
                let cells = (0..rows.len()).flat_map(|i| at(i, output.node).iter().copied());
                Dense::from_fn(1, 1, |_, _| aggregate(agg, cells.clone()))
            }
            RowType::ColAgg => {
                Dense::from_fn(1, cols, |_, j| aggregate(agg, (0..rows.len()).map(|i| at(i, output.node)[j])))
            }
            RowType::ColAggT => Dense::from_fn(left_len, 1, |j, _| sum(&|i| at(i, left)[j] * at(i, output.node)[0])),
            RowType::ColAggB1 | RowType::ColAggB1T => {
                Dense::from_fn(left_len, cols, |j, k| sum(&|i| at(i, left)[j] * at(i, output.node)[k]))
            }
        }
    }
}
