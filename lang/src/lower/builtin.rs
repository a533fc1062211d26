//! Calls of builtin functions, by their rows in [`fuseline_ir::builtins`].

use super::bind::{Bound, Callable, type_name};
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use fuseline_ir::builtins::{Builtin, Lowering};
use fuseline_ir::hop::{CastOp, DataGenOp, HopId, HopOp, NaryOp, ReorgOp, ShapeOp, Span};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::types::{DataType, Value};

/// A call being lowered: its row, its arguments by parameter, and its place.
pub(super) struct Bind<'e> {
    pub(super) builtin: &'static Builtin,
    pub(super) bound: Bound<'e>,
    pub(super) span: Span,
}

impl Lowerer<'_> {
    /// The operator of a call, with or without a value.
    pub(super) fn builtin(&mut self, builtin: &'static Builtin, call: &Call, span: Span) -> Lowered<HopId> {
        if builtin.lowering == Lowering::List {
            return self.list(call, span);
        }
        let bound = match Callable::of_builtin(builtin).bind(call, span) {
            Ok(bound) => bound,
            Err(error) => return self.report(error),
        };
        let call = Bind { builtin, bound, span };
        match builtin.lowering {
            Lowering::Unary(op) => self.with_inputs(&call, HopOp::Unary(op)),
            Lowering::Binary(op) => self.with_inputs(&call, HopOp::Binary(op)),
            Lowering::Ternary(op) => self.with_inputs(&call, HopOp::Ternary(op)),
            Lowering::Aggregate(op, direction) => self.with_inputs(&call, HopOp::AggUnary(op, direction)),
            Lowering::Cumulative(op) => self.with_inputs(&call, HopOp::Cumulative(op)),
            Lowering::Shape(op) => self.with_inputs(&call, HopOp::Shape(op)),
            Lowering::Reorg(op) => self.with_inputs(&call, HopOp::Reorg(op)),
            Lowering::Nary(op) => self.concatenated(&call, op),
            Lowering::Cast(op) => self.with_inputs(&call, HopOp::Cast(op)),
            Lowering::AggregateOrNary(op, _) if call.bound.rest.is_empty() => {
                self.with_inputs(&call, HopOp::AggUnary(op, Direction::Full))
            }
            Lowering::AggregateOrNary(_, op) => self.nary(&call, op),
            Lowering::Deviation(direction) => {
                let variance = self.with_inputs(&call, HopOp::AggUnary(AggOp::Var, direction))?;
                self.add(HopOp::Unary(UnaryOp::Sqrt), &[variance], span)
            }
            Lowering::Trace => {
                let diagonal = self.with_inputs(&call, HopOp::Reorg(ReorgOp::Diag))?;
                self.add(HopOp::AggUnary(AggOp::Sum, Direction::Full), &[diagonal], span)
            }
            Lowering::Log => self.log(&call),
            Lowering::Bias(op) => self.bias(&call, op),
            Lowering::Outer => self.outer(&call),
            Lowering::DataGen(op) => self.data_gen(&call, op),
            Lowering::Function(function) => self.function_call(&call, function),
            Lowering::Numeric(function) => self.numeric_call(&call, function),
            Lowering::Frame(function) => self.frame_call(&call, function),
            Lowering::Composed(function) => self.composed(&call, function),
            Lowering::Replace => self.replace(&call),
            Lowering::Table => self.table(&call),
            Lowering::Print => self.print(&call),
            Lowering::IfDef => self.ifdef(&call),
            Lowering::Exists => self.exists(&call),
            Lowering::Evaluation { .. } => unreachable!("calls of what a text names are lowered before"),
            Lowering::List => unreachable!("lists are lowered above: their arguments bind to no parameters"),
        }
    }

    /// The arguments that were given, in the order of the parameters, then those beyond.
    pub(super) fn inputs(&mut self, call: &Bind<'_>) -> Lowered<Vec<HopId>> {
        let given = call.bound.slots.iter().flatten().chain(&call.bound.rest);
        given.map(|argument| self.expression(argument)).collect()
    }

    fn with_inputs(&mut self, call: &Bind<'_>, op: HopOp) -> Lowered<HopId> {
        let inputs = self.inputs(call)?;
        self.add(op, &inputs, call.span)
    }

    /// The argument of a parameter, or its default.
    pub(super) fn argument_or_default(&mut self, call: &Bind<'_>, position: usize) -> Lowered<Option<HopId>> {
        match call.bound.slots[position] {
            Some(argument) => self.expression(argument).map(Some),
            None => {
                let default = call.builtin.parameters[position].presence.default_value();
                Ok(default.map(|value| self.literal(value, call.span)))
            }
        }
    }

    /// Matrices or lists side by side; texts below each other.
    fn concatenated(&mut self, call: &Bind<'_>, op: NaryOp) -> Lowered<HopId> {
        let inputs = self.inputs(call)?;
        let is_text = |id: &HopId| self.blocks.dag[*id].data_type == DataType::STR;
        if op != NaryOp::Cbind || !inputs.iter().all(is_text) {
            return self.add(HopOp::Nary(op), &inputs, call.span);
        }
        let line_end = self.literal(Value::Str("\n".to_owned()), call.span);
        inputs[1..].iter().try_fold(inputs[0], |so_far, next| {
            let line = self.add(HopOp::Concat, &[so_far, line_end], call.span)?;
            self.add(HopOp::Concat, &[line, *next], call.span)
        })
    }

    fn log(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let log = HopOp::Unary(UnaryOp::Log);
        let inputs = self.inputs(call)?;
        let logarithm = self.add(log.clone(), &inputs[..1], call.span)?;
        let Some(&base) = inputs.get(1) else { return Ok(logarithm) };
        let divisor = self.add(log, &[base], call.span)?;
        self.add(HopOp::Binary(BinaryOp::Div), &[logarithm, divisor], call.span)
    }

    /// Several arguments cell by cell: one operator for matrices, pairs of operators for scalars and few arguments.
    fn nary(&mut self, call: &Bind<'_>, op: NaryOp) -> Lowered<HopId> {
        let values = self.inputs(call)?;
        let has_matrix = values.iter().any(|&value| self.blocks.dag[value].is_matrix());
        match op.fold() {
            Some(fold) if values.len() == 2 || !has_matrix => {
                let add = |so_far: HopId, next: &HopId| self.add(HopOp::Binary(fold), &[so_far, *next], call.span);
                values[1..].iter().try_fold(values[0], add)
            }
            _ => self.add(HopOp::Nary(op), &values, call.span),
        }
    }

    /// A vector of biases, one per group of columns, as a row.
    fn bias(&mut self, call: &Bind<'_>, op: BinaryOp) -> Lowered<HopId> {
        let inputs = self.inputs(call)?;
        let cols = self.extent(inputs[0], ShapeOp::Ncol, call.span)?;
        let row = self.add(HopOp::DataGen(DataGenOp::Expand), &[inputs[1], cols], call.span)?;
        self.add(HopOp::Binary(op), &[inputs[0], row], call.span)
    }

    /// `outer(u, v, "op")`.
    fn outer(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let [Some(left), Some(right), Some(op)] = call.bound.slots[..] else {
            unreachable!("all three parameters are required")
        };
        let text = self.expression(op)?;
        let Some(Value::Str(text)) = self.blocks.dag.literal_value(text) else {
            let error =
                Diagnostic::new(op.span, "`outer` needs its operation as a constant text").here("not a constant");
            return self.report(error.help("write `outer(u, v, \"*\")`"));
        };
        let named = BinaryOp::ALL.iter().find(|known| known.dml() == Some(text.as_str()));
        let Some(&named) = named else {
            let known: Vec<&str> = BinaryOp::ALL.iter().filter_map(|known| known.dml()).collect();
            let error = Diagnostic::new(op.span, format!("there is no operation `{text}`")).here("unknown");
            return self.report(error.help(format!("the operations are {}", known.join(" "))));
        };
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        self.add(HopOp::Outer(named), &[left, right], call.span)
    }

    fn data_gen(&mut self, call: &Bind<'_>, op: DataGenOp) -> Lowered<HopId> {
        let mut inputs = Vec::new();
        let is_matrix = op == DataGenOp::Matrix;
        let count = if is_matrix { 3 } else { call.builtin.parameters.len() };
        for (position, parameter) in call.builtin.parameters.iter().enumerate().take(count) {
            if let Some(mut input) = self.argument_or_default(call, position)? {
                let may_be_matrix = is_matrix && position == 0;
                if may_be_matrix && self.blocks.dag[input].data_type == DataType::List {
                    input = self.add(HopOp::Cast(CastOp::AsMatrix), &[input], call.span)?;
                }
                if !may_be_matrix && self.blocks.dag[input].is_matrix() {
                    let place = call.bound.slots[position].map_or(call.span, |argument| argument.span);
                    return self.matrix_for_scalar(call.builtin.name, parameter.name, place);
                }
                inputs.push(input);
            }
        }
        match op {
            DataGenOp::Seq if inputs.len() == 2 => {
                let increment = self.implied_increment(inputs[0], inputs[1], call.span)?;
                inputs.push(increment);
            }
            DataGenOp::Matrix => {
                let by_row = self.constant_flag(call, 3)?;
                return self.matrix(&inputs, by_row, call.span);
            }
            DataGenOp::Rand => {
                let mean = inputs.split_off(7);
                let is_poisson = self.blocks.dag.literal_value(inputs[6]) == Some(&Value::Str("poisson".to_owned()));
                if is_poisson {
                    inputs[2] = mean[0];
                }
            }
            DataGenOp::Seq | DataGenOp::Expand => {}
        }
        self.add(HopOp::DataGen(op), &inputs, call.span)
    }

    /// Cells row by row, or column by column: the transpose of the cells row by row of a transposed matrix. The cells of
    /// a matrix are then taken column by column, too.
    fn matrix(&mut self, inputs: &[HopId], by_row: bool, span: Span) -> Lowered<HopId> {
        let matrix = HopOp::DataGen(DataGenOp::Matrix);
        let transpose = HopOp::Reorg(ReorgOp::Transpose);
        let [mut data, rows, cols] = inputs[..] else { unreachable!("`matrix` has three inputs") };
        if by_row {
            return self.add(matrix, inputs, span);
        }
        if !self.blocks.dag[data].is_scalar() {
            data = self.add(transpose.clone(), &[data], span)?;
        }
        let transposed = self.add(matrix, &[data, cols, rows], span)?;
        self.add(transpose, &[transposed], span)
    }

    pub(super) fn matrix_for_scalar<T>(&mut self, function: &str, parameter: &str, place: Span) -> Lowered<T> {
        let message = format!("`{function}` needs a scalar as `{parameter}`, not {}", type_name(DataType::MATRIX));
        let error = Diagnostic::new(place, message).here("a matrix");
        self.report(error.help("convert a 1 x 1 matrix with `as.scalar(...)`"))
    }

    /// 1, or -1 where the sequence falls.
    fn implied_increment(&mut self, from: HopId, to: HopId, span: Span) -> Lowered<HopId> {
        let (up, down) = (Value::I64(1), Value::I64(-1));
        let dag = &self.blocks.dag;
        if let (Some(first), Some(last)) = (dag.literal_f64(from), dag.literal_f64(to)) {
            return Ok(self.literal(if first > last { down } else { up }, span));
        }
        let falls = self.add(HopOp::Binary(BinaryOp::Greater), &[from, to], span)?;
        let (up, down) = (self.literal(up, span), self.literal(down, span));
        self.add(HopOp::Ternary(TernaryOp::IfElse), &[falls, down, up], span)
    }

    /// `exists(x)` or `exists("x")`: whether a variable has a value, as far as the script alone tells.
    fn exists(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let argument = call.bound.slots[0].map(|argument| &argument.kind);
        let Some(ExpressionKind::Variable(name) | ExpressionKind::Literal(Value::Str(name))) = argument else {
            let error = Diagnostic::new(call.span, "`exists` needs the name of a variable").here("here");
            return self.report(error.help("write `exists(x)` or `exists(\"x\")`"));
        };
        match self.scope.is_assigned(name) {
            Some(is_assigned) => Ok(self.literal(Value::Bool(is_assigned), call.span)),
            None => {
                let message = format!("whether `{name}` exists depends on the path to this place");
                let error = Diagnostic::new(call.span, message).here("assigned on some paths only");
                self.report(error.help(format!("assign `{name}` a default before, and compare with that")))
            }
        }
    }

    /// `ifdef($name, default)`: the default is evaluated only where the argument was not passed.
    fn ifdef(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let [Some(Expression { kind: ExpressionKind::ScriptArgument(name), span, .. }), Some(default)] =
            call.bound.slots[..]
        else {
            let error = Diagnostic::new(call.span, "the first argument of `ifdef` must be a script argument");
            return self.report(error.here("here").help("write `ifdef($name, default)`"));
        };
        match self.arguments.get(name) {
            Some(argument) => Ok(self.literal(argument.0.clone(), *span)),
            None => self.expression(default),
        }
    }
}
