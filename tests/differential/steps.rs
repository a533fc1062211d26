//! Single random operators of a case, each with inputs that fit.

use super::generate::Generator;
use super::tally::Tally;
use fuseline_interp::oracle::OracleValue;
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, DataGenOp, Function, HopOp, NaryOp, NumericFunction, ReorgOp, ShapeOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp, Windows};
use rand::RngExt;
use rand::seq::IndexedRandom;

impl Generator {
    /// A matrix that broadcasts with these dimensions, or a scalar.
    fn partner(&mut self, (rows, cols): (usize, usize), tally: &mut Tally) -> Option<usize> {
        match self.random.random_range(0..10) {
            0 => return Some(self.leaf("s", tally)),
            1 => {
                let constant = *[0.0, 1.0, 2.0, -1.0, 0.5, 3.0].choose(&mut self.random).expect("constants");
                return Some(self.number(constant));
            }
            2 => {
                let role = *["Y", "Z", "w", "y", "r", "c"].choose(&mut self.random).expect("roles");
                self.leaf(role, tally);
            }
            _ => {}
        }
        let fits = |extent: usize, own: usize| own == extent || own == 1;
        let vectors_too = self.random.random_bool(0.5);
        self.matrix_of(|(own_rows, own_cols)| {
            (own_rows, own_cols) == (rows, cols) || vectors_too && fits(rows, own_rows) && fits(cols, own_cols)
        })
    }

    /// One random operator, or none where its inputs do not fit.
    pub(crate) fn step(&mut self, tally: &mut Tally) -> Option<usize> {
        match self.random.random_range(0..100) {
            0..15 => {
                let (op, x) = (*UnaryOp::ALL.choose(&mut self.random)?, self.any_matrix()?);
                self.add(HopOp::Unary(op), &[x])
            }
            15..42 => {
                let (op, mut x) = (self.any_binary(), self.any_matrix()?);
                let mut y = self.partner(self.dims_of(x)?, tally)?;
                if self.random.random_bool(0.4) {
                    std::mem::swap(&mut x, &mut y);
                }
                self.add(HopOp::Binary(op), &[x, y])
            }
            42..48 => {
                let (op, x) = (*TernaryOp::ALL.choose(&mut self.random)?, self.any_matrix()?);
                let dims = self.dims_of(x)?;
                let mut inputs = [x, self.partner(dims, tally)?, self.partner(dims, tally)?];
                inputs.rotate_left(self.random.random_range(0..3));
                self.add(HopOp::Ternary(op), &inputs)
            }
            48..52 => self.nary(tally),
            52..67 => {
                let x = self.any_matrix()?;
                let direction = *Direction::ALL.choose(&mut self.random)?;
                let op =
                    if self.random.random_bool(0.3) { AggOp::Sum } else { *AggOp::ALL.choose(&mut self.random)? };
                self.add(HopOp::AggUnary(op, direction), &[x])
            }
            67..70 => {
                let (op, x) =
                    (*[AggOp::Sum, AggOp::Prod, AggOp::Min, AggOp::Max].choose(&mut self.random)?, self.any_matrix()?);
                self.add(HopOp::Cumulative(op), &[x])
            }
            70..72 => {
                let column = self.matrix_of(|(_, cols)| cols == 1)?;
                let row = self.matrix_of(|(rows, _)| rows == 1)?;
                let op = if self.random.random_bool(0.5) { BinaryOp::Mult } else { self.any_binary() };
                self.add(HopOp::Outer(op), &[column, row])
            }
            72..81 => self.product(tally),
            81..86 => {
                let x = self.any_matrix()?;
                self.add(HopOp::Reorg(ReorgOp::Transpose), &[x])
            }
            86..89 => {
                let op = *[ReorgOp::Rev, ReorgOp::Diag].choose(&mut self.random)?;
                let x = match op {
                    ReorgOp::Diag => self.matrix_of(|(rows, cols)| rows == cols || cols == 1)?,
                    _ => self.any_matrix()?,
                };
                self.add(HopOp::Reorg(op), &[x])
            }
            89..93 => self.range(tally),
            93..95 => self.generate_matrix(),
            95..96 => self.layers(),
            96..98 => self.function(tally),
            _ => self.scalar_step(tally),
        }
    }

