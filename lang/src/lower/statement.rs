//! Statements other than control flow.

use super::control::assigned_in;
use super::evaluation::Evaluated;
use super::{Lowered, Lowerer};
use crate::ast::{Call, Expression, ExpressionKind, Infix, Name, Ranges, Statement, StatementKind, Target};
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::{Function, HopId, HopOp, Span};
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::types::DataType;

impl Lowerer<'_> {
    /// Lowers statements into the current blocks. After an error it goes on with the next statement.
    pub(super) fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            if self.statement(statement).is_err() {
                self.given_up.get_or_insert(statement.span);
                // So that later uses of these variables are not reported as well.
                for name in assigned_in(std::slice::from_ref(statement)) {
                    self.scope.set(&name, DataType::Unknown);
                    self.blocks.values.remove(&name);
                }
            }
        }
    }

    fn statement(&mut self, statement: &Statement) -> Lowered<()> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { target, accumulate, value } => self.assignment(span, target, *accumulate, value),
            StatementKind::MultiAssign { targets, call } => self.multi_assignment(targets, call),
            StatementKind::Call(expression) => self.call_statement(expression),
            StatementKind::If { condition, then_body, else_body } => {
                self.if_statement(span, condition, then_body, else_body)
            }
            StatementKind::While { condition, body } => self.while_statement(span, condition, body),
            StatementKind::For { variable, range, body, order } => {
                self.for_statement(span, variable, range, body, *order)
            }
        }
    }

    fn assignment(&mut self, span: Span, target: &Target, accumulate: bool, value: &Expression) -> Lowered<()> {
        if let (ExpressionKind::Call(call), None, false) = (&value.kind, &target.ranges, accumulate)
            && self.user_function(call).is_some()
        {
            return self.call_assignment(std::slice::from_ref(target), value, call);
        }
        let is_read = matches!(&value.kind, ExpressionKind::Call(call) if call.namespace.is_none() && call.function.text == "read");
        if is_read && target.ranges.is_none() && self.inputs.contains(&target.name.text) {
            // What is bound takes the place of the file.
            return Ok(());
        }
        let mut parts = vec![value];
        parts.extend(target.ranges.iter().flat_map(Ranges::expressions));
        self.hoist(&parts)?;
        let Some(ranges) = &target.ranges else {
            let mut result = self.expression(value)?;
            if accumulate {
                let before = self.read_variable(&target.name.text, target.name.span)?;
                result = self.infix(Infix::Elementwise(BinaryOp::Plus), before, result, span)?;
            }
            return self.assign(&target.name, result);
        };
        let base = self.read_variable(&target.name.text, target.name.span)?;
        let bounds = self.bounds(base, ranges, target.span)?;
        let mut replacement = self.expression(value)?;
        if accumulate {
            let before = self.indexed(base, bounds, target.span)?;
            replacement = self.infix(Infix::Elementwise(BinaryOp::Plus), before, replacement, span)?;
        }
        self.assign_range(&target.name, base, bounds, replacement, span)
    }

    pub(super) fn assign(&mut self, name: &Name, value: HopId) -> Lowered<()> {
        self.scope.set(&name.text, self.blocks.dag[value].data_type);
        self.blocks.assign(&name.text, value);
        Ok(())
    }

    pub(super) fn assign_range(
        &mut self,
        name: &Name,
        base: HopId,
        bounds: [HopId; 4],
        replacement: HopId,
        span: Span,
    ) -> Lowered<()> {
        let [first_row, last_row, first_col, last_col] = bounds;
        let inputs = [base, replacement, first_row, last_row, first_col, last_col];
        let result = self.add(HopOp::LeftIndex, &inputs, span)?;
        self.assign(name, result)
    }

    fn multi_assignment(&mut self, targets: &[Target], expression: &Expression) -> Lowered<()> {
        let ExpressionKind::Call(call) = &expression.kind else {
            unreachable!("the parser admits only calls as values of several variables")
        };
        if self.user_function(call).is_some() {
            return self.call_assignment(targets, expression, call);
        }
        let Some(builtin) = self.builtin_function(call) else { return self.unknown_function(call) };
        match targets {
            [target] => self.assignment(expression.span, target, false, expression),
            _ => self.builtin_results(builtin, targets, call, expression.span),
        }
    }

    /// `[targets] = call`, of a user function.
    fn call_assignment(&mut self, targets: &[Target], expression: &Expression, call: &Call) -> Lowered<()> {
        if let Some(signature) = self.user_function(call)
            && signature.result_count() < targets.len()
        {
            let (name, results, wanted) = (&signature.shown, signature.result_count(), targets.len());
            let noun = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
            let message =
                format!("`{name}` gives {}, assigned to {}", noun(results, "result"), noun(wanted, "variable"));
            return self
                .report(self.defined_at(Diagnostic::new(expression.span, message).here("called here"), signature));
        }
        let mut parts: Vec<&Expression> = call.arguments.iter().map(|argument| &argument.value).collect();
        parts.extend(targets.iter().filter_map(|target| target.ranges.as_ref()).flat_map(Ranges::expressions));
        self.hoist(&parts)?;
        let names: Vec<Name> = targets
            .iter()
            .map(|target| if target.ranges.is_some() { self.temporary(target.span) } else { target.name.clone() })
            .collect();
        self.call(call, expression.span, names.iter().map(|name| Some(name.text.clone())).collect())?;
        for (target, name) in targets.iter().zip(&names) {
            if let Some(ranges) = &target.ranges {
                let base = self.read_variable(&target.name.text, target.name.span)?;
                let bounds = self.bounds(base, ranges, target.span)?;
                let replacement = self.read_variable(&name.text, target.span)?;
                self.assign_range(&target.name, base, bounds, replacement, target.span)?;
            }
        }
        Ok(())
    }

    /// A call for its effects.
    fn call_statement(&mut self, expression: &Expression) -> Lowered<()> {
        let ExpressionKind::Call(call) = &expression.kind else {
            unreachable!("the parser admits only calls as statements")
        };
        let arguments: Vec<&Expression> = call.arguments.iter().map(|argument| &argument.value).collect();
        if let Some(all_results) = self.wants_all_results(call) {
            self.hoist(&arguments)?;
            return match self.evaluated(call, all_results)? {
                Evaluated::Plain(plain) => self.effect(&plain, &[], expression.span),
                Evaluated::AtRunTime => self.evaluate(call, all_results, expression.span, None),
            };
        }
        self.effect(call, &arguments, expression.span)
    }

    /// A call for its effects, of which these arguments are still to be hoisted.
    fn effect(&mut self, call: &Call, arguments: &[&Expression], span: Span) -> Lowered<()> {
        if self.user_function(call).is_some() {
            self.hoist(arguments)?;
            return self.call(call, span, Vec::new());
        }
        let Some(builtin) = self.builtin_function(call) else {
            return self.unknown_function(call);
        };
        if builtin.lowering.has_value() {
            let message = format!("the value of `{}` is not used", builtin.name);
            let error = Diagnostic::new(span, message).here("its value goes nowhere");
            return self.report(error.help("assign it to a variable, or print it"));
        }
        self.hoist(arguments)?;
        let effect = self.builtin(builtin, call, span)?;
        self.blocks.dag.effects.push(effect);
        if matches!(self.blocks.dag[effect].op, HopOp::Parameterized { function: Function::Write, .. }) {
            // Within a block reads of files come before its effects: what is read after this write is another block's.
            self.blocks.cut();
        }
        Ok(())
    }
}
