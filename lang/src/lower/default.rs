//! The arguments of calls of user functions, with the defaults of parameters that a call leaves out.
//!
//! A default sees the parameters before its own, and the functions of the file that defines it. The caller evaluates it
//! with the arguments; where a default itself calls a function that is written in DML, the parameters before it become
//! variables, so that the call can be hoisted.

use super::bind::Bound;
use super::call::is_clock;
use super::function::Signature;
use super::scope::Scope;
use super::{Lowered, Lowerer, Reported};
use crate::ast::{Expression, ParameterDefinition};
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::HopId;
use std::collections::BTreeMap;

/// The parameters before one whose default is evaluated.
#[derive(Debug, Default)]
struct Earlier {
    scope: Scope,
    /// Their values in the caller's DAG.
    values: BTreeMap<String, HopId>,
    /// The variables of the caller that hold them, where a default calls a function.
    renamed: BTreeMap<String, String>,
}

impl<'a> Lowerer<'a> {
    /// The values of all parameters, in the caller's DAG.
    pub(super) fn arguments(&mut self, signature: &Signature<'a>, bound: &Bound<'_>) -> Lowered<Vec<(String, HopId)>> {
        let parameters = signature.definition.parameters.iter().zip(&bound.slots);
        let left_out = parameters.clone().filter(|(_, argument)| argument.is_none());
        let defaults: Vec<&Expression> = left_out.filter_map(|(parameter, _)| parameter.default.as_ref()).collect();
        let are_variables = self.in_default(signature, &Earlier::default(), |lowerer| lowerer.has_to_hoist(&defaults));
        let mut earlier = Earlier::default();
        for (parameter, argument) in parameters {
            let name = &parameter.name.text;
            let value = match argument {
                Some(argument) => self.argument(signature, parameter, argument)?,
                None => self.default_of_call(signature, parameter, &earlier)?,
            };
            earlier.scope.set(name, self.blocks.dag[value].data_type);
            if are_variables {
                let variable = self.temporary(parameter.name.span);
                self.assign(&variable, value)?;
                self.blocks.cut();
                earlier.renamed.insert(name.clone(), variable.text);
            } else {
                earlier.values.insert(name.clone(), value);
            }
        }
        let names = signature.definition.parameters.iter().map(|parameter| &parameter.name.text);
        let value = |name: &String| match earlier.renamed.get(name) {
            Some(variable) => self.read_variable(variable, signature.span()),
            None => Ok(earlier.values[name]),
        };
        let values = names.clone().map(value).collect::<Lowered<Vec<HopId>>>()?;
        Ok(names.cloned().zip(values).collect())
    }

    fn argument(
        &mut self,
        signature: &Signature<'a>,
        parameter: &ParameterDefinition,
        argument: &Expression,
    ) -> Lowered<HopId> {
        let value = self.expression(argument)?;
        let what = format!("the argument `{}` of `{}`", parameter.name.text, signature.shown);
        self.check_declared(self.blocks.dag[value].data_type, parameter.data_type, argument.span, &what)?;
        Ok(value)
    }

    /// What is wrong with a default was reported where it is written.
    fn default_of_call(
        &mut self,
        signature: &Signature<'a>,
        parameter: &ParameterDefinition,
        earlier: &Earlier,
    ) -> Lowered<HopId> {
        let default = parameter.default.as_ref().ok_or(Reported)?;
        if self.defaults.contains(&default.span) {
            let message = format!("the default of `{}` needs itself", parameter.name.text);
            return self.report(Diagnostic::new(default.span, message).here("calls its own function without it"));
        }
        let errors = self.errors.len();
        let value = self.default_value(signature, parameter, earlier);
        self.errors.truncate(errors);
        value
    }

    /// Reports what is wrong with the defaults of parameters, whether or not a call needs them.
    pub(super) fn check_defaults(&mut self, signature: &Signature<'a>) {
        let mut earlier = Earlier::default();
        for parameter in &signature.definition.parameters {
            self.in_body(|lowerer| {
                let _ = lowerer.default_value(signature, parameter, &earlier);
            });
            earlier.scope.set(&parameter.name.text, parameter.data_type.declared());
        }
    }

    fn default_value(
        &mut self,
        signature: &Signature<'a>,
        parameter: &ParameterDefinition,
        earlier: &Earlier,
    ) -> Lowered<HopId> {
        let Some(default) = &parameter.default else { return Err(Reported) };
        self.defaults.push(default.span);
        let value = self.in_default(signature, earlier, |lowerer| {
            lowerer.hoist(&[default])?;
            lowerer.expression(default)
        });
        self.defaults.pop();
        let value = value?;
        let actual = self.blocks.dag[value].data_type;
        let what = format!("the default of `{}`", parameter.name.text);
        self.check_declared(actual, parameter.data_type, default.span, &what)?;
        Ok(value)
    }

    /// Lowers in the file of a function, where nothing but these parameters has a value.
    fn in_default<T>(&mut self, signature: &Signature<'a>, earlier: &Earlier, lower: impl FnOnce(&mut Self) -> T) -> T {
        let file = std::mem::replace(&mut self.file, signature.file);
        let scope = std::mem::replace(&mut self.scope, earlier.scope.clone());
        let values = std::mem::replace(&mut self.blocks.values, earlier.values.clone());
        let renamed = std::mem::replace(&mut self.renamed, earlier.renamed.clone());
        let result = lower(self);
        (self.file, self.scope, self.blocks.values, self.renamed) = (file, scope, values, renamed);
        result
    }

    /// Whether any of these expressions calls what must stand between blocks.
    fn has_to_hoist(&mut self, expressions: &[&Expression]) -> bool {
        let calls = self.calls_within(expressions).into_iter();
        let mut calls = calls.filter_map(Expression::as_call);
        calls.any(|call| self.user_function(call).is_some() || self.wants_all_results(call).is_some() || is_clock(call))
    }
}
