//! Probability distributions: the normal and the exponential one cell by cell, the others by a kernel.

use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::diagnostic::Diagnostic;
use fuseline_ir::builtins::DistributionName;
use fuseline_ir::hop::{HopId, NumericFunction};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use fuseline_ir::types::Value;

impl Lowerer<'_> {
    pub(super) fn distribution_function(&mut self, call: &Bind<'_>, name: Option<DistributionName>) -> Lowered<HopId> {
        let distribution = self.distribution(call, name)?;
        let target = self.required_argument(call, 0)?;
        let parameters = self.distribution_parameters(call, distribution)?;
        let tail = self.required_argument(call, call.builtin.parameters.len() - 1)?;
        match (distribution, self.blocks.dag.literal_value(tail)) {
            (DistributionName::Normal, Some(&Value::Bool(is_lower))) => self.normal(call, target, parameters, is_lower),
            (DistributionName::Exponential, Some(&Value::Bool(is_lower))) => {
                self.exponential(call, target, parameters[0], is_lower)
            }
            _ => {
                let name = self.literal(Value::Str(distribution.name().to_owned()), call.span);
                let inputs = [target, name, parameters[0], parameters[1], tail];
                self.numeric(NumericFunction::DistributionFunction, Vec::new(), &inputs, call.span)
            }
        }
    }

    pub(super) fn quantile_function(&mut self, call: &Bind<'_>, name: Option<DistributionName>) -> Lowered<HopId> {
        let distribution = self.distribution(call, name)?;
        let target = self.required_argument(call, 0)?;
        let parameters = self.distribution_parameters(call, distribution)?;
        let name = self.literal(Value::Str(distribution.name().to_owned()), call.span);
        let inputs = [target, name, parameters[0], parameters[1]];
        self.numeric(NumericFunction::QuantileFunction, Vec::new(), &inputs, call.span)
    }

    /// The distribution of the function, or the one that the argument `dist` names.
    fn distribution(&mut self, call: &Bind<'_>, name: Option<DistributionName>) -> Lowered<DistributionName> {
        match name {
            Some(name) => Ok(name),
            None => {
                let text = self.constant_text(call, 1, &DistributionName::ALL.map(DistributionName::name))?;
                match DistributionName::from_name(&text) {
                    Some(name) => Ok(name),
                    None => unreachable!("the text is the name of a distribution"),
                }
            }
        }
    }

    /// The two parameters of a distribution, zeros where it has fewer; others must not be given.
    fn distribution_parameters(&mut self, call: &Bind<'_>, distribution: DistributionName) -> Lowered<[HopId; 2]> {
        let wanted = distribution.parameters();
        for (position, parameter) in call.builtin.parameters.iter().enumerate() {
            let is_wanted = wanted.iter().any(|(name, _)| *name == parameter.name);
            let is_general = ["target", "dist", "lower.tail"].contains(&parameter.name);
            if let (Some(argument), false, false) = (call.bound.slots[position], is_wanted, is_general) {
                let message = format!("the distribution \"{}\" has no `{}`", distribution.name(), parameter.name);
                return self.report(Diagnostic::new(argument.span, message).here("not a parameter"));
            }
        }
        let mut values = [None; 2];
        for (value, (name, default)) in values.iter_mut().zip(wanted) {
            let position = call.builtin.parameters.iter().position(|parameter| parameter.name == *name);
            let given = position.map(|position| self.argument_or_default(call, position)).transpose()?.flatten();
            *value = Some(match (given, default) {
                (Some(given), _) => given,
                (None, Some(default)) => self.literal(Value::F64(*default), call.span),
                (None, None) => {
                    let message = format!("the distribution \"{}\" needs `{name}`", distribution.name());
                    return self.report(Diagnostic::new(call.span, message).here("missing here"));
                }
            });
        }
        Ok(values.map(|value| value.unwrap_or_else(|| self.literal(Value::F64(0.0), call.span))))
    }

    fn normal(
        &mut self,
        call: &Bind<'_>,
        target: HopId,
        [mean, deviation]: [HopId; 2],
        is_lower: bool,
    ) -> Lowered<HopId> {
        let span = call.span;
        let (x, y) = if is_lower { (target, mean) } else { (mean, target) };
        let difference = self.binary_op(BinaryOp::Minus, x, y, span)?;
        let standard = self.binary_op(BinaryOp::Div, difference, deviation, span)?;
        self.unary_op(UnaryOp::NormalCdf, standard, span)
    }

    fn exponential(&mut self, call: &Bind<'_>, target: HopId, rate: HopId, is_lower: bool) -> Lowered<HopId> {
        let span = call.span;
        let zero = self.literal(Value::F64(0.0), span);
        let positive = self.binary_op(BinaryOp::Max, target, zero, span)?;
        let events = self.binary_op(BinaryOp::Mult, positive, rate, span)?;
        let negative = self.unary_op(UnaryOp::Neg, events, span)?;
        if !is_lower {
            return self.unary_op(UnaryOp::Exp, negative, span);
        }
        let complement = self.unary_op(UnaryOp::Expm1, negative, span)?;
        self.unary_op(UnaryOp::Neg, complement, span)
    }
}