    fn any_binary(&mut self) -> BinaryOp {
        match self.random.random_range(0..3) {
            0 => BinaryOp::Mult,
            1 if self.random.random_bool(0.5) => {
                *[BinaryOp::Plus, BinaryOp::Minus].choose(&mut self.random).expect("operations")
            }
            _ => *BinaryOp::ALL.choose(&mut self.random).expect("operations"),
        }
    }

    fn nary(&mut self, tally: &mut Tally) -> Option<usize> {
        let op = *NaryOp::ALL.choose(&mut self.random)?;
        let x = self.any_matrix()?;
        let (rows, cols) = self.dims_of(x)?;
        let mut inputs = vec![x];
        for _ in 0..self.random.random_range(1..4) {
            inputs.push(match op {
                NaryOp::Cbind => self.matrix_of(|dims| dims.0 == rows)?,
                NaryOp::Rbind => self.matrix_of(|dims| dims.1 == cols)?,
                _ => self.partner((rows, cols), tally)?,
            });
        }
        self.add(HopOp::Nary(op), &inputs)
    }

    /// A product; often with a transpose, as fused products read it.
    fn product(&mut self, tally: &mut Tally) -> Option<usize> {
        let mut left = self.any_matrix()?;
        if self.random.random_bool(0.35) {
            left = self.add(HopOp::Reorg(ReorgOp::Transpose), &[left])?;
        }
        if self.random.random_bool(0.3) {
            let role = *["v", "B", "w", "P"].choose(&mut self.random)?;
            self.leaf(role, tally);
        }
        let inner = self.dims_of(left)?.1;
        let right = self.matrix_of(|(rows, _)| rows == inner)?;
        self.add(HopOp::MatMul, &[left, right])
    }

    /// A range of a matrix, or a matrix with a range replaced; rows often whole, as Row operators read columns.
    fn range(&mut self, tally: &mut Tally) -> Option<usize> {
        let x = self.matrix_of(|(rows, cols)| rows > 0 && cols > 0)?;
        let (rows, cols) = self.dims_of(x)?;
        let mut bounds = |extent: usize| {
            let first = self.random.random_range(1..=extent);
            (first, self.random.random_range(first..=extent.min(first + 40)))
        };
        let (columns, some_rows) = (bounds(cols), bounds(rows));
        let rows = if self.random.random_bool(0.7) { (1, rows) } else { some_rows };
        let range = [rows.0, rows.1, columns.0, columns.1].map(|bound| self.literal(Value::I64(bound as i64)));
        if self.random.random_bool(0.65) {
            return self.add(HopOp::Index, &[&[x][..], &range].concat());
        }
        let size = (rows.1 - rows.0 + 1, columns.1 - columns.0 + 1);
        let matching = self.matrix_of(|dims| dims == size);
        let replacement = match matching {
            Some(matrix) if self.random.random_bool(0.5) => matrix,
            _ => self.leaf("s", tally),
        };
        self.add(HopOp::LeftIndex, &[&[x, replacement][..], &range].concat())
    }

    fn generate_matrix(&mut self) -> Option<usize> {
        let (m, n) = self.rows_and_cols();
        let count = |this: &mut Self, value: usize| this.literal(Value::I64(value as i64));
        match self.random.random_range(0..4) {
            0 => {
                let step = *[1.0, 2.0, -1.0, 0.5].choose(&mut self.random)?;
                let extent = *[m, n].choose(&mut self.random)?;
                let last = 1.0 + step * (extent as f64 - 1.0);
                let inputs = [self.number(1.0), self.number(last), self.number(step)];
                self.add(HopOp::DataGen(DataGenOp::Seq), &inputs)
            }
            1 => {
                let constant = *[0.0, 1.0, 3.0].choose(&mut self.random)?;
                let inputs = [self.number(constant), count(self, m), count(self, n)];
                self.add(HopOp::DataGen(DataGenOp::Matrix), &inputs)
            }
            2 => {
                let x = self.any_matrix()?;
                let (rows, cols) = self.dims_of(x)?;
                let inputs = [x, count(self, cols), count(self, rows)];
                self.add(HopOp::DataGen(DataGenOp::Matrix), &inputs)
            }
            _ => {
                let vector = self.matrix_of(|(rows, cols)| rows.min(cols) == 1 && n % rows.max(cols) == 0)?;
                let inputs = [vector, count(self, n)];
                self.add(HopOp::DataGen(DataGenOp::Expand), &inputs)
            }
        }
    }

