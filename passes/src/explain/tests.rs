//! Explanations of the paper's examples, and of random DAGs.

use super::formula::formula;
use super::report::{Comparison, Effect, FailedCondition, PlanReport, Proof, Reason, TemplateLimit, UnfusedEdge};
use super::text::percent;
use super::{memo_text, report, report_text};
use crate::facts::TemplateLimits;
use crate::joint::plan_seconds;
use crate::pipeline::{OptimizerOptions, Planned, Selection};
use crate::select::SelectPolicy;
use crate::testing::{self, Dag, Random};
use fuseline_ir::hop::{HopDag, HopId, HopOp, NaryOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

/// What `explain` makes of the selection for a DAG.
fn with_selection<T>(dag: &HopDag, options: &OptimizerOptions, explain: impl Fn(&Selection<'_>) -> T) -> T {
    let context = options.context(dag);
    let Planned { memo, plan } = Planned::of(&context, options);
    explain(&Selection { context: &context, memo: &memo, options, plan: &plan })
}

fn explained(dag: &HopDag, options: &OptimizerOptions) -> PlanReport {
    with_selection(dag, options, report)
}

/// The one edge between two operators that is not fused.
#[track_caller]
fn unfused(report: &PlanReport, consumer: HopId, producer: HopId) -> &UnfusedEdge {
    let is_edge = |edge: &&UnfusedEdge| (edge.consumer, edge.producer) == (consumer.as_u32(), producer.as_u32());
    report.unfused.iter().find(is_edge).unwrap_or_else(|| panic!("{consumer} and {producer} are fused"))
}

/// P029, P030: the Outer operator would lose its sparsity inside of a Row one.
#[test]
fn a_template_switch_is_compared_with_the_plan_without_it() {
    let (dag, product, output) = testing::als_update();
    let report = explained(&dag, &OptimizerOptions::default());
    let edge = unfused(&report, output, product);
    let Reason::Dearer(Comparison { chosen, fused: Some(fused), effects, .. }) = &edge.reason else {
        panic!("{edge:?}");
    };
    assert!(fused > &(10.0 * chosen), "{edge:?}");
    assert!(effects.contains(&Effect::TemplateSwitch { from: TemplateType::Outer }), "{edge:?}");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::LosesSparsity { driver: 0, .. })), "{edge:?}");
    assert!(edge.sentence.contains("would leave its outer operator, the zeros of X would no longer be skipped"));
}

/// A value with two consumers: fuse-no-redundancy leaves it, and says what it would cost to compute it twice.
#[test]
fn policies_that_do_not_ask_for_costs_say_what_these_are() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 1000), d.read("Y", 1000, 1000));
    let product = d.mult(x, y);
    let sums = d.op((AggOp::Sum, Direction::Row), &[product]);
    let other = d.op((AggOp::Sum, Direction::Col), &[product]);
    d.write("a", sums);
    d.write("b", other);
    let options = OptimizerOptions { policy: SelectPolicy::FuseNoRedundancy, ..OptimizerOptions::default() };
    let report = explained(&d.dag, &options);
    for consumer in [sums, other] {
        let edge = unfused(&report, consumer, product);
        let (Reason::Dearer(comparison) | Reason::NotConsidered(comparison)) = &edge.reason else {
            panic!("{edge:?}");
        };
        let readers = vec![if consumer == sums { other.as_u32() } else { sums.as_u32() }];
        assert_eq!(comparison.effects, [Effect::ComputedAgain { readers }], "{edge:?}");
    }
}

#[test]
fn what_templates_have_no_place_for_is_named() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let exp = d.op(UnaryOp::Exp, &[x]);
    let reversed = d.op(fuseline_ir::hop::HopOp::Reorg(fuseline_ir::hop::ReorgOp::Rev), &[exp]);
    let total = d.sum(reversed);
    d.write("s", total);
    let report = explained(&d.dag, &OptimizerOptions::default());
    let conditions = |edge: &UnfusedEdge| match &edge.reason {
        Reason::NoTemplate { conditions } => conditions.iter().map(|condition| condition.fails).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let above = unfused(&report, reversed, exp);
    assert!(conditions(above).contains(&FailedCondition::Consumer), "{above:?}");
    let below = unfused(&report, total, reversed);
    assert!(conditions(below).iter().all(|&fails| fails == FailedCondition::Producer), "{below:?}");
    assert!(below.sentence.starts_with("no template has a place for 2 r(rev)"), "{below:?}");
}

#[test]
fn aggregates_end_operators() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let sums = d.op((AggOp::Sum, Direction::Col), &[x]);
    let scaled = d.mult(sums, sums);
    d.write("o", scaled);
    let report = explained(&d.dag, &OptimizerOptions::default());
    let edge = unfused(&report, scaled, sums);
    assert!(edge.sentence.contains("operators end at 1 ua(C+)"), "{edge:?}");
}

