//! Compiles the rule tables to egg's rewrites: commuted forms, guards by variable names, checked application.

use super::egraph::{EGraph, Facts, FactsAnalysis, Node};
use super::rules::Rule;
use egg::{Applier, ENodeOrVar, Id, Language, Pattern, PatternAst, Rewrite, Subst, Symbol, Var};
use fuseline_ir::types::{DataType, Value};
use std::collections::BTreeSet;

/// The rewrites of one rule, named by it and a number, since egg schedules and counts by name.
pub(super) fn compile(rule: &'static Rule) -> Vec<Rewrite<Node, FactsAnalysis>> {
    let variants = rule.patterns.iter().flat_map(|(left, right)| {
        let right: Pattern<Node> = parse(right);
        commuted(&parse(left).ast).into_iter().map(move |left| (Pattern::new(left), right.clone()))
    });
    let rewrite = |(number, (left, right)): (usize, (Pattern<Node>, Pattern<Node>))| {
        let guards = left.vars().into_iter().map(|var| (var, Guard::of(var))).collect();
        let applier = CheckedApplier { right: right.ast, guards };
        let name = format!("{}{NUMBER}{number}", rule.name);
        Rewrite::new(name, left, applier).expect("every variable of a right side occurs on the left")
    };
    variants.enumerate().map(rewrite).collect()
}

/// The rule that a rewrite comes from.
pub(super) fn rule_of(rewrite: Symbol) -> &'static str {
    let name = rewrite.as_str();
    name.split_once(NUMBER).map_or(name, |(rule, _)| rule)
}

/// Stands between the name of a rule and the number of its rewrite.
const NUMBER: char = '#';

fn parse(pattern: &str) -> Pattern<Node> {
    pattern.parse().unwrap_or_else(|error| panic!("the rule tables hold well-formed patterns: `{pattern}`: {error:?}"))
}

/// The pattern with the inputs of its commutative operations in every order, but for the names of variables.
fn commuted(pattern: &PatternAst<Node>) -> Vec<PatternAst<Node>> {
    let is_commutative =
        |node: &ENodeOrVar<Node>| matches!(node, ENodeOrVar::ENode(node) if node.operator.is_commutative());
    let commutative: Vec<usize> = (0..pattern.len()).filter(|&i| is_commutative(&pattern[Id::from(i)])).collect();
    let mut seen = BTreeSet::new();
    let mut variants = Vec::new();
    for exchanged in 0..1usize << commutative.len() {
        let mut nodes: Vec<ENodeOrVar<Node>> = pattern.iter().cloned().collect();
        for (bit, &position) in commutative.iter().enumerate() {
            if exchanged & (1 << bit) != 0 {
                nodes[position].children_mut().reverse();
            }
        }
        let variant = PatternAst::from(nodes);
        if seen.insert(without_names(&variant)) {
            variants.push(variant);
        }
    }
    variants
}

/// The text of a pattern with variables numbered as they occur, so that patterns that match the same have one text.
fn without_names(pattern: &PatternAst<Node>) -> String {
    let mut order: Vec<Var> = Vec::new();
    let text = pattern.to_string();
    let mut tokens = Vec::new();
    for token in text.replace('(', "( ").replace(')', " )").split_whitespace() {
        match token.parse::<Var>() {
            Ok(var) => {
                let number = order.iter().position(|&seen| seen == var).unwrap_or_else(|| {
                    order.push(var);
                    order.len() - 1
                });
                tokens.push(format!("{:?}#{number}", Guard::of(var)));
            }
            Err(_) => tokens.push(token.to_owned()),
        }
    }
    tokens.join(" ")
}

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Guard {
    Matrix,
    Numeric,
    Literal(f64),
}

impl Guard {
    /// By the variable's name, as the documentation of the rules says.
    pub(super) fn of(var: Var) -> Self {
        let name = var.to_string();
        match name.chars().nth(1) {
            Some(digit) if digit.is_ascii_digit() => Guard::Literal(f64::from(digit as u8 - b'0')),
            Some(letter) if letter.is_ascii_uppercase() => Guard::Matrix,
            _ => Guard::Numeric,
        }
    }

    fn holds(self, facts: &Facts) -> bool {
        match self {
            Guard::Matrix => facts.data_type.is_matrix(),
            Guard::Numeric => {
                facts.data_type.is_matrix() || facts.data_type.is_scalar() && facts.data_type != DataType::STR
            }
            Guard::Literal(number) => facts.constant.as_ref().and_then(Value::as_f64) == Some(number),
        }
    }
}

/// Makes the right side where the guards hold and its type and shape are those of the left.
struct CheckedApplier {
    right: PatternAst<Node>,
    guards: Vec<(Var, Guard)>,
}

impl Applier<Node, FactsAnalysis> for CheckedApplier {
    fn apply_one(
        &self,
        egraph: &mut EGraph,
        class: Id,
        subst: &Subst,
        _searcher: Option<&PatternAst<Node>>,
        _rule: Symbol,
    ) -> Vec<Id> {
        if !self.guards.iter().all(|(var, guard)| guard.holds(&egraph[subst[*var]].data)) {
            return Vec::new();
        }
        let made = egraph.add_instantiation(&self.right, subst);
        let fits = egraph[made].data.agrees(&egraph[class].data);
        if fits && egraph.union(class, made) { vec![class] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pattern: &str) -> usize {
        commuted(&parse(pattern).ast).len()
    }

    #[test]
    fn commuted_forms() {
        assert_eq!(count("(plus ?x ?x)"), 1);
        assert_eq!(count("(minus ?x ?0)"), 1);
        assert_eq!(count("(mult ?x ?1)"), 2);
        // Both orders of a product of two free variables match the same.
        assert_eq!(count("(minus ?1 (mult ?x ?y))"), 1);
        assert_eq!(count("(div ?1 (plus ?1b (exp (neg ?x))))"), 2);
    }

    #[test]
    fn names_of_variables_are_guards() {
        let guard = |name: &str| Guard::of(name.parse().expect("a variable"));
        assert_eq!(guard("?X"), Guard::Matrix);
        assert_eq!(guard("?x"), Guard::Numeric);
        assert_eq!(guard("?1b"), Guard::Literal(1.0));
    }
}