    /// A function with named arguments.
    fn function(&mut self, tally: &mut Tally) -> Option<usize> {
        let (function, inputs, names): (Function, Vec<usize>, &[&str]) = match self.random.random_range(0..7) {
            0 => {
                let x = self.matrix_of(|(_, cols)| cols > 0)?;
                let column = self.random.random_range(1..=self.dims_of(x)?.1);
                let decreasing = self.random.random_bool(0.5);
                let index = self.random.random_bool(0.5);
                let inputs = vec![
                    x,
                    self.literal(Value::I64(column as i64)),
                    self.literal(Value::Bool(decreasing)),
                    self.literal(Value::Bool(index)),
                ];
                (Function::Order, inputs, &["by", "decreasing", "index.return"])
            }
            1 => {
                let margin = *["rows", "cols"].choose(&mut self.random)?;
                let inputs = vec![self.any_matrix()?, self.literal(Value::Str(margin.to_owned()))];
                (Function::RemoveEmpty, inputs, &["margin"])
            }
            2 => {
                let (category, one) = (self.categories(tally)?, self.number(1.0));
                let four = self.literal(Value::I64(4));
                (Function::Table, vec![category, category, one, four, four], &["dim1", "dim2"])
            }
            3 => (Function::RowIndexMax, vec![self.any_matrix()?], &[]),
            4 => (Function::RowIndexMin, vec![self.any_matrix()?], &[]),
            _ => return self.numeric(tally),
        };
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.add(HopOp::Parameterized { function, names }, &inputs)
    }

    /// A column of categories 1, 2, 3 and 4.
    fn categories(&mut self, tally: &mut Tally) -> Option<usize> {
        let column = self.leaf("w", tally);
        let abs = self.add(HopOp::Unary(UnaryOp::Abs), &[column])?;
        let three = self.number(3.0);
        let rest = self.add(HopOp::Binary(BinaryOp::Min), &[abs, three])?;
        let floor = self.add(HopOp::Unary(UnaryOp::Floor), &[rest])?;
        let one = self.number(1.0);
        self.add(HopOp::Binary(BinaryOp::Plus), &[floor, one])
    }

    /// A numeric function that the oracle knows.
    fn numeric(&mut self, tally: &mut Tally) -> Option<usize> {
        let is_vector = |(rows, cols): (usize, usize)| rows * cols > 0 && (rows == 1 || cols == 1);
        let (function, inputs, names): (NumericFunction, Vec<usize>, &[&str]) = match self.random.random_range(0..9) {
            0 => {
                let shift = self.random.random_range(-3..=3);
                (NumericFunction::Roll, vec![self.any_matrix()?, self.literal(Value::I64(shift))], &[])
            }
            side @ 1..=2 => {
                let flags = [(); 2].map(|()| Value::Bool(self.random.random_bool(0.5)));
                let [diagonal, values] = flags.map(|flag| self.literal(flag));
                let function = if side == 1 { NumericFunction::LowerTriangle } else { NumericFunction::UpperTriangle };
                (function, vec![self.any_matrix()?, diagonal, values], &[])
            }
            3 => (NumericFunction::CumulativeSumProduct, vec![self.matrix_of(|(_, cols)| cols == 2)?], &[]),
            4 => (NumericFunction::Median, vec![self.matrix_of(is_vector)?], &[]),
            5 => {
                let probability = self.random.random_range(0.0..=1.0);
                (NumericFunction::Quantile, vec![self.matrix_of(is_vector)?, self.number(probability)], &[])
            }
            6 => {
                let function = *[NumericFunction::Unique, NumericFunction::CountDistinct].choose(&mut self.random)?;
                let direction = Direction::ALL.choose(&mut self.random)?;
                (function, vec![self.any_matrix()?, self.literal(Value::Str(direction.to_string()))], &[])
            }
            7 => return self.windows(),
            _ => {
                let (groups, four) = (self.categories(tally)?, self.literal(Value::I64(4)));
                let rows = self.dims_of(groups)?.0;
                let target = self.matrix_of(|dims| dims.0 == rows)?;
                let function = *["sum", "count", "mean", "variance", "min", "max"].choose(&mut self.random)?;
                let function = self.literal(Value::Str(function.to_owned()));
                (NumericFunction::GroupedAggregate, vec![target, groups, function, four], &["fn", "ngroups"])
            }
        };
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.add(HopOp::Parameterized { function: Function::Numeric(function), names }, &inputs)
    }

