//! `eval` and `evalList`: calls of functions that a text names.
//!
//! Where the text and the form of the arguments are known, `eval` is a plain call. Else a block of its own evaluates name
//! and arguments, and the call is lowered when the run meets it: then the text, the types of the arguments, and the
//! elements of a list of arguments are known.

use super::function::{Signature, signatures};
use super::{Lowered, Lowerer};
use crate::ParseOptions;
use crate::ast::{Argument, Call, Expression, ExpressionKind, Name};
use crate::diagnostic::Diagnostic;
use crate::load::Loaded;
use fuseline_ir::builtins::Lowering;
use fuseline_ir::hop::{Function, HopId, HopOp, Span};
use fuseline_ir::program::{self, EvaluatedArgument, Evaluation, Program, StatementBlock};
use fuseline_ir::types::{DataType, Value};
use std::collections::BTreeSet;

/// What is known of an `eval` before the script runs.
pub(super) enum Evaluated {
    /// The call that it stands for.
    Plain(Call),
    /// Name or arguments are known at run time.
    AtRunTime,
}

/// The program of a call of what a text names, in the file where the call is written.
pub(crate) fn lower_evaluation(
    loaded: &Loaded,
    evaluation: &Evaluation,
    options: &ParseOptions<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Program {
    let signatures = signatures(loaded, errors);
    let mut program = Program::default();
    for (number, file) in loaded.files.iter().enumerate().filter(|(_, file)| file.is_whole) {
        let mut lowerer = Lowerer::new(file, loaded, options, &signatures);
        lowerer.functions(&mut program);
        if number == evaluation.place.source as usize {
            lowerer.scope = super::Scope::default();
            program.body = lowerer.in_body(|lowerer| {
                // What is wrong was reported.
                let _ = lowerer.evaluation(evaluation);
            });
        }
        errors.append(&mut lowerer.errors);
    }
    program.remove_unreached_functions();
    program
}

impl Call {
    /// The name of the function that an `eval` calls, where that is a constant.
    pub(crate) fn evaluated_name(&self) -> Option<Name> {
        let is_evaluation = self.namespace.is_none() && ["eval", "evalList"].contains(&self.function.text.as_str());
        match self.arguments.first().filter(|_| is_evaluation) {
            Some(Argument {
                name: None,
                value: Expression { kind: ExpressionKind::Literal(Value::Str(text)), span, .. },
            }) => Some(Name { text: text.clone(), span: *span }),
            _ => None,
        }
    }
}

/// A call of a function by the name that a text gives it.
fn call_of(name: &Name, arguments: Vec<Argument>) -> Call {
    let named = |text: &str| Name { text: text.to_owned(), span: name.span };
    match name.text.split_once("::") {
        Some((namespace, function)) => Call { namespace: Some(named(namespace)), function: named(function), arguments },
        None => Call { namespace: None, function: name.clone(), arguments },
    }
}

impl<'a> Lowerer<'a> {
    /// Whether a call is an `eval` or `evalList`, and whether it wants all results.
    pub(super) fn wants_all_results(&mut self, call: &Call) -> Option<bool> {
        match self.builtin_function(call)?.lowering {
            Lowering::Evaluation { all_results } => Some(all_results),
            _ => None,
        }
    }

    /// What is known of an `eval`, whose arguments were hoisted.
    pub(super) fn evaluated(&mut self, call: &Call, all_results: bool) -> Lowered<Evaluated> {
        let Some(name) = call.evaluated_name() else { return Ok(Evaluated::AtRunTime) };
        let mut plain = call_of(&name, call.arguments[1..].to_vec());
        if self.user_function(&plain).is_none() && self.builtin_function(&plain).is_none() {
            return self.unknown_function(&plain);
        }
        if let [Argument { name: None, value }] = plain.arguments.as_slice() {
            if let ExpressionKind::Call(Call { namespace: None, function, arguments }) = &value.kind
                && function.text == "list"
            {
                plain.arguments = arguments.clone();
            } else if matches!(self.type_of(value), DataType::List | DataType::Unknown) {
                return Ok(Evaluated::AtRunTime);
            }
        }
        Ok(if all_results { Evaluated::AtRunTime } else { Evaluated::Plain(plain) })
    }

    /// Hoists an `eval` within an expression, unless it is a plain call of a builtin function.
    pub(super) fn hoist_evaluation(&mut self, call: &Call, all_results: bool, span: Span) -> Lowered<()> {
        match self.evaluated(call, all_results)? {
            Evaluated::Plain(plain) if self.user_function(&plain).is_some() => self.hoist_call(&plain, span),
            Evaluated::Plain(_) => Ok(()),
            Evaluated::AtRunTime => {
                let target = self.temporary(span).text;
                self.evaluate(call, all_results, span, Some(target.clone()))?;
                self.hoisted.insert(span, target);
                Ok(())
            }
        }
    }

    /// Emits an `eval` as a block of its own; its arguments were hoisted.
    pub(super) fn evaluate(
        &mut self,
        call: &Call,
        all_results: bool,
        span: Span,
        target: Option<String>,
    ) -> Lowered<()> {
        let Some((name, arguments)) = call.arguments.split_first().filter(|(name, _)| name.name.is_none()) else {
            let message = format!("`{}` needs the name of a function first", call.function.text);
            let error = Diagnostic::new(span, message).here("without a name");
            return self.report(error.help(format!("write `{}(\"function\", ...)`", call.function.text)));
        };
        self.blocks.cut();
        let text = self.expression(&name.value)?;
        let found = self.blocks.dag[text].data_type;
        if !matches!(found, DataType::STR | DataType::Unknown) {
            let found = super::bind::type_name(found);
            let message = format!("`{}` needs the name of a function as a text, not {found}", call.function.text);
            return self.report(Diagnostic::new(name.value.span, message).here(found));
        }
        self.blocks.dag.write(program::Call::EVALUATED, text);
        let mut names = BTreeSet::new();
        for (position, argument) in arguments.iter().enumerate() {
            let variable = match &argument.name {
                Some(name) if !names.insert(name.text.as_str()) => {
                    let message = format!("the argument `{}` is given twice", name.text);
                    return self.report(Diagnostic::new(name.span, message).here("again here"));
                }
                Some(name) => name.text.clone(),
                None => format!("_{}", position + 1),
            };
            let value = self.expression(&argument.value)?;
            self.blocks.dag.write(&variable, value);
        }
        let arguments = self.blocks.take_dag();
        if let Some(target) = &target {
            self.scope.set(target, if all_results { DataType::List } else { DataType::Unknown });
        }
        let function = if all_results { program::Call::EVAL_LIST } else { program::Call::EVAL }.to_owned();
        let call = program::Call { function, arguments, targets: vec![target], span: Some(span) };
        self.blocks.push(StatementBlock::Call(call));
        Ok(())
    }

    /// The call of what a text names, with its result as [`Evaluation::VALUE`].
    fn evaluation(&mut self, evaluation: &Evaluation) -> Lowered<()> {
        let span = evaluation.place;
        for argument in evaluation.variables() {
            self.scope.set(&argument.variable, argument.data_type);
        }
        let name = Name { text: evaluation.function.clone(), span };
        let mut call = call_of(&name, Vec::new());
        let signature = self.user_function(&call);
        let takes_list = signature.is_some_and(Signature::takes_one_list);
        let given = evaluation.elements.as_ref().filter(|_| !takes_list).unwrap_or(&evaluation.arguments);
        let argument = |(position, argument)| self::argument(argument, position, signature, span);
        call.arguments = given.iter().enumerate().map(argument).collect();
        let value = match (signature, self.builtin_function(&call)) {
            // Of several entries of a library file the arguments choose one.
            (Some(_), _) => self.results_of_function(&call, evaluation.all_results, span)?,
            (None, Some(builtin)) if !builtin.lowering.has_value() => {
                let effect = self.builtin(builtin, &call, span)?;
                self.blocks.dag.effects.push(effect);
                None
            }
            (None, Some(builtin)) => {
                let value = self.builtin(builtin, &call, span)?;
                Some(match (builtin.lowering.results(), evaluation.all_results) {
                    (1, false) => value,
                    (1, true) => self.list_of(&[value], Vec::new(), span)?,
                    (_, true) => value,
                    (_, false) => self.add(HopOp::Item(0), &[value], span)?,
                })
            }
            (None, None) => return self.unknown_function(&call),
        };
        if let Some(value) = value {
            self.blocks.assign(Evaluation::VALUE, value);
        }
        Ok(())
    }

    /// Calls a function that is written in DML; its first result, or a list of all.
    fn results_of_function(&mut self, call: &Call, all_results: bool, span: Span) -> Lowered<Option<HopId>> {
        let Some(signature) = self.user_function(call) else { return self.unknown_function(call) };
        let targets: Vec<String> = (1..=signature.result_count()).map(|number| format!("_result{number}")).collect();
        self.call(call, span, targets.iter().cloned().map(Some).collect())?;
        if all_results {
            let values = targets.iter().map(|target| self.read_variable(target, span)).collect::<Lowered<Vec<_>>>()?;
            let names = signature.definition.results.iter().map(|result| result.name.text.clone()).collect();
            return self.list_of(&values, names, span).map(Some);
        }
        targets.first().map(|target| self.read_variable(target, span)).transpose()
    }

    fn list_of(&mut self, values: &[HopId], names: Vec<String>, span: Span) -> Lowered<HopId> {
        self.add(HopOp::Parameterized { function: Function::List, names }, values, span)
    }
}

/// An argument as the script would write it: what is known is a literal, and a number where a matrix is declared, or a
/// matrix where a number is, is converted, since elements of lists are not written for the function that gets them.
fn argument(argument: &EvaluatedArgument, position: usize, signature: Option<&Signature<'_>>, span: Span) -> Argument {
    let name = argument.name.as_ref().map(|text| Name { text: text.clone(), span });
    let kind = match &argument.constant {
        Some(value) => ExpressionKind::Literal(value.clone()),
        None => ExpressionKind::Variable(argument.variable.clone()),
    };
    let value = Expression { kind, span, depth: 1 };
    let parameters = signature.map_or(&[][..], |signature| &signature.definition.parameters);
    let parameter = match &name {
        Some(name) => parameters.iter().find(|parameter| parameter.name.text == name.text),
        None => parameters.get(position),
    };
    let conversion = match (argument.data_type, parameter.map_or(DataType::Unknown, |known| known.data_type)) {
        (DataType::Matrix(_), declared) if declared.is_number() => "as.scalar",
        (actual, DataType::Matrix(_)) if actual.is_number() => "as.matrix",
        _ => return Argument { name, value },
    };
    let function = Name { text: conversion.to_owned(), span };
    let call = Call { namespace: None, function, arguments: vec![Argument { name: None, value }] };
    Argument { name, value: Expression { kind: ExpressionKind::Call(call), span, depth: 2 } }
}
