//! Control flow: predicates, branches and loops.

use super::bind::type_name;
use super::blocks::Blocks;
use super::scope::merge;
use super::{Lowered, Lowerer, parfor};
use crate::ast::{Expression, ExpressionKind, LoopOrder, LoopRange, Name, Statement, StatementKind};
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::Span;
use fuseline_ir::program::{Predicate, StatementBlock};
use fuseline_ir::types::{DataType, Value};
use std::collections::BTreeSet;

impl Lowerer<'_> {
    /// Lowers statements to blocks of their own.
    pub(super) fn body(&mut self, statements: &[Statement]) -> Vec<StatementBlock> {
        self.in_body(|lowerer| lowerer.statements(statements))
    }

    /// The blocks that `lower` emits.
    pub(super) fn in_body(&mut self, lower: impl FnOnce(&mut Self)) -> Vec<StatementBlock> {
        let outer = std::mem::take(&mut self.blocks);
        lower(self);
        std::mem::replace(&mut self.blocks, outer).finish()
    }

    /// A scalar that decides on control flow. `role` names it in messages.
    fn predicate(&mut self, expression: &Expression, role: &str) -> Lowered<Predicate> {
        let outer = std::mem::take(&mut self.blocks);
        let lowered = self.predicate_value(expression, role);
        let inner: Blocks = std::mem::replace(&mut self.blocks, outer);
        let (prelude, dag) = inner.finish_with_dag();
        lowered.map(|()| Predicate { prelude, dag })
    }

    fn predicate_value(&mut self, expression: &Expression, role: &str) -> Lowered<()> {
        self.hoist(&[expression])?;
        let value = self.expression(expression)?;
        let data_type = self.blocks.dag[value].data_type;
        if matches!(data_type, DataType::Matrix | DataType::STR) {
            let found = type_name(data_type);
            let error = Diagnostic::new(expression.span, format!("{role} must be a scalar, not {found}")).here(found);
            let help = data_type.is_matrix().then(|| "convert a 1 x 1 matrix with `as.scalar(...)`".to_owned());
            return self.report(error.maybe_help(help));
        }
        self.blocks.dag.write(Predicate::VALUE, value);
        Ok(())
    }

    pub(super) fn if_statement(
        &mut self,
        span: Span,
        condition: &Expression,
        then_statements: &[Statement],
        else_statements: &[Statement],
    ) -> Lowered<()> {
        let predicate = self.predicate(condition, "a condition");
        let before = self.scope.clone();
        let then_body = self.body(then_statements);
        let after_then = std::mem::replace(&mut self.scope, before);
        let else_body = self.body(else_statements);
        self.scope = after_then.join(std::mem::take(&mut self.scope));
        let predicate = predicate?;
        self.blocks.push(StatementBlock::If { predicate, then_body, else_body, span: Some(span) });
        Ok(())
    }

    pub(super) fn while_statement(&mut self, span: Span, condition: &Expression, body: &[Statement]) -> Lowered<()> {
        if body.is_empty() && matches!(condition.kind, ExpressionKind::Literal(Value::Bool(false))) {
            // The idiom `while(FALSE){}` only ends the block, which separates what is before from what is after.
            self.blocks.cut();
            return Ok(());
        }
        let (predicate, body) = self.fixed_point(span, &assigned_in(body), |lowerer| {
            (lowerer.predicate(condition, "a condition"), lowerer.body(body))
        });
        self.blocks.push(StatementBlock::While { predicate: predicate?, body, span: Some(span) });
        Ok(())
    }

    pub(super) fn for_statement(
        &mut self,
        span: Span,
        variable: &Name,
        range: &LoopRange,
        statements: &[Statement],
        order: LoopOrder,
    ) -> Lowered<()> {
        if order == LoopOrder::Checked {
            self.errors.extend(parfor::dependencies(variable, range, statements));
        }
        let parallel = order != LoopOrder::Sequential;
        let from = self.predicate(&range.from, "the start of a loop");
        let to = self.predicate(&range.to, "the end of a loop");
        let by = range.by.as_ref().map(|by| self.predicate(by, "the increment of a loop")).transpose();
        let counter_type = match (&from, &by) {
            (Ok(from), Ok(by)) => counter_type(from, by.as_ref()),
            _ => DataType::Unknown,
        };
        let mut assigned = assigned_in(statements);
        assigned.insert(variable.text.clone());
        let body = self.fixed_point(span, &assigned, |lowerer| {
            lowerer.scope.set(&variable.text, counter_type);
            lowerer.body(statements)
        });
        let (from, to, by) = (from?, to?, by?);
        let variable = variable.text.clone();
        self.blocks.push(StatementBlock::For { variable, from, to, by, body, parallel, span: Some(span) });
        Ok(())
    }

    /// Lowers what a loop repeats, with types that hold in every iteration.
    ///
    /// Nearly always the types before the loop are such. Where an iteration leaves a variable with another type, the
    /// loop is lowered again with the common type of both. What was learnt of a loop is kept, so that loops within
    /// loops need few rounds altogether.
    fn fixed_point<T>(&mut self, span: Span, assigned: &BTreeSet<String>, mut lower: impl FnMut(&mut Self) -> T) -> T {
        let entry = self.scope.clone();
        loop {
            let errors = self.errors.len();
            self.scope = entry.clone();
            for name in assigned {
                // An earlier iteration may have assigned what no statement before the loop did.
                let before = entry.get(name).unwrap_or(DataType::Unknown);
                let learnt = self.unstable.get(&span).and_then(|types| types.get(name)).copied();
                self.scope.set(name, learnt.map_or(before, |learnt| merge(before, learnt)));
            }
            let may_be_missing = |name: &&String| entry.is_assigned(name) != Some(true);
            assigned.iter().filter(may_be_missing).for_each(|name| self.scope.set_uncertain(name));
            let head = self.scope.clone();
            let result = lower(self);
            let mut is_stable = true;
            for name in assigned {
                let (Some(before), Some(after)) = (head.get(name), self.scope.get(name)) else {
                    continue;
                };
                if merge(before, after) != before {
                    self.unstable.entry(span).or_default().insert(name.clone(), merge(before, after));
                    is_stable = false;
                }
            }
            if is_stable {
                for name in assigned.iter().filter(|name| entry.get(name).is_some()) {
                    // The loop may not run at all; for others only an iteration assigns them.
                    let before = head.get(name).unwrap_or(DataType::Unknown);
                    self.scope.set(name, before);
                }
                assigned.iter().filter(may_be_missing).for_each(|name| self.scope.set_uncertain(name));
                return result;
            }
            self.errors.truncate(errors);
        }
    }
}

