//! Compiles the rule tables to egg's rewrites: commuted forms, guards, checked application.

use super::egraph::{EGraph, FactsAnalysis, Node};
use super::guards::{Condition, Kind};
use super::operator::mnemonic;
use super::rules::{FAMILIES, Guard, Rule};
use super::{RewriteOptions, Scope};
use egg::{Applier, ENodeOrVar, Id, Language, Pattern, PatternAst, Rewrite, Subst, Symbol, Var};
use foldhash::HashSet;
use fuseline_ir::hop::{HopDag, HopOp};
use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

/// One pattern of a rule, compiled when it is first needed.
struct Entry {
    rule: &'static Rule,
    always_pays: bool,
    left: String,
    right: String,
    /// The operations of either side.
    left_operations: Vec<Symbol>,
    right_operations: Vec<Symbol>,
    rewrites: OnceLock<Vec<Rewrite<Node, FactsAnalysis>>>,
}

/// Every pattern of every rule: the tables never change.
static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let mut entries = Vec::new();
    for family in FAMILIES {
        for rule in family.rules {
            let instances = rule.instances().into_iter();
            entries.extend(instances.map(|(left, right)| Entry::new(rule, family.always_pays, left, right)));
        }
    }
    entries
});

impl Entry {
    fn new(rule: &'static Rule, always_pays: bool, left: String, right: String) -> Entry {
        let (left_operations, right_operations) = (operations(&left), operations(&right));
        Entry { rule, always_pays, left, right, left_operations, right_operations, rewrites: OnceLock::new() }
    }

    fn is_allowed(&self, options: &RewriteOptions, scope: Scope) -> bool {
        self.rule.is_allowed(options) && (scope == Scope::All || self.always_pays)
    }

    /// Whether all operations of the left side are among those that occur.
    fn may_match(&self, occurring: &HashSet<Symbol>) -> bool {
        self.left_operations.iter().all(|operation| occurring.contains(operation))
    }

    fn rewrites(&self) -> &[Rewrite<Node, FactsAnalysis>] {
        self.rewrites.get_or_init(|| compile_pattern(self.rule, self.rule.when, Errors::Stay, &self.left, &self.right))
    }
}

/// The rewrites that options and scope allow, and that may match in a DAG: all operations of their left sides occur in it, or
/// in the right side of another that may.
pub(super) fn rewrites(
    dag: &HopDag,
    options: &RewriteOptions,
    scope: Scope,
) -> Vec<&'static Rewrite<Node, FactsAnalysis>> {
    let mut occurring: HashSet<Symbol> = HashSet::default();
    occurring.extend(dag.hops.values().filter(|hop| !hop.inputs.is_empty()).map(|hop| operation(&hop.op)));
    let mut candidates: Vec<&Entry> = ENTRIES.iter().filter(|entry| entry.is_allowed(options, scope)).collect();
    let mut found: Vec<&Entry> = Vec::new();
    loop {
        let (matching, rest): (Vec<&Entry>, Vec<&Entry>) =
            candidates.into_iter().partition(|entry| entry.may_match(&occurring));
        if matching.is_empty() {
            break;
        }
        occurring.extend(matching.iter().flat_map(|entry| &entry.right_operations));
        found.extend(matching);
        candidates = rest;
    }
    // Patterns that are written both ways round are one where the operation commutes.
    let mut names: HashSet<Symbol> = HashSet::default();
    found.into_iter().flat_map(Entry::rewrites).filter(|rewrite| names.insert(rewrite.name)).collect()
}

/// The operations that a pattern names.
fn operations(pattern: &str) -> Vec<Symbol> {
    let names = pattern.split('(').skip(1).map(|rest| rest.split(&[' ', ')']).next().unwrap_or_default());
    names.map(Symbol::from).collect()
}

/// An operation as patterns name it.
fn operation(op: &HopOp) -> Symbol {
    Symbol::from(mnemonic(op).replace(' ', ":"))
}

