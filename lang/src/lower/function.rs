//! User functions: their signatures, collected before anything is lowered, and their bodies.

use super::{Lowered, Lowerer};
use crate::ast::{FunctionDefinition, ParameterDefinition};
use crate::diagnostic::Diagnostic;
use crate::load::{File, LIBRARY_MARK, Loaded};
use fuseline_ir::hop::Span;
use fuseline_ir::program::{self, Parameter, Program};
use fuseline_ir::types::{DataType, Value};
use std::collections::BTreeMap;

/// What callers know of a function.
#[derive(Debug)]
pub(super) struct Signature<'a> {
    /// With the prefix of the file: the name in the program.
    pub(super) name: String,
    /// The name in messages: as calls write it.
    pub(super) shown: String,
    pub(super) definition: &'a FunctionDefinition,
    /// Where it is defined.
    pub(super) file: &'a File,
}

impl Signature<'_> {
    /// The place of the definition.
    pub(super) fn span(&self) -> Span {
        self.definition.span
    }

    /// Whether the only parameter is a list.
    pub(super) fn takes_one_list(&self) -> bool {
        matches!(self.definition.parameters.as_slice(), [parameter] if parameter.data_type == DataType::List)
    }

    /// What a call may write in place of a parameter's name.
    pub(super) fn second_names(&self, parameter: &str) -> Vec<String> {
        let is_entry = is_entry(self.file, &self.definition.name.text);
        let all = self.file.second_names.iter().filter(|second| is_entry && second.parameter == parameter);
        all.map(|second| second.name.clone()).collect()
    }

    pub(super) fn result_count(&self) -> usize {
        self.definition.results.len()
    }
}

/// The signatures of all functions of all files, by name with prefix.
pub(super) fn signatures<'a>(loaded: &'a Loaded, errors: &mut Vec<Diagnostic>) -> BTreeMap<String, Signature<'a>> {
    let mut signatures: BTreeMap<String, Signature<'a>> = BTreeMap::new();
    for file in &loaded.files {
        check_second_names(file, errors);
        for definition in &file.script.functions {
            let name = format!("{}{}", file.prefix, definition.name.text);
            if let Some(first) = signatures.get(&name) {
                let error = Diagnostic::new(definition.name.span, format!("the function `{name}` is defined twice"));
                errors.push(error.here("again here").label(first.span(), "first here"));
            } else {
                let shown = shown(file, &definition.name.text);
                signatures.insert(name.clone(), Signature { name, shown, definition, file });
            }
        }
    }
    signatures
}

/// `a::f` for a function of a sourced file; library functions have no namespace, and entries no mark of their kind.
fn shown(file: &File, function: &str) -> String {
    match file.prefix.strip_suffix(LIBRARY_MARK) {
        None => format!("{}{function}", file.prefix),
        Some(library) if is_entry(file, function) => library.to_owned(),
        Some(_) => function.to_owned(),
    }
}

/// Whether calls from other files reach this function of a library file.
fn is_entry(file: &File, function: &str) -> bool {
    let library = file.prefix.strip_suffix(LIBRARY_MARK);
    library.is_some_and(|library| ENTRIES.iter().any(|kind| function.strip_prefix(kind) == Some(library)))
}

/// Reports second names of what is no parameter, and those that are parameters themselves.
fn check_second_names(file: &File, errors: &mut Vec<Diagnostic>) {
    let entries = file.script.functions.iter().filter(|function| is_entry(file, &function.name.text));
    let parameters: Vec<&str> =
        entries.flat_map(|entry| &entry.parameters).map(|parameter| parameter.name.text.as_str()).collect();
    for second in file.second_names.iter().filter(|_| file.is_whole) {
        if !parameters.contains(&second.parameter.as_str()) {
            let message =
                format!("`{}` is a second name of `{}`, which is no parameter", second.name, second.parameter);
            errors.push(Diagnostic::new(second.span, message));
        } else if parameters.contains(&second.name.as_str()) {
            let message = format!("`{}` is a parameter, and no second name", second.name);
            errors.push(Diagnostic::new(second.span, message));
        }
    }
}

/// What stands before the name of a library function in its file, by the kind of its first argument: matrix, scalar,
/// frame, list, or any.
pub(super) const ENTRIES: [&str; 5] = ["m_", "s_", "f_", "l_", ""];

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

impl<'a> Lowerer<'a> {
    /// Lowers the bodies of the file's functions.
    pub(super) fn functions(&mut self, program: &mut Program) {
        for definition in &self.file.script.functions {
            let name = format!("{}{}", self.file.prefix, definition.name.text);
            // A second definition was reported; its body would only repeat messages.
            let signatures = self.signatures;
            let Some(signature) = signatures.get(&name).filter(|known| known.span() == definition.span) else {
                continue;
            };
            self.check_defaults(signature);
            let function = self.function(definition, name.clone());
            program.functions.insert(name, function);
        }
    }

    fn function(&mut self, definition: &FunctionDefinition, name: String) -> program::Function {
        self.scope = super::Scope::default();
        for parameter in &definition.parameters {
            self.scope.set(&parameter.name.text, parameter.data_type.declared());
        }
        let body = self.in_body(|lowerer| {
            lowerer.statements(&definition.body);
            for result in &definition.results {
                // A wrong result was reported; the others are still checked.
                let _ = lowerer.result(result);
            }
        });
        let declared = |all: &[ParameterDefinition]| all.iter().map(parameter).collect();
        program::Function {
            name,
            parameters: declared(&definition.parameters),
            results: declared(&definition.results),
            body,
            span: Some(definition.span),
        }
    }

    /// Checks that a result has a value, and one of its declared type.
    fn result(&mut self, result: &ParameterDefinition) -> Lowered<()> {
        let name = &result.name;
        let Some(actual) = self.scope.get(&name.text) else {
            let error = Diagnostic::new(name.span, format!("the result `{}` is never assigned", name.text));
            return self.report(error.here("declared here").help("assign it on every path through the function"));
        };
        self.check_declared(actual, result.data_type, name.span, &format!("the result `{}`", name.text))
    }
}

fn parameter(definition: &ParameterDefinition) -> Parameter {
    Parameter { name: definition.name.text.clone(), data_type: definition.data_type }
}
