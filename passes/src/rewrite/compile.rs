//! Compiles the rule tables to egg's rewrites: commuted forms, guards, checked application.

use super::RewriteOptions;
use super::egraph::{EGraph, FactsAnalysis, Node};
use super::guards::{Condition, Kind};
use super::rules::{Guard, Rule, all};
use egg::{Applier, ENodeOrVar, Id, Language, Pattern, PatternAst, Rewrite, Subst, Symbol, Var};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Every rule with its rewrites: the tables never change, and compiling them takes longer than most saturations.
static COMPILED: LazyLock<Vec<(&'static Rule, Vec<Rewrite<Node, FactsAnalysis>>)>> =
    LazyLock::new(|| all().map(|rule| (rule, compile(rule, rule.when))).collect());

/// The rewrites of the rules that these options allow.
pub(super) fn rewrites(options: &RewriteOptions) -> impl Iterator<Item = &'static Rewrite<Node, FactsAnalysis>> {
    let allowed = COMPILED.iter().filter(|(rule, _)| rule.is_allowed(options));
    allowed.flat_map(|(_, rewrites)| rewrites)
}

/// The rewrites of one rule under these guards.
pub(super) fn compile(rule: &Rule, guards: &[Guard]) -> Vec<Rewrite<Node, FactsAnalysis>> {
    let mut rewrites = Vec::new();
    for (left, right) in rule.instances() {
        compile_pattern(rule, guards, &left, &right, &mut rewrites);
    }
    rewrites
}

/// The rewrites of one pattern: one for each commuted form. They are named by the rule and a number, since egg schedules
/// and counts by name.
pub(super) fn compile_pattern(
    rule: &Rule,
    guards: &[Guard],
    left: &str,
    right: &str,
    rewrites: &mut Vec<Rewrite<Node, FactsAnalysis>>,
) {
    for left in commuted(&parse(left).ast) {
        let name = format!("{}{NUMBER}{}", rule.name, rewrites.len());
        let left = Pattern::new(left);
        let condition = Condition::new(&left.vars(), guards);
        let rewrite = Rewrite::new(name, left, CheckedApplier { right: parse(right).ast, condition });
        rewrites.push(rewrite.expect("every variable of a right side occurs on the left"));
    }
}

/// The rule that a rewrite comes from.
pub(super) fn rule_of(rewrite: Symbol) -> &'static str {
    let name = rewrite.as_str();
    name.split_once(NUMBER).map_or(name, |(rule, _)| rule)
}

/// Stands between the name of a rule and the number of its rewrite.
const NUMBER: char = '#';

pub(super) fn parse(pattern: &str) -> Pattern<Node> {
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
                tokens.push(format!("{:?}#{number}", Kind::of(var)));
            }
            Err(_) => tokens.push(token.to_owned()),
        }
    }
    tokens.join(" ")
}

/// Makes the right side where the guards hold and its type and shape are those of the left.
struct CheckedApplier {
    right: PatternAst<Node>,
    condition: Condition,
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
        if !self.condition.holds(egraph, class, subst) {
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
}
