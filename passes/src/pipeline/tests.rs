//! The pipeline as a whole, with a compiler that refuses.

use super::*;
use crate::select::Budget;
use crate::testing::{self, Dag};
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::{CNode, COutput, CellType, OuterType, RowType, Variant};
use fuseline_ir::hop::{DataGenOp, HopOp, ReorgOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

struct Outcome {
    dag: HopDag,
    report: Report,
    plans: Vec<VerifiedCPlan>,
}

fn run(dag: &HopDag, options: &OptimizerOptions) -> Outcome {
    let mut plans = Vec::new();
    let mut compile = |new: &[VerifiedCPlan]| {
        let first = plans.len() as u32;
        plans.extend_from_slice(new);
        (first..plans.len() as u32).map(|id| Ok(OperatorId::from_u32(id))).collect()
    };
    let (replaced, report) = optimize(dag, options, &mut compile, &mut |_| {});
    replaced.verify().unwrap_or_else(|error| panic!("{error}\n{replaced}\nin the place of\n{dag}"));
    assert!(report.rejected.is_empty(), "{:?} of\n{dag}", report.rejected);
    Outcome { dag: replaced, report, plans }
}

fn variants(outcome: &Outcome) -> Vec<Variant> {
    outcome.plans.iter().map(|plan| plan.variant).collect()
}

fn cost_based() -> OptimizerOptions {
    OptimizerOptions::default()
}

fn with(policy: SelectPolicy) -> OptimizerOptions {
    OptimizerOptions { policy, ..OptimizerOptions::default() }
}

#[test]
fn a_sum_of_products_is_one_cell_operator() {
    let (dag, _) = testing::sum_of_products();
    for policy in
        [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased, SelectPolicy::Exhaustive]
    {
        let outcome = run(&dag, &with(policy));
        assert_eq!(variants(&outcome), [Variant::Cell(CellType::FullAgg)]);
        let plan = &outcome.plans[0];
        assert_eq!((plan.inputs.len(), plan.nodes.len(), plan.outputs[0].agg()), (3, 5, Some(AggOp::Sum)));
        let ops: Vec<String> = outcome.dag.hops.values().map(|hop| hop.op.label()).collect();
        assert_eq!(ops, ["TRead X", "TRead Y", "TRead Z", "spoof(cell)", "u(as.scalar)"]);
    }
}

/// P029, P030: an Outer operator for the sparse product, a Cell operator for the rest, and not one operator.
#[test]
fn expression_1_is_an_outer_and_a_cell_operator() {
    let (dag, product, output) = testing::als_update();
    let outcome = run(&dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Outer(OuterType::RightMM), Variant::Cell(CellType::NoAgg)]);
    assert_eq!(outcome.report.fused[0].plan.cover.roots, [product]);
    assert_eq!(outcome.report.fused[1].plan.cover.roots, [output]);
    // X != 0 is 1 on non-zeros, and the factor 1 disappears: only the dot product remains.
    assert_eq!(outcome.plans[0].nodes.values().copied().collect::<Vec<_>>(), [CNode::OuterProduct]);
    assert_eq!(outcome.plans[1].inputs.len(), 3);
}

/// The residuals of a factorisation at the ratings are zero where there are none, since the product and what is
/// subtracted are: one pass over the ratings, with the factors.
#[test]
fn a_gradient_by_residuals_is_one_outer_operator() {
    let mut d = Dag::default();
    let (x, u, v) = (d.sparse("X", 20_000, 5000, 400_000), d.read("U", 20_000, 10), d.read("V", 5000, 10));
    let zero = d.number(0.0);
    let rated = d.op(BinaryOp::NotEqual, &[x, zero]);
    let vt = d.t(v);
    let product = d.matmul(u, vt);
    let predicted = d.mult(rated, product);
    let residuals = d.op(BinaryOp::Minus, &[predicted, x]);
    let gradient = d.matmul(residuals, v);
    d.write("G", gradient);
    let outcome = run(&d.dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Outer(OuterType::RightMM)]);
    assert_eq!(outcome.report.fused[0].plan.cover.roots, [gradient]);
    assert_eq!(outcome.plans[0].inputs.len(), 3, "X, U and V alone");
}

/// P033 to P036: one Row operator with a transposed column aggregation and five row intermediates.
#[test]
fn expression_2_is_one_row_operator() {
    let (dag, groups) = testing::mlogreg();
    for policy in [SelectPolicy::FuseAll, SelectPolicy::CostBased] {
        let outcome = run(&dag, &with(policy));
        assert_eq!(variants(&outcome), [Variant::Row(RowType::ColAggB1T)], "{policy:?}");
        assert_eq!(outcome.plans[0].row_buffers().count(), 5);
        assert!(outcome.plans[0].sparse_safe);
        let mut members = groups.to_vec();
        members.sort_unstable();
        assert_eq!(outcome.report.fused[0].plan.cover.members, members);
    }
}

