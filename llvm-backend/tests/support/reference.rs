//! The execution contract, written down once more as plainly as possible: one value at a time.

use super::{FIRST_ROW, UnitMemory, WIDTH};
use fuseline_ir::cplan::{CInputId, CNode, CNodeId, COutput, CPlan, FACTOR_U, FACTOR_V, Filters, Length};
use fuseline_ir::ops::{AggOp, WindowOp, Windows, math};
use fuseline_ir::template::Space;

/// Rule 3: 32 lanes and a merge tree.
struct Lanes {
    agg: AggOp,
    lanes: [f64; 32],
}

impl Lanes {
    fn new(agg: AggOp) -> Self {
        Lanes { agg, lanes: [agg.neutral(); 32] }
    }

    fn run(&mut self, values: impl IntoIterator<Item = f64>) {
        for (index, value) in values.into_iter().enumerate() {
            accumulate(self.agg, &mut self.lanes[index % 32], value);
        }
    }

    fn finish(mut self) -> f64 {
        for half in [16, 8, 4, 2, 1] {
            for lane in 0..half {
                self.lanes[lane] = self.agg.merge(self.lanes[lane], self.lanes[lane + half]);
            }
        }
        self.lanes[0]
    }
}

fn dot(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let mut lanes = Lanes::new(AggOp::Sum);
    for (index, (a, b)) in a.into_iter().zip(b).enumerate() {
        lanes.lanes[index % 32] = a.mul_add(b, lanes.lanes[index % 32]);
    }
    lanes.finish()
}

/// Rule 7 where zeros are missing, rule 3 where `cells` is the number of values.
fn aggregate(agg: AggOp, values: &[f64], cells: usize) -> f64 {
    let zeros = cells - values.len();
    match agg {
        AggOp::Mean => run(AggOp::Sum, values.iter().copied()) / cells as f64,
        AggOp::Var => {
            let mean = aggregate(AggOp::Mean, values, cells);
            let mut distances = run(AggOp::SumSq, values.iter().map(|value| value - mean));
            if zeros > 0 {
                distances = (zeros as f64).mul_add(mean * mean, distances);
            }
            distances / if cells == 1 { 1.0 } else { cells.saturating_sub(1) as f64 }
        }
        AggOp::Min | AggOp::Max | AggOp::Prod if zeros > 0 => agg.merge(run(agg, values.iter().copied()), 0.0),
        _ => run(agg, values.iter().copied()),
    }
}

fn run(agg: AggOp, values: impl IntoIterator<Item = f64>) -> f64 {
    let mut lanes = Lanes::new(agg);
    lanes.run(values);
    lanes.finish()
}

/// Takes a value into an accumulator.
fn accumulate(agg: AggOp, accumulator: &mut f64, value: f64) {
    *accumulator = match agg {
        AggOp::SumSq => value.mul_add(value, *accumulator),
        AggOp::Nnz => *accumulator + f64::from(value != 0.0),
        _ => agg.merge(*accumulator, value),
    };
}

#[derive(Clone, Debug)]
enum Value {
    Scalar(f64),
    Vector(Vec<f64>),
    /// Columns and values of the positions of the main row.
    Sparse(Vec<(usize, f64)>),
}

impl Value {
    fn scalar(&self) -> f64 {
        let Value::Scalar(value) = self else { panic!("{self:?} is no scalar") };
        *value
    }

    fn at(&self, index: usize) -> f64 {
        match self {
            Value::Scalar(value) => *value,
            Value::Vector(values) => values[index],
            Value::Sparse(positions) => {
                positions.iter().find(|(column, _)| *column == index).expect("a column of the main row").1
            }
        }
    }

    /// The columns of positions.
    fn columns(&self) -> Option<Vec<usize>> {
        let Value::Sparse(positions) = self else { return None };
        Some(positions.iter().map(|(column, _)| *column).collect())
    }

    fn vector(&self) -> Vec<f64> {
        match self {
            Value::Scalar(value) => vec![*value],
            Value::Vector(values) => values.clone(),
            Value::Sparse(positions) => positions.iter().map(|(_, value)| *value).collect(),
        }
    }

