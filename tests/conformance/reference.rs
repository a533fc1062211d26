//! A plain evaluator of CPlans: one cell or row at a time, everything dense, aggregates from left to right.

use fuseline_ir::cplan::{
    CInputId, CNode, CNodeId, COutput, CPlan, FACTOR_U, FACTOR_V, Filters, Length, MAIN, RowType, Shape, Variant,
};
use fuseline_ir::ops::{AggOp, WindowOp, Windows};
use fuseline_ir::template::Space;
use fuseline_matrix::Dense;

/// The result of a plan on dense inputs.
pub(crate) fn evaluate(plan: &CPlan, inputs: &[Dense], scalars: &[f64]) -> Dense {
    let evaluator = Evaluator { plan, inputs, scalars };
    match plan.space() {
        Space::Rows => evaluator.rows(),
        Space::Cells | Space::Factors => evaluator.cells(),
    }
}

struct Evaluator<'a> {
    plan: &'a CPlan,
    inputs: &'a [Dense],
    scalars: &'a [f64],
}

fn index(id: CNodeId) -> usize {
    id.as_u32() as usize
}

/// Each cell with all above it.
fn merged_downwards(agg: AggOp, mut cells: Dense) -> Dense {
    let cols = cells.cols();
    let values = cells.values_mut();
    for cell in cols..values.len() {
        values[cell] = aggregate(agg, [values[cell - cols], values[cell]].into_iter());
    }
    cells
}

fn aggregate(agg: AggOp, values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    match agg {
        AggOp::Mean => values.sum::<f64>() / count,
        AggOp::Var => {
            let mean = values.clone().sum::<f64>() / count;
            let divisor = if count == 1.0 { 1.0 } else { count - 1.0 };
            if count == 0.0 { f64::NAN } else { values.map(|x| (x - mean) * (x - mean)).sum::<f64>() / divisor }
        }
        AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Prod | AggOp::Min | AggOp::Max => {
            values.fold(agg.neutral(), |total, x| {
                let taken = match agg {
                    AggOp::SumSq => x * x,
                    AggOp::Nnz => f64::from(u8::from(x != 0.0)),
                    _ => x,
                };
                agg.merge(total, taken)
            })
        }
    }
}

/// What is computed of the windows of an image, window by window.
fn of_windows(op: WindowOp, windows: &Windows, image: &[f64]) -> Vec<f64> {
    let ([down, across], [height, width]) = (windows.count(), windows.window);
    let per_channel = down * across;
    // The cell of a window, by its place in a channel.
    let cell = |channel: usize, window: usize, k: usize| {
        let [row, col] =
            [(window / across, k / width, 0), (window % across, k % width, 1)].map(|(place, offset, axis)| {
                let position = (place * windows.stride[axis] + offset).checked_sub(windows.padding[axis]);
                position.filter(|&position| position < windows.image[axis])
            });
        Some(image[(channel * windows.image[0] + row?) * windows.image[1] + col?])
    };
    let cells = |channel: usize, window: usize| (0..height * width).map(move |k| cell(channel, window, k));
    let value = |at: usize| match op {
        WindowOp::MaxPool => aggregate(AggOp::Max, cells(at / per_channel, at % per_channel).flatten()),
        WindowOp::AvgPool => {
            aggregate(AggOp::Mean, cells(at / per_channel, at % per_channel).map(Option::unwrap_or_default))
        }
        WindowOp::Unfold => {
            let (plane, window) = (at / per_channel, at % per_channel);
            cell(plane / (height * width), window, plane % (height * width)).unwrap_or(0.0)
        }
    };
    (0..op.cells(windows)).map(value).collect()
}

