//! The search against its parts: fusing the DAG as written, and rewriting first.

use super::price::RELATIVE_TOLERANCE;
use super::*;
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::Context;
use crate::machine::Machine;
use crate::rewrite::rewrite;
use crate::select::{Budget, FusionPlan};
use crate::testing::{Dag, Random, random_dag};
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

fn chosen(dag: &HopDag) -> Chosen {
    choose(dag, &RewriteOptions::default(), &OptimizerOptions::default())
}

/// The price of fusing a DAG as it is: operators of unknown sizes, and seconds.
fn price(dag: &HopDag) -> (usize, f64) {
    let options = OptimizerOptions::default();
    let context = options.context(dag);
    price_of(&context, &Planned::of(&context, &options), &options)
}

fn price_of(context: &Context<'_>, planned: &Planned, options: &OptimizerOptions) -> (usize, f64) {
    let price = Price::of(context, &planned.plan, options, 0);
    (price.unknown, price.total_seconds())
}

/// sum(1 - X * Y), which rewriting and fusion both change.
fn sum_of_one_minus_product() -> Dag {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 100), d.read("Y", 1000, 100));
    let product = d.mult(x, y);
    let one = d.number(1.0);
    let rest = d.dag.add(BinaryOp::Minus.into(), &[one, product], None).expect("fits");
    let sum = d.sum(rest);
    d.write("s", sum);
    d
}

/// How many cases to run, and from which seed.
fn campaign(cases: u64) -> std::ops::Range<u64> {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = variable("FUSELINE_SEED").unwrap_or(1);
    first..first + variable("FUSELINE_CASES").unwrap_or(cases)
}

#[test]
fn the_choice_is_never_worse_than_rewriting_first_or_not_at_all() {
    let mut better = 0;
    for seed in campaign(200) {
        let dag = random_dag(&mut Random(seed), 12);
        let Chosen { dag: result, planned, report } = chosen(&dag);
        result.verify().expect("the chosen form is well-formed");
        let options = OptimizerOptions::default();
        let context = options.context(&result);
        let own = price_of(&context, &planned, &options);
        assert_eq!(own.1, report.tried[report.chosen].seconds, "seed {seed}");
        for (name, other) in [("as written", &dag), ("rewritten", &rewrite(&dag, &RewriteOptions::default()))] {
            let (unknown, seconds) = price(other);
            let is_no_worse = own.0 < unknown || own.0 == unknown && own.1 <= seconds * (1.0 + RELATIVE_TOLERANCE);
            assert!(is_no_worse, "seed {seed}: {own:?} for {unknown} {seconds} {name} of\n{dag}");
            better += usize::from(own.0 == unknown && own.1 < seconds * (1.0 - RELATIVE_TOLERANCE));
        }
        let shapes = |dag: &HopDag| -> Vec<_> {
            dag.outputs.iter().map(|output| (output.name.clone(), dag[output.hop].data_type)).collect()
        };
        assert_eq!(shapes(&result), shapes(&dag), "seed {seed}");
        assert_eq!(chosen(&dag).dag.to_string(), result.to_string(), "seed {seed} twice");
    }
    assert!(better > 0, "no search found anything");
}

/// `(X * r) %*% c`, with `c = t(colSums(X * rowSums(Y)))` computed anyway, is `X %*% (t(r) * c)`, which scales a column: no other form
/// needs `t(r) * c`, and for it alone `t(t(c) * r)` would be as good.
#[test]
fn what_a_change_needs_is_computed_of_what_is_there() {
    let mut d = Dag::default();
    let (x, y, r) = (d.read("X", 1_000_000, 4), d.read("Y", 1_000_000, 4), d.read("r", 1, 4));
    let sums = d.op((AggOp::Sum, Direction::Row), &[y]);
    let scaled = d.mult(x, sums);
    let by_column = d.op((AggOp::Sum, Direction::Col), &[scaled]);
    let column = d.t(by_column);
    let scaled = d.mult(x, r);
    let product = d.matmul(scaled, column);
    d.write("c", column);
    d.write("p", product);
    let Chosen { dag, .. } = chosen(&d.dag);
    let factor = dag.hops.values().find(|hop| hop.op == BinaryOp::Mult.into()).expect("r scales something");
    assert_eq!(factor.size.known_dims(), Some((4, 1)), "{dag}");
}