/// `t(X) %*% (X %*% v)` makes one pass over X.
#[test]
fn a_gram_product_with_a_vector_is_one_row_operator() {
    let mut d = Dag::default();
    let (x, v) = (d.read("X", 10_000, 100), d.read("v", 100, 1));
    let xv = d.matmul(x, v);
    let xt = d.t(x);
    let output = d.matmul(xt, xv);
    d.write("o", output);
    let outcome = run(&d.dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Row(RowType::ColAggT)]);
    assert_eq!(outcome.report.fused[0].plan.inputs.len(), 2);
    assert!(!outcome.dag.hops.values().any(|hop| hop.op == HopOp::Reorg(ReorgOp::Transpose)));
}

#[test]
fn three_full_aggregates_are_one_multi_aggregate() {
    let outcome = run(&testing::three_sums(), &cost_based());
    assert_eq!(variants(&outcome), [Variant::MAgg]);
    let plan = &outcome.plans[0];
    assert_eq!(plan.inputs.len(), 2);
    let aggregates: Vec<_> = plan.outputs.iter().map(COutput::agg).collect();
    assert_eq!(aggregates, [Some(AggOp::Sum), Some(AggOp::SumSq), Some(AggOp::SumSq)]);
    assert_eq!(outcome.dag.hops.values().filter(|hop| matches!(hop.op, HopOp::SpoofOp { .. })).count(), 1);
    assert_eq!(outcome.dag.hops.values().filter(|hop| hop.op == HopOp::Index).count(), 3);
}

/// The heuristics of the paper have no multi-aggregates, the cost-based plan has them all the same (P171).
#[test]
fn heuristics_of_the_paper_leave_aggregates_apart() {
    let search_limits = SearchLimits { paper_heuristics: true, ..SearchLimits::default() };
    for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased] {
        let merged = variants(&run(&testing::three_sums(), &with(policy)));
        assert_eq!(merged, [Variant::MAgg], "{policy:?}");
        let options = OptimizerOptions { search_limits: search_limits.clone(), ..with(policy) };
        let outcome = run(&testing::three_sums(), &options);
        let are_apart = !variants(&outcome).contains(&Variant::MAgg);
        assert_eq!(are_apart, policy != SelectPolicy::CostBased, "{policy:?}: {:?}", variants(&outcome));
    }
}

/// Two aggregates of intermediates and a product over rows, in one pass over the points.
#[test]
fn an_iteration_of_kmeans_is_one_pass_over_rows() {
    let (dag, roots) = testing::kmeans();
    for policy in [SelectPolicy::FuseAll, SelectPolicy::CostBased] {
        let outcome = run(&dag, &with(policy));
        assert_eq!(variants(&outcome), [Variant::Row(RowType::MultiAgg)], "{policy:?}");
        assert_eq!(outcome.report.fused[0].plan.cover.roots, roots);
        let plan = &outcome.plans[0];
        let shapes = plan.shapes();
        let of_output = |output| plan.output_variant(output, &shapes).expect("verified").mnemonic();
        let mut of_outputs: Vec<&str> = plan.outputs.iter().map(of_output).collect();
        of_outputs.sort_unstable();
        assert_eq!(of_outputs, ["col_agg_b1", "col_agg_b1r", "full_agg"]);
        let products = plan.nodes.values().filter(|node| matches!(node, CNode::VectMatMult(..)));
        assert_eq!((plan.inputs.len(), products.count()), (3, 1));
        // A column of all cells, and the roots in their shapes.
        let size_of = |op: &dyn Fn(&HopOp) -> bool| -> Vec<SizeInfo> {
            outcome.dag.hops.values().filter(|hop| op(&hop.op)).map(|hop| hop.size).collect()
        };
        assert_eq!(size_of(&|op| matches!(op, HopOp::SpoofOp { .. })), [SizeInfo::dims(1 + 5 + 50, 1)]);
        let shaped = size_of(&|op| *op == HopOp::DataGen(DataGenOp::Matrix));
        assert_eq!(shaped, [SizeInfo::dims(1, 5), SizeInfo::dims(5, 10)]);
    }
}

