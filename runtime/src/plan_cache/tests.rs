//! What the cache compiles, how often, and what it does with backends that refuse.

use super::*;
use fuseline_ir::cplan::parse;
use fuseline_skeletons::CompileInfo;
use fuseline_skeletons::abi::{Context, Kernel, Output, Unit, UnitSize};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

/// `sum(X * number)`.
fn plan(number: u32) -> VerifiedCPlan {
    let text = format!(
        "cplan cell full_agg sparse_safe=true {{
  in0 = matrix
  %0 = main
  %1 = literal {number}.5
  %2 = mult %0, %1
  out %2 agg=sum
}}"
    );
    parse(&text).expect("the text is a plan").verify().expect("the plan is well-formed")
}

#[derive(Debug)]
struct NoKernel;

impl Kernel for NoKernel {
    fn has_sparse_entry(&self) -> bool {
        true
    }

    fn scratch_len(&self, _: UnitSize) -> usize {
        0
    }

    fn genexec(&self, _: &mut Context<'_>, _: &Unit<'_>, _: &mut [Output<'_>]) {}
}

/// A backend that remembers the batches that it was given.
#[derive(Debug, Default)]
struct Recorder {
    batches: Mutex<Vec<Vec<VerifiedCPlan>>>,
    failure: Mutex<Option<BackendError>>,
    panics: bool,
}

impl Recorder {
    fn sizes(&self) -> Vec<usize> {
        self.batches.lock().unwrap().iter().map(Vec::len).collect()
    }

    fn fails(&self, failure: Option<BackendError>) {
        *self.failure.lock().unwrap() = failure;
    }
}

impl Backend for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn compile(&self, plan: &VerifiedCPlan) -> Result<CompiledCPlan, BackendError> {
        assert!(!self.panics, "a backend that panics");
        match &*self.failure.lock().unwrap() {
            Some(failure) => Err(failure.clone()),
            None => Ok(CompiledCPlan::new(plan.clone(), Arc::new(NoKernel), CompileInfo::default())),
        }
    }

    fn compile_all(&self, plans: &[VerifiedCPlan]) -> Vec<Result<CompiledCPlan, BackendError>> {
        self.batches.lock().unwrap().push(plans.to_vec());
        plans.iter().map(|plan| self.compile(plan)).collect()
    }
}

fn look_up(cache: &PlanCache, backend: &Recorder, plans: &[VerifiedCPlan]) -> Vec<(u32, bool)> {
    let answers = cache.get_or_compile(plans, backend).into_iter();
    answers.map(|answer| answer.map(|answer| (answer.operator.as_u32(), answer.is_new)).expect("it compiles")).collect()
}

#[test]
fn the_new_plans_of_a_dag_are_compiled_together_and_each_once() {
    let (cache, backend) = (PlanCache::default(), Recorder::default());
    assert_eq!(look_up(&cache, &backend, &[plan(1)]), [(0, true)]);
    let answers = look_up(&cache, &backend, &[plan(2), plan(1), plan(3), plan(2)]);
    assert_eq!(answers, [(1, true), (0, false), (2, true), (1, false)]);
    assert_eq!(look_up(&cache, &backend, &[plan(3), plan(1)]), [(2, false), (0, false)]);
    assert_eq!(backend.sizes(), [1, 2]);
}

#[test]
fn a_disabled_cache_compiles_every_plan() {
    let (cache, backend) = (PlanCache::disabled(), Recorder::default());
    assert_eq!(look_up(&cache, &backend, &[plan(1), plan(1)]), [(0, true), (1, true)]);
    assert_eq!(look_up(&cache, &backend, &[plan(1)]), [(2, true)]);
}

/// Threads that start together and ask for the same plans in different orders.
#[test]
fn plans_that_many_threads_ask_for_are_compiled_once() {
    let (cache, backend) = (PlanCache::default(), Recorder::default());
    let plans: Vec<VerifiedCPlan> = (0..8).map(plan).collect();
    let start = Barrier::new(64);
    let new: usize = std::thread::scope(|scope| {
        let work = |first: usize| {
            let mut plans = plans.clone();
            plans.rotate_left(first % 8);
            start.wait();
            let answers = look_up(&cache, &backend, &plans);
            let distinct: BTreeSet<u32> = answers.iter().map(|(operator, _)| *operator).collect();
            assert_eq!(distinct.len(), plans.len());
            for (&(operator, _), plan) in answers.iter().zip(&plans) {
                assert_eq!(cache.plan(OperatorId::from_u32(operator)), *plan);
            }
            answers.iter().filter(|(_, is_new)| *is_new).count()
        };
        let threads: Vec<_> = (0..64).map(|first| scope.spawn(move || work(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).sum()
    });
    assert_eq!(new, plans.len());
    assert_eq!(backend.sizes().iter().sum::<usize>(), plans.len());
}

#[test]
fn the_least_recently_used_operator_is_compiled_again() {
    let (cache, backend) = (PlanCache::new(2), Recorder::default());
    look_up(&cache, &backend, &[plan(1)]);
    look_up(&cache, &backend, &[plan(2)]);
    look_up(&cache, &backend, &[plan(1), plan(3)]);
    for (operator, compilations) in [(0, 3), (2, 3), (1, 4), (1, 4)] {
        let compiled = cache.operator(OperatorId::from_u32(operator), &backend).expect("it compiles");
        assert_eq!(*compiled.plan(), cache.plan(OperatorId::from_u32(operator)));
        assert_eq!(backend.sizes().len(), compilations, "operator {operator}");
    }
}

/// A refusal is a matter of the plan, and remembered; a bug is not.
#[test]
fn refused_plans_are_not_tried_again() {
    for (failure, tries) in [
        (BackendError::Limit { backend: "recorder", what: "this".into() }, 1),
        (BackendError::Internal { backend: "recorder", message: "that".into() }, 2),
    ] {
        let (cache, backend) = (PlanCache::default(), Recorder::default());
        backend.fails(Some(failure.clone()));
        for _ in 0..2 {
            let answers = cache.get_or_compile(&[plan(1)], &backend);
            let errors: Vec<BackendError> = answers.into_iter().map(Result::unwrap_err).collect();
            assert_eq!(errors, std::slice::from_ref(&failure));
        }
        assert_eq!(backend.sizes().len(), tries);
        backend.fails(None);
        assert_eq!(look_up(&cache, &backend, &[plan(2)]), [(1, true)]);
        assert_eq!(cache.get_or_compile(&[plan(1)], &backend)[0].is_err(), tries == 1);
    }
}

#[test]
fn a_backend_that_panics_leaves_the_plan_to_others() {
    let cache = PlanCache::default();
    let panics = Recorder { panics: true, ..Recorder::default() };
    let result = catch_unwind(AssertUnwindSafe(|| cache.get_or_compile(&[plan(1), plan(2)], &panics)));
    assert!(result.is_err());
    assert_eq!(look_up(&cache, &Recorder::default(), &[plan(2), plan(1)]), [(1, true), (0, true)]);
}