    fn len(&self) -> Option<usize> {
        if let Value::Vector(values) = self { Some(values.len()) } else { None }
    }
}

/// A place in the unit: row, column, and position where there is one.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    col: usize,
    position: Option<usize>,
}

struct Evaluator<'a> {
    plan: &'a CPlan,
    memory: &'a UnitMemory,
}

fn index(input: CInputId) -> usize {
    input.as_u32() as usize
}

impl Evaluator<'_> {
    /// The cells that a row of the unit has.
    fn cells(&self, row: usize) -> Vec<At> {
        match &self.memory.sparse {
            None => (0..self.memory.cols).map(|col| At { row, col, position: None }).collect(),
            Some((offsets, columns)) => (offsets[row] - offsets[0]..offsets[row + 1] - offsets[0])
                .map(|position| At { row, col: columns[position] as usize, position: Some(position) })
                .collect(),
        }
    }

    fn side(&self, input: CInputId, row: usize, col: usize) -> f64 {
        let side = &self.memory.sides[index(input)];
        side.values[row * side.row_stride + col]
    }

    fn factor_row(&self, input: CInputId, row: usize) -> Vec<f64> {
        (0..WIDTH).map(|rank| self.side(input, row, rank)).collect()
    }

    /// The values of all nodes at a cell, or for a row.
    fn values(&self, at: At) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        for node in self.plan.nodes.values() {
            let value = self.value(node, at, &values);
            values.push(value);
        }
        values
    }

    fn value(&self, node: &CNode, at: At, values: &[Value]) -> Value {
        let get = |id: CNodeId| &values[id.as_u32() as usize];
        let is_row = self.plan.space() == Space::Rows;
        let row_of = |input, cells: std::ops::Range<usize>| {
            Value::Vector(cells.map(|cell| self.side(input, at.row, cell)).collect())
        };
        match *node {
            CNode::Main if is_row => self.main_row(at.row),
            CNode::Main => Value::Scalar(match at.position {
                Some(position) => self.memory.main[position],
                None => self.memory.main[at.row * self.memory.stride + at.col],
            }),
            CNode::Scalar(input) => Value::Scalar(self.memory.scalars[index(input)]),
            CNode::Literal(bits) => Value::Scalar(bits.get()),
            CNode::SideCell(input) => Value::Scalar(self.side(input, at.row, at.position.unwrap_or(at.col))),
            CNode::SideColScalar(input) => Value::Scalar(self.side(input, 0, at.position.unwrap_or(at.col))),
            CNode::SideRowScalar(input, column) => Value::Scalar(self.side(input, at.row, column as usize)),
            CNode::RowIndex => Value::Scalar((FIRST_ROW + at.row) as f64),
            CNode::SideRow(input, _) if self.memory.sides[index(input)].is_by_position => {
                let of_position = |at: &At| (at.col, self.side(input, 0, at.position.expect("sparse")));
                Value::Sparse(self.cells(at.row).iter().map(of_position).collect())
            }
            CNode::SideRow(input, range) => row_of(input, range.of(self.memory.sides[index(input)].cols)),
            CNode::SideVector(input) => row_of(input, 0..self.memory.sides[index(input)].cols),
            CNode::OuterProduct => {
                Value::Scalar(self.memory.products[at.position.unwrap_or(at.row * self.memory.cols + at.col)])
            }
            CNode::Unary(op, a) => map([get(a)], |[a]| op.eval(a)),
            CNode::Binary(op, a, b) => map([get(a), get(b)], |[a, b]| op.eval(a, b)),
            CNode::Ternary(op, a, b, c) => map([get(a), get(b), get(c)], |[a, b, c]| op.eval(a, b, c)),
            CNode::RowAgg(op, a) => {
                let cells = get(a).len().unwrap_or(self.memory.cols);
                Value::Scalar(aggregate(op, &get(a).vector(), cells))
            }
            CNode::RowCumulative(op, a) => {
                let mut values = get(a).vector();
                (1..values.len()).for_each(|cell| values[cell] = op.merge(values[cell - 1], values[cell]));
                Value::Vector(values)
            }
            CNode::Scatter(a, elsewhere) => Value::Vector(match get(a) {
                Value::Sparse(row) => {
                    let cell = |col: usize| row.iter().find(|(at, _)| *at == col).map(|(_, value)| *value);
                    (0..self.memory.cols).map(|col| cell(col).unwrap_or_else(|| get(elsewhere).at(0))).collect()
                }
                laid_out => laid_out.vector(),
            }),
            CNode::Cbind(a, b) => Value::Vector([get(a).vector(), get(b).vector()].concat()),
            CNode::DotProduct(a, b) => Value::Scalar(match (get(a), get(b)) {
                (Value::Sparse(row), other) | (other, Value::Sparse(row)) => {
                    dot(row.iter().map(|(_, value)| *value), row.iter().map(|(col, _)| other.at(*col)))
                }
                (a, b) => dot(a.vector(), b.vector()),
            }),
            CNode::Windows(op, a, windows) => Value::Vector(of_windows(op, &windows, &get(a).vector())),
            CNode::Convolve(a, input, Filters { count, windows }) => {
                let (unfolded, windows) = (get(a).vector(), windows as usize);
                let filters = &self.memory.sides[index(input)];
                let product = |at: usize| {
                    let chain = |sum: f64, k: usize| {
                        let weight = filters.values[at / windows * filters.row_stride + k];
                        weight.mul_add(unfolded[k * windows + at % windows], sum)
                    };
                    (0..filters.cols).fold(0.0, chain)
                };
                Value::Vector((0..count as usize * windows).map(product).collect())
            }
            CNode::VectMatMult(a, input) => {
                Value::Vector((0..WIDTH).map(|col| self.product(get(a), input, col)).collect())
            }
        }
    }

    fn main_row(&self, row: usize) -> Value {
        let cells = self.cells(row);
        match self.memory.sparse {
            Some(_) => {
                Value::Sparse(cells.iter().map(|at| (at.col, self.memory.main[at.position.expect("sparse")])).collect())
            }
            None => Value::Vector(cells.iter().map(|at| self.memory.main[row * self.memory.stride + at.col]).collect()),
        }
    }

    /// Rule 6: one cell of a vector times a matrix.
    fn product(&self, vector: &Value, input: CInputId, col: usize) -> f64 {
        match vector {
            Value::Sparse(row) => {
                row.iter().fold(0.0, |sum, (at, value)| value.mul_add(self.side(input, *at, col), sum))
            }
            // The matrices of these tests are wide.
            dense => {
                let chain = |sum: f64, (row, value): (usize, f64)| value.mul_add(self.side(input, row, col), sum);
                dense.vector().into_iter().enumerate().fold(0.0, chain)
            }
        }
    }

    fn output(&self, output: usize, values: &[Value]) -> Value {
        values[self.plan.outputs[output].node().as_u32() as usize].clone()
    }

    fn cell_outputs(&self, outputs: &mut [Vec<f64>], strides: &[usize]) {
        for (number, cells) in outputs.iter_mut().enumerate() {
            let stride = strides[number];
            let mut full = self.plan.outputs[number].agg().map(Lanes::new);
            let mut by_position = Vec::new();
            for row in 0..self.memory.rows {
                let places = self.cells(row);
                let values: Vec<f64> =
                    places.iter().map(|&at| self.output(number, &self.values(at)).scalar()).collect();
                match self.plan.outputs[number] {
                    COutput::RowAgg(agg, _) => cells[row] = aggregate(agg, &values, self.memory.cols),
                    COutput::ColAgg(agg, _) => {
                        places.iter().zip(&values).for_each(|(at, value)| accumulate(agg, &mut cells[at.col], *value));
                    }
                    COutput::Store(_) | COutput::Cumulative(..) => {
                        for (at, value) in places.iter().zip(&values) {
                            cells[at.position.unwrap_or(row * stride + at.col)] = *value;
                        }
                    }
                    COutput::TimesFactor(_) => {
                        for (at, value) in places.iter().zip(&values) {
                            add_scaled(&mut cells[row * stride..], *value, &self.factor_row(FACTOR_V, at.col));
                        }
                    }
                    COutput::TransposedTimesFactor(_) => {
                        for (at, value) in places.iter().zip(&values) {
                            add_scaled(&mut cells[at.col * stride..], *value, &self.factor_row(FACTOR_U, row));
                        }
                    }
                    COutput::FullAgg(..) if places.iter().any(|at| at.position.is_some()) => by_position.extend(values),
                    COutput::FullAgg(..) => full.iter_mut().for_each(|full| full.run(values.iter().copied())),
                    COutput::RowProduct { .. } => panic!("a product of rows in a plan over cells"),
                }
            }
            if let (COutput::FullAgg(..), Some(mut full)) = (self.plan.outputs[number], full) {
                // Rule 4: positions are one run.
                full.run(by_position);
                cells[0] = full.finish();
            }
        }
    }

    fn row_output(&self, number: usize, cells: &mut [f64], stride: usize) {
        let output = self.plan.outputs[number];
        let mut full = output.agg().map(Lanes::new);
        let (mut column, mut by_position) = (Vec::new(), Vec::new());
        for row in 0..self.memory.rows {
            let values = self.values(At { row, col: 0, position: None });
            let value = self.output(number, &values);
            match output {
                COutput::Store(_) | COutput::Cumulative(..) => match value {
                    Value::Scalar(value) => cells[row] = value,
                    Value::Sparse(positions) => {
                        let first = self.cells(row).first().and_then(|at| at.position).unwrap_or(0);
                        positions.iter().enumerate().for_each(|(index, (_, value))| cells[first + index] = *value);
                    }
                    Value::Vector(vector) => {
                        cells[row * stride..row * stride + vector.len()].copy_from_slice(&vector);
                    }
                },
                COutput::ColAgg(agg, _) => {
                    entries(&value).into_iter().for_each(|(i, value)| accumulate(agg, &mut cells[i], value));
                }
                COutput::FullAgg(..) => match &value {
                    Value::Scalar(value) => column.push(*value),
                    Value::Sparse(positions) => by_position.extend(positions.iter().map(|(_, value)| *value)),
                    Value::Vector(vector) => full.iter_mut().for_each(|full| full.run(vector.iter().copied())),
                },
                COutput::RowProduct { long, short, .. } => {
                    let [long, short] = [long, short].map(|id| &values[id.as_u32() as usize]);
                    self.add_product(long, short, cells, stride);
                }
                COutput::RowAgg(..) | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
                    panic!("{output} in a plan over rows")
                }
            }
        }
        if let (COutput::FullAgg(..), Some(mut full)) = (output, full) {
            // Rules 4 and 9: positions are one run, and so are values per row.
            full.run(by_position);
            full.run(column);
            cells[0] = full.finish();
        }
    }

    /// Adds the products of the cells of a row's long value with its short one.
    fn add_product(&self, long: &Value, short: &Value, cells: &mut [f64], stride: usize) {
        let is_long_major = matches!(long, Value::Sparse(_));
        for (i, long) in entries(long) {
            if let Value::Scalar(short) = short {
                cells[i] = long.mul_add(*short, cells[i]);
                continue;
            }
            for (j, short) in entries(short) {
                let cell = if is_long_major { i * stride + j } else { j * stride + i };
                cells[cell] = long.mul_add(short, cells[cell]);
            }
        }
    }
}