impl Evaluator<'_> {
    fn input(&self, input: CInputId) -> &Dense {
        &self.inputs[input.as_u32() as usize]
    }

    fn scalar(&self, input: CInputId) -> f64 {
        self.scalars[input.as_u32() as usize - self.inputs.len()]
    }

    /// The values of all nodes at one cell.
    fn cell(&self, i: usize, j: usize, values: &mut Vec<f64>) {
        values.clear();
        for node in self.plan.nodes.values() {
            let at = |id: CNodeId| values[index(id)];
            values.push(match *node {
                CNode::Main => self.input(MAIN).get(i, j),
                CNode::Scalar(input) => self.scalar(input),
                CNode::Literal(bits) => bits.get(),
                CNode::SideCell(input) => self.input(input).get(i, j),
                CNode::SideRowScalar(input, column) => self.input(input).get(i, column as usize),
                CNode::SideColScalar(input) => self.input(input).get(0, j),
                CNode::RowIndex => i as f64,
                CNode::OuterProduct => {
                    let (u, v) = (self.input(FACTOR_U).row(i), self.input(FACTOR_V).row(j));
                    u.iter().zip(v).map(|(x, y)| x * y).sum()
                }
                CNode::Unary(op, a) => op.eval(at(a)),
                CNode::Binary(op, a, b) => op.eval(at(a), at(b)),
                CNode::Ternary(op, a, b, c) => op.eval(at(a), at(b), at(c)),
                CNode::SideRow(..)
                | CNode::SideVector(_)
                | CNode::RowAgg(..)
                | CNode::RowCumulative(..)
                | CNode::Cbind(..)
                | CNode::Scatter(..)
                | CNode::DotProduct(..)
                | CNode::VectMatMult(..)
                | CNode::Windows(..)
                | CNode::Convolve(..) => panic!("{node:?} is no node of cells"),
            });
        }
    }

    /// The cells of an output, before they are aggregated. Outer plans leave out the zeros of X, unless they run over all
    /// cells.
    fn output(&self, output: usize) -> Dense {
        let main = self.input(MAIN);
        let skips_zeros = self.plan.space() == Space::Factors && self.plan.sparse_safe;
        let node = self.plan.outputs[output].node();
        let mut values = Vec::new();
        Dense::from_fn(main.rows(), main.cols(), |i, j| {
            if skips_zeros && main.get(i, j) == 0.0 {
                return 0.0;
            }
            self.cell(i, j, &mut values);
            values[index(node)]
        })
    }

    fn cells(&self) -> Dense {
        let (rows, cols) = (self.inputs[0].rows(), self.inputs[0].cols());
        let outputs: Vec<Dense> = (0..self.plan.outputs.len()).map(|output| self.output(output)).collect();
        let value = |i, j| outputs[0].get(i, j);
        match self.plan.outputs[0] {
            COutput::RowAgg(agg, _) => Dense::from_fn(rows, 1, |i, _| aggregate(agg, (0..cols).map(|j| value(i, j)))),
            COutput::ColAgg(agg, _) => Dense::from_fn(1, cols, |_, j| aggregate(agg, (0..rows).map(|i| value(i, j)))),
            COutput::TimesFactor(_) => {
                let v = self.input(FACTOR_V);
                Dense::from_fn(rows, v.cols(), |i, k| (0..cols).map(|j| value(i, j) * v.get(j, k)).sum())
            }
            COutput::TransposedTimesFactor(_) => {
                let u = self.input(FACTOR_U);
                Dense::from_fn(cols, u.cols(), |j, k| (0..rows).map(|i| value(i, j) * u.get(i, k)).sum())
            }
            COutput::FullAgg(..) => Dense::from_fn(outputs.len(), 1, |output, _| {
                let agg = self.plan.outputs[output].agg().expect("all outputs are full aggregates");
                aggregate(agg, outputs[output].values().iter().copied())
            }),
            COutput::Store(_) => outputs[0].clone(),
            COutput::Cumulative(agg, _) => merged_downwards(agg, outputs[0].clone()),
            COutput::RowProduct { .. } => panic!("a product of rows in a plan over cells"),
        }
    }

    /// The values of all nodes at one row; scalars are vectors of one cell.
    fn row_values(&self, i: usize) -> Vec<Vec<f64>> {
        let mut values: Vec<Vec<f64>> = Vec::new();
        for (id, node) in &self.plan.nodes {
            let len = self.len(id);
            let at = |id: CNodeId, k: usize| match self.plan.shapes().of(id) {
                Shape::Scalar => values[index(id)][0],
                Shape::Vector(_) => values[index(id)][k],
            };
            let all = |id: CNodeId| &values[index(id)];
            values.push(match *node {
                CNode::Main => self.input(MAIN).row(i).to_vec(),
                CNode::Scalar(input) => vec![self.scalar(input)],
                CNode::Literal(bits) => vec![bits.get()],
                CNode::RowIndex => vec![i as f64],
                CNode::SideRowScalar(input, column) => vec![self.input(input).get(i, column as usize)],
                CNode::SideRow(input, range) => {
                    let matrix = self.input(input);
                    matrix.row(i)[range.of(matrix.cols())].to_vec()
                }
                CNode::SideVector(input) => self.input(input).values().to_vec(),
                CNode::Unary(op, a) => (0..len).map(|k| op.eval(at(a, k))).collect(),
                CNode::Binary(op, a, b) => (0..len).map(|k| op.eval(at(a, k), at(b, k))).collect(),
                CNode::Ternary(op, a, b, c) => (0..len).map(|k| op.eval(at(a, k), at(b, k), at(c, k))).collect(),
                CNode::RowAgg(op, a) => vec![aggregate(op, all(a).iter().copied())],
                CNode::RowCumulative(op, a) => (0..len).map(|k| aggregate(op, all(a)[..=k].iter().copied())).collect(),
                CNode::Cbind(a, b) => [&all(a)[..], all(b)].concat(),
                CNode::DotProduct(a, b) => vec![all(a).iter().zip(all(b)).map(|(x, y)| x * y).sum()],
                CNode::VectMatMult(a, input) => {
                    let matrix = self.input(input);
                    let product = |k| all(a).iter().enumerate().map(|(l, x)| x * matrix.get(l, k)).sum();
                    (0..matrix.cols()).map(product).collect()
                }
                CNode::Windows(op, a, windows) => of_windows(op, &windows, all(a)),
                CNode::Convolve(a, input, Filters { windows, .. }) => {
                    let (filters, unfolded, windows) = (self.input(input), all(a), windows as usize);
                    let product = |at: usize| {
                        let filter = filters.row(at / windows).iter().enumerate();
                        filter.map(|(k, x)| x * unfolded[k * windows + at % windows]).sum()
                    };
                    (0..len).map(product).collect()
                }
                CNode::Scatter(..) => panic!("the form for sparse units has such nodes"),
                CNode::SideCell(_) | CNode::SideColScalar(_) | CNode::OuterProduct => {
                    panic!("{node:?} is no node of rows")
                }
            });
        }
        values
    }

    /// Cells of a value; 1 for scalars.
    fn len(&self, id: CNodeId) -> usize {
        match self.plan.shapes().of(id) {
            Shape::Scalar => 1,
            Shape::Vector(Length::Main) => self.inputs[0].cols(),
            Shape::Vector(Length::Cols(input)) => self.input(input).cols(),
            Shape::Vector(Length::Cells(input)) => self.input(input).values().len(),
            Shape::Vector(Length::Const(len)) => len as usize,
            Shape::Vector(Length::Cbind(node)) => {
                self.plan.nodes[node].operands().into_iter().map(|operand| self.len(operand)).sum()
            }
        }
    }

    fn rows(&self) -> Dense {
        let rows: Vec<Vec<Vec<f64>>> = (0..self.inputs[0].rows()).map(|i| self.row_values(i)).collect();
        let outputs = self.plan.outputs.iter().map(|output| self.row_output(&rows, output));
        let mut results: Vec<Dense> = outputs.collect();
        if self.plan.variant != Variant::Row(RowType::MultiAgg) {
            return results.remove(0);
        }
        let cells: Vec<f64> = results.iter().flat_map(|result| result.values().iter().copied()).collect();
        Dense::from_vec(cells.len(), 1, cells)
    }

    /// An output by itself, given the values of all nodes at all rows.
    fn row_output(&self, rows: &[Vec<Vec<f64>>], output: &COutput) -> Dense {
        let at = |i: usize, node: CNodeId| &rows[i][index(node)];
        match *output {
            COutput::Store(node) => Dense::from_fn(rows.len(), self.len(node), |i, j| at(i, node)[j]),
            COutput::Cumulative(agg, node) => {
                merged_downwards(agg, Dense::from_fn(rows.len(), self.len(node), |i, j| at(i, node)[j]))
            }
            COutput::FullAgg(agg, node) => {
                let cells = (0..rows.len()).flat_map(|i| at(i, node).iter().copied());
                Dense::from_fn(1, 1, |_, _| aggregate(agg, cells.clone()))
            }
            COutput::ColAgg(agg, node) => {
                let column = |j| aggregate(agg, (0..rows.len()).map(|i| at(i, node)[j]));
                Dense::from_fn(1, self.len(node), |_, j| column(j))
            }
            COutput::RowProduct { .. } => {
                let (left, right) = (output.left().expect("a product has two factors"), output.node());
                let cell = |j, k| (0..rows.len()).map(|i| at(i, left)[j] * at(i, right)[k]).sum();
                Dense::from_fn(self.len(left), self.len(right), cell)
            }
            COutput::RowAgg(..) | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
                panic!("{output} in a plan over rows")
            }
        }
    }
}