/// What forms have in common is decided once: a large part that has one form, beside a small one that has several.
#[test]
fn parts_that_forms_share_are_decided_once() {
    let mut d = Dag::default();
    let (a, b) = (d.read("A", 3000, 200), d.read("B", 3000, 200));
    let product = d.mult(a, b);
    let exponential = d.op(UnaryOp::Exp, &[product]);
    let (root, sine) = (d.op(UnaryOp::Sqrt, &[exponential]), d.op(UnaryOp::Sin, &[exponential]));
    let both = d.mult(root, sine);
    let (rows, columns) =
        (d.op((AggOp::Sum, Direction::Row), &[both]), d.op((AggOp::Max, Direction::Col), &[exponential]));
    let (c, w) = (d.read("C", 1000, 100), d.read("w", 1000, 1));
    let logarithm = d.op(UnaryOp::Log, &[c]);
    let transposed = d.t(logarithm);
    let by_column = d.matmul(transposed, w);
    for (name, value) in [("r", rows), ("c", columns), ("e", sine), ("g", by_column)] {
        d.write(name, value);
    }
    let Chosen { dag, report, .. } = chosen(&d.dag);
    let options = OptimizerOptions::default();
    let of_one = Planned::of(&options.context(&dag), &options).plan.visits;
    assert!(report.tried.len() > 1, "{report}");
    assert!(2 * report.visits < 3 * of_one, "{} visits of all forms, {of_one} of one\n{report}", report.visits);
}

/// Two forms may use up their budgets; each further one that does leaves less to the next, but always some.
#[test]
fn forms_share_the_budget() {
    let mut d = Dag::default();
    let x = d.read("X", 10, 10);
    d.write("Y", x);
    let options = OptimizerOptions::default();
    let forms = Forms::of(&d.dag, &RewriteOptions::default());
    let mut search = Search::new(&forms, &options);
    let budgets = [0, 1, 2, 3, 4, 1000].map(|exhausted| {
        search.exhausted = exhausted;
        search.limits().budget
    });
    assert_eq!(budgets, [20_000, 20_000, 5_000, 1_250, 312, LEAST_STEPS].map(Budget::of));
}

/// `Yi = t(X) %*% (X * wi); zi = rowSums(Yi / sum(Yi))` for each of so many columns, and the sum of all: one partition in
/// which nearly every operator has an interesting point.
fn normalized_products(parts: usize) -> HopDag {
    let mut d = Dag::default();
    let x = d.read("X", 10_000, 100);
    let transposed = d.t(x);
    let mut total = None;
    for part in 0..parts {
        let weights = d.read(&format!("w{part}"), 10_000, 1);
        let weighted = d.mult(x, weights);
        let product = d.matmul(transposed, weighted);
        let sum = d.sum(product);
        let normalized = d.op(BinaryOp::Div, &[product, sum]);
        let rows = d.op((AggOp::Sum, Direction::Row), &[normalized]);
        total = Some(total.map_or(rows, |total| d.plus(total, rows)));
    }
    d.write("z", total.expect("there are parts"));
    d.dag
}

/// `Z = Z * abs(Z) + 1` and `Z = Z / sum(Z)` by turns.
fn normalizations(parts: usize) -> HopDag {
    let mut d = Dag::default();
    let mut z = d.read("Z", 10_000, 100);
    let one = d.number(1.0);
    for _ in 0..parts {
        let magnitude = d.op(UnaryOp::Abs, &[z]);
        let product = d.mult(z, magnitude);
        let shifted = d.plus(product, one);
        let sum = d.sum(shifted);
        z = d.op(BinaryOp::Div, &[shifted, sum]);
    }
    d.write("Z", z);
    d.dag
}

/// The work of a search is in proportion to the block however many points its partitions have: all forms together visit
/// what the limit allows per operator, besides the two heuristics of each form. What comes of it is no worse than these.
#[test]
fn the_work_is_in_proportion_to_the_block() {
    let options = OptimizerOptions::default();
    let per_operator = options.search_limits.visits;
    let mut ended = 0;
    for dag in [10, 20, 40, 80].into_iter().flat_map(|parts| [normalized_products(parts), normalizations(parts)]) {
        let Chosen { dag: form, planned, report } = chosen(&dag);
        let operators = dag.hops.len().max(form.hops.len()) as u64;
        // A heuristic counts as one plan, and the last step of a search may go beyond its limit by one.
        let besides = 100 * report.tried.len() as u64;
        let most = u64::from(FULL_BUDGETS) * per_operator + besides;
        assert!(report.visits <= most * operators, "{} visits of {operators} operators", report.visits);
        ended += planned.plan.stats().exhausted;
        let context = options.context(&form);
        for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
            let heuristic = Planned::of(&context, &OptimizerOptions { policy, ..options.clone() });
            let seconds = |planned: &Planned| plan_seconds(&context, &planned.plan, &options.model);
            assert!(seconds(&planned) <= seconds(&heuristic) * (1.0 + RELATIVE_TOLERANCE));
        }
    }
    assert!(ended > 0, "the limit decides nothing here");
}

