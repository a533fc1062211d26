//! The space of plans: it contains the plan that does nothing, and all that the judge finds.

use super::enumeration::ROUNDING;
use super::*;
use crate::cover::outside_inputs;
use crate::hops::is_transpose;
use crate::joint::plan_seconds;
use crate::machine::Machine;
use fuseline_ir::ops::{AggOp, Direction};
use std::path::Path;

/// Random plans that each choice is compared with.
const RANDOM_PLANS: u64 = 20;

/// Seconds of the plan of a policy, and of no fusion.
fn compared(context: &Context<'_>, memo: &MemoTable, model: &CostModel) -> (FusionPlan, f64, f64) {
    let chosen = select(context, memo, SelectPolicy::CostBased, model, &SearchLimits::default());
    let seconds = plan_seconds(context, &chosen, model);
    (chosen, seconds, plan_seconds(context, &FusionPlan::default(), model))
}

/// `sum((X / u) %*% v)` over a sparse X: dividing by rows is an operator of its own, over non-zeros, unless all of it
/// takes no longer than that.
#[test]
fn scaling_a_sparse_matrix_may_be_left_alone() {
    let mut d = Dag::default();
    let (x, u, v) = (d.sparse("X", 20_000, 100_000, 200_000), d.read("u", 20_000, 1), d.read("v", 100_000, 1));
    let scaled = d.op(BinaryOp::Div, &[x, u]);
    let product = d.matmul(scaled, v);
    let sum = d.sum(product);
    d.write("s", sum);
    let limits = TemplateLimits::default();
    let context = Context::new(&d.dag, &limits);
    let (chosen, seconds, base) = compared(&context, &explore(&context, TEMPLATES), &CostModel::default());
    assert!(seconds <= base, "{seconds} > {base}: {:?}", chosen.covers);
    assert!(chosen.is_optimal());
}

/// A transpose of a square matrix that one reader reads through and another as it is has to be computed: no operator over the
/// rows of the matrix has it for nothing.
#[test]
fn transposes_that_are_read_as_matrices_are_computed() {
    let sums = |d: &mut Dag, x: HopId, _: HopId| {
        let transposed = d.t(x);
        let rows = d.op((AggOp::Sum, Direction::Row), &[transposed]);
        d.matmul(transposed, rows);
        transposed
    };
    let products = |d: &mut Dag, x: HopId, v: HopId| {
        let (transposed, row) = (d.t(x), d.t(v));
        let (left, right) = (d.matmul(row, transposed), d.matmul(transposed, v));
        d.matmul(left, right);
        transposed
    };
    let expressions: [fn(&mut Dag, HopId, HopId) -> HopId; 2] = [sums, products];
    for (number, expression) in expressions.into_iter().enumerate() {
        let mut d = Dag::default();
        let (x, v) = (d.read("X", 1000, 1000), d.read("V", 1000, 4));
        let transposed = expression(&mut d, x, v);
        let result = HopId::from_u32(d.dag.hops.len() as u32 - 1);
        d.write("R", result);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        let (chosen, seconds, base) = compared(&context, &explore(&context, TEMPLATES), &CostModel::default());
        let is_read = |&id: &HopId| {
            let hop = &d.dag[id];
            hop.inputs.contains(&transposed) && (hop.op != HopOp::MatMul || hop.inputs[1] == transposed)
        };
        let is_free = |cover: &&FusionCover| {
            cover.members.iter().any(is_read) && !outside_inputs(&d.dag, &cover.members).contains(&transposed)
        };
        assert_eq!(chosen.covers.iter().find(is_free), None, "{number}");
        assert!(seconds <= base, "{number}: {seconds} > {base}");
    }
}

/// Asserts that the chosen plan is no dearer than no fusion, both heuristics, random valid plans and, where all plans can be
/// tried, any without multi-aggregates. Gives the plan, and whether they were tried.
fn assert_nothing_is_cheaper(case: &str, dag: &HopDag, model: &CostModel) -> (FusionPlan, bool) {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    let memo = explore(&context, TEMPLATES);
    let (chosen, seconds, base) = compared(&context, &memo, model);
    let is_cheapest = |least: f64| seconds <= least * (1.0 + ROUNDING);
    assert!(is_cheapest(base), "{case}: {seconds} > {base}\n{dag}");
    let random_plans = (0..RANDOM_PLANS).map(|seed| SelectPolicy::Random { seed });
    for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy].into_iter().chain(random_plans) {
        let other = select(&context, &memo, policy, model, &SearchLimits::default());
        // That a product reads through a transpose from outside of its partition saves what no partition pays.
        let reads_through = |id: &HopId| is_transpose(dag, *id) && !memo.contains(*id);
        if other.covers.iter().flat_map(|cover| &cover.members).any(reads_through) {
            continue;
        }
        let least = plan_seconds(&context, &other, model);
        let covers = (&chosen.covers, &other.covers);
        assert!(is_cheapest(least), "{case} {policy:?}: {seconds} > {least} of {covers:?}\n{dag}");
    }
    let optimum = Judge { context: &context, memo: &memo, model }.optimum();
    assert!(optimum.is_none_or(is_cheapest), "{case}: {seconds} > {optimum:?}\n{:?}\n{dag}", chosen.covers);
    (chosen, optimum.is_some())
}

/// P094, P095, P108.
#[test]
fn no_other_plan_is_cheaper() {
    let (mut proven, mut judged) = (0, 0);
    let cases = campaign(400);
    for seed in cases.clone() {
        let mut random = Random(seed);
        let operations = 3 + random.below(10);
        let dag = if seed % 4 == 0 { random_dag } else { random_sparse_dag }(&mut random, operations);
        let machine = if seed % 3 == 0 { random_machine(&mut random) } else { Machine::default() };
        let model = CostModel { executions: (seed % 5 == 0).then_some(1.0), ..CostModel::new(machine) };
        let (chosen, is_judged) = assert_nothing_is_cheaper(&seed.to_string(), &dag, &model);
        proven += u64::from(chosen.is_optimal());
        judged += u64::from(is_judged);
    }
    println!("{proven} proven, {judged} judged");
    let tried = cases.end - cases.start;
    assert!(proven * 2 > tried && judged * 4 > tried, "{proven} proven, {judged} judged");
}

/// The DAGs in the files of a folder and below.
fn dags_below(folder: &Path, dags: &mut Vec<(String, HopDag)>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            dags_below(&path, dags);
        } else if path.extension().is_some_and(|extension| extension == "hop") {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            // Some hold errors, or plans.
            let found = fuseline_ir::hop::parse(&text).unwrap_or_default();
            dags.extend(found.into_iter().map(|(name, dag)| (format!("{} {name}", path.display()), dag)));
        }
    }
}

/// P095, P108: of the DAGs of file tests.
#[test]
fn no_other_plan_of_a_file_test_is_cheaper() {
    let mut dags = Vec::new();
    dags_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests"), &mut dags);
    let judged =
        dags.iter().filter(|(name, dag)| assert_nothing_is_cheaper(name, dag, &CostModel::default()).1).count();
    println!("{} DAGs, {judged} judged", dags.len());
    assert!(dags.len() > 40 && judged > 20, "{} DAGs, {judged} judged", dags.len());
}
