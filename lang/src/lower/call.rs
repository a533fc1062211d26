//! Calls of user functions and of the clock: bound, and hoisted to stand between blocks.

use super::bind::{Callable, type_name};
use super::function::Signature;
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use fuseline_ir::builtins::Lowering;
use fuseline_ir::hop::{CastOp, Function, HopOp, Span};
use fuseline_ir::program::{self, StatementBlock};
use fuseline_ir::types::DataType;

impl<'a> Lowerer<'a> {
    /// Emits the calls of user functions and of the clock within expressions, innermost first, as blocks of their own.
    pub(super) fn hoist(&mut self, expressions: &[&Expression]) -> Lowered<()> {
        for expression in self.calls_within(expressions) {
            let Some(call) = expression.as_call() else { continue };
            if let Some(all_results) = self.wants_all_results(call) {
                self.hoist_evaluation(call, all_results, expression.span)?;
            } else if self.user_function(call).is_some() {
                self.hoist_call(call, expression.span)?;
            } else if is_clock(call) {
                self.read_clock(expression.span)?;
            } else if self.defaults.is_empty() && self.takes_out_a_value(call) {
                // A default is lowered within the block that the call's arguments are in, which must not end.
                self.take_out(expression)?;
            } else {
                // The bodies of loops are lowered more than once, and types may be known by now.
                self.hoisted.remove(&expression.span);
            }
        }
        Ok(())
    }

    /// Whether a call takes a value out of a list, or makes a matrix of a frame: of a type or a size that the run tells.
    fn takes_out_a_value(&mut self, call: &Call) -> bool {
        let Some(builtin) = self.builtin_function(call) else { return false };
        let argument = call.arguments.first().map(|argument| &argument.value);
        match (builtin.lowering, argument) {
            (Lowering::Function(Function::TransformApply), _) => true,
            (Lowering::Cast(CastOp::AsMatrix), Some(argument)) => {
                matches!(self.type_of(argument), DataType::List | DataType::Frame)
            }
            (Lowering::Cast(CastOp::AsScalar), Some(argument)) => self.type_of(argument) == DataType::List,
            _ => false,
        }
    }

    /// Ends a block with a value, so that its size is known to the block in which it is used, which then fuses.
    fn take_out(&mut self, expression: &Expression) -> Lowered<()> {
        let target = self.temporary(expression.span).text;
        // It would be what it was when the body of a loop was lowered before.
        self.hoisted.remove(&expression.span);
        let value = self.expression(expression)?;
        self.scope.set(&target, self.blocks.dag[value].data_type);
        self.blocks.assign(&target, value);
        self.blocks.cut();
        self.hoisted.insert(expression.span, target);
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

    /// Emits a call of a user function for its first result.
    pub(super) fn hoist_call(&mut self, call: &Call, span: Span) -> Lowered<()> {
        let Some(signature) = self.user_function(call) else { return self.unknown_function(call) };
        if signature.result_count() == 0 {
            let error = Diagnostic::new(span, format!("`{}` gives no result", signature.shown));
            return self.report(self.defined_at(error.here("used as a value"), signature));
        }
        let target = self.temporary(span).text;
        self.call(call, span, vec![Some(target.clone())])?;
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
        for (parameter, value) in self.arguments(signature, &bound)? {
            self.blocks.dag.write(&parameter, value);
        }
        let arguments = self.blocks.take_dag();
        for (target, result) in targets.iter().zip(&signature.definition.results) {
            if let Some(target) = target {
                self.scope.set(target, result.data_type.declared());
            }
        }
        targets.resize(signature.result_count(), None);
        let function = signature.name.clone();
        self.blocks.push(StatementBlock::Call(program::Call { function, arguments, targets, span: Some(span) }));
        Ok(())
    }

    /// Says so where a value of a type cannot be one of the declared type: any number is one of any type of numbers, and
    /// what is unknown is left to run time.
    pub(super) fn check_declared(
        &mut self,
        actual: DataType,
        declared: DataType,
        span: Span,
        what: &str,
    ) -> Lowered<()> {
        let is_open = [actual, declared].contains(&DataType::Unknown);
        if is_open || actual == declared || (actual.is_number() && declared.is_number()) {
            return Ok(());
        }
        let (expected, found) = (type_name(declared), type_name(actual));
        let error = Diagnostic::new(span, format!("{what} is declared as {expected}, not {found}")).here(found);
        let help = match (actual, declared) {
            (DataType::Matrix(_), declared) if declared.is_number() => Some("as.scalar"),
            (actual, DataType::Matrix(_)) if actual.is_number() => Some("as.matrix"),
            _ => None,
        };
        self.report(error.maybe_help(help.map(|function| format!("convert it with `{function}(...)`"))))
    }

    /// All calls within expressions, innermost and leftmost first.
    pub(super) fn calls_within<'e>(&self, expressions: &[&'e Expression]) -> Vec<&'e Expression> {
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
pub(super) fn is_clock(call: &Call) -> bool {
    call.namespace.is_none() && call.function.text == "time" && call.arguments.is_empty()
}
