//! Every rule of the tables, instantiated with random shapes and values: both sides evaluate to the same.

use super::super::compile::Guard;
use super::super::egraph::Node;
use super::super::rules::{Changes, Rule};
use super::super::{RewriteOptions, all_rules, rewrite_with_report};
use super::evaluate::{Cells, value};
use egg::{ENodeOrVar, Pattern, Var};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::types::Value;
use std::collections::BTreeMap;

/// A small generator of reproducible numbers (`SplitMix64`).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Values {
    SmallIntegers,
    Reals,
    NonFinite,
}

impl Values {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Values::SmallIntegers => random.below(17) as f64 - 8.0,
            Values::Reals => (random.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0,
            Values::NonFinite => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.5, 1e308][random.below(7)],
        }
    }
}

/// One instance of a rule: both sides over the same leaves.
struct Instance {
    dag: HopDag,
    left: HopId,
    right: HopId,
    variables: BTreeMap<String, Cells>,
}

/// Binds the variables of a rule to leaves: matrices of one random shape, sometimes vectors that broadcast, or scalars.
fn instantiate(left: &str, right: &str, values: Values, known_sizes: bool, random: &mut Random) -> Instance {
    let (rows, cols) = (1 + random.below(5), 1 + random.below(5));
    let (left, right): (Pattern<Node>, Pattern<Node>) = (parse(left), parse(right));
    let mut dag = HopDag::new();
    let mut variables = BTreeMap::new();
    let mut leaves: BTreeMap<Var, HopId> = BTreeMap::new();
    for var in left.vars() {
        let name = var.to_string();
        let leaf = match Guard::of(var) {
            Guard::Literal(number) if random.below(2) == 0 => dag.literal(Value::F64(number)),
            Guard::Literal(number) => dag.literal(Value::I64(number as i64)),
            Guard::Numeric if random.below(4) == 0 => {
                variables.insert(name.clone(), Cells::scalar(values.draw(random)));
                dag.read_scalar(&name)
            }
            Guard::Numeric | Guard::Matrix => {
                let (rows, cols) = if random.below(4) == 0 { (1, cols) } else { (rows, cols) };
                let cells = (0..rows * cols).map(|_| values.draw(random)).collect();
                variables.insert(name.clone(), Cells { rows, cols, values: cells });
                let size = if known_sizes { SizeInfo::dims(rows as u64, cols as u64) } else { SizeInfo::UNKNOWN };
                dag.read_matrix(&name, size)
            }
        };
        leaves.insert(var, leaf);
    }
    let left = build(&mut dag, &left, &leaves);
    let right = build(&mut dag, &right, &leaves);
    Instance { dag, left, right, variables }
}

fn parse(pattern: &str) -> Pattern<Node> {
    pattern.parse().expect("a pattern of the tables")
}

fn build(dag: &mut HopDag, pattern: &Pattern<Node>, leaves: &BTreeMap<Var, HopId>) -> HopId {
    let mut ids: Vec<HopId> = Vec::new();
    for node in pattern.ast.iter() {
        ids.push(match node {
            ENodeOrVar::Var(var) => leaves[var],
            ENodeOrVar::ENode(node) => {
                let inputs: Vec<HopId> = node.inputs.iter().map(|&input| ids[usize::from(input)]).collect();
                dag.add(node.operator.op().clone(), &inputs, None).expect("instances fit the operations")
            }
        });
    }
    *ids.last().expect("patterns are not empty")
}

/// How far two evaluations of one rule may lie apart.
fn tolerance(rule: &Rule, values: Values) -> f64 {
    match (rule.changes, values) {
        (Changes::Nothing | Changes::SignOfZero, _) | (Changes::AggregationOrder, Values::SmallIntegers) => 0.0,
        _ => 1e-14,
    }
}

fn agree(rule: &Rule, values: Values, x: &Cells, y: &Cells) -> bool {
    let same = |(&x, &y): (&f64, &f64)| {
        let signs = rule.changes != Changes::Nothing || x.is_nan() || x.to_bits() == y.to_bits();
        let scale = x.abs().max(y.abs()).max(1.0);
        (x == y && signs) || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance(rule, values) * scale
    };
    (x.rows, x.cols) == (y.rows, y.cols) && x.values.iter().zip(&y.values).all(same)
}

/// Sums of values near the largest double overflow or not, depending on their order; such instances prove nothing.
fn is_order_dependent(rule: &Rule, instance: &Instance) -> bool {
    let large = instance.variables.values().flat_map(|cells| &cells.values).filter(|x| x.abs() == 1e308).count();
    rule.changes == Changes::AggregationOrder && large > 0
}

#[test]
fn both_sides_of_every_rule_agree() {
    let mut random = Random(7);
    for rule in all_rules() {
        for &(left, right) in rule.patterns {
            for values in [Values::SmallIntegers, Values::Reals, Values::NonFinite] {
                for _ in 0..100 {
                    let instance = instantiate(left, right, values, true, &mut random);
                    if is_order_dependent(rule, &instance) {
                        continue;
                    }
                    let x = value(&instance.dag, instance.left, &instance.variables);
                    let y = value(&instance.dag, instance.right, &instance.variables);
                    let Instance { variables, .. } = &instance;
                    assert!(agree(rule, values, &x, &y), "{}: {left}: {x:?} and {y:?} of {variables:?}", rule.name);
                }
            }
        }
    }
}

#[test]
fn every_rule_fires_and_lowers_the_cost() {
    let mut random = Random(11);
    for rule in all_rules() {
        for (index, &(left, right)) in rule.patterns.iter().enumerate() {
            let mut fired = false;
            for round in 0..20 {
                let mut instance = instantiate(left, right, Values::SmallIntegers, round % 2 == 0, &mut random);
                instance.dag.write("result", instance.left);
                let (rewritten, report) = rewrite_with_report(&instance.dag, &RewriteOptions::default());
                let output = rewritten.outputs[0].hop;
                let (before, after) = (&instance.dag[instance.left], &rewritten[output]);
                assert_eq!((before.data_type, before.size), (after.data_type, after.size), "{}: {left}", rule.name);
                let x = value(&instance.dag, instance.left, &instance.variables);
                let y = value(&rewritten, output, &instance.variables);
                assert!(agree(rule, Values::SmallIntegers, &x, &y), "{}: {left}: {x:?} and {y:?}", rule.name);
                fired |= report.applied.iter().any(|(name, _)| *name == rule.name) && report.cost.1 < report.cost.0;
            }
            assert!(fired, "pattern {index} of {} never lowered the cost", rule.name);
        }
    }
}

#[test]
fn rules_have_unique_names_and_documentation() {
    let names: Vec<&str> = all_rules().map(|rule| rule.name).collect();
    let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert!(all_rules().all(|rule| !rule.doc.is_empty() && !rule.patterns.is_empty()));
}
