//! Sessions: the library's entry point, which the command line uses too.

use crate::error::{Error, located, reads, validation};
use crate::options::CompileOptions;
use fuseline_ir::hop::HopDag;
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use fuseline_lang::{Argument, Diagnostics, ParseOptions};
use fuseline_passes::liveness::{assigned_variables, remove_dead_outputs};
use fuseline_passes::size::{SizeEnvironment, VariableFacts, propagate_sizes};
use fuseline_runtime::{
    CompileStage, Engine, MetadataSizes, Observer, PlanCache, Statistics, Variables, compile_dag, run_program,
};
use fuseline_vecprims::primitives;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::Instant;

/// A compiler and run time with its threads, memory and compiled operators.
#[derive(Debug)]
pub struct Session {
    options: CompileOptions,
    engine: Engine,
}

/// A script that passed all checks.
#[derive(Clone, Debug)]
pub struct Script {
    program: Program,
    parse_seconds: f64,
}

impl Script {
    /// The script for its effects alone: what it prints and writes. Variables that nothing reads are not computed, and
    /// [`Outcome::variables`] lacks them.
    pub fn for_effects(mut self) -> Self {
        remove_dead_outputs(&mut self.program, &BTreeSet::new());
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// What a run left behind.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// All variables at the end.
    pub variables: Variables,
    /// What the run did.
    pub statistics: Statistics,
}

impl Session {
    /// A session.
    ///
    /// # Errors
    /// The backend cannot serve on this machine, or there are no threads.
    pub fn new(options: CompileOptions) -> Result<Self, Error> {
        let backend = options.backend()?;
        let cache = if options.plan_cache { PlanCache::default() } else { PlanCache::disabled() };
        let engine = Engine::new(options.engine_options(), backend, primitives(options.isa()), cache)
            .map_err(|error| Error::Threads(error.to_string()))?;
        Ok(Session { options, engine })
    }

    /// A session of another configuration that shares the memory, and for the same number of the threads, of this one.
    /// Compiled operators are not shared.
    ///
    /// # Errors
    /// The backend cannot serve on this machine, or there are no threads.
    pub fn reconfigured(&self, options: CompileOptions) -> Result<Self, Error> {
        let backend = options.backend()?;
        let cache = if options.plan_cache { PlanCache::default() } else { PlanCache::disabled() };
        let engine = self.engine.reconfigured(options.engine_options(), backend, primitives(options.isa()), cache);
        Ok(Session { options, engine: engine.map_err(|error| Error::Threads(error.to_string()))? })
    }

