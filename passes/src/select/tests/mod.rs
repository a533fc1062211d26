//! Chosen plans: the paper's examples, exhaustive search, and limits.

mod dags;
mod enumeration;
mod judge;
mod machines;
mod points;
mod space;
mod structure;

use super::*;
use crate::construct::{ConstructedPlan, Rejection, construct};
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::partition::partition;
use crate::template::{CoverError, TEMPLATES, verify_cover};
use crate::testing::{self, Dag, Random};
pub(super) use dags::{overlapping_sums, random_dag, random_sparse_dag};
pub(super) use enumeration::{campaign, spaces_of};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::memo::{MemoEntry, TemplateType};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
pub(super) use judge::Judge;
pub(super) use machines::random_machine;
use std::collections::BTreeSet;

fn plan_with(dag: &HopDag, policy: SelectPolicy, limits: &SearchLimits) -> FusionPlan {
    let template_limits = TemplateLimits::default();
    let context = Context::new(dag, &template_limits);
    select(&context, &explore(&context, TEMPLATES), policy, &CostModel::default(), limits)
}

fn plan(dag: &HopDag, policy: SelectPolicy) -> FusionPlan {
    plan_with(dag, policy, &SearchLimits::default())
}

/// The CPlans of a plan, and the covers without one.
fn constructed(dag: &HopDag, plan: &FusionPlan) -> (Vec<ConstructedPlan>, Vec<Rejection>) {
    construct(&Context::new(dag, &TemplateLimits::default()), &plan.covers)
}

/// Calls the function with a problem of four points.
pub(super) fn four_points(function: impl Fn(&crate::select::space::SearchSpace<'_>, &cut_sets::SubProblem)) {
    let (dag, _) = dags::chain_of_diamonds(2);
    enumeration::for_each_space(&dag, |space| function(space, &cut_sets::SubProblem::whole(space, false)));
}

fn seconds(plan: &FusionPlan) -> f64 {
    plan.partitions.iter().map(|partition| partition.seconds).sum()
}

/// The operators that covers compute more than once.
fn computed_again(plan: &FusionPlan) -> usize {
    let covered: Vec<HopId> = plan.covers.iter().flat_map(|cover| cover.members.iter().copied()).collect();
    let distinct: BTreeSet<HopId> = covered.iter().copied().collect();
    covered.len() - distinct.len()
}

/// P099: what several operators share, each of them computes for itself.
#[test]
fn fuse_all_computes_shared_values_again() {
    let mut dag = HopDag::new();
    let [x, y, z] = ["X", "Y", "Z"].map(|name| dag.read_matrix(name, SizeInfo::dims(1000, 100)));
    let mut add = |op: HopOp, inputs: &[HopId]| dag.add(op, inputs, None).expect("the inputs fit");
    let shared = add(BinaryOp::Mult.into(), &[x, y]);
    let outputs = [UnaryOp::Exp, UnaryOp::Abs].map(|op| {
        let value = add(op.into(), &[shared]);
        add(BinaryOp::Plus.into(), &[value, z])
    });
    for (name, output) in ["exp", "abs"].into_iter().zip(outputs) {
        dag.write(name, output);
    }
    assert_eq!(computed_again(&plan(&dag, SelectPolicy::FuseAll)), 1);
    assert_eq!(computed_again(&plan(&dag, SelectPolicy::FuseNoRedundancy)), 0);
}

/// P100: every intermediate with several consumers is materialised.
#[test]
fn fuse_no_redundancy_computes_nothing_twice() {
    let mut random = Random(11);
    for _ in 0..100 {
        let dag = random_dag(&mut random, 12);
        assert_eq!(computed_again(&plan(&dag, SelectPolicy::FuseNoRedundancy)), 0);
    }
}

/// Every chosen cover can be constructed, whatever the policy.
#[test]
fn all_covers_are_constructible() {
    let mut random = Random(5);
    let mut covers = 0;
    for _ in 0..150 {
        let dag = random_dag(&mut random, 14);
        for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased] {
            let plan = plan(&dag, policy);
            let (plans, rejected) = constructed(&dag, &plan);
            assert!(rejected.is_empty(), "{policy:?}: {rejected:?}\n{dag}");
            covers += plans.len();
        }
    }
    assert!(covers > 500);
}

#[test]
fn selection_is_deterministic() {
    let dag = random_dag(&mut Random(9), 20);
    let covers = |()| plan(&dag, SelectPolicy::CostBased).covers;
    assert_eq!(covers(()), covers(()));
}

/// Long chains are selected and read off the table without recursion or quadratic work.
#[test]
fn a_long_chain_is_one_operator() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let mut last = x;
    for _ in 0..20_000 {
        last = d.op(UnaryOp::Abs, &[last]);
    }
    d.write("o", last);
    let plan = plan(&d.dag, SelectPolicy::CostBased);
    assert_eq!(plan.covers.len(), 1);
    assert_eq!(plan.covers[0].members.len(), 20_000);
    let (plans, rejected) = constructed(&d.dag, &plan);
    assert!(rejected.is_empty());
    assert_eq!(plans[0].cplan.nodes.len(), 20_001);
}

/// The verifier of covers refuses what no policy may choose.
#[test]
fn malformed_covers_are_refused() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let limits = TemplateLimits::default();
    let context = Context::new(&dag, &limits);
    let z = dag[xyz].inputs[1];
    let cover = |template, roots: &[HopId], members: &[HopId]| {
        let cover = FusionCover { template, roots: roots.to_vec(), members: members.to_vec() };
        verify_cover(&context, &cover)
    };
    use TemplateType::{Cell, MAgg, Outer, Row};
    assert_eq!(cover(Cell, &[sum], &[xy, xyz, sum]), Ok(()));
    assert_eq!(cover(Cell, &[sum], &[sum]), Err(CoverError::SingleOperation));
    assert_eq!(cover(Cell, &[xyz], &[xy, xyz, sum]), Err(CoverError::Dangling(sum)));
    assert_eq!(cover(Cell, &[sum], &[xyz, xy]), Err(CoverError::Member(xy)));
    assert_eq!(cover(Cell, &[sum], &[xy, xyz]), Err(CoverError::Member(sum)));
    assert_eq!(cover(Cell, &[xyz], &[z, xyz]), Err(CoverError::Unsupported { template: Cell, member: z }));
    assert_eq!(cover(Outer, &[sum], &[xyz, sum]), Err(CoverError::Root { template: Outer, root: sum }));
    assert_eq!(cover(MAgg, &[xyz, sum], &[xyz, sum]), Err(CoverError::Root { template: MAgg, root: xyz }));
    assert_eq!(cover(Row, &[sum], &[xy, xyz, sum]), Ok(()));
}

/// An Outer driver of which nothing is known counts as a tenth full.
#[test]
fn an_unknown_driver_counts_as_sparse() {
    let mut d = Dag::default();
    let (x, u, w) = (d.read("X", 2000, 2000), d.read("U", 2000, 10), d.read("W", 10, 2000));
    let product = d.matmul(u, w);
    let weighted = d.mult(x, product);
    let sum = d.sum(weighted);
    d.write("s", sum);
    let chosen = plan(&d.dag, SelectPolicy::CostBased);
    assert_eq!(chosen.covers[0].template, TemplateType::Outer);
    let mut dense = d.dag.clone();
    dense.hops[x].size = fuseline_ir::SizeInfo::with_nnz(2000, 2000, 4_000_000);
    assert_eq!(plan(&dense, SelectPolicy::Exhaustive).covers.len(), 1);
}
