//! Every rule of the tables, on random instances: where it fires, the oracle accepts the right side for the left, as far
//! as the rule's changes say; every pattern fires, and every guard is needed.

use super::super::rules::{Change, Guard, Rule, all};
use super::super::{RewriteOptions, compile, rewrite};
use super::evaluate::{Cells, evaluate, has_empty_range, value};
use super::instances::{Instance, Patterns, Sides, Values};
use fuseline_interp::oracle::{OracleCell, OracleMatrix, OracleValue, OracleValues};
use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::ops::BinaryOp;
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

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The oracle's cells of an operator; `None` where the result depends on cells that are not certain.
fn oracle(dag: &HopDag, id: HopId, variables: &BTreeMap<String, Cells>) -> Option<(usize, usize, Vec<OracleCell>)> {
    let given = |cells: &Cells| {
        let cell = |r: usize, c: usize| OracleCell::given(cells.values[r * cells.cols + c]);
        OracleValue::Matrix(OracleMatrix::from_fn(cells.rows, cells.cols, cell))
    };
    let value_of = |(name, cells): (&String, &Cells)| {
        let is_scalar =
            dag.hops.values().any(|hop| hop.op == fuseline_ir::hop::HopOp::Read(name.clone()) && hop.is_scalar());
        let value = if is_scalar { OracleValue::Scalar(OracleCell::given(cells.values[0])) } else { given(cells) };
        (name.clone(), value)
    };
    let inputs = variables.iter().map(value_of).collect();
    match OracleValues::default().evaluate(dag, id, &inputs).ok()? {
        OracleValue::Matrix(matrix) => Some((matrix.rows, matrix.cols, matrix.cells.clone())),
        OracleValue::Scalar(cell) => Some((1, 1, vec![*cell])),
        OracleValue::Text(_) => None,
    }
}

/// Whether `actual` may stand for the left side of an instance, as far as the changes of the rule go.
fn check(rule: &Rule, sides: &Sides, actual: &Cells) -> Result<(), String> {
    let Sides { dag, left, right, variables } = sides;
    let naive = value(dag, *left, variables);
    if (naive.rows, naive.cols) != (actual.rows, actual.cols) {
        return Err(format!("{} x {} instead of {} x {}", actual.rows, actual.cols, naive.rows, naive.cols));
    }
    if rule.is_algebraic() {
        return if divides_by_zero(dag, variables) { Ok(()) } else { close(&naive, actual) };
    }
    let bits_stay = rule.changes.is_empty();
    let may_change_sign = rule.changes.contains(&Change::SignOfZero);
    let numbers_stay = rule.changes.iter().all(|change| *change == Change::SignOfZero);
    for (&x, &y) in naive.values.iter().zip(&actual.values) {
        let other_sign = may_change_sign && y.is_infinite() && y == -x;
        let same = x.is_nan() && y.is_nan() || other_sign || x == y && (!bits_stay || x.to_bits() == y.to_bits());
        if !same && (bits_stay || numbers_stay) {
            return Err(format!("{y:e} instead of {x:e}"));
        }
    }
    let Some((_, _, expected)) = oracle(dag, *left, variables) else { return Ok(()) };
    let replaced = oracle(dag, *right, variables);
    for (position, (cell, &y)) in expected.iter().zip(&actual.values).enumerate() {
        let cell = if rule.is_strict() { cell.strict_ieee() } else { *cell };
        let underflows = rule.changes.contains(&Change::Underflow) && (cell.value() - y).abs() < f64::MIN_POSITIVE;
        let other_sign = may_change_sign && y.is_infinite() && y == -cell.value();
        if !cell.accepts(y) && !underflows && !other_sign {
            return Err(format!("{y:e} instead of {cell}"));
        }
        // Nor may zeros annihilate in a cell where they did not.
        let right = replaced.as_ref().map(|(_, _, cells)| cells[position]);
        let by_zeros = right.is_some_and(|right| right.is_tainted() && !right.strict_ieee().is_tainted());
        if !rule.is_strict() && !cell.is_tainted() && by_zeros {
            return Err(format!("a certain {cell} becomes uncertain"));
        }
    }
    Ok(())
}

