//! Control flow: predicates, branches and loops.

use super::bind::type_name;
use super::blocks::Blocks;
use super::scope::{Changes, Variable, merge};
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
        if matches!(data_type, DataType::Matrix(_) | DataType::STR) {
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
        let (then_body, after_then) = self.branch(then_statements);
        let (else_body, after_else) = self.branch(else_statements);
        self.scope.join(&after_then, &after_else);
        let predicate = predicate?;
        self.blocks.push(StatementBlock::If { predicate, then_body, else_body, span: Some(span) });
        Ok(())
    }

    /// The blocks of a branch, and what it changes of what is known here.
    fn branch(&mut self, statements: &[Statement]) -> (Vec<StatementBlock>, Changes) {
        let start = self.scope.begin_branch();
        let body = self.body(statements);
        (body, self.scope.end_branch(start))
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
            let is_shared = |name: &str| self.scope.get(name).is_some();
            self.errors.extend(parfor::dependencies(variable, range, statements, &is_shared));
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
        let known = |name: &String| (name.clone(), self.scope.variable(name));
        let entry: Vec<(String, Option<Variable>)> = assigned.iter().map(known).collect();
        loop {
            let (errors, given_up) = (self.errors.len(), self.given_up);
            for (name, before) in &entry {
                // An earlier iteration may have assigned what no statement before the loop did.
                let data_type = before.map_or(DataType::Unknown, |before| before.data_type);
                let learnt = self.unstable.get(&span).and_then(|types| types.get(name)).copied();
                let data_type = learnt.map_or(data_type, |learnt| merge(data_type, learnt));
                self.scope.change(name, Some(Variable { data_type, is_certain: is_certain(*before) }));
            }
            let head: Vec<Option<DataType>> = entry.iter().map(|(name, _)| self.scope.get(name)).collect();
            let result = lower(self);
            let mut is_stable = true;
            for ((name, _), before) in entry.iter().zip(&head) {
                let (Some(before), Some(after)) = (*before, self.scope.get(name)) else {
                    continue;
                };
                if merge(before, after) != before {
                    self.unstable.entry(span).or_default().insert(name.clone(), merge(before, after));
                    is_stable = false;
                }
            }
            if is_stable {
                for ((name, before), head) in entry.iter().zip(head) {
                    // The loop may not run at all; what had no value before has the type that an iteration gives it.
                    let at_end = if before.is_some() { head } else { self.scope.get(name) };
                    let variable = at_end.map(|data_type| Variable { data_type, is_certain: is_certain(*before) });
                    self.scope.change(name, variable);
                }
                return result;
            }
            self.errors.truncate(errors);
            self.given_up = given_up;
        }
    }
}

/// Whether a variable of which this is known surely has a value.
fn is_certain(variable: Option<Variable>) -> bool {
    variable.is_some_and(|variable| variable.is_certain)
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
    let mut assigned = BTreeSet::new();
    statements.iter().for_each(|statement| collect_assigned(statement, &mut assigned));
    assigned
}

/// Adds the variables that a statement assigns, on any path.
fn collect_assigned(statement: &Statement, assigned: &mut BTreeSet<String>) {
    match &statement.kind {
        StatementKind::Assign { target, .. } => _ = assigned.insert(target.name.text.clone()),
        StatementKind::MultiAssign { targets, .. } => {
            assigned.extend(targets.iter().map(|target| target.name.text.clone()));
        }
        StatementKind::Call(_) => {}
        StatementKind::If { then_body, else_body, .. } => {
            then_body.iter().chain(else_body).for_each(|statement| collect_assigned(statement, assigned));
        }
        StatementKind::While { body, .. } => body.iter().for_each(|statement| collect_assigned(statement, assigned)),
        StatementKind::For { variable, body, .. } => {
            assigned.insert(variable.text.clone());
            body.iter().for_each(|statement| collect_assigned(statement, assigned));
        }
    }
}
