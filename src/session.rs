//! Sessions: the library's entry point, which the command line uses too.

use crate::error::Error;
use crate::evaluator::ScriptEvaluator;
use crate::expression::ExprPrograms;
use crate::library::ScriptLibrary;
use crate::located::{invalid, located};
use crate::options::CompileOptions;
use crate::session_builder::SessionBuilder;
use fuseline_ir::DataType;
use fuseline_ir::hop::HopDag;
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use fuseline_lang::{Argument, Diagnostics, ParseOptions};
use fuseline_matrix::run_context::{Abort, take_refusal};
use fuseline_matrix::{MatrixBlock, StopFlag};
use fuseline_passes::liveness::{assigned_variables, remove_dead_outputs};
use fuseline_passes::program::simplify_program;
use fuseline_passes::size::{SizeEnvironment, VariableFacts, propagate_dag, propagate_sizes};
use fuseline_runtime::{
    CompileStage, CompiledBlocks, Engine, Executable, MetadataSizes, Observer, PlanCache, Progress, RuntimeValue,
    Statistics, Variables, compile_dag, run_program, simplify_dags,
};
use fuseline_vecprims::primitives;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Instant;

/// A compiler and run time with its threads, memory and compiled operators. Expressions go through
/// [`eval`](Session::eval), scripts through [`run`](Session::run); one session serves many of both, from many threads.
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array};
///
/// let session = Session::builder().threads(2).build()?;
/// let x = Matrix::from(array![[3.0, 4.0]]);
/// assert_eq!(session.eval(x.square().sum())?, 25.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    options: CompileOptions,
    engine: Engine,
    pub(crate) programs: ExprPrograms,
}

/// Ends a run of a session from another thread, such as the handler of a signal.
///
/// ```
/// use fuseline::{Error, Session, Variables};
///
/// let session = Session::builder().build()?;
/// let endless = session.compile_script("<text>", "i = 0\nwhile (i >= 0) { i = i + 1 }", &[])?;
/// let interrupter = session.interrupter();
/// let result = std::thread::scope(|scope| {
///     scope.spawn(move || interrupter.interrupt());
///     session.run(&endless, Variables::new(), &mut std::io::sink())
/// });
/// assert!(matches!(result, Err(Error::Interrupted)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Interrupter(StopFlag);

impl Interrupter {
    /// Ends the run that is under way, or else the next one, at its next block of work, with [`Error::Interrupted`]; of
    /// several runs at a time, at least one. As in the example of [`Interrupter`].
    pub fn interrupt(&self) {
        self.0.raise();
    }
}

/// A script that passed all checks.
///
/// ```
/// use fuseline::{Session, Variables};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "print(\"half: \" + $x / 2)", &[("x", "3")])?;
/// assert!(script.warnings().errors.is_empty());
/// let mut printed = Vec::new();
/// session.run(&script, Variables::new(), &mut printed)?;
/// assert_eq!(printed, b"half: 1.5\n");
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Script {
    program: Program,
    warnings: Diagnostics,
    /// The values of `$name` and `$1`, which functions that a text names may need at run time.
    arguments: BTreeMap<String, Argument>,
    parse_seconds: f64,
    /// Whether nobody looks at the variables after a run.
    is_for_effects: bool,
}

impl Script {
    /// A program that was built, not parsed.
    pub(crate) fn of_program(program: Program) -> Script {
        Script { program, ..Script::default() }
    }

    /// The script for its effects alone: what it prints and writes. Variables that nothing reads are not computed, and
    /// there are no [`Outcome::variables`].
    ///
    /// ```
    /// use fuseline::{Session, Variables};
    ///
    /// let session = Session::builder().build()?;
    /// let script = session.compile_script("<text>", "x = 1\nprint(x)", &[])?.for_effects();
    /// assert!(session.run(&script, Variables::new(), &mut std::io::sink())?.variables.is_empty());
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn for_effects(mut self) -> Self {
        remove_dead_outputs(&mut self.program, &BTreeSet::new());
        self.is_for_effects = true;
        self
    }