/// Whether an operator divides by a zero.
fn divides_by_zero(dag: &HopDag, variables: &BTreeMap<String, Cells>) -> bool {
    let values = evaluate(dag, variables);
    let divisors = dag.hops.values().filter(|hop| hop.op == BinaryOp::Div.into()).map(|hop| hop.inputs[1]);
    divisors.into_iter().any(|id| values[id.as_u32() as usize].values.contains(&0.0))
}

/// What is right for real numbers agrees up to rounding where the numbers are tame.
fn close(x: &Cells, y: &Cells) -> Result<(), String> {
    let scale = x.values.iter().chain(&y.values).fold(64.0_f64, |scale, value| scale.max(value.abs()));
    for (&x, &y) in x.values.iter().zip(&y.values) {
        if x.is_finite() && (x - y).abs().is_nan() || (x - y).abs() > 1e-12 * scale {
            return Err(format!("{y:e} instead of {x:e}"));
        }
    }
    Ok(())
}

/// The values on which a rule says something.
fn values_for(rule: &Rule) -> &'static [Values] {
    if rule.is_algebraic() { &Values::TAME } else { &Values::ALL }
}

/// Calls `visit` with random instances of every pattern of a rule.
fn each_pattern(rule: &Rule, visit: &mut dyn FnMut(&Patterns, &str)) {
    for (left, right) in rule.instances() {
        visit(&Patterns::new(rule, &left, &right), &format!("{}: {left} -> {right}", rule.name));
    }
}

fn checked(rule: &Rule, patterns: &Patterns, instance: &Instance) -> Result<(), String> {
    let sides = patterns.sides(instance).ok_or("the right side has no shape")?;
    if has_empty_range(&sides.dag, &sides.variables) {
        return Err("an empty range".to_owned());
    }
    let right = value(&sides.dag, sides.right, &sides.variables);
    check(rule, &sides, &right).map_err(|problem| format!("{problem} of {:?}", sides.variables))
}

