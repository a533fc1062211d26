//! Compiles the DAG of a block for the sizes it meets, and remembers the result (dynamic recompilation, P016-P020).
//!
//! The original DAG is kept; every compilation starts from it. A block is compiled again when the types, dimensions or
//! formats of its variables change, not when values do: constants stay scalar inputs of fused operators. Only where
//! sizes depend on values (`matrix(0, n, 1)`, `X[a:b, ]`) does the compilation look at these.

use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use fuseline_ir::hop::{HopDag, HopOp, OperatorId};
use fuseline_ir::{DataType, Value};
use fuseline_passes::pipeline::{OptimizerOptions, Stage, Unsupported, optimize};
use fuseline_passes::rewrite::rewrite;
use fuseline_passes::size::{SizeEnvironment, VariableFacts, propagate_dag};
use fuseline_skeletons::{BackendError, CompiledCPlan};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

/// Compilations of one block that are kept.
const KEPT_PER_BLOCK: usize = 16;

/// What compilation hands on, stage by stage.
#[derive(Debug)]
#[non_exhaustive]
pub enum CompileStage<'a> {
    /// The DAG with the sizes of its inputs.
    Sized(&'a HopDag),
    /// The DAG after simplification.
    Rewritten(&'a HopDag),
    /// A stage of the fusion optimizer.
    Fusion(Stage<'a>),
    /// A fused operator, compiled or found in the plan cache.
    Operator(OperatorId, &'a CompiledCPlan),
}

/// Gets every stage of every compilation.
pub type Observer<'a> = dyn FnMut(CompileStage<'_>) + 'a;

/// A compiled block.
#[derive(Debug)]
pub(crate) struct CompiledDag {
    /// The DAG with fused operators.
    pub(crate) dag: HopDag,
}

/// What a compilation depended on, per variable read.
#[derive(Clone, Debug, PartialEq)]
struct Signature(Vec<VariableSignature>);

#[derive(Clone, Debug, PartialEq)]
struct VariableSignature {
    data_type: DataType,
    dims: (usize, usize),
    /// For sparse matrices the magnitude of the number of non-zeros: a factor of two may change a plan.
    nnz_magnitude: Option<u32>,
    value: Option<Value>,
}

#[derive(Debug, Default)]
struct BlockCache {
    /// Whether sizes within the block depend on values of scalars.
    needs_values: bool,
    compiled: Vec<(Signature, Rc<CompiledDag>)>,
}

/// Compiles blocks of one run.
pub(crate) struct DagCompiler<'a> {
    engine: &'a Engine,
    blocks: HashMap<*const HopDag, BlockCache>,
    statistics: Statistics,
    observer: &'a mut Observer<'a>,
}

impl<'a> DagCompiler<'a> {
    /// A compiler without any compiled block.
    pub(crate) fn new(engine: &'a Engine, observer: &'a mut Observer<'a>) -> Self {
        DagCompiler { engine, blocks: HashMap::new(), statistics: Statistics::default(), observer }
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

    /// The block compiled for these variables. Blocks are told apart by address: they belong to the program that runs.
    ///
    /// # Errors
    /// Shapes or types that do not fit, or a bug of the backend.
    pub(crate) fn compile(&mut self, dag: &HopDag, variables: &Variables) -> Result<Rc<CompiledDag>, RuntimeError> {
        let key: *const HopDag = dag;
        let needs_values = self.blocks.get(&key).is_some_and(|block| block.needs_values);
        let signature = signature(dag, variables, needs_values);
        if let Some(found) = self.find(key, &signature) {
            return Ok(found);
        }
        let mut compiled = self.compile_for(dag, variables, needs_values)?;
        let mut signature = signature;
        if !needs_values && has_unknown_sizes(&compiled) {
            self.blocks.entry(key).or_default().needs_values = true;
            signature = self::signature(dag, variables, true);
            compiled = self.compile_for(dag, variables, true)?;
        }
        let compiled = Rc::new(CompiledDag { dag: compiled });
        let block = self.blocks.entry(key).or_default();
        if block.compiled.len() >= KEPT_PER_BLOCK {
            block.compiled.remove(0);
        }
        block.compiled.push((signature, Rc::clone(&compiled)));
        Ok(compiled)
    }

    fn find(&self, key: *const HopDag, signature: &Signature) -> Option<Rc<CompiledDag>> {
        let compiled = &self.blocks.get(&key)?.compiled;
        compiled.iter().find(|(known, _)| known == signature).map(|(_, compiled)| Rc::clone(compiled))
    }

    fn compile_for(&mut self, dag: &HopDag, variables: &Variables, values: bool) -> Result<HopDag, RuntimeError> {
        compile_dag(self.engine, dag, &environment(dag, variables, values), &mut self.statistics, self.observer)
    }
}

/// The variables that a DAG reads.
fn reads(dag: &HopDag) -> impl Iterator<Item = &str> {
    dag.hops.values().filter_map(|hop| match &hop.op {
        HopOp::Read(name) => Some(name.as_str()),
        _ => None,
    })
}

fn signature(dag: &HopDag, variables: &Variables, values: bool) -> Signature {
    let of = |value: &RuntimeValue| match value {
        RuntimeValue::Matrix(block) => VariableSignature {
            data_type: DataType::Matrix,
            dims: block.dims(),
            nnz_magnitude: block.is_sparse().then(|| block.nnz().checked_ilog2().unwrap_or(0)),
            value: None,
        },
        RuntimeValue::Scalar(scalar) => VariableSignature {
            data_type: value.data_type(),
            dims: (0, 0),
            nnz_magnitude: None,
            value: values.then(|| scalar.clone()),
        },
    };
    Signature(reads(dag).filter_map(|name| variables.get(name)).map(of).collect())
}

fn environment(dag: &HopDag, variables: &Variables, values: bool) -> SizeEnvironment {
    let facts = |value: &RuntimeValue| match value {
        RuntimeValue::Matrix(block) => VariableFacts::matrix(block.size()),
        RuntimeValue::Scalar(scalar) if values => VariableFacts::scalar(scalar.clone()),
        RuntimeValue::Scalar(_) => VariableFacts::of_type(value.data_type()),
    };
    reads(dag).filter_map(|name| Some((name, facts(variables.get(name)?)))).collect()
}

fn has_unknown_sizes(dag: &HopDag) -> bool {
    dag.hops.values().any(|hop| hop.is_matrix() && hop.size.known_dims().is_none())
}

/// Compiles one DAG: sizes, rewrites, and in the Gen modes fusion.
///
/// # Errors
/// Shapes or types that do not fit, or a bug of the backend.
pub fn compile_dag(
    engine: &Engine,
    dag: &HopDag,
    environment: &SizeEnvironment,
    statistics: &mut Statistics,
    observer: &mut Observer<'_>,
) -> Result<HopDag, RuntimeError> {
    let start = Instant::now();
    let codegen_before = statistics.codegen_seconds;
    let mut sized = dag.clone();
    propagate_dag(&mut sized, environment).map_err(|error| {
        let span = error.span;
        RuntimeErrorKind::Sizes(Box::new(error)).at(span)
    })?;
    observer(CompileStage::Sized(&sized));
    let rewritten = rewrite(&sized, &engine.options.rewrites);
    observer(CompileStage::Rewritten(&rewritten));
    let result = match engine.options.policy() {
        None => rewritten,
        Some(policy) => {
            let options = OptimizerOptions { policy, ..engine.options.optimizer.clone() };
            fuse(engine, &rewritten, &options, statistics, observer)?
        }
    };
    statistics.dags_optimized += 1;
    let codegen = statistics.codegen_seconds - codegen_before;
    statistics.optimize_seconds += start.elapsed().as_secs_f64() - codegen;
    Ok(result)
}

fn fuse(
    engine: &Engine,
    dag: &HopDag,
    options: &OptimizerOptions,
    statistics: &mut Statistics,
    observer: &mut Observer<'_>,
) -> Result<HopDag, RuntimeError> {
    let mut failure = None;
    let mut operators = Vec::new();
    let mut compile = |plan: &fuseline_ir::cplan::VerifiedCPlan| {
        let start = Instant::now();
        let answer = engine.plan_cache.get_or_compile(plan.clone(), engine.backend());
        statistics.codegen_seconds += start.elapsed().as_secs_f64();
        match answer {
            Ok(answer) => {
                match &answer.compiled {
                    Some(compiled) => {
                        statistics.operators_compiled += 1;
                        statistics.code_bytes += compiled.info.code_bytes as u64;
                    }
                    None => statistics.plan_cache_hits += 1,
                }
                operators.push(answer.operator);
                Ok(answer.operator)
            }
            Err(error) => {
                let reason = error.to_string();
                if matches!(error, BackendError::Internal { .. }) {
                    failure.get_or_insert(error);
                }
                Err(Unsupported { reason })
            }
        }
    };
    let (fused, report) = optimize(dag, options, &mut compile, &mut |stage| observer(CompileStage::Fusion(stage)));
    if let Some(error) = failure {
        return Err(error.into());
    }
    statistics.cplans += report.cplans as u64;
    statistics.plans_costed += report.search.evaluated;
    for rejection in &report.rejected {
        *statistics.unsupported.entry(rejection.reason.clone()).or_default() += 1;
    }
    for operator in operators {
        let compiled = engine.plan_cache.operator(operator, engine.backend())?;
        observer(CompileStage::Operator(operator, &compiled));
    }
    Ok(fused)
}
