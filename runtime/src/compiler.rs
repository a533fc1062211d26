//! Compiles the DAG of a block for the sizes it meets, and remembers the result (dynamic recompilation, P016-P020).
//!
//! The original DAG is kept; every compilation starts from it. A block is compiled again when the types, dimensions or
//! formats of its variables change, not when values do: constants stay scalar inputs of fused operators. Where sizes
//! depend on values (`matrix(0, n, 1)`, `X[a:b, ]`), these go into the sizes of the DAG, and what is compiled is that
//! sized DAG and nothing else.

use crate::block_cache::{BlockCache, BlockKey, Signature};
use crate::compiled_dag::{CompiledDag, Decided};
use crate::engine::Engine;
use crate::environment::{Mode, OptimizerEnvironment};
use crate::error::{Origins, RuntimeError, RuntimeErrorKind};
use crate::kept_plans::KeptPlan;
use crate::plan_cache::CacheAnswer;
use crate::scalar_block::ScalarBlock;
use crate::sketches::sketch_of;
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use foldhash::HashMap;
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_ir::hop::{HopDag, OperatorId};
use fuseline_passes::fused::{self, fuse_by_hand, search_sorted};
use fuseline_passes::joint::{Chosen, choose};
use fuseline_passes::pipeline::{OptimizerOptions, Stage, Unsupported, realize};
use fuseline_passes::rewrite::{RewriteReport, rewrite_with_report};
use fuseline_passes::size::{SizeEnvironment, VariableFacts, propagate_dag, size_variables};
use fuseline_passes::sketch::{InputSketches, inputs_worth_a_sketch};
use fuseline_skeletons::{BackendError, CompiledCPlan};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// What compilation hands on, stage by stage.
#[derive(Debug)]
#[non_exhaustive]
pub enum CompileStage<'a> {
    /// The DAG with the sizes of its inputs.
    Sized(&'a HopDag),
    /// The DAG after rewriting, in the form that is fused, and what was done and tried.
    Rewritten(&'a HopDag, &'a RewriteReport),
    /// A stage of the fusion optimizer.
    Fusion(Stage<'a>),
    /// A fused operator, compiled or found in the plan cache.
    Operator(OperatorId, &'a CompiledCPlan),
}

/// Gets every stage of every compilation. Where there is one, nothing is taken from what other processes kept.
pub type Observer<'a> = dyn FnMut(CompileStage<'_>) + Send + 'a;

/// Compiles blocks of one run.
pub(crate) struct DagCompiler<'a> {
    engine: &'a Engine,
    blocks: &'a mut HashMap<BlockKey, BlockCache>,
    statistics: Statistics,
    observer: Option<&'a mut Observer<'a>>,
}

impl<'a> DagCompiler<'a> {
    /// A compiler that starts from the blocks of earlier runs of the same program.
    pub(crate) fn new(
        engine: &'a Engine,
        blocks: &'a mut HashMap<BlockKey, BlockCache>,
        observer: Option<&'a mut Observer<'a>>,
    ) -> Self {
        DagCompiler { engine, blocks, statistics: Statistics::default(), observer }
    }

    pub(crate) fn engine(&self) -> &'a Engine {
        self.engine
    }

    pub(crate) fn statistics_mut(&mut self) -> &mut Statistics {
        &mut self.statistics
    }

    pub(crate) fn into_statistics(self) -> Statistics {
        self.statistics
    }

    /// The steps of a block as it was compiled last, if it is about scalars alone.
    pub(crate) fn scalars(&self, dag: &HopDag) -> Option<Arc<ScalarBlock>> {
        self.blocks.get(&BlockKey::of(dag, self.engine.fingerprint))?.scalars()
    }

    /// The block compiled for these variables.
    ///
    /// # Errors
    /// Shapes or types that do not fit, or a bug of the backend.
    pub(crate) fn compile(
        &mut self,
        dag: &HopDag,
        variables: &Variables,
        origins: &Origins,
    ) -> Result<Arc<CompiledDag>, RuntimeError> {
        let block = self.blocks.entry(BlockKey::of(dag, self.engine.fingerprint)).or_default();
        let (signature, sized) = loop {
            if let Some(known) = block.with_variables(dag, variables) {
                self.statistics.add_found_block(known.plans());
                return Ok(known);
            }
            let signature = Signature::of(dag, variables, block.size_variables());
            let sized = sized(dag, &environment(dag, variables, origins, block.size_variables()))?;
            if !block.add_size_variables(size_variables(&sized)) {
                break (signature, sized);
            }
        };
        if let Some(known) = block.with_sizes(&signature, &sized) {
            self.statistics.add_found_block(known.plans());
            return Ok(known);
        }
        let sketch = |name: &str| Some((name.to_owned(), Arc::new(variables.get(name).and_then(sketch_of)?)));
        let sketches = inputs_worth_a_sketch(&sized).into_iter().filter_map(sketch).collect();
        let observer = self.observer.as_deref_mut();
        let compiled = Arc::new(compile_dag(self.engine, &sized, sketches, &mut self.statistics, observer)?);
        self.statistics.recompilations += u64::from(block.keep(signature, sized, Arc::clone(&compiled), variables));
        Ok(compiled)
    }
}