#[test]
fn limits_are_found_by_exploring_without_them() {
    let mut d = Dag::default();
    let (x, b) = (d.read("X", 10_000, 500), d.read("B", 500, 100));
    let product = d.matmul(x, b);
    let positive = d.op(UnaryOp::Abs, &[product]);
    d.write("o", positive);
    let report = explained(&d.dag, &OptimizerOptions::default());
    let edge = unfused(&report, positive, product);
    assert_eq!(edge.reason, Reason::Limit { limit: TemplateLimit::NarrowProduct { cols: 64 } });

    let (dag, product, output) = testing::outer_plus_dense();
    let limits = TemplateLimits { strict_ieee: true, ..TemplateLimits::default() };
    let options = OptimizerOptions { template_limits: limits, ..OptimizerOptions::default() };
    let report = explained(&dag, &options);
    let outer = dag[product].inputs[1];
    let edge = unfused(&report, product, outer);
    assert_eq!(edge.reason, Reason::Limit { limit: TemplateLimit::StrictIeee });
    assert!(!report.unfused.iter().any(|edge| edge.consumer == output.as_u32()), "the sum is fused");
}

/// P094: of many operands, plans decide about the largest; what they leave out is said.
#[test]
fn operands_that_are_left_out_are_named() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let operands = [UnaryOp::Exp, UnaryOp::Abs, UnaryOp::Sqrt, UnaryOp::Pow2, UnaryOp::Sigmoid, UnaryOp::Floor];
    let mut operands: Vec<HopId> = operands.into_iter().map(|op| d.op(op, &[x])).collect();
    let six = d.op(HopOp::Nary(NaryOp::Plus), &operands);
    d.write("six", six);
    let report = explained(&d.dag, &OptimizerOptions::default());
    assert!(report.unfused.is_empty(), "{:?}", report.unfused);

    operands.push(d.op(UnaryOp::Ceil, &[x]));
    let seven = d.op(HopOp::Nary(NaryOp::Plus), &operands);
    d.dag.outputs.clear();
    d.write("seven", seven);
    let report = explained(&d.dag, &OptimizerOptions::default());
    let edge = unfused(&report, seven, operands[6]);
    assert_eq!(edge.reason, Reason::Limit { limit: TemplateLimit::Operands { count: 6 } });
}

#[test]
fn unknown_sizes_are_named() {
    let mut d = Dag::default();
    let x = d.dag.read_matrix("X", fuseline_ir::SizeInfo::UNKNOWN);
    let exp = d.op(UnaryOp::Exp, &[x]);
    let total = d.sum(exp);
    d.write("s", total);
    let report = explained(&d.dag, &OptimizerOptions::default());
    assert_eq!(unfused(&report, total, exp).reason, Reason::UnknownSize { hop: exp.as_u32() });
}

/// A size that is not known may be further away: that of what the producer aggregates.
#[test]
fn unknown_sizes_of_inputs_are_named_where_templates_ask_for_them() {
    let mut d = Dag::default();
    let size = fuseline_ir::SizeInfo { rows: Some(1000), cols: None, nnz: None };
    let x = d.dag.read_matrix("X", size);
    let exp = d.op(UnaryOp::Exp, &[x]);
    let sums = d.op((AggOp::Sum, Direction::Row), &[exp]);
    let log = d.op(UnaryOp::Log, &[sums]);
    d.write("o", log);
    let report = explained(&d.dag, &OptimizerOptions::default());
    assert_eq!(unfused(&report, log, sums).reason, Reason::UnknownSize { hop: exp.as_u32() });
}

/// Only what closes ends operators: Row operators do not get to a vector that is made of vectors.
#[test]
fn operators_that_never_get_to_a_value_do_not_end_there() {
    let mut d = Dag::default();
    let (x, v, w) = (d.read("X", 1000, 100), d.read("v", 100, 1), d.read("w", 100, 1));
    let scaled = d.mult(v, w);
    let product = d.matmul(x, scaled);
    d.write("o", product);
    let report = explained(&d.dag, &OptimizerOptions::default());
    let edge = unfused(&report, product, scaled);
    assert!(!edge.sentence.contains("end at"), "{edge:?}");
    let Reason::NoTemplate { conditions } = &edge.reason else { panic!("{edge:?}") };
    assert!(conditions.iter().all(|condition| condition.fails != FailedCondition::Closed), "{edge:?}");
}

/// Exactly IEEE arithmetic and others aside, `U %*% t(V)` reads through the transpose within Outer operators alone.
#[test]
fn transposes_of_factors_are_read_through_where_outer_operators_are() {
    let mut d = Dag::default();
    let (u, v) = (d.read("U", 20_000, 20), d.read("V", 10_000, 20));
    let vt = d.t(v);
    let product = d.matmul(u, vt);
    let reversed = d.op(fuseline_ir::hop::HopOp::Reorg(fuseline_ir::hop::ReorgOp::Rev), &[product]);
    d.write("o", reversed);
    let report = explained(&d.dag, &OptimizerOptions::default());
    let edge = unfused(&report, product, vt);
    assert_eq!(edge.reason, Reason::ReadThrough);
    assert_eq!(edge.sentence, "outer operators read through 2 r(t), but 3 ba(+*) is part of none");
}

