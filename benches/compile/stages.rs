//! The stages of compilation one by one, from text to machine code: what benchmarks time and tests count.
//!
//! Plans are made for the default machine of the cost model, code is generated for x86-64-v3 by one thread, so that the
//! work is that of every machine.

use fuseline::ir::hop::{HopDag, OperatorId};
use fuseline::ir::program::{Program, Source};
use fuseline::{BackendKind, CompileOptions, CpuFeatures, Machine, Session, Statistics};
use fuseline_lang::{Library, ParseOptions};
use fuseline_passes::construct::construct;
use fuseline_passes::explore::explore;
use fuseline_passes::facts::Context;
use fuseline_passes::fused::search_sorted;
use fuseline_passes::joint::choose;
use fuseline_passes::liveness::{assigned_variables, remove_dead_outputs};
use fuseline_passes::pipeline::{OptimizerOptions, realize};
use fuseline_passes::program::{ProgramOptions, simplify_program};
use fuseline_passes::rewrite::{RewriteOptions, rewrite, simplify};
use fuseline_passes::select::select;
use fuseline_passes::size::{NoFiles, SizeEnvironment, propagate_sizes};
use fuseline_passes::sketch::InputSketches;
use fuseline_passes::template::TEMPLATES;
use fuseline_runtime::compile_dag;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A stage of compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Text to a program.
    Parse,
    /// Sizes through the whole program, which finds misfits, then the passes over programs.
    Simplify,
    /// Equality saturation of each block, and the form that rewriting prefers.
    Rewrite,
    /// The memo tables of these forms.
    Explore,
    /// Their fusion plans.
    Select,
    /// The CPlans of these.
    Construct,
    /// All that happens to a block but code generation: [`Stage::Rewrite`] to [`Stage::Construct`], for each of the forms
    /// that the search over rewrites and fusion looks at, and replacement of what is fused.
    Optimize,
    /// CPlans to machine code.
    Generate,
    /// Text to machine code, as a session does it.
    Pipeline,
}

impl Stage {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Parse => "parse",
            Stage::Simplify => "simplify",
            Stage::Rewrite => "rewrite",
            Stage::Explore => "explore",
            Stage::Select => "select",
            Stage::Construct => "construct",
            Stage::Optimize => "optimize",
            Stage::Generate => "generate",
            Stage::Pipeline => "pipeline",
        }
    }
}

/// What runs the work of a stage: at least once, and as often as it likes.
pub(crate) trait Runner {
    fn run<T>(&mut self, stage: Stage, work: impl Fn() -> T) -> T;

    /// Whether to run a stage that no other one builds on.
    fn wants(&self, stage: Stage) -> bool;
}

/// Takes a script through the stages, each of which starts from what the one before it made: first the text, then these
/// blocks of it, which have sizes. Without blocks the script is but checked.
pub(crate) fn compile(text: &str, blocks: &[HopDag], runner: &mut impl Runner) {
    let program = runner.run(Stage::Parse, || parse(text));
    runner.run(Stage::Simplify, || simplified(program.clone()));
    if blocks.is_empty() {
        return;
    }
    let (rewrites, options) = (RewriteOptions::default(), OptimizerOptions::default());
    let rewritten = || blocks.iter().map(|dag| rewrite(&search_sorted(dag), &rewrites)).collect::<Vec<_>>();
    let forms = runner.run(Stage::Rewrite, rewritten);
    let contexts: Vec<Context<'_>> = forms.iter().map(|dag| options.context(dag)).collect();
    let explored = || contexts.iter().map(|context| explore(context, TEMPLATES)).collect::<Vec<_>>();
    let memos = runner.run(Stage::Explore, explored);
    let selected = || {
        let explored = contexts.iter().zip(&memos);
        let select = |(context, memo)| select(context, memo, options.policy, &options.model, &options.search_limits);
        explored.map(select).collect::<Vec<_>>()
    };
    let plans = runner.run(Stage::Select, selected);
    let constructed = || {
        let constructed = contexts.iter().zip(&plans).map(|(context, plan)| construct(context, &plan.covers).0);
        constructed.flatten().map(|plan| plan.cplan).collect::<Vec<_>>()
    };
    let cplans = runner.run(Stage::Construct, constructed);
    if runner.wants(Stage::Optimize) {
        runner.run(Stage::Optimize, || blocks.iter().for_each(|dag| optimize(dag, &rewrites, &options)));
    }
    if runner.wants(Stage::Generate) {
        generate(&cplans, runner);
    }
    if runner.wants(Stage::Pipeline) {
        runner.run(Stage::Pipeline, || compile_all(text, blocks));
    }
}