    /// The program.
    #[doc(hidden)]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What is likely not meant as it is written. As in the example of [`Script`].
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

/// What a run left behind.
///
/// ```
/// use fuseline::{Session, Variables};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "X = matrix(2, rows=2, cols=3)\ns = sum(X)", &[])?;
/// let outcome = session.run(&script, Variables::new(), &mut std::io::sink())?;
/// assert_eq!(outcome.matrix("X")?.dims(), (2, 3));
/// assert_eq!(outcome.scalar("s")?, 12.0);
/// assert!(outcome.scalar("X").is_err(), "X is no number");
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// All variables at the end; of a prepared script its outputs.
    pub variables: Variables,
    /// What the run did.
    pub statistics: Statistics,
}

impl Outcome {
    /// A matrix that the script computed. As in the example of [`Outcome`].
    ///
    /// # Errors
    /// There is no such variable, or it is no matrix.
    pub fn matrix(&self, name: &str) -> Result<&MatrixBlock, Error> {
        match self.variables.get(name) {
            Some(RuntimeValue::Matrix(block)) => Ok(block),
            other => Err(unexpected(name, "a matrix", other)),
        }
    }

    /// A number that the script computed: a scalar, or the cell of a 1 x 1 matrix. As in the example of [`Outcome`].
    ///
    /// # Errors
    /// There is no such variable, or it is no number.
    pub fn scalar(&self, name: &str) -> Result<f64, Error> {
        let value = self.variables.get(name);
        value.and_then(RuntimeValue::as_f64).ok_or_else(|| unexpected(name, "a number", value))
    }
}

fn unexpected(name: &str, expected: &'static str, value: Option<&RuntimeValue>) -> Error {
    let name = name.to_owned();
    match value {
        Some(value) => Error::OutputType { name, expected, actual: value.data_type() },
        None => Error::NoSuchOutput(name),
    }
}

impl Session {
    /// A session that is configured step by step. As in the example of [`SessionBuilder`].
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// A session.
    ///
    /// ```
    /// use fuseline::{CompileOptions, Session};
    ///
    /// let session = Session::new(CompileOptions { threads: 2, ..CompileOptions::default() })?;
    /// assert_eq!(session.options().threads, 2);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The backend cannot serve on this machine, or there are no threads, or not that many.
    pub fn new(options: CompileOptions) -> Result<Self, Error> {
        let folder = options.open_code_folder();
        let backend = options.backend(folder.clone())?;
        let cache = if options.plan_cache { PlanCache::default() } else { PlanCache::disabled() };
        let engine = Engine::new(options.engine_options(folder), backend, primitives(options.isa()), cache)
            .map_err(|error| Error::Threads(error.to_string()))?;
        Ok(Session { options, engine, programs: ExprPrograms::default() })
    }

    /// A session of another configuration that shares the memory and the interrupter, where it has the same budget of
    /// memory, and for the same number of them the threads, of this one. Compiled operators are not shared.
    ///
    /// ```
    /// use fuseline::{CompileOptions, Matrix, Mode, Session};
    ///
    /// let session = Session::builder().build()?;
    /// let unfused = session.reconfigured(CompileOptions { mode: Mode::Base, ..session.options().clone() })?;
    /// assert_eq!(unfused.eval(Matrix::full(2, 2, 0.5).sum())?, 2.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The backend cannot serve on this machine, or there are no threads.
    pub fn reconfigured(&self, options: CompileOptions) -> Result<Self, Error> {
        let folder = options.open_code_folder();
        let backend = options.backend(folder.clone())?;
        let cache = if options.plan_cache { PlanCache::default() } else { PlanCache::disabled() };
        let options_of_engine = options.engine_options(folder);
        let engine = self.engine.reconfigured(options_of_engine, backend, primitives(options.isa()), cache);
        let engine = engine.map_err(|error| Error::Threads(error.to_string()))?;
        Ok(Session { options, engine, programs: ExprPrograms::default() })
    }

