//! Calls of user functions: resolved, bound, and hoisted to stand between blocks.

use super::bind::{Callable, type_name};
use super::function::{Signature, convert};
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use crate::suggest;
use fuseline_ir::builtins;
use fuseline_ir::hop::{CastOp, HopId, HopOp, Span};
use fuseline_ir::program::{self, StatementBlock};
use fuseline_ir::types::DataType;

impl<'a> Lowerer<'a> {
    /// The user function that a call means, if it means one.
    pub(super) fn user_function(&self, call: &Call) -> Option<&'a Signature> {
        let prefix = match &call.namespace {
            Some(namespace) => self.file.imports.get(&namespace.text)?,
            None => &self.file.prefix,
        };
        self.signatures.get(&format!("{prefix}{}", call.function.text))
    }

    /// Says that a call means no function.
    pub(super) fn unknown_function<T>(&mut self, call: &Call) -> Lowered<T> {
        let name = &call.function;
        if let Some(namespace) = &call.namespace {
            let Some(prefix) = self.file.imports.get(&namespace.text) else {
                let error = Diagnostic::new(namespace.span, format!("there is no namespace `{}`", namespace.text));
                let known = suggest::nearest(&namespace.text, self.file.imports.keys().map(String::as_str));
                let help = format!("write `source(\"file.dml\") as {}` first", namespace.text);
                return self.report(error.help(help).maybe_help(known));
            };
            let known = self.signatures.keys().filter_map(|function| function.strip_prefix(prefix.as_str()));
            let help = suggest::nearest(&name.text, known);
            let message = format!("the namespace `{}` has no function `{}`", namespace.text, name.text);
            return self.report(Diagnostic::new(name.span, message).here("not found").maybe_help(help));
        }
        if builtins::is_not_yet(&name.text) {
            let message = format!("the builtin function `{}` is not supported yet", name.text);
            return self.report(Diagnostic::new(name.span, message).here("not supported yet"));
        }
        let mut known: Vec<&str> = builtins::not_yet().collect();
        known.extend(builtins::BUILTINS.iter().map(|builtin| builtin.name));
        known.extend(self.signatures.keys().filter_map(|function| function.strip_prefix(self.file.prefix.as_str())));
        let help = suggest::nearest(&name.text, known);
        let error = Diagnostic::new(name.span, format!("there is no function `{}`", name.text)).here("not found");
        self.report(error.maybe_help(help))
    }

    /// Emits the calls of user functions within expressions, innermost first, as blocks of their own.
    pub(super) fn hoist(&mut self, expressions: &[&Expression]) -> Lowered<()> {
        for expression in self.calls_within(expressions) {
            let ExpressionKind::Call(call) = &expression.kind else { continue };
            let Some(signature) = self.user_function(call) else { continue };
            if signature.results.len() != 1 {
                let (name, count) = (&signature.name, signature.results.len());
                let message = format!("`{name}` gives {count} results, an expression needs one");
                return self
                    .report(self.defined_at(Diagnostic::new(expression.span, message).here("used here"), signature));
            }
            let target = self.temporary(expression.span).text;
            self.call(call, expression.span, vec![Some(target.clone())])?;
            self.hoisted.insert(expression.span, target);
        }
        Ok(())
    }

    pub(super) fn defined_at(&self, error: Diagnostic, signature: &Signature) -> Diagnostic {
        error.label(signature.span, "defined here")
    }

    /// Emits a call of a user function; calls within its arguments must have been hoisted.
    pub(super) fn call(&mut self, call: &Call, span: Span, targets: Vec<Option<String>>) -> Lowered<()> {
        let Some(signature) = self.user_function(call) else { return self.unknown_function(call) };
        let callable = Callable::of_user_function(&signature.name, &signature.parameters);
        let bound = match callable.bind(call, span) {
            Ok(bound) => bound,
            Err(error) => return self.report(error),
        };
        self.blocks.cut();
        for (parameter, argument) in signature.parameters.iter().zip(&bound.slots) {
            let Some(argument) = argument else { continue };
            let value = self.expression(argument)?;
            let what = format!("the argument `{}` of `{}`", parameter.name, signature.name);
            let value = self.convert(value, parameter.data_type, argument.span, &what)?;
            self.blocks.dag.write(&parameter.name, value);
        }
        let arguments = self.blocks.take_dag();
        for (target, result) in targets.iter().zip(&signature.results) {
            if let Some(target) = target {
                self.scope.set(target, result.data_type);
            }
        }
        let function = signature.name.clone();
        self.blocks.push(StatementBlock::Call(program::Call { function, arguments, targets, span: Some(span) }));
        Ok(())
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
            match &expression.kind {
                // What is not evaluated must not call.
                ExpressionKind::Call(call) if self.is_decided_ifdef(call) => {}
                ExpressionKind::Call(call) => {
                    calls.push(expression);
                    pending.extend(call.arguments.iter().map(|argument| &argument.value));
                }
                ExpressionKind::Prefix(_, operand) => pending.push(operand),
                ExpressionKind::Infix(_, left, right) => pending.extend([&**left, &**right]),
                ExpressionKind::Index(base, ranges) => {
                    pending.push(base);
                    pending.extend(ranges.rows.expressions().chain(ranges.cols.expressions()));
                }
                ExpressionKind::Literal(_) | ExpressionKind::Variable(_) | ExpressionKind::ScriptArgument(_) => {}
            }
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
