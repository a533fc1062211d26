//! Walks over the syntax tree. Chains of operators may be long, so that expressions are walked without recursion.

use crate::ast::{Call, Expression, ExpressionKind, Ranges, Script, Statement, StatementKind, Target};

impl Expression {
    /// The call that it is, if it is one.
    pub(crate) fn as_call(&self) -> Option<&Call> {
        match &self.kind {
            ExpressionKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The operands, arguments and indexes, from left to right.
    pub(crate) fn children(&self) -> Vec<&Expression> {
        match &self.kind {
            ExpressionKind::Literal(_) | ExpressionKind::Variable(_) | ExpressionKind::ScriptArgument(_) => Vec::new(),
            ExpressionKind::Prefix(_, operand) => vec![operand],
            ExpressionKind::Infix(_, left, right) => vec![left, right],
            ExpressionKind::Call(call) => call.arguments.iter().map(|argument| &argument.value).collect(),
            ExpressionKind::List(elements) => elements.iter().collect(),
            ExpressionKind::Index(base, ranges) => std::iter::once(&**base).chain(ranges.expressions()).collect(),
        }
    }
}

impl Target {
    /// The expressions of its ranges.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = &Expression> {
        self.ranges.iter().flat_map(Ranges::expressions)
    }
}

impl Statement {
    /// The expressions of the statement itself, not those of statements within it.
    pub(crate) fn expressions(&self) -> Vec<&Expression> {
        match &self.kind {
            StatementKind::Assign { target, value, .. } => target.indexes().chain([value]).collect(),
            StatementKind::MultiAssign { targets, call } => {
                targets.iter().flat_map(Target::indexes).chain([call]).collect()
            }
            StatementKind::Call(call) => vec![call],
            StatementKind::If { condition, .. } | StatementKind::While { condition, .. } => vec![condition],
            StatementKind::For { range, .. } => [&range.from, &range.to].into_iter().chain(&range.by).collect(),
        }
    }

    /// The statements within it.
    pub(crate) fn inner(&self) -> impl Iterator<Item = &Statement> {
        let (first, second): (&[Statement], &[Statement]) = match &self.kind {
            StatementKind::Assign { .. } | StatementKind::MultiAssign { .. } | StatementKind::Call(_) => (&[], &[]),
            StatementKind::If { then_body, else_body, .. } => (then_body, else_body),
            StatementKind::While { body, .. } | StatementKind::For { body, .. } => (body, &[]),
        };
        first.iter().chain(second)
    }
}

/// All calls of a file, in no particular order.
pub(crate) fn calls_of(script: &Script) -> Vec<&Call> {
    let mut statements: Vec<&Statement> = script.statements.iter().collect();
    let mut expressions = Vec::new();
    for function in &script.functions {
        statements.extend(&function.body);
        expressions.extend(function.parameters.iter().filter_map(|parameter| parameter.default.as_ref()));
    }
    while let Some(statement) = statements.pop() {
        statements.extend(statement.inner());
        expressions.extend(statement.expressions());
    }
    let mut calls = Vec::new();
    while let Some(expression) = expressions.pop() {
        expressions.extend(expression.children());
        if let ExpressionKind::Call(call) = &expression.kind {
            calls.push(call);
        }
    }
    calls
}