    /// What interrupts the runs of this session from another thread. As in the example of [`Interrupter`].
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.engine.interruption().clone())
    }

    /// How far the runs of this session are, all together, for who watches from another thread.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let session = Session::builder().build()?;
    /// session.eval(Matrix::from(array![[1.0, 2.0]]).sum())?;
    /// let before = session.progress();
    /// session.eval(Matrix::from(array![[3.0, 4.0]]).sum())?;
    /// assert!(session.progress().operators > before.operators);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn progress(&self) -> Progress {
        self.engine.progress()
    }

    /// The configuration. As in the example of [`Session::new`].
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// The engine that runs programs.
    #[doc(hidden)]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Parses and checks a script. `name` is its path, for messages and relative paths; `arguments` are the values of
    /// `$name` and `$1`. As in the example of [`Script`].
    ///
    /// # Errors
    /// All mistakes found, each with its place.
    pub fn compile_script(&self, name: &str, text: &str, arguments: &[(&str, &str)]) -> Result<Script, Error> {
        self.compile_interface(name, text, arguments, &BTreeMap::new(), None)
    }

    /// A script on variables of these types that are there before it runs, of which these variables are wanted after
    /// it; all that it assigns where none are named.
    pub(crate) fn compile_interface(
        &self,
        name: &str,
        text: &str,
        arguments: &[(&str, &str)],
        inputs: &BTreeMap<String, DataType>,
        outputs: Option<&BTreeSet<String>>,
    ) -> Result<Script, Error> {
        on_own_stack(|| self.compile_here(name, text, arguments, inputs, outputs))
    }

    fn compile_here(
        &self,
        name: &str,
        text: &str,
        arguments: &[(&str, &str)],
        inputs: &BTreeMap<String, DataType>,
        outputs: Option<&BTreeSet<String>>,
    ) -> Result<Script, Error> {
        let start = Instant::now();
        let arguments: BTreeMap<String, Argument> =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), Argument::from_text(value))).collect();
        let library = &ScriptLibrary { folders: &self.options.library_folders };
        let options = ParseOptions {
            arguments: arguments.clone(),
            inputs: inputs.clone(),
            library,
            ..ParseOptions::from_files()
        };
        let (program, warnings) = fuseline_lang::parse_with_warnings(name, text, &options).map_err(Error::Script)?;
        let assigned = assigned_variables(&program);
        let missing = outputs.and_then(|outputs| {
            outputs.iter().find(|output| !assigned.contains(*output) && !inputs.contains_key(*output))
        });
        if let Some(missing) = missing {
            return Err(Error::NoSuchOutput(missing.clone()));
        }
        let results = outputs.unwrap_or(&assigned);
        let types = inputs.iter().map(|(name, data_type)| (name.as_str(), VariableFacts::of_type(*data_type)));
        let program = self.simplified(program, &types.collect(), results)?;
        let parse_seconds = start.elapsed().as_secs_f64();
        Ok(Script { program, warnings, arguments, parse_seconds, is_for_effects: false })
    }

    /// A program that starts with variables of these types, checked and simplified; these are its results.
    pub(crate) fn simplified(
        &self,
        mut program: Program,
        types: &SizeEnvironment,
        results: &BTreeSet<String>,
    ) -> Result<Program, Error> {
        remove_dead_outputs(&mut program, results);
        // For its errors alone: what simplification removes is checked, too.
        propagate_sizes(&mut program.clone(), types, &MetadataSizes).map_err(|error| invalid(error, &program))?;
        let mut simplified = program.clone();
        let rewrites = self.options.rewrite_options();
        let mut simplify = |dags: &mut [HopDag]| simplify_dags(&self.engine, dags, &rewrites);
        simplify_program(&mut simplified, types, results, self.options.program, &mut simplify)
            .map_err(|error| invalid(error, &program))?;
        Ok(simplified)
    }

    /// Runs a script on these variables; what it prints goes to `output`, on a thread of the session: it must not wait for
    /// another run of the same session.
    ///
    /// ```
    /// use fuseline::{Session, Variables};
    ///
    /// let session = Session::builder().build()?;
    /// let script = session.compile_script("<text>", "y = 2.0 * 21\nprint(y)", &[])?;
    /// let mut printed = Vec::new();
    /// let outcome = session.run(&script, Variables::new(), &mut printed)?;
    /// assert_eq!((outcome.scalar("y")?, &printed[..]), (42.0, &b"42.0\n"[..]));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error of the script, with its place.
    pub fn run(
        &self,
        script: &Script,
        variables: Variables,
        output: &mut (dyn Write + Send),
    ) -> Result<Outcome, Error> {
        self.run_script(script, variables, output, None)
    }

    /// Runs a script like [`Session::run`]; `observer` gets every stage of every compilation, where `output` gets what is printed.
    ///
    /// ```
    /// use fuseline::{ExplainStage, Session, StagePrinter, Variables};
    ///
    /// let session = Session::builder().build()?;
    /// let script = session.compile_script("<text>", "X = rand(rows=1000, cols=10)\nprint(sum(X * X + 1))", &[])?;
    /// let mut plans = StagePrinter::new(ExplainStage::Plan);
    /// session.run_observed(&script, Variables::new(), &mut std::io::sink(), &mut |stage| plans.observe(&stage))?;
    /// assert!(!plans.take().is_empty());
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error of the script, with its place.
    pub fn run_observed(
        &self,
        script: &Script,
        variables: Variables,
        output: &mut (dyn Write + Send),
        observer: &mut Observer<'_>,
    ) -> Result<Outcome, Error> {
        self.run_script(script, variables, output, Some(observer))
    }

    fn run_script(
        &self,
        script: &Script,
        variables: Variables,
        output: &mut (dyn Write + Send),
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Outcome, Error> {
        let mut outcome = self.run_compiled(script, &mut CompiledBlocks::default(), variables, output, observer)?;
        if script.is_for_effects {
            outcome.variables.clear();
        }
        self.finished(outcome)
    }

    /// Gives all NaN of the variables the same bits: those that kernels leave depend on the instruction set. Matrices that
    /// others hold, too, are copied for that, within the budget, and so is what an owner outside may change.
    pub(crate) fn finished(&self, mut outcome: Outcome) -> Result<Outcome, Error> {
        let context = self.engine.kernel_context();
        let finish = |value: &mut RuntimeValue| value.finish(context.pool, context.buffers);
        let finished = self.engine.context().run(|| outcome.variables.values_mut().for_each(finish));
        match finished {
            Ok(()) => Ok(outcome),
            Err(Abort::Memory(failure)) => Err(Error::Memory(failure)),
            Err(Abort::Stopped) => {
                self.engine.interruption().take();
                Err(Error::Interrupted)
            }
        }
    }

    /// Runs a script with the blocks that earlier runs of it compiled.
    pub(crate) fn run_compiled(
        &self,
        script: &Script,
        compiled: &mut CompiledBlocks,
        mut variables: Variables,
        output: &mut (dyn Write + Send),
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Outcome, Error> {
        let threads = self.engine.kernel_context().pool;
        for (name, value) in &variables {
            value.check_borrowed(threads).map_err(|error| Error::Borrowed { name: name.clone(), error })?;
        }
        let mut statistics = Statistics { parse_seconds: script.parse_seconds, ..Statistics::default() };
        let evaluator = &ScriptEvaluator { session: self, arguments: &script.arguments };
        let executable = Executable { program: &script.program, evaluator };
        run_program(&self.engine, executable, compiled, &mut variables, output, &mut statistics, observer)
            .map_err(|error| located(error, &script.program))?;
        Ok(Outcome { variables, statistics })
    }

    /// Runs one DAG on these variables.
    ///
    /// # Errors
    /// Sizes that do not fit, or an operator that fails.
    #[doc(hidden)]
    pub fn run_dag(&self, dag: &HopDag, variables: Variables) -> Result<Outcome, Error> {
        let program = Program { body: vec![StatementBlock::Basic(dag.clone())], ..Program::default() };
        self.run(&Script::of_program(program), variables, &mut std::io::sink())
    }

    /// Compiles one DAG for the sizes of its variables, without running it; `observer` gets every stage.
    ///
    /// # Errors
    /// Sizes that do not fit, or a bug of the backend.
    #[doc(hidden)]
    pub fn compile_dag(&self, dag: &HopDag, observer: &mut Observer<'_>) -> Result<HopDag, Error> {
        let mut sized = dag.clone();
        propagate_dag(&mut sized, &SizeEnvironment::new())?;
        self.compile_sized(&sized, observer)
    }

    fn compile_sized(&self, sized: &HopDag, observer: &mut Observer<'_>) -> Result<HopDag, Error> {
        let compiled = compile_dag(&self.engine, sized, BTreeMap::new(), &mut Statistics::default(), Some(observer));
        compiled.map(|compiled| compiled.dag).map_err(Error::Execution)
    }

    /// Compiles every block of a script for the sizes that are known before it runs; `observer` gets the number of each
    /// block and its stages. As in the examples of [`StagePrinter`](crate::StagePrinter) and
    /// [`StageCollector`](crate::StageCollector).
    ///
    /// # Errors
    /// A bug of the backend.
    pub fn compile_blocks(
        &self,
        script: &Script,
        observer: &mut (dyn FnMut(usize, CompileStage<'_>) + Send),
    ) -> Result<(), Error> {
        self.compile_program(&script.program, &SizeEnvironment::new(), observer)
    }

    /// [`Session::compile_blocks`] of a program that starts with variables of which this is known.
    pub(crate) fn compile_program(
        &self,
        program: &Program,
        environment: &SizeEnvironment,
        observer: &mut (dyn FnMut(usize, CompileStage<'_>) + Send),
    ) -> Result<(), Error> {
        on_own_stack(|| {
            let mut program = program.clone();
            propagate_sizes(&mut program, environment, &MetadataSizes)?;
            let mut dags = Vec::new();
            collect_dags(&program.body, &mut dags);
            for function in program.functions.values() {
                collect_dags(&function.body, &mut dags);
            }
            for (number, dag) in dags.into_iter().enumerate() {
                self.compile_sized(dag, &mut |stage| observer(number, stage))?;
            }
            Ok(())
        })
    }
}

/// Waits for the machine code that sessions of this process are generating, and has them generate no more: for a process
/// that ends while it has sessions, such as those of a language with a run time of its own. LLVM must not be at work then.
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array};
///
/// let session: &'static Session = Box::leak(Box::new(Session::builder().build()?));
/// assert_eq!(session.eval(Matrix::from(array![[1.0, 2.0]]).sum())?, 3.0);
/// fuseline::finish_compilation();
/// # Ok::<(), fuseline::Error>(())
/// ```
pub fn finish_compilation() {
    #[cfg(feature = "llvm")]
    fuseline_llvm_backend::finish_compilation();
}

/// Bytes of the stack that scripts are compiled on: those that programs usually run on. The caller may have fewer.
const STACK_BYTES: usize = 8 << 20;

/// Does something that is as deep as a script is nested. Small allocations that were refused and served all the same end it
/// with an error.
fn on_own_stack<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fuseline-compile".to_owned()).stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, work).map_err(|error| Error::Threads(error.to_string()))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    take_refusal().map_or(Ok(result), |failure| Err(Error::Memory(failure)))
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
