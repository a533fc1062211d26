//! Calls of user functions and of the clock: bound, and hoisted to stand between blocks.

use super::bind::{Callable, type_name};
use super::function::{Signature, convert};
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind, ParameterDefinition};
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::{CastOp, Function, HopId, HopOp, Span};
use fuseline_ir::program::{self, StatementBlock};
use fuseline_ir::types::DataType;

impl<'a> Lowerer<'a> {
    /// Emits the calls of user functions and of the clock within expressions, innermost first, as blocks of their own.
    pub(super) fn hoist(&mut self, expressions: &[&Expression]) -> Lowered<()> {
        for expression in self.calls_within(expressions) {
            let ExpressionKind::Call(call) = &expression.kind else { continue };
            let Some(signature) = self.user_function(call) else {
                if is_clock(call) {
                    self.read_clock(expression.span)?;
                }
                continue;
            };
            if signature.result_count() == 0 {
                let error = Diagnostic::new(expression.span, format!("`{}` gives no result", signature.shown));
                return self.report(self.defined_at(error.here("used as a value"), signature));
            }
            let target = self.temporary(expression.span).text;
            self.call(call, expression.span, vec![Some(target.clone())])?;
            self.hoisted.insert(expression.span, target);
        }
        Ok(())
    }

    /// Emits `time()` as a block of its own: what stands before it is computed before it, what stands after it after.
    fn read_clock(&mut self, span: Span) -> Lowered<()> {
        let target = self.temporary(span).text;
        self.blocks.cut();
        let time = self.add(HopOp::Parameterized { function: Function::Time, names: Vec::new() }, &[], span)?;
        self.scope.set(&target, DataType::I64);
        self.blocks.assign(&target, time);
        self.blocks.cut();
        self.hoisted.insert(span, target);
        Ok(())
    }

    pub(super) fn defined_at(&self, error: Diagnostic, signature: &Signature<'_>) -> Diagnostic {
        error.label(signature.span(), "defined here")
    }

    /// Emits a call of a user function, whose first results the targets take; calls within its arguments must have been
    /// hoisted.
    pub(super) fn call(&mut self, call: &Call, span: Span, mut targets: Vec<Option<String>>) -> Lowered<()> {
        let Some(signature) = self.user_function(call) else { return self.unknown_function(call) };
        let callable = Callable::of_user_function(signature, &self.loaded.sources);
        let bound = match callable.bind(call, span) {
            Ok(bound) => bound,
            Err(error) => return self.report(error),
        };
        self.blocks.cut();
        for (parameter, argument) in signature.definition.parameters.iter().zip(&bound.slots) {
            let value = match argument {
                Some(argument) => {
                    let value = self.expression(argument)?;
                    let what = format!("the argument `{}` of `{}`", parameter.name.text, signature.shown);
                    self.convert(value, parameter.data_type, argument.span, &what)?
                }
                None => self.default_of_call(signature, parameter)?,
            };
            self.blocks.dag.write(&parameter.name.text, value);
        }
        let arguments = self.blocks.take_dag();
        for (target, result) in targets.iter().zip(&signature.definition.results) {
            if let Some(target) = target {
                self.scope.set(target, result.data_type);
            }
        }
        targets.resize(signature.result_count(), None);
        let function = signature.name.clone();
        self.blocks.push(StatementBlock::Call(program::Call { function, arguments, targets, span: Some(span) }));
        Ok(())
    }

    /// What is wrong with a default was reported where it is written.
    fn default_of_call(&mut self, signature: &Signature<'a>, parameter: &ParameterDefinition) -> Lowered<HopId> {
        let errors = self.errors.len();
        let value = self.default_value(signature, parameter);
        self.errors.truncate(errors);
        value
    }

    /// The value as one of the declared type: numbers convert among each other, and what is unknown is left to run
    /// time.
    pub(super) fn convert(&mut self, value: HopId, declared: DataType, span: Span, what: &str) -> Lowered<HopId> {
        let actual = self.blocks.dag[value].data_type;
        if actual == declared || actual == DataType::Unknown || declared == DataType::Unknown {
            return Ok(value);
        }
        if let Some(literal) =
            self.blocks.dag.literal_value(value).cloned().and_then(|literal| convert(literal, declared))
        {
            return Ok(self.literal(literal, span));
        }
        let cast = match declared {
            DataType::F64 => Some(CastOp::AsDouble),
            DataType::I64 => Some(CastOp::AsInteger),
            DataType::BOOL => Some(CastOp::AsLogical),
            _ => None,
        };
        match cast.filter(|_| actual.is_scalar() && actual != DataType::STR) {
            Some(cast) => self.add(HopOp::Cast(cast), &[value], span),
            None => {
                let (expected, found) = (type_name(declared), type_name(actual));
                let error = Diagnostic::new(span, format!("{what} is declared as {expected}, not {found}")).here(found);
                let help = match (actual, declared) {
                    (DataType::Matrix, DataType::F64 | DataType::I64 | DataType::BOOL) => Some("as.scalar"),
                    (DataType::F64 | DataType::I64 | DataType::BOOL, DataType::Matrix) => Some("as.matrix"),
                    _ => None,
                };
                self.report(error.maybe_help(help.map(|function| format!("convert it with `{function}(...)`"))))
            }
        }
    }

    /// All calls within expressions, innermost and leftmost first.
    fn calls_within<'e>(&self, expressions: &[&'e Expression]) -> Vec<&'e Expression> {
        // Each node before its children, right to left; reversed below. A stack of our own: chains may be long.
        let mut calls = Vec::new();
        let mut pending: Vec<&Expression> = expressions.to_vec();
        while let Some(expression) = pending.pop() {
            if let ExpressionKind::Call(call) = &expression.kind {
                // What is not evaluated must not call.
                if self.is_decided_ifdef(call) {
                    continue;
                }
                calls.push(expression);
            }
            pending.extend(expression.children());
        }
        calls.reverse();
        calls
    }

    /// Whether a call is an `ifdef` of an argument that was passed.
    fn is_decided_ifdef(&self, call: &Call) -> bool {
        let tested = call.arguments.first().map(|argument| &argument.value.kind);
        let Some(ExpressionKind::ScriptArgument(name)) = tested else { return false };
        call.namespace.is_none() && call.function.text == "ifdef" && self.arguments.contains_key(name)
    }
}

/// Whether a call that is none of a user function is `time()`.
fn is_clock(call: &Call) -> bool {
    call.namespace.is_none() && call.function.text == "time" && call.arguments.is_empty()
}