/// Compiles one DAG with sizes, for sparse variables of which these sketches are at hand: by the plan that another
/// process kept, where nobody observes, and else by one that is kept now.
///
/// # Errors
/// A bug of the backend.
pub fn compile_dag(
    engine: &Engine,
    sized: &HopDag,
    sketches: InputSketches,
    statistics: &mut Statistics,
    observer: Option<&mut Observer<'_>>,
) -> Result<CompiledDag, RuntimeError> {
    let start = Instant::now();
    let Some(kept) = KeptPlan::of(engine, sized, &sketches) else {
        return compile_anew(engine, sized, sketches, statistics, observer);
    };
    if observer.is_none()
        && let Some(restored) = restored(engine, &kept, statistics, start)
    {
        return Ok(restored);
    }
    let compiled = compile_anew(engine, sized, sketches, statistics, observer)?;
    let cplans = compiled.operators.iter().map(|&operator| engine.plan_cache.plan(operator)).collect();
    kept.keep(&compiled, cplans);
    Ok(compiled)
}

/// A block compiled, since `start`, by the plan that another process kept; none where there is none or the backend
/// refuses some of it.
fn restored(engine: &Engine, kept: &KeptPlan<'_>, statistics: &mut Statistics, start: Instant) -> Option<CompiledDag> {
    let plan = kept.find()?;
    // What is counted of a plan that the backend refuses is counted again when the block is compiled anew.
    let mut own = Statistics::default();
    let mut batches = Batches::new(engine, &mut own);
    if batches.compile(&plan.cplans).iter().any(Result::is_err) {
        return None;
    }
    let operators = batches.operators;
    let compiled = plan.compiled(operators)?;
    own.cplans += compiled.plans();
    own.dags_restored += 1;
    own.add_decided(&compiled.decided);
    own.optimize_seconds += start.elapsed().as_secs_f64() - own.codegen_seconds;
    statistics.merge(own);
    Some(compiled)
}

/// The size of a value; where its format is dense it counts as having no zeros.
fn expected_size(value: &RuntimeValue) -> SizeInfo {
    let size = value.size();
    SizeInfo { nnz: size.nnz.or(size.cells()), ..size }
}

fn environment(
    dag: &HopDag,
    variables: &Variables,
    origins: &Origins,
    size_variables: &BTreeSet<String>,
) -> SizeEnvironment {
    let known = dag.reads().filter_map(|(_, name)| Some((name, variables.get(name)?)));
    let facts = known.map(|(name, value)| match value {
        RuntimeValue::Scalar(scalar) if size_variables.contains(name) => (name, VariableFacts::scalar(scalar.clone())),
        value => {
            let (size, origin) = (expected_size(value), origins.get(name).copied());
            (name, VariableFacts { size, origin, ..VariableFacts::of_type(value.data_type()) })
        }
    });
    facts.collect()
}

/// The DAG with the sizes that follow from its variables'.
fn sized(dag: &HopDag, environment: &SizeEnvironment) -> Result<HopDag, RuntimeError> {
    let mut sized = dag.clone();
    propagate_dag(&mut sized, environment).map_err(|error| {
        let span = error.span;
        RuntimeErrorKind::Sizes(Box::new(error)).at(span)
    })?;
    Ok(sized)
}