#[test]
fn where_rules_fire_the_sides_agree() {
    let mut random = Random(setting("FUSELINE_SEED", 7));
    let attempts = setting("FUSELINE_CASES", 240);
    let mut problems: Vec<String> = Vec::new();
    for rule in all() {
        each_pattern(rule, &mut |patterns, text| {
            let mut fired = 0;
            for attempt in 0.. {
                let values = values_for(rule)[attempt % values_for(rule).len()];
                let instance = patterns.instantiate(rule, values, &mut random);
                if let Some(instance) = instance.filter(|it| it.fires(&patterns.left, &patterns.guarded)) {
                    fired += 1;
                    if let Err(problem) = checked(rule, patterns, &instance) {
                        problems.push(format!("{text}: {problem}"));
                        break;
                    }
                }
                // Rules for many operations have so many more patterns.
                let enough = attempt as u64 >= attempts / (1 + rule.instances().len() as u64 / 30);
                if enough && fired > 0 || attempt > 20_000 {
                    break;
                }
            }
            if fired == 0 {
                problems.push(format!("{text} never fires"));
            }
        });
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Guards without which no value would be wrong, with the reason for them.
fn keeps_errors(rule: &Rule, guard: Guard) -> bool {
    match rule.name {
        // A range, a shape or a cast that does not fit must stay an error.
        "range-of-fill" | "scalar-of-fill" | "aggregate-of-vector" | "cast-back" => true,
        "product-with-ones" => matches!(guard, Guard::Rows(..) | Guard::Columns(..)),
        "product-with-single-cell" => matches!(guard, Guard::OneRow(_) | Guard::OneColumn(_)),
        "product-with-diagonal-matrix" => {
            matches!(guard, Guard::OneColumn("V") | Guard::SameRows(..) | Guard::Conform(..))
        }
        "product-of-blocks" => matches!(guard, Guard::SameRows(..) | Guard::SameColumns(..)),
        "fill-as-operand" => matches!(guard, Guard::Positive(_)),
        "whole-range" => matches!(guard, Guard::SameShape(..)),
        "reshaped-to-itself" => matches!(guard, Guard::Rows(..) | Guard::Columns(..)),
        _ => false,
    }
}

/// In the long form alone: a guard too many costs a rewrite, and no result.
#[test]
fn every_guard_is_needed() {
    if setting("FUSELINE_LONG", 0) == 0 {
        return;
    }
    let mut random = Random(13);
    let mut problems: Vec<String> = Vec::new();
    for rule in all() {
        for (position, guard) in rule.when.iter().enumerate().filter(|(_, guard)| !keeps_errors(rule, **guard)) {
            let others: Vec<Guard> =
                rule.when.iter().enumerate().filter(|(i, _)| *i != position).map(|(_, g)| *g).collect();
            let mut needed = false;
            for (left, right) in rule.instances() {
                let patterns = Patterns::new(rule, &left, &right);
                let freed = compile::compile_pattern(rule, &others, compile::Errors::MayGo, &left, &right);
                for attempt in 0..1_000 + 200_000 / rule.instances().len() {
                    let values = values_for(rule)[attempt % values_for(rule).len()];
                    let Some(instance) = patterns.instantiate(rule, values, &mut random) else { continue };
                    let fires = |rewrites| instance.fires(&patterns.left, rewrites);
                    if fires(&freed) && !fires(&patterns.guarded) && checked(rule, &patterns, &instance).is_err() {
                        needed = true;
                        break;
                    }
                }
                if needed {
                    break;
                }
            }
            if !needed {
                problems.push(format!("{}: {guard:?} keeps nothing wrong from firing", rule.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// All rules together, and extraction: the result of an instance is that of its left side, and sizes are true.
#[test]
fn rewritten_instances_have_the_value_of_the_left_side() {
    let mut random = Random(setting("FUSELINE_SEED", 11));
    let rounds = setting("FUSELINE_CASES", 240) as usize / 15;
    let default = RewriteOptions::default();
    let strict = RewriteOptions { strict_ieee: true, ..default.clone() };
    let algebraic = RewriteOptions { algebraic: true, ..default.clone() };
    let mut problems: Vec<String> = Vec::new();
    for (rule, options) in all().flat_map(|rule| [&default, &strict, &algebraic].map(|options| (rule, options))) {
        each_pattern(rule, &mut |patterns, text| {
            for round in 0..(rounds / rule.instances().len()).max(1) {
                let values: &[Values] = if options.algebraic { &Values::TAME } else { &Values::ALL };
                let values = values[round % values.len()];
                let Some(instance) = patterns.instantiate(rule, values, &mut random) else { continue };
                let Some((dag, root)) = instance.dag(&patterns.left) else { continue };
                if let Err(problem) = rewritten_agrees(dag, root, &instance.variables(), options) {
                    problems.push(format!("{text}: {problem}"));
                }
            }
        });
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Whether an operator keeps type and value when its DAG is rewritten.
pub(super) fn rewritten_agrees(
    mut dag: HopDag,
    root: HopId,
    variables: &BTreeMap<String, Cells>,
    options: &RewriteOptions,
) -> Result<(), String> {
    dag.write("result", root);
    let rewritten = rewrite(&dag, options);
    let output = rewritten.outputs.last().expect("the result").hop;
    let actual = value(&rewritten, output, variables);
    let agrees = if dag[root].data_type != rewritten[output].data_type {
        Err("another type".to_owned())
    } else if options.algebraic && divides_by_zero(&rewritten, variables) {
        Ok(())
    } else if options.algebraic {
        close(&value(&dag, root, variables), &actual)
    } else {
        accepts(&dag, root, variables, options, &actual)
    };
    let agrees = agrees.and_then(|()| sizes_hold(&rewritten, variables));
    agrees.map_err(|problem| format!("{problem} of {variables:?}\n{rewritten}"))
}

/// Whether every operator has the dimensions that the DAG says, and no more non-zeros (where no zero meets what is not
/// finite, which it annihilates in the bounds on non-zeros).
fn sizes_hold(dag: &HopDag, variables: &BTreeMap<String, Cells>) -> Result<(), String> {
    let values = evaluate(dag, variables);
    let is_finite = values.iter().all(|cells| cells.values.iter().all(|value| value.is_finite()));
    for ((id, hop), cells) in dag.hops.iter().zip(&values).filter(|((_, hop), _)| hop.is_matrix()) {
        let non_zeros = cells.values.iter().filter(|value| **value != 0.0).count() as u64;
        let is_size = hop.size.rows.is_none_or(|rows| rows == cells.rows as u64)
            && hop.size.cols.is_none_or(|cols| cols == cells.cols as u64)
            && hop.size.nnz.is_none_or(|bound| non_zeros <= bound || !is_finite);
        if !is_size {
            return Err(format!("{id} is {} x {} with {non_zeros} non-zeros", cells.rows, cells.cols));
        }
    }
    Ok(())
}

fn accepts(
    dag: &HopDag,
    root: HopId,
    variables: &BTreeMap<String, Cells>,
    options: &RewriteOptions,
    actual: &Cells,
) -> Result<(), String> {
    let Some((rows, cols, cells)) = oracle(dag, root, variables) else { return Ok(()) };
    if (rows, cols) != (actual.rows, actual.cols) {
        return Err(format!("{} x {} instead of {rows} x {cols}", actual.rows, actual.cols));
    }
    let accepts = |cell: &OracleCell, value: f64| {
        if options.strict_ieee {
            return cell.strict_ieee().accepts(value);
        }
        // Logistic functions are more precise than what they replace where that overflows on its way to zero.
        cell.accepts(value) || cell.value() == 0.0 && value.abs() < f64::MIN_POSITIVE
    };
    let wrong = cells.iter().zip(&actual.values).find(|(cell, value)| !accepts(cell, **value));
    wrong.map_or(Ok(()), |(cell, value)| Err(format!("{value:e} instead of {cell}")))
}

#[test]
fn rules_have_unique_names_and_documentation() {
    let names: Vec<&str> = all().map(|rule| rule.name).collect();
    let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert!(all().all(|rule| !rule.doc.is_empty() && !rule.patterns.is_empty()));
    let decision = include_str!("../../../../docs/adr/0016-rewrite-rules.md");
    let unlisted: Vec<&&str> = names.iter().filter(|name| !decision.contains(&format!("`{name}`"))).collect();
    assert!(unlisted.is_empty(), "docs/adr/0016-rewrite-rules.md does not list {unlisted:?}");
}

#[test]
fn strict_and_default_rules_are_told_apart_by_their_changes() {
    let named = |name: &str| all().find(|rule| rule.name == name).expect("a rule");
    let (strict, default, algebraic) = (
        RewriteOptions { strict_ieee: true, algebraic: true, ..RewriteOptions::default() },
        RewriteOptions::default(),
        RewriteOptions { algebraic: true, ..RewriteOptions::default() },
    );
    for (name, allowed) in [
        ("double-transpose", [true, true, true]),
        ("weighted-sum", [true, true, true]),
        ("add-zero", [false, true, true]),
        ("multiply-by-zero", [false, true, true]),
        ("one-minus-product", [false, true, true]),
        ("sum-of-sum", [false, false, true]),
        ("negated-order", [false, false, true]),
    ] {
        assert_eq!([&strict, &default, &algebraic].map(|options| named(name).is_allowed(options)), allowed, "{name}");
    }
}