/// The functions of `algorithms/`.
struct Algorithms;

impl Library for Algorithms {
    fn find(&self, function: &str) -> io::Result<Option<Source>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("algorithms").join(function).with_extension("dml");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Source { name: function.to_owned(), text: Arc::from(text) })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Nothing is misspelt here.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

pub(crate) fn parse(text: &str) -> Program {
    let options = ParseOptions { library: &Algorithms, ..ParseOptions::from_files() };
    fuseline_lang::parse("<text>", text, &options).unwrap_or_else(|errors| panic!("{}", errors.render(false)))
}

/// A program checked and simplified, as a session does it.
fn simplified(mut program: Program) -> Program {
    let (results, variables) = (assigned_variables(&program), SizeEnvironment::new());
    remove_dead_outputs(&mut program, &results);
    propagate_sizes(&mut program.clone(), &variables, &NoFiles).expect("sizes fit");
    let rewrites = RewriteOptions::default();
    let mut simplify_dags = |dags: &mut [HopDag]| dags.iter_mut().for_each(|dag| *dag = simplify(dag, &rewrites));
    let options = ProgramOptions::default();
    simplify_program(&mut program, &variables, &results, options, &mut simplify_dags).expect("sizes fit");
    program
}

/// Optimizes a block; its operators are compiled by nobody.
fn optimize(dag: &HopDag, rewrites: &RewriteOptions, options: &OptimizerOptions) {
    let chosen = choose(&search_sorted(dag), rewrites, options);
    let number = |operator| Ok(OperatorId::from_u32(operator));
    let mut compile = |plans: &[_]| (0..plans.len() as u32).map(number).collect();
    realize(&chosen.dag, &chosen.planned, options, &mut compile, &mut |_| {});
}

/// How sessions compile here, whatever the machine.
fn compile_options() -> CompileOptions {
    let backend = BackendKind::for_measurement();
    CompileOptions { backend, cpu: CpuFeatures::Avx2, threads: 1, machine: Machine::default(), ..Default::default() }
}

/// Text to machine code.
fn compile_all(text: &str, blocks: &[HopDag]) {
    let session = Session::new(compile_options()).expect("a machine with AVX2");
    session.compile_script("<text>", text, &[]).expect("the script is well-formed");
    for dag in blocks {
        let (sketches, mut statistics) = (InputSketches::default(), Statistics::default());
        compile_dag(session.engine(), dag, sketches, &mut statistics, None).expect("blocks compile");
    }
}

#[cfg(feature = "llvm")]
fn generate(cplans: &[fuseline::ir::cplan::VerifiedCPlan], runner: &mut impl Runner) {
    use fuseline_llvm_backend::{LlvmBackend, LlvmOptions};
    use fuseline_skeletons::Backend;
    use fuseline_vecprims::Isa;
    let compile = || {
        let options = LlvmOptions { isa: Isa::Avx2, ..LlvmOptions::default() };
        LlvmBackend::new(options).expect("a machine with AVX2").compile_all(cplans)
    };
    runner.run(Stage::Generate, compile).into_iter().for_each(|code| drop(code.expect("operators compile")));
}

/// Without LLVM there is no code to generate.
#[cfg(not(feature = "llvm"))]
fn generate(_cplans: &[fuseline::ir::cplan::VerifiedCPlan], _runner: &mut impl Runner) {}
