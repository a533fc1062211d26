//! Every template, variant, entry, form and instruction set against the execution contract, bit for bit.

mod support;

use fuseline_ir::cplan::{CNode, COutput, Variant, VerifiedCPlan};
use fuseline_ir::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp};
use fuseline_ir::template::Space;
use fuseline_llvm_backend::{LlvmBackend, LlvmOptions, PrimitiveMode};
use fuseline_skeletons::backend::Backend;
use std::collections::BTreeSet;
use support::generator::random_plan;
use support::{check_all, plan, plans};

/// How many random plans there are; with `FUSELINE_LONG=1` thirty times as many.
const RANDOM_PLANS: u64 = 100;

fn check(plans: &[String]) {
    assert!(!plans.is_empty());
    plans.iter().for_each(|text| check_all(&plan(text)));
}

#[test]
fn cell_plans() {
    check(&plans::cell_plans());
}

#[test]
fn multi_aggregate_plans() {
    check(&plans::magg_plans());
}

#[test]
fn row_plans_of_chains() {
    check(&plans::row_plans());
}

#[test]
fn row_plans_of_plain_inputs() {
    check(&plans::row_plans_of_plain_inputs());
}

#[test]
fn row_plans_of_sparse_rows() {
    check(&plans::sparse_row_plans());
}

#[test]
fn row_plans_by_position() {
    let plans = plans::plans_by_position();
    let has_entry = |text: &String| plan(text).positions(false).is_some();
    assert!(
        plans.iter().filter(|text| has_entry(text)).count() + 2 * 3 >= plans.len(),
        "extremes and products alone have none"
    );
    check(&plans);
}

#[test]
fn multi_aggregates_over_rows() {
    check(&plans::multi_row_plans());
}

#[test]
fn outer_plans() {
    check(&plans::outer_plans());
}

#[test]
fn long_plans() {
    check(&plans::long_plans());
}

/// P036: calls one after the other have no more row vectors in memory than the plan says; fused loops may keep several
/// for later calls.
#[test]
fn calls_have_the_buffers_of_the_plan() {
    let options = LlvmOptions { prims: PrimitiveMode::Shared, ..LlvmOptions::default() };
    let backend = LlvmBackend::new(options).expect("tests run on machines with AVX2");
    let random = (0..RANDOM_PLANS).map(random_plan);
    let listed = [plans::row_plans(), plans::sparse_row_plans(), plans::long_plans()].concat();
    let mut chains = 0;
    for plan in listed.iter().map(|text| plan(text)).chain(random).filter(|plan| plan.space() == Space::Rows) {
        let compiled = backend.compile(&plan).expect("it compiles");
        let of_form = compiled.sparse_form().map_or(0, |form| form.row_buffers().computed());
        let (buffers, most) = (compiled.buffers(), plan.row_buffers().computed().max(of_form));
        assert!(buffers <= most, "{buffers} of {most} row vectors in\n{}", *plan);
        chains += usize::from(buffers == most && most > 0);
    }
    assert!(chains > 15, "{chains} plans with as many row vectors as they say");
}

#[test]
fn plans_of_many_calls() {
    let plans = plans::plans_of_many_calls();
    let options = LlvmOptions { prims: PrimitiveMode::Shared, keep_ir: true, ..LlvmOptions::default() };
    let backend = LlvmBackend::new(options).expect("tests run on machines with AVX2");
    for text in &plans {
        let info = backend.compile(&plan(text)).expect("it compiles").info;
        assert!(info.llvm_ir.is_some_and(|ir| ir.contains("@calls")), "no table in\n{text}");
    }
    check(&plans);
}

#[test]
fn every_operation_of_the_table() {
    check(&plans::operation_plans());
}

#[test]
fn random_plans() {
    let is_long = std::env::var_os("FUSELINE_LONG").is_some_and(|value| value == "1");
    for seed in 0..if is_long { 30 * RANDOM_PLANS } else { RANDOM_PLANS } {
        check_all(&random_plan(seed));
    }
}

/// The node as its text form names it, and `row_agg` of a sparse row by itself.
fn kinds(plan: &VerifiedCPlan) -> impl Iterator<Item = String> {
    let has_sparse_entry = fuseline_skeletons::abi::has_sparse_entry(plan);
    plan.nodes.values().map(move |node| match node {
        CNode::RowAgg(_, operand) if has_sparse_entry && plan.nodes[*operand] == CNode::Main => {
            format!("sparse {}", node.mnemonic())
        }
        _ => node.mnemonic(),
    })
}

/// The plans above have every variant with every aggregate that it takes, every kind of node, every operation.
#[test]
fn every_variant_aggregate_and_node_is_covered() {
    let all = [
        plans::cell_plans(),
        plans::magg_plans(),
        plans::row_plans(),
        plans::row_plans_of_plain_inputs(),
        plans::sparse_row_plans(),
        plans::multi_row_plans(),
        plans::outer_plans(),
        plans::operation_plans(),
    ];
    let all: Vec<VerifiedCPlan> = all.iter().flatten().map(|text| plan(text)).collect();
    let seen: BTreeSet<String> = all.iter().flat_map(kinds).collect();
    let operations = UnaryOp::ALL.iter().map(|op| op.mnemonic());
    let operations = operations.chain(BinaryOp::ALL.iter().map(|op| op.mnemonic()));
    let mut expected: Vec<String> =
        operations.chain(TernaryOp::ALL.iter().map(|op| op.mnemonic())).map(str::to_owned).collect();
    for agg in AggOp::ALL {
        expected.extend([format!("row_agg.{agg}"), format!("sparse row_agg.{agg}")]);
        expected.extend(agg.is_cumulative().then(|| format!("row_cumulative.{agg}")));
    }
    let leaves = ["main", "scalar", "literal", "side_cell", "side_row_scalar", "row_index", "side_col_scalar"];
    let others = ["side_row", "side_vector", "outer_product", "cbind", "dot_product", "vect_mat_mult"];
    expected.extend(leaves.iter().chain(&others).map(|&kind| kind.to_owned()));
    for kind in expected {
        assert!(seen.contains(&kind), "no plan has {kind}");
    }
    for variant in Variant::all() {
        let of_variant: Vec<_> = all.iter().filter(|plan| plan.variant == variant).collect();
        assert!(!of_variant.is_empty(), "no plan is {variant:?}");
        let seen: BTreeSet<AggOp> =
            of_variant.iter().flat_map(|plan| plan.outputs.iter()).filter_map(COutput::agg).collect();
        let merging = AggOp::ALL.iter().filter(|op| op.merges()).count();
        assert!(seen.is_empty() || seen.len() == merging, "{variant:?} with {seen:?} alone");
    }
}
