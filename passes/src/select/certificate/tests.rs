//! Every kind of plan passes the checker, and what is wrong with one does not.

use super::super::tests::{campaign, random_dag};
use super::super::{Budget, Enumeration, select};
use super::*;
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::partition::partition;
use crate::template::TEMPLATES;
use crate::testing::{Dag, Random, mlogreg};
use fuseline_ir::hop::HopDag;
use fuseline_ir::ops::BinaryOp;

/// Calls the function with the DAG's facts and memo table.
fn with_memo(dag: &HopDag, function: impl FnOnce(&Context<'_>, &MemoTable)) {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    function(&context, &explore(&context, TEMPLATES));
}

/// Plans of all policies are complete and cost what they say, and what proves the bounds of the exact solver does.
#[test]
fn plans_and_bounds_are_what_they_say() {
    let model = CostModel::default();
    let (mut partitions, mut certified) = (0, 0);
    for seed in campaign(400) {
        let mut random = Random(seed);
        let operations = 4 + random.below(16);
        let dag = random_dag(&mut random, operations);
        with_memo(&dag, |context, memo| {
            let exact = SearchLimits::default();
            let all = SearchLimits { enumeration: Enumeration::All, budget: Budget::of(200), ..exact.clone() };
            let random_plan = SelectPolicy::Random { seed };
            for (policy, limits) in [
                (SelectPolicy::FuseAll, &all),
                (SelectPolicy::FuseNoRedundancy, &all),
                (SelectPolicy::CostBased, &all),
                (random_plan, &all),
                (SelectPolicy::CostBased, &exact),
            ] {
                let plan = select(context, memo, policy, &model, limits);
                let checked = check_plan(context, &model, &plan);
                assert!(checked.is_ok(), "{seed} {policy:?} {checked:?}\n{dag}");
                if *limits == exact {
                    partitions += plan.partitions.len();
                    let found = check_bounds(context, memo, &model, limits, &plan);
                    certified += found.unwrap_or_else(|error| panic!("{seed}: {error}\n{dag}"));
                }
            }
        });
    }
    assert!(certified > 100 && certified * 100 > partitions * 98, "{certified} of {partitions}");
}

/// One of two aggregates reads what the other one computes: in one pass it is at hand, and nothing materialises it.
#[test]
fn what_a_pass_has_at_hand_is_not_materialised() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 2000, 1000), d.read("Y", 2000, 1000));
    let product = d.mult(x, y);
    let shared = d.mult(product, y);
    for (name, op) in [("one", BinaryOp::Mult), ("other", BinaryOp::Max)] {
        let cells = d.op(op, &[shared, x]);
        let sum = d.sum(cells);
        d.write(name, sum);
    }
    let model = CostModel::default();
    let mut spared = 0;
    with_memo(&d.dag, |context, memo| {
        for seed in 0..100 {
            let policy = SelectPolicy::Random { seed };
            let plan = select(context, memo, policy, &model, &SearchLimits::default());
            assert_eq!(check_plan(context, &model, &plan), Ok(()), "{seed}");
            let mut operators = plan.partitions.iter().flat_map(|partition| &partition.operators);
            let materializes = operators.any(|operator| operator.root() == shared);
            spared += usize::from(materializes && plan.covers.iter().all(|cover| !cover.roots.contains(&shared)));
        }
    });
    assert!(spared > 0);
}

/// A message that is raised, a group that is given up without reason and an operator that is left out are found.
#[test]
fn wrong_certificates_are_refused() {
    let model = CostModel::default();
    let mut refused = [0; 2];
    for seed in campaign(100) {
        let dag = random_dag(&mut Random(seed), 14);
        with_memo(&dag, |context, memo| {
            let memo = prepare(context, memo, SelectPolicy::CostBased);
            for partition in &partition(context, &memo) {
                let scratch = Bump::new();
                let search = PartitionSearch::new(context, &memo, partition, &model, &scratch);
                let found = exact::certify(&search, Budget::of(20_000));
                let Some(certificate) = found.filter(|certificate| !certificate.steps.is_empty()) else { continue };
                let bound = proven_bound(context, &model, &certificate).expect("the certificate is right");

                let mut raised = certificate.clone();
                let step = raised.steps.len() - 1;
                raised.steps[step].message.iter_mut().for_each(|seconds| *seconds += bound);
                let error = CertificateError::Message(raised.steps[step].group);
                assert_eq!(proven_bound(context, &model, &raised), Err(error));
                refused[0] += 1;

                let mut hasty = certificate.clone();
                hasty.given_up.push(*certificate.required.first().expect("plans have results"));
                assert!(proven_bound(context, &model, &hasty).is_err());

                let mut forgotten = certificate.clone();
                forgotten.steps.remove(step);
                assert!(proven_bound(context, &model, &forgotten).is_err());
                refused[1] += 1;
            }
        });
    }
    assert!(refused.iter().all(|&count| count > 10), "{refused:?}");
}

/// What is missing from a plan, listed twice or too cheap is found.
#[test]
fn wrong_plans_are_refused() {
    let (dag, _) = mlogreg();
    let model = CostModel::default();
    with_memo(&dag, |context, memo| {
        let right = select(context, memo, SelectPolicy::CostBased, &model, &SearchLimits::default());
        assert_eq!(check_plan(context, &model, &right), Ok(()));
        let root = right.covers[0].roots[0];
        let with = |change: &dyn Fn(&mut FusionPlan)| {
            let mut wrong = right.clone();
            change(&mut wrong);
            check_plan(context, &model, &wrong)
        };
        let twice = with(&|plan| plan.covers.push(plan.covers[0].clone()));
        assert_eq!(twice, Err(CertificateError::ComputedTwice(root)));
        assert_eq!(with(&|plan| plan.covers.clear()), Err(CertificateError::Uncovered(root)));
        let cheap = with(&|plan| plan.partitions[0].seconds /= 2.0);
        assert!(matches!(cheap, Err(CertificateError::Cost { .. })), "{cheap:?}");
        let dear = with(&|plan| plan.seconds *= 1.0001);
        assert!(matches!(dear, Err(CertificateError::Cost { .. })), "{dear:?}");
        let high = with(&|plan| plan.partitions[0].bound *= 2.0);
        assert!(matches!(high, Err(CertificateError::Bound { .. })), "{high:?}");
        let high = with(&|plan| plan.bound = 2.0 * plan.seconds);
        assert!(matches!(high, Err(CertificateError::Bound { .. })), "{high:?}");
        let missing = with(&|plan| plan.partitions[0].operators.clear());
        assert!(matches!(missing, Err(CertificateError::Missing(_))), "{missing:?}");
    });
}