/// The rewrites of one pattern under these guards: one for each commuted form. They are named by the rule and that form,
/// since egg schedules and counts by name.
pub(super) fn compile_pattern(
    rule: &Rule,
    guards: &[Guard],
    errors: Errors,
    left: &str,
    right: &str,
) -> Vec<Rewrite<Node, FactsAnalysis>> {
    let mut rewrites = Vec::new();
    for form in commuted(&parse(left).ast) {
        let name = format!("{}{SEPARATOR}{form}", rule.name);
        let form = Pattern::new(form);
        let condition = Condition::new(&form.vars(), guards);
        let right = parse(right).ast;
        let dropped = (errors == Errors::Stay).then(|| Dropped::between(&form.ast, &right));
        let rewrite = Rewrite::new(name, form, CheckedApplier { right, condition, dropped });
        rewrites.push(rewrite.expect("every variable of a right side occurs on the left"));
    }
    rewrites
}

/// The rule that a rewrite comes from.
pub(super) fn rule_of(rewrite: Symbol) -> &'static str {
    let name = rewrite.as_str();
    name.split_once(SEPARATOR).map_or(name, |(rule, _)| rule)
}

/// Stands between the name of a rule and the pattern of its rewrite.
const SEPARATOR: char = '#';

pub(super) fn parse(pattern: &str) -> Pattern<Node> {
    pattern.parse().unwrap_or_else(|error| panic!("the rule tables hold well-formed patterns: `{pattern}`: {error:?}"))
}

/// The pattern with the inputs of its commutative operations in every order, but for the names of variables.
fn commuted(pattern: &PatternAst<Node>) -> Vec<PatternAst<Node>> {
    let mut commutative = Vec::new();
    for (position, node) in pattern.iter().enumerate() {
        if matches!(node, ENodeOrVar::ENode(node) if node.operator.is_commutative()) {
            commutative.push(position);
        }
    }
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

/// What becomes of an operator that may fail, and that a rule would do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errors {
    /// It stays, and so does its error.
    Stay,
    /// It goes where the guards of the rule let it: for tests of these.
    #[cfg(test)]
    MayGo,
}

/// What the left side of a rule computes and the right side does without: it must not be able to fail.
struct Dropped {
    variables: Vec<Var>,
    /// The left side, where it has operations that the right side lacks.
    operations: Option<PatternAst<Node>>,
}

impl Dropped {
    fn between(left: &PatternAst<Node>, right: &PatternAst<Node>) -> Self {
        let of_right: Vec<Var> = Pattern::new(right.clone()).vars();
        let variables = Pattern::new(left.clone()).vars().into_iter().filter(|var| !of_right.contains(var)).collect();
        let is_dropped = left.iter().any(|node| matches!(node, ENodeOrVar::ENode(node) if !has_operation(right, node)));
        Dropped { variables, operations: is_dropped.then(|| left.clone()) }
    }

    fn may_fail(&self, egraph: &EGraph, subst: &Subst) -> bool {
        self.variables.iter().any(|var| egraph[subst[*var]].data.may_be_missing)
            || self.operations.as_ref().is_some_and(|left| fails(egraph, left, subst))
    }
}

/// Whether a pattern has an operation.
fn has_operation(pattern: &PatternAst<Node>, operation: &Node) -> bool {
    pattern.iter().any(|node| matches!(node, ENodeOrVar::ENode(node) if node.matches(operation)))
}

/// Whether an operation of a pattern that matches may fail.
fn fails(egraph: &EGraph, pattern: &PatternAst<Node>, subst: &Subst) -> bool {
    let mut classes: Vec<Id> = Vec::with_capacity(pattern.len());
    for node in pattern.iter() {
        let class = match node {
            ENodeOrVar::Var(var) => Some(subst[*var]),
            ENodeOrVar::ENode(node) => egraph.lookup(node.clone().map_children(|child| classes[usize::from(child)])),
        };
        let Some(class) = class else { return true };
        if matches!(node, ENodeOrVar::ENode(_)) && egraph[class].data.may_fail() {
            return true;
        }
        classes.push(class);
    }
    false
}

/// Makes the right side where the guards hold and its type and shape are those of the left.
struct CheckedApplier {
    right: PatternAst<Node>,
    condition: Condition,
    dropped: Option<Dropped>,
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
        if egraph[class].data.is_settled()
            || !self.condition.holds(egraph, class, subst)
            || self.dropped.as_ref().is_some_and(|dropped| dropped.may_fail(egraph, subst))
        {
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