/// Policies that know no cost fuse the form that rewriting prefers, and without rewrites there is one form.
#[test]
fn only_policies_that_know_costs_search() {
    let d = sum_of_one_minus_product();
    let rewrites = RewriteOptions::default();
    for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
        let options = OptimizerOptions { policy, ..OptimizerOptions::default() };
        let Chosen { dag, report, .. } = choose(&d.dag, &rewrites, &options);
        assert_eq!(dag.to_string(), rewrite(&d.dag, &rewrites).to_string());
        assert_eq!(report.tried.len(), 1);
    }
    let off = RewriteOptions { enabled: false, ..rewrites };
    let Chosen { dag, report, .. } = choose(&d.dag, &off, &OptimizerOptions::default());
    assert_eq!((dag.to_string(), report.tried.len()), (d.dag.to_string(), 1));
}

/// A DAG without anything that a rule or a template knows is priced once.
#[test]
fn nothing_to_choose_means_no_search() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let exp = d.dag.add(UnaryOp::Exp.into(), &[x], None).expect("fits");
    let max = d.dag.add((AggOp::Max, Direction::Row).into(), &[exp], None).expect("fits");
    d.write("m", max);
    let report = chosen(&d.dag).report;
    assert_eq!((report.tried.len(), report.explored), (1, 0));
}

/// The whole DAG has a price: basic operators are paid, and what several fused operators cover is paid in each.
#[test]
fn prices_are_those_of_all_operators() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 1000), d.read("Y", 1000, 1000));
    let product = d.mult(x, y);
    let sum = d.sum(product);
    d.write("s", sum);
    let options = OptimizerOptions::default();
    let context = options.context(&d.dag);
    let planned = Planned::of(&context, &options);
    let seconds = |template, root, members: &[HopId], inputs: &[HopId]| {
        let operator = Operator { template, roots: vec![root].into(), members: members.into(), inputs: inputs.into() };
        options.model.operator_seconds(&context, &operator)
    };
    let fused = plan_seconds(&context, &planned.plan, &options.model);
    assert_eq!(fused, seconds(Some(TemplateType::Cell), sum, &[product, sum], &[x, y]));
    let unfused = plan_seconds(&context, &FusionPlan::default(), &options.model);
    let basic = seconds(None, sum, &[sum], &[product]) + seconds(None, product, &[product], &[x, y]);
    assert_eq!(unfused, basic);
    assert!(fused < unfused);
}

/// Plans with operators that a constraint forbids are compared by how many these are, then by the rest.
#[test]
fn fewer_forbidden_operators_are_better() {
    let price = |unknown, forbidden, seconds, cost| Price { unknown, forbidden, seconds, cost };
    let ascending = [
        price(0, 0, 1.0, 5),
        price(0, 0, 1.0 + 1e-12, 6),
        price(0, 0, 2.0, 1),
        price(0, 1, 0.0, 1),
        price(0, 1, 0.0, 2),
        price(0, 1, 3.0, 1),
        price(0, 2, 1.0, 1),
        price(1, 0, 0.0, 0),
    ];
    for (number, one) in ascending.iter().enumerate() {
        for (other_number, other) in ascending.iter().enumerate() {
            assert_eq!(one.beats(other), number < other_number, "{one:?} and {other:?}");
        }
    }
}

/// Where no plan fits into memory, a choice is made all the same, and its price is infinite.
#[test]
fn nothing_fits_into_memory() {
    let d = sum_of_one_minus_product();
    let model = CostModel::new(Machine { memory_budget: Some(1e3), ..Machine::default() });
    let options = OptimizerOptions { model, ..OptimizerOptions::default() };
    let report = choose(&d.dag, &RewriteOptions::default(), &options).report;
    assert!(report.tried.len() > 1);
    assert!(report.tried.iter().all(|form| form.seconds == f64::INFINITY), "{report}");
}