/// The type of a loop variable: an integer where start and increment are.
fn counter_type(from: &Predicate, by: Option<&Predicate>) -> DataType {
    let value_type = |predicate: &Predicate| {
        let output = predicate.dag.outputs.iter().find(|output| output.name == Predicate::VALUE);
        output.map_or(DataType::Unknown, |output| predicate.dag[output.hop].data_type)
    };
    by.map_or(value_type(from), |by| merge(value_type(from), value_type(by)))
}

/// The variables that statements assign, on any path.
pub(super) fn assigned_in(statements: &[Statement]) -> BTreeSet<String> {
    statements.iter().flat_map(assigned_by).collect()
}

/// The variables that a statement assigns, on any path.
pub(super) fn assigned_by(statement: &Statement) -> BTreeSet<String> {
    match &statement.kind {
        StatementKind::Assign { target, .. } => BTreeSet::from([target.name.text.clone()]),
        StatementKind::MultiAssign { targets, .. } => targets.iter().map(|target| target.name.text.clone()).collect(),
        StatementKind::Call(_) => BTreeSet::new(),
        StatementKind::If { then_body, else_body, .. } => {
            then_body.iter().chain(else_body).flat_map(assigned_by).collect()
        }
        StatementKind::While { body, .. } => assigned_in(body),
        StatementKind::For { variable, body, .. } => {
            let mut assigned = assigned_in(body);
            assigned.insert(variable.text.clone());
            assigned
        }
    }
}
