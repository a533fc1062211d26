//! Calls of builtin functions, by their rows in [`fuseline_ir::builtins`].

use super::bind::{Bound, Callable, type_name};
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use fuseline_ir::builtins::{Builtin, Lowering, Presence};
use fuseline_ir::hop::{DataGenOp, Function, Hop, HopId, HopOp, ReorgOp, Span};
use fuseline_ir::ops::{BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::size::SizeInfo;
use fuseline_ir::types::{DataType, Value};

/// A call being lowered: its row, its arguments by parameter, and its place.
struct Bind<'e> {
    builtin: &'static Builtin,
    bound: Bound<'e>,
    span: Span,
}

impl Lowerer<'_> {
    /// The operator of a call, with or without a value.
    pub(super) fn builtin(&mut self, builtin: &'static Builtin, call: &Call, span: Span) -> Lowered<HopId> {
        let bound = match Callable::of_builtin(builtin).bind(call, span) {
            Ok(bound) => bound,
            Err(error) => return self.report(error),
        };
        let call = Bind { builtin, bound, span };
        match builtin.lowering {
            Lowering::Unary(op) => self.with_inputs(&call, HopOp::Unary(op)),
            Lowering::Aggregate(op, direction) => self.with_inputs(&call, HopOp::AggUnary(op, direction)),
            Lowering::Shape(op) => self.with_inputs(&call, HopOp::Shape(op)),
            Lowering::Transpose => self.with_inputs(&call, HopOp::Reorg(ReorgOp::Transpose)),
            Lowering::Nary(op) => self.with_inputs(&call, HopOp::Nary(op)),
            Lowering::IfElse => self.with_inputs(&call, HopOp::Ternary(TernaryOp::IfElse)),
            Lowering::Cast(op) => self.with_inputs(&call, HopOp::Cast(op)),
            Lowering::AggregateOrFold(op, _) if call.bound.rest.is_empty() => {
                self.with_inputs(&call, HopOp::AggUnary(op, Direction::Full))
            }
            Lowering::AggregateOrFold(_, op) => {
                let values = self.inputs(&call)?;
                let fold = |so_far: HopId, next: &HopId| self.add(HopOp::Binary(op), &[so_far, *next], span);
                values[1..].iter().try_fold(values[0], fold)
            }
            Lowering::Log => self.log(&call),
            Lowering::DataGen(op) => self.data_gen(&call, op),
            Lowering::Function(function) => self.function_call(&call, function),
            Lowering::IfDef => self.ifdef(&call),
        }
    }

    /// The arguments that were given, in the order of the parameters, then those beyond.
    fn inputs(&mut self, call: &Bind<'_>) -> Lowered<Vec<HopId>> {
        let given = call.bound.slots.iter().flatten().chain(&call.bound.rest);
        given.map(|argument| self.expression(argument)).collect()
    }

    fn with_inputs(&mut self, call: &Bind<'_>, op: HopOp) -> Lowered<HopId> {
        let inputs = self.inputs(call)?;
        self.add(op, &inputs, call.span)
    }

    /// The argument of a parameter, or its default.
    fn argument_or_default(&mut self, call: &Bind<'_>, position: usize) -> Lowered<Option<HopId>> {
        match call.bound.slots[position] {
            Some(argument) => self.expression(argument).map(Some),
            None => {
                let default = call.builtin.parameters[position].presence.default_value();
                Ok(default.map(|value| self.literal(value, call.span)))
            }
        }
    }

    fn log(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let log = HopOp::Unary(UnaryOp::Log);
        let inputs = self.inputs(call)?;
        let logarithm = self.add(log.clone(), &inputs[..1], call.span)?;
        let Some(&base) = inputs.get(1) else { return Ok(logarithm) };
        let divisor = self.add(log, &[base], call.span)?;
        self.add(HopOp::Binary(BinaryOp::Div), &[logarithm, divisor], call.span)
    }

    fn data_gen(&mut self, call: &Bind<'_>, op: DataGenOp) -> Lowered<HopId> {
        let mut inputs = Vec::new();
        let (mut count, is_matrix) = (call.builtin.parameters.len(), op == DataGenOp::Matrix);
        if is_matrix {
            count = 3;
            self.check_byrow(call.bound.slots[3])?;
        }
        for (position, parameter) in call.builtin.parameters.iter().enumerate().take(count) {
            if let Some(input) = self.argument_or_default(call, position)? {
                let may_be_matrix = is_matrix && position == 0;
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
            DataGenOp::Matrix | DataGenOp::Seq | DataGenOp::Rand => {}
        }
        self.add(HopOp::DataGen(op), &inputs, call.span)
    }

    fn matrix_for_scalar<T>(&mut self, function: &str, parameter: &str, place: Span) -> Lowered<T> {
        let message = format!("`{function}` needs a scalar as `{parameter}`, not {}", type_name(DataType::Matrix));
        let error = Diagnostic::new(place, message).here("a matrix");
        self.report(error.help("convert a 1 x 1 matrix with `as.scalar(...)`"))
    }

    /// The operator fills row by row; the other order has no operator yet.
    fn check_byrow(&mut self, byrow: Option<&Expression>) -> Lowered<()> {
        match byrow {
            None | Some(Expression { kind: ExpressionKind::Literal(Value::Bool(true)), .. }) => Ok(()),
            Some(other) => {
                let message = "`matrix` fills row by row; another `byrow` is not supported yet";
                let help = "swap `rows` and `cols`, and transpose the result with `t(...)`";
                self.report(Diagnostic::new(other.span, message).here("must be TRUE").help(help))
            }
        }
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

    /// Required parameters become inputs by position, others named inputs.
    fn function_call(&mut self, call: &Bind<'_>, function: Function) -> Lowered<HopId> {
        let (mut inputs, mut names) = (Vec::new(), Vec::new());
        for (parameter, argument) in call.builtin.parameters.iter().zip(&call.bound.slots) {
            let Some(argument) = argument else { continue };
            inputs.push(self.expression(argument)?);
            if parameter.presence != Presence::Required {
                names.push(parameter.name.to_owned());
            }
        }
        self.check_function(call, function, &inputs)?;
        let id = self.add(HopOp::Parameterized { function, names }, &inputs, call.span)?;
        if function == Function::Read {
            self.declare_read(call, id)?;
        }
        Ok(id)
    }

    /// Gives a `read` the type and the dimensions that its arguments state.
    fn declare_read(&mut self, call: &Bind<'_>, id: HopId) -> Lowered<()> {
        let is_scalar = match self.named_text(id, "data_type").as_deref() {
            None | Some("matrix") => false,
            Some("scalar") => true,
            Some(other) => {
                let message = format!("`read` gives a matrix or a scalar; `{other}` is not supported");
                return self.report(Diagnostic::new(call.span, message));
            }
        };
        if !is_scalar {
            let count = |value: f64| (value >= 0.0).then_some(value as u64);
            let number = |name: &str| {
                let input = named_input(&self.blocks.dag[id], name)?;
                self.blocks.dag.literal_f64(input).and_then(count)
            };
            let size = SizeInfo { rows: number("rows"), cols: number("cols"), nnz: number("nnz") };
            let fits = size.nnz.zip(size.cells()).is_none_or(|(nnz, cells)| nnz <= cells);
            self.blocks.dag.hops[id].size = SizeInfo { nnz: size.nnz.filter(|_| fits), ..size };
            return Ok(());
        }
        self.blocks.dag.hops[id].data_type = match self.named_text(id, "value_type").as_deref() {
            None | Some("double") => DataType::F64,
            Some("int" | "integer") => DataType::I64,
            Some("boolean") => DataType::BOOL,
            Some("string") => DataType::STR,
            Some(other) => {
                return self.report(Diagnostic::new(call.span, format!("there is no value type `{other}`")));
            }
        };
        Ok(())
    }

    /// The text of a named input of an operator, in lower case, when it is a literal.
    fn named_text(&self, id: HopId, name: &str) -> Option<String> {
        let input = named_input(&self.blocks.dag[id], name)?;
        match self.blocks.dag.literal_value(input) {
            Some(Value::Str(text)) => Some(text.to_lowercase()),
            _ => None,
        }
    }

    fn check_function(&mut self, call: &Bind<'_>, function: Function, inputs: &[HopId]) -> Lowered<()> {
        let takes_matrix = |position: usize| match function {
            Function::Write | Function::ToString => position == 0,
            Function::Read | Function::Print | Function::Stop | Function::Assert | Function::Time => false,
        };
        let wrong = (0..inputs.len()).find(|&at| self.blocks.dag[inputs[at]].is_matrix() && !takes_matrix(at));
        let Some(wrong) = wrong else { return Ok(()) };
        let place = self.blocks.dag[inputs[wrong]].span.unwrap_or(call.span);
        if function == Function::Print {
            let error = Diagnostic::new(call.span, "`print` prints scalars and texts, not matrices").here("a matrix");
            return self
                .report(error.help("convert the matrix with `toString(...)`, or a single cell with `as.scalar(...)`"));
        }
        let given = call.builtin.parameters.iter().zip(&call.bound.slots).filter(|(_, slot)| slot.is_some());
        let parameter = given.map(|(parameter, _)| parameter.name).nth(wrong).unwrap_or_default();
        self.matrix_for_scalar(call.builtin.name, parameter, place)
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

/// The input of this name; names are those of the last inputs.
fn named_input(hop: &Hop, name: &str) -> Option<HopId> {
    let HopOp::Parameterized { names, .. } = &hop.op else { return None };
    let position = names.iter().position(|known| known == name)?;
    hop.inputs.get(hop.inputs.len() - names.len() + position).copied()
}