/// Sums and sums of squares by column.
#[test]
fn aggregates_by_column_share_a_pass() {
    let mut d = Dag::default();
    let x = d.read("X", 100_000, 100);
    let squares = d.op(UnaryOp::Pow2, &[x]);
    for (name, cells) in [("sums", x), ("squares", squares)] {
        let sum = d.op((AggOp::Sum, Direction::Col), &[cells]);
        d.write(name, sum);
    }
    let outcome = run(&d.dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Row(RowType::MultiAgg)]);
    let plan = &outcome.plans[0];
    let aggregates: Vec<_> = plan.outputs.iter().map(|output| (output.node(), output.agg())).collect();
    let main = aggregates[0].0;
    assert_eq!(aggregates, [(main, Some(AggOp::Sum)), (main, Some(AggOp::SumSq))]);
}

/// Aggregates by column of two dense matrices in the cells in which a sparse one is not zero.
fn masked_aggregates(agg: AggOp) -> HopDag {
    let mut d = Dag::default();
    let shared = d.sparse("S", 100_000, 100, 1_000_000);
    for name in ["X", "Y"] {
        let dense = d.read(name, 100_000, 100);
        let product = d.mult(shared, dense);
        let aggregates = d.op((agg, Direction::Col), &[product]);
        d.write(&format!("{agg} of {name}"), aggregates);
    }
    d.dag
}

/// Cell operators skip the zeros that they share, a pass over rows that has extremes would not: no policy merges what is
/// cheaper apart. One that adds up goes by the non-zeros, too.
#[test]
fn aggregates_by_column_share_passes_that_skip_zeros() {
    for policy in SelectPolicy::ALL {
        let outcome = run(&masked_aggregates(AggOp::Max), &with(*policy));
        assert_eq!(variants(&outcome), [Variant::Cell(CellType::ColAgg); 2], "{policy:?}");
        let outcome = run(&masked_aggregates(AggOp::Sum), &with(*policy));
        assert_eq!(variants(&outcome), [Variant::Row(RowType::MultiAgg)], "{policy:?}");
    }
}

#[test]
fn a_sum_that_depends_on_another_is_not_computed_with_it() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 1000), d.read("Y", 1000, 1000));
    let xy = d.mult(x, y);
    let first = d.sum(xy);
    let scaled = d.mult(x, first);
    let second = d.sum(scaled);
    d.write("s", second);
    let outcome = run(&d.dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Cell(CellType::FullAgg); 2]);
}

#[test]
fn cross_entropy_is_one_outer_operator() {
    let outcome = run(&testing::cross_entropy(), &cost_based());
    assert_eq!(variants(&outcome), [Variant::Outer(OuterType::FullAgg)]);
    assert!(outcome.plans[0].nodes.values().any(|node| matches!(node, CNode::Unary(UnaryOp::Log, _))));
}

/// P108: a Cell operator over everything would destroy the sparse product.
#[test]
fn a_template_switch_keeps_the_outer_operator() {
    let (dag, product, _) = testing::outer_plus_dense();
    let outcome = run(&dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Outer(OuterType::NoAgg)]);
    assert_eq!(outcome.report.fused[0].plan.cover.roots, [product]);

    let greedy = run(&dag, &with(SelectPolicy::FuseAll));
    assert_eq!(variants(&greedy), [Variant::Cell(CellType::NoAgg)]);
}

#[test]
fn strict_ieee_exploits_no_sparsity() {
    let mut options = with(SelectPolicy::FuseAll);
    options.template_limits.strict_ieee = true;
    let outcome = run(&testing::cross_entropy(), &options);
    assert_eq!(variants(&outcome), [Variant::Cell(CellType::FullAgg)]);
    assert!(!outcome.plans[0].sparse_safe);
}

/// P172: the sparse input becomes the main one where that makes the operator sparse-safe.
#[test]
fn a_sparse_driver_becomes_the_main_input() {
    let mut d = Dag::default();
    let (y, x) = (d.read("Y", 1000, 1000), d.sparse("X", 1000, 1000, 1000));
    let log = d.op(UnaryOp::Log, &[y]);
    let product = d.mult(log, x);
    let sum = d.sum(product);
    d.write("s", sum);
    let outcome = run(&d.dag, &cost_based());
    assert!(outcome.plans[0].sparse_safe);
    assert_eq!(outcome.report.fused[0].plan.inputs[0], crate::construct::CoverInput::Hop(x));
}

#[test]
fn the_right_factor_is_transposed_where_the_script_gives_none() {
    let mut d = Dag::default();
    let x = d.sparse("X", 2000, 2000, 2000);
    let (u, w) = (d.read("U", 2000, 10), d.read("W", 10, 2000));
    let product = d.matmul(u, w);
    let weighted = d.mult(x, product);
    let sum = d.sum(weighted);
    d.write("s", sum);
    let outcome = run(&d.dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Outer(OuterType::FullAgg)]);
    assert_eq!(outcome.dag.hops.values().filter(|hop| hop.op == HopOp::Reorg(ReorgOp::Transpose)).count(), 1);
}