    /// Layers of a network over rows as images: a convolution with a bias, what is negative cut off, and a pool, each of
    /// them sometimes, and mostly an aggregate.
    fn layers(&mut self) -> Option<usize> {
        // The oracle looks at every window for every cell.
        let mut images = self.matrix_of(|(rows, cols)| cols > 0 && (1..400).contains(&(rows * cols)))?;
        let cells = self.dims_of(images)?.1;
        let mut shape = self.shape_of(cells)?;
        if self.random.random_bool(0.7) {
            let windows = self.windows_over(shape);
            let (count, of_filter) = (self.random.random_range(1..=3), windows.filter_cells());
            let filters = self.filters(count, of_filter)?;
            images = self.over_windows(NumericFunction::Conv2d, &[images, filters], &windows)?;
            let [height, width] = windows.count();
            shape = [count, height, width];
            if self.random.random_bool(0.5) {
                let width = self.literal(Value::I64(shape.iter().product::<usize>() as i64));
                let bias = self.filters(count, 1)?;
                let bias = self.add(HopOp::DataGen(DataGenOp::Expand), &[bias, width])?;
                let op = if self.random.random_bool(0.7) { BinaryOp::Plus } else { BinaryOp::Mult };
                images = self.add(HopOp::Binary(op), &[images, bias])?;
            }
        }
        if self.random.random_bool(0.5) {
            let zero = self.number(0.0);
            images = self.add(HopOp::Binary(BinaryOp::Max), &[images, zero])?;
        }
        if self.random.random_bool(0.6) {
            let windows = self.windows_over(shape);
            let pool = *[NumericFunction::MaxPool, NumericFunction::AvgPool].choose(&mut self.random)?;
            images = self.over_windows(pool, &[images], &windows)?;
        }
        match Direction::ALL.choose(&mut self.random) {
            Some(&direction) if self.random.random_bool(0.7) => {
                let op = *AggOp::ALL.choose(&mut self.random)?;
                self.add(HopOp::AggUnary(op, direction), &[images])
            }
            _ => Some(images),
        }
    }

    /// Channels, height and width of images of so many cells.
    fn shape_of(&mut self, cells: usize) -> Option<[usize; 3]> {
        let divisors = |of: usize| (1..=of).filter(move |&divisor| of.is_multiple_of(divisor)).collect::<Vec<_>>();
        let channels = *divisors(cells).choose(&mut self.random)?;
        let height = *divisors(cells / channels).choose(&mut self.random)?;
        Some([channels, height, cells / channels / height])
    }

    /// Windows that fit such images, with their padding.
    fn windows_over(&mut self, [channels, height, width]: [usize; 3]) -> Windows {
        let image = [height, width];
        let [stride, padding] = [1..=2, 0..=2].map(|range| [(); 2].map(|()| self.random.random_range(range.clone())));
        let window = [0, 1].map(|axis| self.random.random_range(1..=(image[axis] + 2 * padding[axis]).min(3)));
        Windows { channels, image, window, stride, padding }
    }

