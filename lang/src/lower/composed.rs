//! Functions that are composed of operators: moments, correlations, distances, one-hot encodings. What they are
//! composed of fuses like everything else.

use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::diagnostic::Diagnostic;
use fuseline_ir::builtins::Composed;
use fuseline_ir::hop::{DataGenOp, Function, HopId, HopOp, NumericFunction, ReorgOp, ShapeOp, Span};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline_ir::types::{DataType, Value};

impl Lowerer<'_> {
    pub(super) fn composed(&mut self, call: &Bind<'_>, function: Composed) -> Lowered<HopId> {
        match function {
            Composed::Unchanged => self.required_argument(call, 0),
            Composed::Mean => self.mean(call),
            Composed::RowCumulativeSum => self.row_cumulative_sum(call),
            Composed::Comparison => self.comparison(call),
            Composed::Quantile => self.quantile(call),
            Composed::Moment => self.moment(call),
            Composed::Covariance => self.covariance(call),
            Composed::Correlation => self.correlation(call),
            Composed::Distances => self.distances(call),
            Composed::MatrixRoot => self.matrix_root(call),
            Composed::Contains => self.contains(call),
            Composed::OneHot => self.one_hot(call),
            Composed::Expansion => self.expansion(call),
            Composed::Sample => self.sample(call),
            Composed::Unique => self.unique(call),
            Composed::CountDistinct(direction) => self.count_distinct(call, direction),
            Composed::Fourier { is_inverse, by_row } => self.fourier(call, is_inverse, by_row),
            Composed::DistributionFunction(name) => self.distribution_function(call, name),
            Composed::QuantileFunction(name) => self.quantile_function(call, name),
            Composed::Convolution(function) => self.convolution(call, function),
            Composed::Pool(function) => self.pool(call, function),
        }
    }

    pub(super) fn unary_op(&mut self, op: UnaryOp, x: HopId, span: Span) -> Lowered<HopId> {
        self.add(HopOp::Unary(op), &[x], span)
    }

    pub(super) fn binary_op(&mut self, op: BinaryOp, x: HopId, y: HopId, span: Span) -> Lowered<HopId> {
        self.add(HopOp::Binary(op), &[x, y], span)
    }

    fn sum(&mut self, matrix: HopId, span: Span) -> Lowered<HopId> {
        self.add(HopOp::AggUnary(AggOp::Sum, Direction::Full), &[matrix], span)
    }

    fn transpose(&mut self, matrix: HopId, span: Span) -> Lowered<HopId> {
        self.add(HopOp::Reorg(ReorgOp::Transpose), &[matrix], span)
    }

    fn diagonal(&mut self, matrix: HopId, span: Span) -> Lowered<HopId> {
        self.add(HopOp::Reorg(ReorgOp::Diag), &[matrix], span)
    }

    /// The argument of a parameter that is required.
    pub(super) fn required_argument(&mut self, call: &Bind<'_>, position: usize) -> Lowered<HopId> {
        match self.argument_or_default(call, position)? {
            Some(argument) => Ok(argument),
            None => unreachable!("binding gives required parameters arguments"),
        }
    }

    /// `f(target, argument)` or `f(target, weights, argument)`: target, weights, argument.
    fn weights_in_the_middle(&mut self, call: &Bind<'_>) -> Lowered<(HopId, Option<HopId>, HopId)> {
        let target = self.required_argument(call, 0)?;
        let second = self.required_argument(call, 1)?;
        Ok(match self.argument_or_default(call, 2)? {
            Some(third) => (target, Some(second), third),
            None => (target, None, second),
        })
    }

    fn quantile(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let (target, weights, probability) = self.weights_in_the_middle(call)?;
        let names = weights.iter().map(|_| "weights".to_owned()).collect();
        let inputs: Vec<HopId> = [target, probability].into_iter().chain(weights).collect();
        self.numeric(NumericFunction::Quantile, names, &inputs, call.span)
    }

    /// The sum of the cells, each as often as its weight says.
    fn weighted_sum(&mut self, values: HopId, weights: Option<HopId>, span: Span) -> Lowered<HopId> {
        let values = match weights {
            Some(weights) => self.binary_op(BinaryOp::Mult, weights, values, span)?,
            None => values,
        };
        self.sum(values, span)
    }

    /// How many cells a vector has, each as often as its weight says.
    fn weighted_count(&mut self, values: HopId, weights: Option<HopId>, span: Span) -> Lowered<HopId> {
        match weights {
            Some(weights) => self.sum(weights, span),
            None => self.extent(values, ShapeOp::Length, span),
        }
    }

    /// The distances of the cells from their mean.
    fn centred(&mut self, values: HopId, weights: Option<HopId>, span: Span) -> Lowered<HopId> {
        let sum = self.weighted_sum(values, weights, span)?;
        let count = self.weighted_count(values, weights, span)?;
        let mean = self.binary_op(BinaryOp::Div, sum, count, span)?;
        self.binary_op(BinaryOp::Minus, values, mean, span)
    }

    fn mean(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let target = self.required_argument(call, 0)?;
        let Some(weights) = self.argument_or_default(call, 1)? else {
            return self.add(HopOp::AggUnary(AggOp::Mean, Direction::Full), &[target], call.span);
        };
        let sum = self.weighted_sum(target, Some(weights), call.span)?;
        let count = self.sum(weights, call.span)?;
        self.binary_op(BinaryOp::Div, sum, count, call.span)
    }

    fn row_cumulative_sum(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let target = self.required_argument(call, 0)?;
        let transposed = self.transpose(target, call.span)?;
        let sums = self.add(HopOp::Cumulative(AggOp::Sum), &[transposed], call.span)?;
        self.transpose(sums, call.span)
    }

    /// `ppred(x, y, "<")`.
    fn comparison(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let text = self.constant_text(call, 2, &["<", "<=", ">", ">=", "==", "!="])?;
        let (left, right) = (self.required_argument(call, 0)?, self.required_argument(call, 1)?);
        match BinaryOp::ALL.iter().find(|op| op.dml() == Some(text.as_str())) {
            Some(&op) => self.binary_op(op, left, right, call.span),
            None => unreachable!("every comparison is an operation"),
        }
    }

    fn moment(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let span = call.span;
        let (target, weights, order) = self.weights_in_the_middle(call)?;
        let centred = self.centred(target, weights, span)?;
        let powers = self.binary_op(BinaryOp::Pow, centred, order, span)?;
        let sum = self.weighted_sum(powers, weights, span)?;
        let count = self.weighted_count(target, weights, span)?;
        self.binary_op(BinaryOp::Div, sum, count, span)
    }

    fn covariance(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let span = call.span;
        let (x, y) = (self.required_argument(call, 0)?, self.required_argument(call, 1)?);
        let weights = self.argument_or_default(call, 2)?;
        let (centred_x, centred_y) = (self.centred(x, weights, span)?, self.centred(y, weights, span)?);
        let products = self.binary_op(BinaryOp::Mult, centred_x, centred_y, span)?;
        let sum = self.weighted_sum(products, weights, span)?;
        let count = self.weighted_count(x, weights, span)?;
        let one = self.literal(Value::I64(1), span);
        let freedom = self.binary_op(BinaryOp::Minus, count, one, span)?;
        self.binary_op(BinaryOp::Div, sum, freedom, span)
    }

    /// `C / sqrt(outer(diag(C), diag(C)))` for the centred products C.
    fn correlation(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let span = call.span;
        let matrix = self.required_argument(call, 0)?;
        let means = self.add(HopOp::AggUnary(AggOp::Mean, Direction::Col), &[matrix], span)?;
        let centred = self.binary_op(BinaryOp::Minus, matrix, means, span)?;
        let transposed = self.transpose(centred, span)?;
        let products = self.add(HopOp::MatMul, &[transposed, centred], span)?;
        let squares = self.diagonal(products, span)?;
        let lengths = self.unary_op(UnaryOp::Sqrt, squares, span)?;
        let row = self.transpose(lengths, span)?;
        let scale = self.add(HopOp::Outer(BinaryOp::Mult), &[lengths, row], span)?;
        self.binary_op(BinaryOp::Div, products, scale, span)
    }

    /// `sqrt(|x|^2 + |y|^2 - 2 x y)`, where rounding must not take the root of what is negative.
    fn distances(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let span = call.span;
        let matrix = self.required_argument(call, 0)?;
        let transposed = self.transpose(matrix, span)?;
        let products = self.add(HopOp::MatMul, &[matrix, transposed], span)?;
        let squares = self.diagonal(products, span)?;
        let row = self.transpose(squares, span)?;
        let sums = self.add(HopOp::Outer(BinaryOp::Plus), &[squares, row], span)?;
        let two = self.literal(Value::F64(2.0), span);
        let twice = self.binary_op(BinaryOp::Mult, products, two, span)?;
        let difference = self.binary_op(BinaryOp::Minus, sums, twice, span)?;
        let zero = self.literal(Value::F64(0.0), span);
        let squared = self.binary_op(BinaryOp::Max, difference, zero, span)?;
        self.unary_op(UnaryOp::Sqrt, squared, span)
    }

    /// `sqrtMatrix(A, S)`, whose strategy makes no difference: there is one.
    fn matrix_root(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let matrix = self.required_argument(call, 0)?;
        self.constant_text(call, 1, &["DML", "COMMON"])?;
        self.numeric(NumericFunction::MatrixRoot, Vec::new(), &[matrix], call.span)
    }

    /// Whether any cell equals the pattern, where NaN equals NaN.
    fn contains(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let span = call.span;
        let (target, pattern) = (self.required_argument(call, 0)?, self.required_argument(call, 1)?);
        let known = self.blocks.dag.literal_f64(pattern);
        let mut count = None;
        if known.is_none_or(|known| !known.is_nan()) {
            let equal = self.binary_op(BinaryOp::Equal, target, pattern, span)?;
            count = Some(self.sum(equal, span)?);
        }
        if known.is_none_or(f64::is_nan) {
            let nan = self.unary_op(UnaryOp::IsNan, target, span)?;
            let nan = self.sum(nan, span)?;
            let is_nan = self.unary_op(UnaryOp::IsNan, pattern, span)?;
            let counted = self.binary_op(BinaryOp::Mult, nan, is_nan, span)?;
            count = Some(match count {
                Some(count) => self.binary_op(BinaryOp::Plus, count, counted, span)?,
                None => counted,
            });
        }
        let zero = self.literal(Value::F64(0.0), span);
        self.binary_op(BinaryOp::Greater, count.unwrap_or(zero), zero, span)
    }

    /// A contingency table of positions and cells, either in the rows.
    fn expanded(&mut self, vector: HopId, extent: HopId, positions_in_rows: bool, span: Span) -> Lowered<Vec<HopId>> {
        let one = self.literal(Value::I64(1), span);
        let count = self.extent(vector, ShapeOp::Nrow, span)?;
        let positions = self.add(HopOp::DataGen(DataGenOp::Seq), &[one, count, one], span)?;
        let weight = self.literal(Value::F64(1.0), span);
        Ok(if positions_in_rows {
            vec![positions, vector, weight, count, extent]
        } else {
            vec![vector, positions, weight, extent, count]
        })
    }

    fn one_hot(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let (target, width) = (self.required_argument(call, 0)?, self.required_argument(call, 1)?);
        let inputs = self.expanded(target, width, true, call.span)?;
        self.add(table_of(&["dim1", "dim2"]), &inputs, call.span)
    }

    fn expansion(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let (target, extent) = (self.required_argument(call, 0)?, self.required_argument(call, 1)?);
        let direction = self.constant_text(call, 2, &["rows", "cols"])?;
        let ignore = self.required_argument(call, 4)?;
        let mut inputs = self.expanded(target, extent, direction == "cols", call.span)?;
        inputs.push(ignore);
        self.add(table_of(&["dim1", "dim2", "ignore"]), &inputs, call.span)
    }

    /// `sample(range, size)`, then replacement, seed, or both.
    fn sample(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let (range, size) = (self.required_argument(call, 0)?, self.required_argument(call, 1)?);
        let (third, fourth) = (self.argument_or_default(call, 2)?, self.argument_or_default(call, 3)?);
        let is_seed = |id: HopId| matches!(self.blocks.dag[id].data_type, DataType::I64 | DataType::F64);
        let (replacement, seed) = match (third, fourth) {
            (Some(seed), None) if is_seed(seed) => (None, Some(seed)),
            (replacement, seed) => (replacement, seed),
        };
        let replacement = replacement.unwrap_or_else(|| self.literal(Value::Bool(false), call.span));
        let seed = seed.unwrap_or_else(|| self.literal(Value::I64(-1), call.span));
        self.numeric(NumericFunction::Sample, Vec::new(), &[range, size, replacement, seed], call.span)
    }

    fn unique(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let target = self.required_argument(call, 0)?;
        let direction = self.direction(call, 1)?;
        let direction = self.literal(Value::Str(direction.to_string()), call.span);
        self.numeric(NumericFunction::Unique, Vec::new(), &[target, direction], call.span)
    }

    fn count_distinct(&mut self, call: &Bind<'_>, direction: Option<Direction>) -> Lowered<HopId> {
        let target = self.required_argument(call, 0)?;
        let direction = direction.map_or_else(|| self.direction(call, 1), Ok)?;
        let direction = self.literal(Value::Str(direction.to_string()), call.span);
        self.numeric(NumericFunction::CountDistinct, Vec::new(), &[target, direction], call.span)
    }

    /// The direction that a parameter names, as DML writes it.
    fn direction(&mut self, call: &Bind<'_>, position: usize) -> Lowered<Direction> {
        Ok(match self.constant_text(call, position, &["rc", "r", "c"])?.as_str() {
            "r" => Direction::Row,
            "c" => Direction::Col,
            _ => Direction::Full,
        })
    }

    fn fourier(&mut self, call: &Bind<'_>, is_inverse: bool, by_row: bool) -> Lowered<HopId> {
        let mut inputs = vec![self.required_argument(call, 0)?, self.literal(Value::Bool(by_row), call.span)];
        let mut names = Vec::new();
        if is_inverse && let Some(imaginary) = self.argument_or_default(call, 1)? {
            inputs.push(imaginary);
            names.push("imaginary".to_owned());
        }
        let function = if is_inverse { NumericFunction::InverseFourier } else { NumericFunction::Fourier };
        self.numeric(function, names, &inputs, call.span)
    }

    /// The constant text of a parameter, one of those that are known.
    pub(super) fn constant_text(&mut self, call: &Bind<'_>, position: usize, known: &[&str]) -> Lowered<String> {
        let value = self.required_argument(call, position)?;
        match self.blocks.dag.literal_value(value) {
            Some(Value::Str(text)) if known.contains(&text.as_str()) => Ok(text.clone()),
            other => {
                let found = other.map_or("an expression".to_owned(), |value| format!("`{value}`"));
                let (function, parameter) = (call.builtin.name, call.builtin.parameters[position].name);
                let place = call.bound.slots[position].map_or(call.span, |argument| argument.span);
                let message = format!("`{function}` does not support {found} as `{parameter}`");
                let known: Vec<String> = known.iter().map(|text| format!("\"{text}\"")).collect();
                let error = Diagnostic::new(place, message).here("not supported");
                self.report(error.help(format!("write {}", known.join(" or "))))
            }
        }
    }

    /// The constant truth value of a parameter, which has a default.
    pub(super) fn constant_flag(&mut self, call: &Bind<'_>, position: usize) -> Lowered<bool> {
        let parameter = call.builtin.parameters[position];
        let Some(argument) = call.bound.slots[position] else {
            return Ok(parameter.presence.default_value() == Some(Value::Bool(true)));
        };
        let value = self.expression(argument)?;
        match self.blocks.dag.literal_value(value) {
            Some(Value::Bool(flag)) => Ok(*flag),
            _ => {
                let message = format!("`{}` needs a constant as `{}`", call.builtin.name, parameter.name);
                self.report(Diagnostic::new(argument.span, message).here("must be TRUE or FALSE"))
            }
        }
    }
}

/// A contingency table, whose last inputs have these names.
pub(super) fn table_of(names: &[&str]) -> HopOp {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    HopOp::Parameterized { function: Function::Table, names }
}
