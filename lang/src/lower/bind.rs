//! Binding of arguments to parameters, by position and by name, for builtin and user functions alike.

use super::function::Signature;
use crate::ast::{Argument, Call, Expression, Name, ParameterDefinition};
use crate::diagnostic::Diagnostic;
use crate::suggest;
use fuseline_ir::builtins::{Builtin, Presence};
use fuseline_ir::hop::Span;
use fuseline_ir::program::Source;
use fuseline_ir::types::{DataType, Element, Value};

/// A parameter as binding sees it.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) name: String,
    /// Other names by which a call may give it.
    second_names: Vec<String>,
    pub(super) is_required: bool,
    /// The declaration, as a help text shows it.
    text: String,
}

/// Which arguments of a call may have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// Any, but the names mean nothing where the first argument has none: a builtin function whose parameters have none.
    Ignored,
    /// The last ones: any other builtin function.
    Last,
    /// Any, and an argument without a name is for the parameter of its position: a function written in DML.
    Any,
}

/// A function as binding sees it.
#[derive(Clone, Debug)]
pub(super) struct Callable {
    pub(super) name: String,
    pub(super) slots: Vec<Slot>,
    is_variadic: bool,
    naming: Naming,
}

/// The arguments of a call, by parameter, and those beyond the last parameter.
#[derive(Debug)]
pub(super) struct Bound<'e> {
    pub(super) slots: Vec<Option<&'e Expression>>,
    pub(super) rest: Vec<&'e Expression>,
}

impl Slot {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.second_names.iter().any(|second| second == name)
    }
}

impl Callable {
    pub(super) fn of_builtin(builtin: &Builtin) -> Self {
        let slot = |parameter: &fuseline_ir::builtins::Parameter| Slot {
            name: parameter.name.to_owned(),
            second_names: parameter.aliases.iter().map(|&name| name.to_owned()).collect(),
            is_required: parameter.presence == Presence::Required,
            text: match (parameter.presence, parameter.presence.default_value()) {
                (Presence::Required, _) => parameter.name.to_owned(),
                (_, Some(default)) => format!("{}={}", parameter.name, quoted(&default)),
                (_, None) => format!("{}=...", parameter.name),
            },
        };
        Callable {
            name: builtin.name.to_owned(),
            slots: builtin.parameters.iter().map(slot).collect(),
            is_variadic: builtin.variadic,
            naming: if builtin.has_names { Naming::Last } else { Naming::Ignored },
        }
    }

    /// `sources` are those that the places of defaults refer to.
    pub(super) fn of_user_function(signature: &Signature<'_>, sources: &[Source]) -> Self {
        let slot = |parameter: &ParameterDefinition| {
            let declared = format!("{} {}", type_name(parameter.data_type), parameter.name.text);
            let default = parameter.default.as_ref().map(|value| format!(" = {}", written(value, sources)));
            Slot {
                name: parameter.name.text.clone(),
                second_names: signature.second_names(&parameter.name.text),
                is_required: parameter.default.is_none(),
                text: declared + &default.unwrap_or_default(),
            }
        };
        let slots = signature.definition.parameters.iter().map(slot).collect();
        Callable { name: signature.shown.clone(), slots, is_variadic: false, naming: Naming::Any }
    }

    /// `name(first, second=default)`.
    fn signature(&self) -> String {
        let mut texts: Vec<&str> = self.slots.iter().map(|slot| slot.text.as_str()).collect();
        if self.is_variadic {
            texts.push("...");
        }
        format!("{}({})", self.name, texts.join(", "))
    }

    fn error(&self, span: Span, message: String) -> Diagnostic {
        Diagnostic::new(span, message).help(format!("the function is `{}`", self.signature()))
    }

    /// Binds the arguments of a call at `span`.
    pub(super) fn bind<'e>(&self, call: &'e Call, span: Span) -> Result<Bound<'e>, Diagnostic> {
        let mut bound = Bound { slots: vec![None; self.slots.len()], rest: Vec::new() };
        let names_count = self.naming != Naming::Ignored || !call.goes_by_position();
        let mut seen_named = false;
        for (position, argument) in call.arguments.iter().enumerate() {
            let name = argument.name.as_ref().filter(|_| names_count);
            let slot = match name {
                Some(name) => Some(self.named_slot(name)?),
                None if seen_named && self.naming != Naming::Any => {
                    let message = format!("an argument of `{}` without a name follows one with a name", self.name);
                    return Err(self.error(argument.value.span, message).here("without a name"));
                }
                None if position < self.slots.len() => Some(position),
                None if self.is_variadic => None,
                None => return Err(self.too_many(call, argument)),
            };
            seen_named |= name.is_some();
            match slot {
                Some(slot) => match bound.slots[slot] {
                    None => bound.slots[slot] = Some(&argument.value),
                    Some(first) => return Err(self.given_twice(slot, first, argument)),
                },
                None => bound.rest.push(&argument.value),
            }
        }
        let missing = self.slots.iter().zip(&bound.slots).find(|(slot, bound)| slot.is_required && bound.is_none());
        match missing {
            Some((slot, _)) => Err(self.missing(slot, span)),
            None => Ok(bound),
        }
    }

    fn named_slot(&self, name: &Name) -> Result<usize, Diagnostic> {
        self.slots.iter().position(|slot| slot.is_named(&name.text)).ok_or_else(|| {
            let known = self.slots.iter().map(|slot| slot.name.as_str());
            let error = self.error(name.span, format!("`{}` has no parameter `{}`", self.name, name.text));
            error.here("unknown").maybe_help(suggest::nearest(&name.text, known))
        })
    }

    fn too_many(&self, call: &Call, argument: &Argument) -> Diagnostic {
        let (most, given) = (self.slots.len(), call.arguments.len());
        let noun = if most == 1 { "argument" } else { "arguments" };
        let message = format!("`{}` takes at most {most} {noun}, not {given}", self.name);
        self.error(argument.value.span, message).here("too many")
    }

    fn given_twice(&self, slot: usize, first: &Expression, argument: &Argument) -> Diagnostic {
        let message = format!("the parameter `{}` of `{}` is given twice", self.slots[slot].name, self.name);
        let again = argument.name.as_ref().map_or(argument.value.span, |name| name.span);
        self.error(again, message).here("again here").label(first.span, "first here")
    }

    fn missing(&self, slot: &Slot, span: Span) -> Diagnostic {
        let message = format!("`{}` needs the argument `{}`", self.name, slot.name);
        self.error(span, message).here("missing here")
    }
}

/// The text of an expression.
fn written<'s>(expression: &Expression, sources: &'s [Source]) -> &'s str {
    let span = expression.span;
    let text = sources.get(span.source as usize).map(|source| &*source.text);
    text.and_then(|text| text.get(span.start as usize..span.end as usize)).unwrap_or("...")
}

/// A value as a script writes it.
pub(super) fn quoted(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("{text:?}"),
        Value::F64(_) | Value::I64(_) | Value::Bool(_) => value.to_string(),
    }
}

/// A type as a script writes it.
pub(super) fn type_name(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Matrix(Element::F64) => "Matrix[Double]",
        DataType::Matrix(Element::F32) => "Matrix[FP32]",
        DataType::Matrix(Element::I32) => "Matrix[INT32]",
        DataType::Matrix(Element::U8) => "Matrix[UINT8]",
        DataType::F64 => "Double",
        DataType::I64 => "Integer",
        DataType::BOOL => "Boolean",
        DataType::STR => "String",
        DataType::List => "List[Unknown]",
        DataType::Frame => "Frame[Unknown]",
        DataType::Unknown => "Unknown",
    }
}
