//! Expressions to operators of the current DAG. Calls of user functions within them were hoisted before.

use super::evaluation::Evaluated;
use super::function::{named_constant, negated};
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind, Infix, Prefix, Range, Ranges};
use crate::diagnostic::Diagnostic;
use crate::suggest;
use fuseline_ir::builtins;
use fuseline_ir::hop::infer::ShapeError;
use fuseline_ir::hop::{Function, Hop, HopId, HopOp, Inputs, ShapeOp, Span};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use fuseline_ir::size::SizeInfo;
use fuseline_ir::types::{DataType, Value};

impl Lowerer<'_> {
    pub(super) fn expression(&mut self, expression: &Expression) -> Lowered<HopId> {
        // Chains such as `a + b + c + ...` lean to the left: a loop over them needs no stack.
        let mut chain = Vec::new();
        let mut leftmost = expression;
        while let ExpressionKind::Infix(op, left, right) = &leftmost.kind {
            chain.push((*op, &**right, leftmost.span));
            leftmost = left;
        }
        let mut value = self.operand(leftmost)?;
        for (op, right, span) in chain.into_iter().rev() {
            let right = self.expression(right)?;
            value = self.infix(op, value, right, span)?;
        }
        Ok(value)
    }

    fn operand(&mut self, expression: &Expression) -> Lowered<HopId> {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Literal(value) => Ok(self.literal(value.clone(), span)),
            ExpressionKind::Variable(name) => self.read_variable(name, span),
            ExpressionKind::ScriptArgument(name) => self.script_argument(name, span),
            ExpressionKind::Prefix(op, operand) => self.prefix(*op, operand, span),
            ExpressionKind::Infix(..) => self.expression(expression),
            ExpressionKind::Call(call) => self.call_value(call, span),
            ExpressionKind::List(elements) => {
                let inputs = elements.iter().map(|element| self.expression(element)).collect::<Lowered<Vec<_>>>()?;
                self.add(HopOp::Parameterized { function: Function::List, names: Vec::new() }, &inputs, span)
            }
            ExpressionKind::Index(base, ranges) => {
                let base = self.expression(base)?;
                let bounds = self.bounds(base, ranges, span)?;
                self.indexed(base, bounds, span)
            }
        }
    }

    pub(super) fn literal(&mut self, value: Value, span: Span) -> HopId {
        let id = self.blocks.dag.literal(value);
        self.blocks.dag.hops[id].span = Some(span);
        id
    }

    /// The current value of a variable, read once per DAG.
    pub(super) fn read_variable(&mut self, name: &str, span: Span) -> Lowered<HopId> {
        let variable = self.renamed.get(name).map_or(name, String::as_str).to_owned();
        if let Some(value) = self.blocks.values.get(&variable) {
            return Ok(*value);
        }
        let Some(data_type) = self.scope.get(name) else {
            return match named_constant(name) {
                Some(value) => Ok(self.literal(value, span)),
                None => self.undefined(name, span),
            };
        };
        let op = HopOp::Read(variable.clone());
        let hop = Hop { op, inputs: Inputs::new(), data_type, size: SizeInfo::UNKNOWN, span: Some(span) };
        let id = self.blocks.dag.push(hop);
        self.blocks.values.insert(variable, id);
        Ok(id)
    }

    fn undefined<T>(&mut self, name: &str, span: Span) -> Lowered<T> {
        let error = Diagnostic::new(span, format!("the variable `{name}` is not defined")).here("not defined");
        let is_function = builtins::find(name).is_some() || self.signatures.contains_key(name);
        let help = if is_function {
            Some(format!("`{name}` is a function; call it with `{name}(...)`"))
        } else {
            suggest::nearest(name, self.scope.names())
        };
        self.report(error.maybe_help(help))
    }

    fn script_argument(&mut self, name: &str, span: Span) -> Lowered<HopId> {
        if let Some(argument) = self.arguments.get(name) {
            return Ok(self.literal(argument.0.clone(), span));
        }
        let error = Diagnostic::new(span, format!("the argument `${name}` is missing")).here("needed here");
        let option = if name.starts_with(|c: char| c.is_ascii_digit()) { "--args ..." } else { "--nvargs" };
        let pass = if option == "--nvargs" { format!("--nvargs {name}=...") } else { option.to_owned() };
        self.report(error.help(format!("pass it with `{pass}`, or give a default with `ifdef(${name}, ...)`")))
    }

    fn prefix(&mut self, op: Prefix, operand: &Expression, span: Span) -> Lowered<HopId> {
        if let (Prefix::Minus, ExpressionKind::Literal(value)) = (op, &operand.kind)
            && let Some(negative) = negated(value)
        {
            return Ok(self.literal(negative, span));
        }
        let value = self.expression(operand)?;
        match op {
            Prefix::Plus => Ok(value),
            Prefix::Not => self.add(HopOp::Unary(UnaryOp::Not), &[value], span),
            Prefix::Minus => self.add(HopOp::Unary(UnaryOp::Neg), &[value], span),
        }
    }

    pub(super) fn infix(&mut self, op: Infix, left: HopId, right: HopId, span: Span) -> Lowered<HopId> {
        let op = match op {
            Infix::MatMul => HopOp::MatMul,
            Infix::Elementwise(BinaryOp::Plus) if self.is_text(left) || self.is_text(right) => {
                return self.concatenation(left, right, span);
            }
            Infix::Elementwise(op) => match self.frame_comparison(op, [left, right], span) {
                Some(compared) => return compared,
                None => HopOp::Binary(op),
            },
        };
        self.add(op, &[left, right], span)
    }

    fn is_text(&self, id: HopId) -> bool {
        self.blocks.dag[id].data_type == DataType::STR
    }

    fn concatenation(&mut self, left: HopId, right: HopId, span: Span) -> Lowered<HopId> {
        if let Some(matrix) = [left, right].into_iter().find(|id| self.blocks.dag[*id].is_matrix()) {
            let place = self.blocks.dag[matrix].span.unwrap_or(span);
            let error = Diagnostic::new(span, "a text and a matrix cannot be concatenated").label(place, "a matrix");
            return self
                .report(error.help("convert the matrix with `toString(...)`, or a single cell with `as.scalar(...)`"));
        }
        self.add(HopOp::Concat, &[left, right], span)
    }

    fn call_value(&mut self, call: &Call, span: Span) -> Lowered<HopId> {
        if let Some(variable) = self.hoisted.get(&span).cloned() {
            return self.read_variable(&variable, span);
        }
        if let Some(all_results) = self.wants_all_results(call) {
            return match self.evaluated(call, all_results)? {
                Evaluated::Plain(plain) => self.call_value(&plain, span),
                Evaluated::AtRunTime => unreachable!("what is known at run time alone was hoisted"),
            };
        }
        let Some(builtin) = self.builtin_function(call) else {
            return self.unknown_function(call);
        };
        if !builtin.lowering.has_value() {
            let error = Diagnostic::new(span, format!("`{}` has no value", builtin.name)).here("used as a value");
            return self.report(error.help("write it as a statement of its own"));
        }
        let results = builtin.lowering.results();
        if results != 1 {
            let message = format!("`{}` gives {results} results, an expression needs one", builtin.name);
            return self.report(Diagnostic::new(span, message).here("used here"));
        }
        self.builtin(builtin, call, span)
    }

    /// First and last row, first and last column of an index; one row or column has the same operator at both ends.
    pub(super) fn bounds(&mut self, base: HopId, ranges: &Ranges, span: Span) -> Lowered<[HopId; 4]> {
        let (first_row, last_row) = self.range(base, &ranges.rows, ShapeOp::Nrow, span)?;
        let (first_col, last_col) = self.range(base, &ranges.cols, ShapeOp::Ncol, span)?;
        Ok([first_row, last_row, first_col, last_col])
    }

    fn range(&mut self, base: HopId, range: &Range, extent: ShapeOp, span: Span) -> Lowered<(HopId, HopId)> {
        match range {
            Range::All => {
                let first = self.literal(Value::I64(1), span);
                Ok((first, self.extent(base, extent, span)?))
            }
            Range::Single(at) => {
                let at = self.expression(at)?;
                Ok((at, at))
            }
            Range::Between(first, last) => Ok((self.expression(first)?, self.expression(last)?)),
        }
    }

    /// The number of rows or columns: a literal where it is known.
    pub(super) fn extent(&mut self, base: HopId, extent: ShapeOp, span: Span) -> Lowered<HopId> {
        let size = self.blocks.dag[base].size;
        let known = match extent {
            ShapeOp::Nrow => size.rows,
            ShapeOp::Ncol => size.cols,
            ShapeOp::Length => size.cells(),
        };
        match known.and_then(|known| i64::try_from(known).ok()) {
            Some(known) => Ok(self.literal(Value::I64(known), span)),
            None => self.add(HopOp::Shape(extent), &[base], span),
        }
    }

    pub(super) fn indexed(&mut self, base: HopId, bounds: [HopId; 4], span: Span) -> Lowered<HopId> {
        let [first_row, last_row, first_col, last_col] = bounds;
        self.add(HopOp::Index, &[base, first_row, last_row, first_col, last_col], span)
    }

    /// Appends an operator, or says why its inputs do not fit and where they come from.
    pub(super) fn add(&mut self, op: HopOp, inputs: &[HopId], span: Span) -> Lowered<HopId> {
        match self.blocks.dag.add(op, inputs, Some(span)) {
            Ok(id) => Ok(id),
            Err(error) => {
                let mut diagnostic = Diagnostic::new(span, without_nnz(error.clone()).to_string());
                let described = match error {
                    ShapeError::Dimensions { .. } | ShapeError::Type { .. } | ShapeError::Size { .. } => 2,
                    ShapeError::Range { .. } => 1,
                    _ => 0,
                };
                for &input in inputs.iter().take(described) {
                    diagnostic = self.describe_input(diagnostic, input);
                }
                if let ShapeError::Range { .. } = error {
                    diagnostic = diagnostic.here("outside").help("rows and columns are counted from 1");
                }
                self.report(diagnostic)
            }
        }
    }

    /// Marks where an input was computed, and what it is.
    fn describe_input(&self, diagnostic: Diagnostic, input: HopId) -> Diagnostic {
        let hop = &self.blocks.dag[input];
        let Some(place) = hop.span else { return diagnostic };
        match hop.data_type {
            DataType::Matrix(_) if hop.size == SizeInfo::UNKNOWN => diagnostic.label(place, "a matrix"),
            DataType::Matrix(_) => diagnostic.label(place, format!("a matrix {}", SizeInfo { nnz: None, ..hop.size })),
            DataType::Scalar(_) | DataType::List | DataType::Frame => {
                diagnostic.label(place, super::bind::type_name(hop.data_type))
            }
            DataType::Unknown => diagnostic,
        }
    }
}

/// The error with the dimensions alone, which are what it is about.
fn without_nnz(mut error: ShapeError) -> ShapeError {
    match &mut error {
        ShapeError::Dimensions { left, right, .. } => (left.nnz, right.nnz) = (None, None),
        ShapeError::Range { size, .. } => size.nnz = None,
        _ => {}
    }
    error
}
