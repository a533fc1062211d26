//! Reduction of expressions: fewer results and operators, as long as something holds.

use crate::expression::{Expression, Node};

/// The smallest expression found for which `holds`, which it does for the given one.
pub(crate) fn shrink(mut expression: Expression, holds: &mut dyn FnMut(&Expression) -> bool) -> Expression {
    while let Some(smaller) = candidates(&expression).into_iter().find(|candidate| holds(candidate)) {
        expression = smaller;
    }
    expression
}

/// Valid expressions of fewer operators: of one result, with a result that is one of its operands, or with an operator in
/// whose place another value of its shape stands. The smallest come first.
pub(crate) fn candidates(expression: &Expression) -> Vec<Expression> {
    let mut candidates = with_one_result(expression);
    candidates.extend(with_results_as_operands(expression));
    candidates.extend(with_operators_replaced(expression));
    let operators = expression.operators();
    candidates.retain(|candidate| (1..operators).contains(&candidate.operators()) && candidate.facts().is_some());
    candidates.sort_by_key(Expression::operators);
    candidates.dedup();
    candidates
}

fn with_one_result(expression: &Expression) -> Vec<Expression> {
    let with = |&result: &usize| Expression { results: vec![result], ..expression.clone() }.without_dead_nodes();
    expression.results.iter().map(with).collect()
}

fn with_results_as_operands(expression: &Expression) -> Vec<Expression> {
    let mut candidates = Vec::new();
    for (index, &result) in expression.results.iter().enumerate() {
        for &operand in &expression.nodes[result].operands {
            if expression.is_operator(operand) {
                let mut candidate = expression.clone();
                candidate.results[index] = operand;
                candidates.push(candidate.without_dead_nodes());
            }
        }
    }
    candidates
}

/// In the place of an operator stands one of its operands, or an input.
fn with_operators_replaced(expression: &Expression) -> Vec<Expression> {
    let Some(facts) = expression.facts() else { return Vec::new() };
    let mut candidates = Vec::new();
    for (position, Node { operands, .. }) in expression.nodes.iter().enumerate() {
        if !expression.is_operator(position) {
            continue;
        }
        let inputs = (0..position).filter(|&other| !expression.is_operator(other) && !operands.contains(&other));
        for other in operands.iter().copied().chain(inputs) {
            if facts[other].shape == facts[position].shape {
                candidates.push(with_replaced(expression, position, other));
            }
        }
    }
    candidates
}

/// The expression in which everything that used one value uses another; results that are inputs now are none any more.
fn with_replaced(expression: &Expression, position: usize, other: usize) -> Expression {
    let mut replaced = expression.clone();
    let places = replaced.nodes.iter_mut().flat_map(|node| &mut node.operands).chain(&mut replaced.results);
    places.filter(|place| **place == position).for_each(|place| *place = other);
    replaced.results.retain(|&result| expression.is_operator(result));
    replaced.without_dead_nodes()
}
