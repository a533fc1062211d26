//! User functions: their signatures, collected before anything is lowered, and their bodies.

use super::bind::type_name;
use super::{Lowered, Lowerer};
use crate::argument::Argument;
use crate::ast::{Expression, ExpressionKind, FunctionDefinition, ParameterDefinition, Prefix};
use crate::diagnostic::Diagnostic;
use crate::load::File;
use fuseline_ir::builtins;
use fuseline_ir::hop::Span;
use fuseline_ir::program::{self, Parameter, Program};
use fuseline_ir::types::{DataType, Value};
use std::collections::BTreeMap;

/// What callers know of a function.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) results: Vec<Parameter>,
    pub(super) span: Span,
}

/// The signatures of all functions of all files, by name with namespace.
pub(super) fn signatures(
    files: &[File],
    arguments: &BTreeMap<String, Argument>,
    errors: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Signature> {
    let mut signatures: BTreeMap<String, Signature> = BTreeMap::new();
    for file in files {
        for definition in &file.script.functions {
            let name = format!("{}{}", file.prefix, definition.name.text);
            if builtins::find(&definition.name.text).is_some() {
                let message = format!("`{}` is a builtin function", definition.name.text);
                errors.push(Diagnostic::new(definition.name.span, message).help("give your function another name"));
            } else if let Some(first) = signatures.get(&name) {
                let error = Diagnostic::new(definition.name.span, format!("the function `{name}` is defined twice"));
                errors.push(error.here("again here").label(first.span, "first here"));
            } else {
                signatures.insert(name.clone(), signature(name, definition, arguments, errors));
            }
        }
    }
    signatures
}

fn signature(
    name: String,
    definition: &FunctionDefinition,
    arguments: &BTreeMap<String, Argument>,
    errors: &mut Vec<Diagnostic>,
) -> Signature {
    let mut parameter = |declared: &ParameterDefinition| {
        let default = declared.default.as_ref().map(|default| default_value(declared, default, arguments));
        let default = default.transpose().unwrap_or_else(|error| {
            errors.push(error);
            None
        });
        Parameter { name: declared.name.text.clone(), data_type: declared.data_type, default }
    };
    Signature {
        name,
        parameters: definition.parameters.iter().map(&mut parameter).collect(),
        results: definition.results.iter().map(&mut parameter).collect(),
        span: definition.span,
    }
}

fn default_value(
    declared: &ParameterDefinition,
    default: &Expression,
    arguments: &BTreeMap<String, Argument>,
) -> Result<Value, Diagnostic> {
    let name = &declared.name.text;
    let Some(value) = constant(default, arguments) else {
        return Err(Diagnostic::new(default.span, format!("the default of `{name}` is not a constant"))
            .here("not a constant")
            .help("a default must be a number, a text, TRUE or FALSE"));
    };
    let actual = DataType::Scalar(value.scalar_type());
    convert(value, declared.data_type).ok_or_else(|| {
        let (expected, actual) = (type_name(declared.data_type), type_name(actual));
        let message = format!("`{name}` is declared as {expected}, its default is {actual}");
        Diagnostic::new(default.span, message).here(actual)
    })
}

fn constant(expression: &Expression, arguments: &BTreeMap<String, Argument>) -> Option<Value> {
    match &expression.kind {
        ExpressionKind::Literal(value) => Some(value.clone()),
        ExpressionKind::Variable(name) => named_constant(name),
        ExpressionKind::ScriptArgument(name) => arguments.get(name).map(|argument| argument.0.clone()),
        ExpressionKind::Prefix(Prefix::Minus, operand) => negated(&constant(operand, arguments)?),
        _ => None,
    }
}

/// `pi`, `Inf` and `NaN`.
pub(super) fn named_constant(name: &str) -> Option<Value> {
    match name {
        "pi" => Some(Value::F64(std::f64::consts::PI)),
        "Inf" => Some(Value::F64(f64::INFINITY)),
        "NaN" => Some(Value::F64(f64::NAN)),
        _ => None,
    }
}

/// The negative of a number.
pub(super) fn negated(value: &Value) -> Option<Value> {
    match value {
        Value::F64(value) => Some(Value::F64(-value)),
        Value::I64(value) => value.checked_neg().map(Value::I64),
        Value::Bool(_) | Value::Str(_) => None,
    }
}

/// The value as one of the declared type, where numbers convert among each other.
pub(super) fn convert(value: Value, declared: DataType) -> Option<Value> {
    match (declared, value) {
        (DataType::F64, value) => value.as_f64().map(Value::F64),
        (DataType::I64, Value::F64(value)) => (value.abs() < 9.0e18).then_some(Value::I64(value as i64)),
        (DataType::I64, Value::Bool(value)) => Some(Value::I64(i64::from(value))),
        (DataType::BOOL, Value::I64(value)) => Some(Value::Bool(value != 0)),
        (DataType::BOOL, Value::F64(value)) => Some(Value::Bool(value != 0.0)),
        (DataType::Unknown, value) => Some(value),
        (declared, value) => (DataType::Scalar(value.scalar_type()) == declared).then_some(value),
    }
}

impl Lowerer<'_> {
    /// Lowers the bodies of the file's functions.
    pub(super) fn functions(&mut self, program: &mut Program) {
        for definition in &self.file.script.functions {
            let name = format!("{}{}", self.file.prefix, definition.name.text);
            // A second definition was reported; its body would only repeat messages.
            let signatures = self.signatures;
            let Some(signature) = signatures.get(&name).filter(|known| known.span == definition.span) else {
                continue;
            };
            let function = self.function(definition, signature);
            program.functions.insert(name, function);
        }
    }

    fn function(&mut self, definition: &FunctionDefinition, signature: &Signature) -> program::Function {
        self.scope = super::Scope::default();
        for parameter in &signature.parameters {
            self.scope.set(&parameter.name, parameter.data_type);
        }
        let body = self.in_body(|lowerer| {
            lowerer.statements(&definition.body);
            for result in &definition.results {
                // A wrong result was reported; the others are still checked.
                let _ = lowerer.result(result);
            }
        });
        program::Function {
            name: signature.name.clone(),
            parameters: signature.parameters.clone(),
            results: signature.results.clone(),
            body,
            span: Some(definition.span),
        }
    }

    /// Converts a result to its declared type.
    fn result(&mut self, result: &ParameterDefinition) -> Lowered<()> {
        let name = &result.name;
        let Some(actual) = self.scope.get(&name.text) else {
            let error = Diagnostic::new(name.span, format!("the result `{}` is never assigned", name.text));
            return self.report(error.here("declared here").help("assign it on every path through the function"));
        };
        if actual == result.data_type || actual == DataType::Unknown {
            return Ok(());
        }
        let value = self.read_variable(&name.text, name.span)?;
        let converted = self.convert(value, result.data_type, name.span, &format!("the result `{}`", name.text))?;
        self.blocks.assign(&name.text, converted);
        Ok(())
    }
}