    /// A matrix of these dimensions, of the cells of another one.
    fn filters(&mut self, rows: usize, cols: usize) -> Option<usize> {
        if let Some(filters) = self.matrix_of(|dims| dims == (rows, cols)) {
            return Some(filters);
        }
        let [count, len] = [rows, cols].map(|extent| self.literal(Value::I64(extent as i64)));
        let cells = self.matrix_of(|dims| dims.0 * dims.1 == rows * cols).unwrap_or_else(|| self.number(2.0));
        self.add(HopOp::DataGen(DataGenOp::Matrix), &[cells, count, len])
    }

    /// A function of images and their windows.
    fn over_windows(&mut self, function: NumericFunction, inputs: &[usize], windows: &Windows) -> Option<usize> {
        let Windows { channels, image, window, stride, padding } = *windows;
        let extents = [&[channels][..], &image, &window, &stride, &padding].concat();
        let extents: Vec<usize> = extents.into_iter().map(|extent| self.literal(Value::I64(extent as i64))).collect();
        let op = HopOp::Parameterized { function: Function::Numeric(function), names: Vec::new() };
        self.add(op, &[inputs, &extents].concat())
    }

    /// A convolution of rows as images of height 1, a pool of them, or a gradient of either by its own result.
    fn windows(&mut self) -> Option<usize> {
        // The oracle looks at every window for every cell.
        let images = self.matrix_of(|(rows, cols)| (1..400).contains(&(rows * cols)))?;
        let width = self.dims_of(images)?.1;
        let filters = self.matrix_of(|(rows, cols)| (1..40).contains(&(rows * cols)) && cols <= width)?;
        let (count, window) = self.dims_of(filters)?;
        let (stride, padding) = (self.random.random_range(1..=2), self.random.random_range(0..=1));
        let layout: Vec<usize> = [1, 1, width, 1, window, 1, stride, 0, padding]
            .map(|extent| self.literal(Value::I64(extent as i64)))
            .to_vec();
        let call = |this: &mut Self, function: NumericFunction, inputs: &[usize]| {
            let op = HopOp::Parameterized { function: Function::Numeric(function), names: Vec::new() };
            this.add(op, &[inputs, &layout].concat())
        };
        if self.random.random_bool(0.5) {
            let result = call(self, NumericFunction::Conv2d, &[images, filters])?;
            let count = self.literal(Value::I64(count as i64));
            if self.random.random_bool(0.5) {
                call(self, NumericFunction::Conv2dBackwardFilter, &[images, result, count])
            } else {
                call(self, NumericFunction::Conv2dBackwardData, &[filters, result])
            }
        } else {
            let (pool, backward) = *[
                (NumericFunction::MaxPool, NumericFunction::MaxPoolBackward),
                (NumericFunction::AvgPool, NumericFunction::AvgPoolBackward),
            ]
            .choose(&mut self.random)?;
            let result = call(self, pool, &[images])?;
            call(self, backward, &[images, result])
        }
    }

    /// An operation on scalars, or between scalars and matrices.
    fn scalar_step(&mut self, tally: &mut Tally) -> Option<usize> {
        match self.random.random_range(0..4) {
            0 => {
                let x = self.matrix_of(|dims| dims == (1, 1))?;
                self.add(HopOp::Cast(CastOp::AsScalar), &[x])
            }
            1 => {
                let scalars = self.candidates(|this, index| matches!(this.value(index), Some(OracleValue::Scalar(_))));
                let scalar = self.pick(&scalars)?;
                self.add(HopOp::Cast(CastOp::AsMatrix), &[scalar])
            }
            2 => {
                let (op, x) = (*ShapeOp::ALL.choose(&mut self.random)?, self.any_matrix()?);
                self.add(HopOp::Shape(op), &[x])
            }
            _ => {
                let op = self.any_binary();
                let inputs = [self.leaf("s", tally), self.number(2.0)];
                self.add(HopOp::Binary(op), &inputs)
            }
        }
    }
}