/// The cells of a vector that code looks at, with their positions.
fn entries(value: &Value) -> Vec<(usize, f64)> {
    match value {
        Value::Sparse(positions) => positions.clone(),
        dense => dense.vector().into_iter().enumerate().collect(),
    }
}

fn map<const N: usize>(operands: [&Value; N], eval: impl Fn([f64; N]) -> f64) -> Value {
    if let Some(columns) = operands.iter().find_map(|operand| operand.columns()) {
        let of_column = |column| (column, eval(operands.map(|operand| operand.at(column))));
        return Value::Sparse(columns.into_iter().map(of_column).collect());
    }
    match operands.iter().find_map(|operand| operand.len()) {
        Some(len) => Value::Vector((0..len).map(|cell| eval(operands.map(|operand| operand.at(cell)))).collect()),
        None => Value::Scalar(eval(operands.map(Value::scalar))),
    }
}

fn add_scaled(cells: &mut [f64], factor: f64, values: &[f64]) {
    cells.iter_mut().zip(values).for_each(|(cell, value)| *cell = factor.mul_add(*value, *cell));
}

/// Whether products over rows are added up with a row for each cell of this long vector.
fn is_long_major(plan: &CPlan, memory: &UnitMemory) -> impl Fn(CNodeId) -> bool {
    let positions = plan.positions(false).filter(|_| memory.sparse.is_some()).unwrap_or_default();
    move |long| positions.contains(long)
}

