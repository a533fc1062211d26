//! Calls of numeric functions, and of builtin functions with several results.

use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::ast::{Call, Ranges, Target};
use crate::diagnostic::Diagnostic;
use fuseline_ir::builtins::{Builtin, Lowering};
use fuseline_ir::hop::{Function, HopId, HopOp, NumericFunction, Span};
use fuseline_ir::types::Value;

impl Lowerer<'_> {
    /// Leading parameters become inputs by position, others named inputs where they are given.
    pub(super) fn numeric_call(&mut self, call: &Bind<'_>, function: NumericFunction) -> Lowered<HopId> {
        if function == NumericFunction::GroupedAggregate {
            self.check_group_function(call)?;
        }
        let (mut inputs, mut names) = (Vec::new(), Vec::new());
        for (position, parameter) in call.builtin.parameters.iter().enumerate() {
            let Some(input) = self.argument_or_default(call, position)? else { continue };
            inputs.push(input);
            if position >= function.positional_inputs() {
                names.push(parameter.name.to_owned());
            }
        }
        self.numeric(function, names, &inputs, call.span)
    }

    /// A numeric function of these inputs, the last of which have names.
    pub(super) fn numeric(
        &mut self,
        function: NumericFunction,
        names: Vec<String>,
        inputs: &[HopId],
        span: Span,
    ) -> Lowered<HopId> {
        self.add(HopOp::Parameterized { function: Function::Numeric(function), names }, inputs, span)
    }

    /// The function of groups must be a known one, where it is constant.
    fn check_group_function(&mut self, call: &Bind<'_>) -> Lowered<()> {
        let Some(argument) = call.bound.slots[2] else { return Ok(()) };
        let function = self.expression(argument)?;
        let known = ["count", "sum", "mean", "variance", "min", "max", "centralmoment"];
        match self.blocks.dag.literal_value(function) {
            Some(Value::Str(name)) if !known.contains(&name.as_str()) => {
                let message = format!("`aggregate` has no function `{name}`");
                let error = Diagnostic::new(argument.span, message).here("unknown");
                self.report(error.help(format!("the functions are {}", known.join(", "))))
            }
            _ => Ok(()),
        }
    }

    /// `[a, b] = f(...)` of a builtin function: the first results, where there are more of them.
    pub(super) fn builtin_results(
        &mut self,
        builtin: &'static Builtin,
        targets: &[Target],
        call: &Call,
        span: Span,
    ) -> Lowered<()> {
        let results = builtin.lowering.results();
        if results < targets.len() {
            let noun = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
            let (name, wanted) = (builtin.name, targets.len());
            let message =
                format!("`{name}` gives {}, assigned to {}", noun(results, "result"), noun(wanted, "variable"));
            return self.report(Diagnostic::new(span, message).here("called here"));
        }
        let mut parts: Vec<_> = call.arguments.iter().map(|argument| &argument.value).collect();
        parts.extend(targets.iter().filter_map(|target| target.ranges.as_ref()).flat_map(Ranges::expressions));
        self.hoist(&parts)?;
        let list = self.builtin(builtin, call, span)?;
        let items: Vec<HopId> = (0..targets.len())
            .map(|position| self.add(HopOp::Item(position), &[list], span))
            .collect::<Lowered<_>>()?;
        for (target, item) in targets.iter().zip(items) {
            match &target.ranges {
                None => self.assign(&target.name, item)?,
                Some(ranges) => {
                    let base = self.read_variable(&target.name.text, target.name.span)?;
                    let bounds = self.bounds(base, ranges, target.span)?;
                    self.assign_range(&target.name, base, bounds, item, target.span)?;
                }
            }
        }
        if builtin.lowering == Lowering::Function(Function::TransformEncode) {
            // What follows is compiled for the size of the matrix, which the run tells.
            self.blocks.cut();
        }
        Ok(())
    }
}