#[test]
fn formulas_read_like_scripts() {
    let mut d = Dag::default();
    let (x, y, w) = (d.read("X", 1000, 10), d.read("y", 1000, 1), d.read("w", 10, 1));
    let xw = d.matmul(x, w);
    let sigmoid = d.op(UnaryOp::Sigmoid, &[xw]);
    let difference = d.op(BinaryOp::Minus, &[y, sigmoid]);
    let xt = d.t(x);
    let gradient = d.matmul(xt, difference);
    let squares = d.mult(difference, difference);
    let all = [xw, sigmoid, difference, xt, gradient];
    assert_eq!(formula(&d.dag, gradient, &all), "t(X) %*% (y - sigmoid(X %*% w))");
    assert_eq!(formula(&d.dag, gradient, &[gradient]), "%6 %*% %5");
    let inner = d.op(BinaryOp::Minus, &[y, squares]);
    let nested = d.op(BinaryOp::Minus, &[y, inner]);
    assert_eq!(formula(&d.dag, nested, &[squares, inner, nested]), "y - (y - %5 * %5)");
    let above = d.op(BinaryOp::Greater, &[xw, y]);
    let equal = d.op(BinaryOp::Equal, &[above, y]);
    assert_eq!(formula(&d.dag, equal, &[xw, above, equal]), "(X %*% w > y) == y");
}

/// P073: the notation, and what it leaves out.
#[test]
fn the_memo_table_tells_what_was_pruned() {
    let (dag, groups) = testing::mlogreg();
    let text = with_selection(&dag, &OptimizerOptions::default(), memo_text);
    let [_, _, q, _, _, difference, transpose, last] = groups.map(HopId::as_u32);
    assert!(text.contains(&format!("R(-1,{difference})")), "{text}");
    assert!(text.contains(&format!(", {last} ba(+*) (row)\n")), "{text}");
    assert!(text.contains(&format!("no operators by themselves at: {transpose} r(t) (row)")), "{text}");
    assert!(text.contains(&format!("C({q})")), "{text}");
}

/// A plan that is proven optimal says so rather than that another is 0 % cheaper at most, and what looks at no costs
/// claims no gap.
#[test]
fn what_is_proven_of_a_plan_is_told() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let exp = d.op(UnaryOp::Exp, &[x]);
    for (name, direction) in [("rows", Direction::Row), ("cols", Direction::Col)] {
        let sums = d.op((AggOp::Sum, direction), &[exp]);
        d.write(name, sums);
    }
    let explanation = |policy| {
        let report = explained(&d.dag, &OptimizerOptions { policy, ..OptimizerOptions::default() });
        (report.proof, report_text(&d.dag, &report))
    };
    let (proof, exact) = explanation(SelectPolicy::CostBased);
    assert_eq!(proof, Proof::Optimal);
    assert!(exact.ends_with(", proven optimal\n"), "{exact}");
    // The bound of this partition is tight but for its distance from rounding.
    let (proof, heuristic) = explanation(SelectPolicy::FuseNoRedundancy);
    assert_eq!(proof, Proof::Unproven);
    assert!(heuristic.ends_with(", with no proof that there is no better plan\n"), "{heuristic}");
    assert!(!heuristic.contains("0 %"), "{heuristic}");
}

#[test]
fn small_shares_are_not_none() {
    let texts = [0.0, 1e-9, 0.000_02, 0.015, 0.5].map(percent);
    assert_eq!(texts, ["0 %", "less than 0.001 %", "0.002 %", "1.5 %", "50 %"]);
}

fn random_cases() -> impl Iterator<Item = HopDag> {
    (0..200).map(|seed| testing::random_dag(&mut Random(seed), 25))
}

/// Fusing another edge hardly ever makes the cheapest plan cheaper: only where selection does not look, at values that
/// nothing else reads and that no template switch is at. Every reason has its sentence.
#[test]
fn reasons_agree_with_the_cheapest_plan() {
    let options = OptimizerOptions::default();
    let (mut compared, mut not_considered) = (0, Vec::new());
    for dag in random_cases() {
        let report = explained(&dag, &options);
        for edge in &report.unfused {
            assert!(!edge.sentence.is_empty());
            compared += usize::from(matches!(edge.reason, Reason::Dearer(_) | Reason::AsDear(_)));
            if let Reason::NotConsidered(_) = &edge.reason {
                not_considered.push(format!("{edge:?} in {dag}\n{}", report_text(&dag, &report)));
            }
        }
    }
    assert!(compared > 50, "{compared} edges were compared by cost");
    assert!(10 * not_considered.len() <= compared, "of {compared}: {}", not_considered.join("\n"));
}

/// What is executed is what plans are priced by.
#[test]
fn operators_add_up_to_the_price_of_the_plan() {
    let options = OptimizerOptions::default();
    for dag in random_cases() {
        let context = options.context(&dag);
        let Planned { memo, plan } = Planned::of(&context, &options);
        let report = report(&Selection { context: &context, memo: &memo, options: &options, plan: &plan });
        let price = plan_seconds(&context, &plan, &options.model);
        let error = (report.seconds - price).abs();
        assert!(error <= 1e-9 * price, "{} but {price}: {dag}", report.seconds);
    }
}