/// Rewrites a DAG with sizes, in the Gen modes together with fusion.
fn compile_anew(
    engine: &Engine,
    sized: &HopDag,
    sketches: InputSketches,
    statistics: &mut Statistics,
    observer: Option<&mut Observer<'_>>,
) -> Result<CompiledDag, RuntimeError> {
    let start = Instant::now();
    let mut nobody = |_: CompileStage<'_>| {};
    let observer = match observer {
        Some(observer) => observer,
        None => &mut nobody,
    };
    let codegen_before = statistics.codegen_seconds;
    observer(CompileStage::Sized(sized));
    let environment = &engine.options.environment;
    let result = match environment.policy() {
        None => {
            let (rewritten, report) = rewrite_with_report(sized, &environment.rewrites);
            observer(CompileStage::Rewritten(&rewritten, &report));
            let options = &environment.optimizer;
            if environment.mode == Mode::Fused {
                fused_by_hand(environment, &rewritten, observer)
            } else {
                let predictions = options.model.predict(&options.context(&rewritten));
                CompiledDag::unfused(rewritten, predictions)
            }
        }
        Some(policy) => {
            let options = OptimizerOptions { policy, sketches, ..environment.optimizer.clone() };
            let chosen = choose(&search_sorted(sized), &environment.rewrites, &options);
            observer(CompileStage::Rewritten(&chosen.dag, &chosen.report));
            fuse(engine, &chosen, &options, statistics, observer)?
        }
    };
    statistics.dags_optimized += 1;
    let codegen = statistics.codegen_seconds - codegen_before;
    statistics.optimize_seconds += start.elapsed().as_secs_f64() - codegen;
    Ok(result)
}

fn fused_by_hand(environment: &OptimizerEnvironment, dag: &HopDag, observer: &mut Observer<'_>) -> CompiledDag {
    let options = &environment.optimizer;
    let dag = fuse_by_hand(dag, environment.strict_ieee);
    observer(CompileStage::Fusion(Stage::Replaced(&dag)));
    let mut predictions = options.model.predict(&options.context(&dag));
    fused::predict(&options.model, &options.template_limits, &dag, &mut predictions);
    CompiledDag::unfused(dag, predictions)
}

/// Compiles plans batch by batch.
struct Batches<'a> {
    engine: &'a Engine,
    statistics: &'a mut Statistics,
    /// The operators that there are.
    operators: Vec<OperatorId>,
    /// The first bug of the backend.
    failure: Option<BackendError>,
}

impl<'a> Batches<'a> {
    fn new(engine: &'a Engine, statistics: &'a mut Statistics) -> Self {
        Batches { engine, statistics, operators: Vec::new(), failure: None }
    }

    fn compile(&mut self, plans: &[VerifiedCPlan]) -> Vec<Result<OperatorId, Unsupported>> {
        let start = Instant::now();
        let answers = self.engine.plan_cache.get_or_compile(plans, self.engine.backend());
        self.statistics.codegen_seconds += start.elapsed().as_secs_f64();
        answers.into_iter().map(|answer| self.record(answer)).collect()
    }

    fn record(&mut self, answer: Result<CacheAnswer, BackendError>) -> Result<OperatorId, Unsupported> {
        match answer {
            Ok(CacheAnswer { operator, is_new }) => {
                self.statistics.operators_compiled += u64::from(is_new);
                self.statistics.plan_cache_hits += u64::from(!is_new);
                self.operators.push(operator);
                Ok(operator)
            }
            Err(error) => {
                let reason = error.to_string();
                if matches!(error, BackendError::Internal { .. }) {
                    self.failure.get_or_insert(error);
                }
                Err(Unsupported { reason })
            }
        }
    }
}

fn fuse(
    engine: &Engine,
    chosen: &Chosen,
    options: &OptimizerOptions,
    statistics: &mut Statistics,
    observer: &mut Observer<'_>,
) -> Result<CompiledDag, RuntimeError> {
    let mut batches = Batches::new(engine, statistics);
    let mut on_stage = |stage: Stage<'_>| observer(CompileStage::Fusion(stage));
    let (fused, report) =
        realize(&chosen.dag, &chosen.planned, options, &mut |plans| batches.compile(plans), &mut on_stage);
    let Batches { operators, failure, .. } = batches;
    if let Some(error) = failure {
        return Err(error.into());
    }
    statistics.cplans += report.cplans as u64;
    statistics.plans_costed += report.search.costed();
    statistics.operators_priced += report.search.operators;
    let decided = Decided {
        is_searched: true,
        partitions: report.partitions as u64,
        optimal: report.optimal as u64,
        gap: report.gap,
        rejected: report.rejected.len() as u64,
    };
    statistics.add_decided(&decided);
    for rejection in &report.rejected {
        *statistics.unsupported.entry(rejection.reason.clone()).or_default() += 1;
    }
    for &operator in &operators {
        let compiled = engine.plan_cache.operator(operator, engine.backend())?;
        observer(CompileStage::Operator(operator, &compiled));
    }
    Ok(CompiledDag::new(fused, report.predictions, operators, decided))
}