/// The other factor's update, in both ways of writing it.
#[test]
fn left_products_are_outer_operators() {
    for plain in [true, false] {
        let mut d = Dag::default();
        let x = d.sparse("X", 2000, 3000, 2000);
        let (u, v) = (d.read("U", 2000, 10), d.read("V", 3000, 10));
        let vt = d.t(v);
        let uv = d.matmul(u, vt);
        let weighted = d.mult(x, uv);
        let output = if plain {
            let wt = d.t(weighted);
            d.matmul(wt, u)
        } else {
            let ut = d.t(u);
            d.matmul(ut, weighted)
        };
        d.write("o", output);
        let outcome = run(&d.dag, &cost_based());
        assert_eq!(variants(&outcome), [Variant::Outer(OuterType::LeftMM)], "plain: {plain}");
        assert_eq!(outcome.report.fused[0].plan.transposed_output, !plain);
        let result = outcome.dag.outputs[0].hop;
        assert_eq!(outcome.dag[result].size.known_dims(), d.dag[output].size.known_dims());
    }
}

#[test]
fn unsupported_plans_stay_unfused_and_are_reported() {
    let (dag, _) = testing::sum_of_products();
    let mut compile =
        |plans: &[VerifiedCPlan]| vec![Err(Unsupported { reason: "no such thing".to_owned() }); plans.len()];
    let (replaced, report) = optimize(&dag, &cost_based(), &mut compile, &mut |_| {});
    assert_eq!(report.rejected.len(), 1);
    assert_eq!(report.rejected[0].reason, "no such thing");
    assert_eq!(replaced.to_string(), dag.to_string());
}

#[test]
fn the_observer_sees_every_stage_in_order() {
    let (dag, _) = testing::sum_of_products();
    let mut stages = Vec::new();
    let mut compile = |plans: &[VerifiedCPlan]| vec![Ok(OperatorId::from_u32(0)); plans.len()];
    let _ = optimize(&dag, &cost_based(), &mut compile, &mut |stage| {
        stages.push(match stage {
            Stage::Explored(..) => "explored",
            Stage::Selected(..) => "selected",
            Stage::Constructed(..) => "constructed",
            Stage::Replaced(..) => "replaced",
        });
    });
    assert_eq!(stages, ["explored", "selected", "constructed", "replaced"]);
}

/// P021: a dense k-means step: distances, a row minimum inside of the operator, and the transposed assignment.
#[test]
fn an_assignment_matrix_times_data_is_one_row_operator() {
    let mut d = Dag::default();
    let (x, ct) = (d.read("X", 100_000, 50), d.read("C", 50, 5));
    let distances = d.matmul(x, ct);
    let minima = d.op((AggOp::Min, fuseline_ir::ops::Direction::Row), &[distances]);
    let assignment = d.op(BinaryOp::LessEqual, &[distances, minima]);
    let at = d.t(assignment);
    let centroids = d.matmul(at, x);
    d.write("C", centroids);
    let outcome = run(&d.dag, &cost_based());
    assert_eq!(variants(&outcome), [Variant::Row(RowType::ColAggB1)]);
    assert_eq!(outcome.report.fused[0].plan.cover.template, TemplateType::Row);
}

/// Every cover that any policy selects has a plan, and the plan fits the DAG; every variant of every template comes up.
#[test]
fn every_selected_cover_is_constructed() {
    let mut random = testing::Random(3);
    let mut seen: Vec<Variant> = Vec::new();
    for round in 0..2000 {
        let dag = testing::random_dag(&mut random, 4 + round % 24);
        let random = SelectPolicy::Random { seed: round as u64 };
        for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased, random] {
            let mut options = with(policy);
            options.search_limits.budget = Budget::of(200);
            options.template_limits = TemplateLimits { strict_ieee: round % 4 == 0, ..TemplateLimits::default() };
            let outcome = run(&dag, &options);
            seen.extend(variants(&outcome));
            for (before, after) in dag.outputs.iter().zip(&outcome.dag.outputs) {
                let (before, after) = (&dag[before.hop].size, &outcome.dag[after.hop].size);
                assert_eq!(before.known_dims(), after.known_dims(), "{dag}");
            }
        }
    }
    let missing: Vec<_> = Variant::all().filter(|variant| !seen.contains(variant)).collect();
    assert!(missing.is_empty(), "never selected: {missing:?}");
}