/// The row stride that each output gets.
pub(crate) fn output_strides(plan: &CPlan, memory: &UnitMemory) -> Vec<usize> {
    let shapes = plan.shapes();
    let is_long_major = is_long_major(plan, memory);
    let stride = |output: &COutput| match *output {
        COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => WIDTH + 2,
        COutput::RowProduct { long, short, .. } if shapes.is_vector(short) && is_long_major(long) => {
            memory.length(plan, short) + 2
        }
        COutput::Store(node) | COutput::Cumulative(_, node)
            if shapes.vector_length(node).is_some_and(|length| length != Length::Main) =>
        {
            memory.length(plan, node) + 2
        }
        _ => memory.cols + 2,
    };
    plan.outputs.iter().map(stride).collect()
}

/// The number of cells of each output.
pub(crate) fn output_lengths(plan: &CPlan, memory: &UnitMemory, strides: &[usize]) -> Vec<usize> {
    let shapes = plan.shapes();
    let is_row = plan.space() == Space::Rows;
    let (positions, is_long_major) = (plan.positions(false).unwrap_or_default(), is_long_major(plan, memory));
    let len = |(output, stride): (&COutput, &usize)| match *output {
        COutput::Store(node) | COutput::Cumulative(_, node) if is_row && !shapes.is_vector(node) => memory.rows,
        COutput::Store(_) | COutput::Cumulative(..) if !is_row && memory.sparse.is_some() => memory.positions(),
        COutput::Store(node) if memory.sparse.is_some() && positions.contains(node) => memory.positions(),
        COutput::Store(_) | COutput::Cumulative(..) | COutput::TimesFactor(_) => memory.rows * stride,
        COutput::RowAgg(..) => memory.rows,
        COutput::ColAgg(_, node) if is_row => memory.length(plan, node),
        COutput::ColAgg(..) => memory.cols,
        COutput::RowProduct { short, .. } if !shapes.is_vector(short) => memory.cols,
        COutput::RowProduct { long, .. } if is_long_major(long) => memory.cols * stride,
        COutput::RowProduct { short, .. } => memory.length(plan, short) * stride,
        COutput::TransposedTimesFactor(_) => memory.cols * stride,
        COutput::FullAgg(..) => 1,
    };
    plan.outputs.iter().zip(strides).map(len).collect()
}

/// Runs the plan on the unit.
pub(crate) fn genexec(plan: &CPlan, memory: &UnitMemory, outputs: &mut [Vec<f64>], strides: &[usize]) {
    let evaluator = Evaluator { plan, memory };
    if plan.space() != Space::Rows {
        return evaluator.cell_outputs(outputs, strides);
    }
    for (number, (cells, &stride)) in outputs.iter_mut().zip(strides).enumerate() {
        evaluator.row_output(number, cells, stride);
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
    let cells = |channel: usize, window: usize| (0..height * width).filter_map(move |k| cell(channel, window, k));
    let value = |at: usize| match op {
        WindowOp::MaxPool => cells(at / per_channel, at % per_channel).fold(f64::NEG_INFINITY, math::max),
        WindowOp::AvgPool => {
            cells(at / per_channel, at % per_channel).fold(0.0, |sum, cell| sum + cell) / (height * width) as f64
        }
        WindowOp::Unfold => {
            let (plane, window) = (at / per_channel, at % per_channel);
            cell(plane / (height * width), window, plane % (height * width)).unwrap_or(0.0)
        }
    };
    (0..op.cells(windows)).map(value).collect()
}