    /// The configuration.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// The engine that runs programs.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Parses and checks a script. `name` is its path, for messages and relative paths; `arguments` are the values of
    /// `$name` and `$1`.
    ///
    /// # Errors
    /// All mistakes found, each with its place.
    pub fn compile_script(&self, name: &str, text: &str, arguments: &[(&str, &str)]) -> Result<Script, Error> {
        let start = Instant::now();
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), Argument::from_text(value))).collect();
        let options = ParseOptions { arguments, ..ParseOptions::from_files() };
        let mut program = fuseline_lang::parse(name, text, &options).map_err(Error::Script)?;
        let results = assigned_variables(&program);
        remove_dead_outputs(&mut program, &results);
        let mut sized = program.clone();
        propagate_sizes(&mut sized, &SizeEnvironment::new(), &MetadataSizes).map_err(|error| match error.span {
            Some(span) => {
                let errors = vec![validation(&error, span)];
                Error::Script(Diagnostics { sources: program.sources.clone(), errors })
            }
            None => Error::Sizes(error),
        })?;
        Ok(Script { program, parse_seconds: start.elapsed().as_secs_f64() })
    }

    /// Runs a script on these variables; what it prints goes to `output`.
    ///
    /// # Errors
    /// The first error of the script, with its place.
    pub fn run(&self, script: &Script, variables: Variables, output: &mut dyn Write) -> Result<Outcome, Error> {
        self.run_observed(script, variables, output, &mut |_| {})
    }

    /// As [`Session::run`]; `observer` gets every stage of every compilation.
    ///
    /// # Errors
    /// The first error of the script, with its place.
    pub fn run_observed(
        &self,
        script: &Script,
        mut variables: Variables,
        output: &mut dyn Write,
        observer: &mut Observer<'_>,
    ) -> Result<Outcome, Error> {
        let mut statistics = Statistics { parse_seconds: script.parse_seconds, ..Statistics::default() };
        run_program(&self.engine, &script.program, &mut variables, output, &mut statistics, observer)
            .map_err(|error| located(error, &script.program.sources))?;
        Ok(Outcome { variables, statistics })
    }

    /// Runs one DAG on these variables.
    ///
    /// # Errors
    /// Sizes that do not fit, or an operator that fails.
    pub fn run_dag(&self, dag: &HopDag, variables: Variables) -> Result<Outcome, Error> {
        let program = Program { body: vec![StatementBlock::Basic(dag.clone())], ..Program::default() };
        let script = Script { program, parse_seconds: 0.0 };
        self.run(&script, variables, &mut std::io::sink())
    }

    /// Compiles one DAG for the sizes that it carries, without running it; `observer` gets every stage.
    ///
    /// # Errors
    /// Sizes that do not fit, or a bug of the backend.
    pub fn compile_dag(&self, dag: &HopDag, observer: &mut Observer<'_>) -> Result<HopDag, Error> {
        let facts = |hop: fuseline_ir::hop::HopId| VariableFacts {
            size: dag[hop].size,
            ..VariableFacts::of_type(dag[hop].data_type)
        };
        let environment: SizeEnvironment = reads(dag).map(|(name, hop)| (name, facts(hop))).collect();
        compile_dag(&self.engine, dag, &environment, &mut Statistics::default(), observer).map_err(Error::Execution)
    }

    /// Compiles every block of a script for the sizes that are known before it runs; `observer` gets the number of each
    /// block and its stages.
    ///
    /// # Errors
    /// A bug of the backend.
    pub fn compile_blocks(
        &self,
        script: &Script,
        observer: &mut dyn FnMut(usize, CompileStage<'_>),
    ) -> Result<(), Error> {
        let mut program = script.program.clone();
        propagate_sizes(&mut program, &SizeEnvironment::new(), &MetadataSizes)?;
        let mut dags = Vec::new();
        collect_dags(&program.body, &mut dags);
        for function in program.functions.values() {
            collect_dags(&function.body, &mut dags);
        }
        for (number, dag) in dags.into_iter().enumerate() {
            self.compile_dag(dag, &mut |stage| observer(number, stage))?;
        }
        Ok(())
    }
}

/// The DAGs of blocks, in program order.
fn collect_dags<'a>(blocks: &'a [StatementBlock], dags: &mut Vec<&'a HopDag>) {
    for block in blocks {
        match block {
            StatementBlock::Basic(dag) => dags.push(dag),
            StatementBlock::Call(call) => dags.push(&call.arguments),
            StatementBlock::If { predicate, then_body, else_body, .. } => {
                collect_predicate(predicate, dags);
                collect_dags(then_body, dags);
                collect_dags(else_body, dags);
            }
            StatementBlock::While { predicate, body, .. } => {
                collect_predicate(predicate, dags);
                collect_dags(body, dags);
            }
            StatementBlock::For { from, to, by, body, .. } => {
                for predicate in [Some(from), Some(to), by.as_ref()].into_iter().flatten() {
                    collect_predicate(predicate, dags);
                }
                collect_dags(body, dags);
            }
        }
    }
}

fn collect_predicate<'a>(predicate: &'a Predicate, dags: &mut Vec<&'a HopDag>) {
    collect_dags(&predicate.prelude, dags);
    dags.push(&predicate.dag);
}
